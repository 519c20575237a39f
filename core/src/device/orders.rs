//! Admission without a code: staff looked a ticket up, or take several of an order at once.

use super::Device;
use super::judging::{Asking, Input};
use super::refusals::Written;
use super::scan::{Say, ScanOutcome};
use crate::ids::{LastFour, OrderNumber, TicketId};
use crate::record::{ClaimOutcome, What};

/// One ticket of an order that is to be admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderTicket {
    /// The ticket.
    pub ticket_id: TicketId,
    /// How many persons; without it, as the venue's policy has it.
    pub persons: Option<u8>,
}

/// A ticket of an order between verdict and record.
struct InHand {
    prepared: super::judging::Prepared,
    decided: super::claims::Decided,
    id: crate::ids::RecordId,
    decision_us: u32,
}

impl Device {
    /// Admits a ticket that staff looked up. `last_four` are digits of the person at the gate,
    /// where staff know them: another person than the ticket names is refused.
    pub fn admit_ticket(
        &self,
        ticket: &TicketId,
        last_four: Option<LastFour>,
        say: Say,
    ) -> ScanOutcome {
        let input = Input::LookUp {
            ticket_id: ticket.clone(),
            order: None,
            last_four,
        };
        self.admit(input, say)
    }

    /// Admits tickets of an order: each has its own verdict and record, and all records are one
    /// transaction, so that either all who are let in are on disk or nobody is let in. The answers
    /// come in the order asked; a ticket named twice is a repeat.
    pub fn admit_order(&self, order: &OrderNumber, tickets: &[OrderTicket]) -> Vec<ScanOutcome> {
        let (mut door, begun) = match self.at_door() {
            Ok(at_door) => at_door,
            Err(freely) => return vec![*freely; tickets.len()],
        };
        let (door, moment, now) = (&mut *door, begun.moment, begun.now);
        let mut answered: Vec<Option<ScanOutcome>> = Vec::with_capacity(tickets.len());
        let (mut in_hand, mut records) = (Vec::new(), Vec::new());
        let mut nobody_answers = false;
        for (place, one) in tickets.iter().enumerate() {
            let mut before = tickets.iter().take(place);
            if before.any(|earlier| earlier.ticket_id == one.ticket_id) {
                answered.push(None);
                continue;
            }
            let input = Input::LookUp {
                ticket_id: one.ticket_id.clone(),
                order: Some(order.clone()),
                last_four: None,
            };
            let asking = Asking {
                persons: one.persons,
                nobody_answers,
                ..Asking::plain(&input)
            };
            let Ok((prepared, judged)) = self.judge(door, &asking, now) else {
                answered.push(Some(self.cannot_store(
                    door,
                    now,
                    self.micros_since(begun.started),
                )));
                continue;
            };
            if let Some(repeat) = door.recent.repeat_of(&prepared, &judged, moment) {
                door.repeats += 1;
                answered.push(Some(repeat));
                continue;
            }
            let (id, ahead) = (self.new_id(now), records.len() as u64);
            let decided = self.decide(door, &prepared, judged, &[], (id, ahead));
            // A party of forty does not wait forty times for a network that is gone.
            nobody_answers |= decided.claim == Some(ClaimOutcome::NoAnswer);
            let decision_us = self.micros_since(begun.started);
            let scan = self.scan_of(door, &prepared, &decided, decision_us);
            records.push(self.record(door, ahead, id, &prepared.gate, now, What::Scan(scan)));
            in_hand.push((
                place,
                InHand {
                    prepared,
                    decided,
                    id,
                    decision_us,
                },
            ));
            answered.push(None);
        }
        let written = door.journal.append_all(&records);
        for (place, one) in in_hand {
            let InHand {
                prepared,
                decided,
                id,
                decision_us,
            } = one;
            let written = match written {
                Ok(()) => Written::Recorded(id),
                Err(_) => Written::Not,
            };
            let outcome = self.outcome(door, &prepared, &decided, written, decision_us);
            door.recent
                .remember(&prepared, decided.genuine, &outcome, moment);
            door.remember_refused(prepared.input, &outcome, moment);
            answered[place] = Some(outcome);
        }
        // A ticket named twice has the answer of the first time.
        (0..tickets.len())
            .map(|place| {
                let own = answered.get(place).cloned().flatten();
                own.unwrap_or_else(|| {
                    let named = |one: &OrderTicket| one.ticket_id == tickets[place].ticket_id;
                    let first = tickets.iter().position(named);
                    let first = first.and_then(|first| answered.get(first).cloned().flatten());
                    let first = first.unwrap_or_else(|| {
                        self.cannot_store(door, now, self.micros_since(begun.started))
                    });
                    first.again()
                })
            })
            .collect()
    }
}
