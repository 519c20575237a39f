//! The rule of repeats: a ticket read again within three seconds of its first reading shows the
//! first answer. Firmware sends a code twice, a phone is not taken away.

use super::judging::{Found, Prepared};
use super::scan::ScanOutcome;
use crate::clock::Moment;
use crate::codes;
use crate::ids::{RecordId, TicketNumber};
use crate::policy::Party;
use crate::reason::Reason;
use crate::ticket::Direction;
use crate::verdict::{Judged, Verdict};

/// Readings of the same ticket within this are one, in ms, from the first of them.
const REPEAT_MS: i64 = 3_000;
/// Most readings that are remembered: far more than a gate takes in three seconds.
const REMEMBERED: usize = 64;

/// A reading that was answered just now.
struct Answered {
    /// The text after clean-up; none of a look-up.
    text: Option<Vec<u8>>,
    /// The ticket, if the code was genuine.
    ticket: Option<TicketNumber>,
    /// The ticket as the list had it, so that a change of it is noticed.
    found: Option<Found>,
    moment: Moment,
    outcome: ScanOutcome,
    gate_closed: bool,
}

/// The readings of the last three seconds.
#[derive(Default)]
pub(super) struct Recent(Vec<Answered>);

impl Recent {
    /// Remembers a reading that was judged.
    pub fn remember(
        &mut self,
        prepared: &Prepared,
        genuine: bool,
        outcome: &ScanOutcome,
        moment: Moment,
    ) {
        let ticket = prepared.ticket_number().filter(|_| genuine);
        let text = text_of(prepared);
        // Its three seconds begin anew, since it was judged anew.
        self.0.retain(|one| {
            is_young(one, moment)
                && match ticket {
                    Some(_) => one.ticket != ticket,
                    None => one.ticket.is_some() || one.text != text,
                }
        });
        if self.0.len() == REMEMBERED {
            self.0.remove(0);
        }
        self.0.push(Answered {
            text,
            ticket,
            found: prepared.found().filter(|_| genuine).cloned(),
            moment,
            outcome: outcome.clone(),
            gate_closed: false,
        });
    }

    /// The gate has closed behind what was admitted.
    pub fn gate_closed(&mut self) {
        for one in &mut self.0 {
            one.gate_closed = true;
        }
    }

    /// Something happened to the ticket: its next reading is judged anew.
    pub fn forget(&mut self, ticket: TicketNumber) {
        self.0.retain(|one| one.ticket != Some(ticket));
    }

    /// Something happened to what a record says.
    pub fn forget_record(&mut self, record: RecordId) {
        self.0.retain(|one| one.outcome.record_id != Some(record));
    }

    /// Every next reading is judged anew.
    pub fn forget_all(&mut self) {
        self.0.clear();
    }

    /// The first answer again, if this reading is a repeat.
    pub fn repeat_of(
        &self,
        prepared: &Prepared,
        judged: &Judged,
        moment: Moment,
    ) -> Option<ScanOutcome> {
        let text = text_of(prepared);
        let number = prepared.ticket_number().filter(|_| judged.genuine);
        let same = |one: &&Answered| match one.ticket {
            // A code that names several tickets is the same text, whichever is chosen now.
            Some(ticket) => {
                let names_it = || {
                    let mut named = prepared.candidates.iter();
                    named.any(|found| found.ticket.number == ticket)
                };
                number == Some(ticket) || (text.is_some() && one.text == text && names_it())
            }
            None => number.is_none() && text.is_some() && one.text == text,
        };
        let first = self.0.iter().rfind(same)?;
        let unchanged = match (&first.found, first.ticket) {
            (Some(before), _) => prepared.candidates.iter().any(|now| now.is_as(before)),
            (None, Some(_)) => prepared.candidates.is_empty(),
            (None, None) => true,
        };
        if !(is_young(first, moment) && unchanged) || is_judged_anew(first, prepared, judged) {
            return None;
        }
        let again = first.outcome.clone().again();
        // An exit opens as often as it is asked; only the count is not repeated.
        let opens = first.outcome.opens && prepared.gate.direction == Direction::Out;
        let passages = if opens { first.outcome.passages } else { 0 };
        Some(ScanOutcome {
            opens,
            passages,
            ..again
        })
    }
}

fn is_young(one: &Answered, moment: Moment) -> bool {
    let age = moment.boot_ms.saturating_sub(one.moment.boot_ms);
    one.moment.boot_id == moment.boot_id && (0..REPEAT_MS).contains(&age)
}

/// Whether the rule does not hold for the first answer.
fn is_judged_anew(first: &Answered, prepared: &Prepared, judged: &Judged) -> bool {
    let admission = match &first.outcome.verdict {
        Verdict::Refuse(refusal) => {
            return matches!(
                refusal.reason,
                Reason::TooEarly | Reason::CodeNotYetValid | Reason::StoreUnavailable
            );
        }
        Verdict::Admit(admission) => admission,
    };
    // The arm has closed behind the first of a party: this is the next.
    let party = prepared.policy.at(&prepared.gate).party;
    let of_another_ticket = matches!(judged.verdict, Verdict::Admit(_))
        && judged.genuine
        && prepared.ticket_number() != first.ticket;
    prepared.gate.unattended
        && party == Party::OneByOne
        && first.gate_closed
        && (admission.remaining > 0 || of_another_ticket)
}

fn text_of(prepared: &Prepared) -> Option<Vec<u8>> {
    let reading = prepared.reading()?;
    Some(codes::clean(reading).map_or_else(|_| reading.to_vec(), |text| text.as_bytes().to_vec()))
}
