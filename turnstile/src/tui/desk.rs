//! Carries out what the guard asks for, on a thread of its own beside the scan loop: a PIN takes
//! tens of milliseconds to check, and no visitor waits for it. What opens the gate goes to the
//! scan loop with its record on disk.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use stile_core::device::{
    Device, FreePassageError, HandOver, OrderTicket, OverrideAsked, Say, ScanOutcome, SignedIn,
    TicketFound,
};
use stile_core::ids::{OrderNumber, RecordId, TicketId};
use stile_core::record::{Denied, FreePassageCause, Mode};
use stile_core::ticket::Direction;
use stile_core::verdict::{Admission, Verdict};

use super::acts::{Act, Answer, Counts, Event, Row, Trouble, TroubleSort, Waiving};
use super::guard::{Guard, Way};
use super::phrases;
use super::said;
use super::state::States;
use crate::relay::Promised;
use crate::scanner::{Decided, Input, Inputs};
use crate::words::{Sentence, Words};

/// How often the screen is told how the gate is.
const STATE_EVERY: Duration = Duration::from_secs(1);
/// Records of a kind in the list of those that want a person: what somebody can look through.
const MOST_TROUBLES: usize = 100;

/// What the guard's acts are carried out with.
pub struct Desk {
    /// Decides and keeps.
    pub device: Arc<Device>,
    /// Puts verdicts into words.
    pub words: Words,
    /// Shared with the scan loop.
    pub guard: Arc<Guard>,
    /// The scan loop's queue, for what opens the gate.
    pub inputs: Inputs,
    /// Openings that wait, for what ends them.
    pub promised: Promised,
    /// The screen.
    pub tell: Arc<dyn Fn(Event) + Send + Sync>,
    /// Wakes the upload of a new record that no gate waits for.
    pub on_record: Box<dyn Fn() + Send>,
}

impl Desk {
    /// Carries out acts until nobody asks any more, and says every second how the gate is.
    pub fn run(self, acts: &Receiver<Act>) {
        let mut states = States::default();
        let mut say_state = || (self.tell)(Event::State(Box::new(states.of(&self.device))));
        let mut due = Instant::now();
        loop {
            let now = Instant::now();
            if now >= due {
                due = now + STATE_EVERY;
                say_state();
            }
            match acts.recv_timeout(due.saturating_duration_since(now)) {
                Ok(act) => {
                    if let Some(answer) = self.carry_out(act) {
                        (self.tell)(Event::Answer(answer));
                        say_state();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn carry_out(&self, act: Act) -> Option<Answer> {
        Some(match act {
            Act::More { of, persons } => self.more(of, persons),
            Act::NextPersons(persons) => {
                self.guard.set_next_persons(persons);
                Answer::Done(phrases::SAY_NEXT_PERSONS.sentence())
            }
            Act::DoesNotMatch(of) => {
                let undone = self.device.does_not_match(of);
                self.undone(of, undone, true)
            }
            Act::Undo { of, why } => {
                let undone = self.device.undo(of, &why);
                self.undone(of, undone, false)
            }
            Act::Override(waiving) => self.overriding(&waiving),
            Act::LookUp { text, name } => self.look_up(&text, &name),
            Act::Order(order) => self.order(order),
            Act::Admit { tickets, order } => self.admit(tickets, order),
            Act::WalkIn {
                direction,
                persons,
                category,
            } => self.walk_in(direction, persons, &category),
            Act::SignIn { operator, pin } => match self.device.sign_in_by_pin(&operator, &pin.0) {
                Ok(signed_in) => Answer::Done(said::signed_in(&signed_in)),
                Err(error) => Answer::Failed(said::operator_error(&error)),
            },
            Act::AwaitBadge(awaits) => {
                self.guard.await_badge(awaits);
                return None;
            }
            Act::HandOver => match self.device.hand_over() {
                Ok(handed) => Answer::HandOver(Box::new(counts(handed))),
                Err(error) => Answer::Failed(said::operator_error(&error)),
            },
            Act::SignOut => match self.device.sign_out() {
                Ok(handed) => Answer::SignedOut(Box::new(counts(handed))),
                Err(error) => Answer::Failed(said::operator_error(&error)),
            },
            Act::Practice(practice) => match self.device.set_practice(practice) {
                Ok(()) if practice => Answer::Done(match self.device.free_passage() {
                    Some(_) => phrases::PRACTICE_OPEN.sentence(),
                    None => phrases::PRACTICE.sentence(),
                }),
                Ok(()) => Answer::Done(phrases::SAY_PRACTICE_ENDED.sentence()),
                Err(error) => failed(&error),
            },
            Act::FreePassage(why) => self.free_passage(why),
            Act::SetClock { pin, to, why } => match self.device.set_clock(&pin.0, to, &why) {
                Ok(_) => self.recorded(phrases::SAY_CLOCK_SET.sentence()),
                Err(error) => Answer::Failed(said::clock_error(&error, &self.words)),
            },
            Act::Troubles => self.troubles(),
            Act::Quit => {
                self.promised.stop();
                self.inputs.put(Input::Stop);
                return None;
            }
        })
    }

    /// A record without an opening is written: it is to go up.
    fn recorded(&self, sentence: Sentence) -> Answer {
        (self.on_record)();
        Answer::Done(sentence)
    }

    /// Sends to the scan loop what opens the gate or is to be seen; its record is on disk.
    fn decided(&self, outcome: ScanOutcome) -> Answer {
        let asked_at = Instant::now();
        // A scan loop that has ended shuts the gate, and the screen with it.
        self.inputs
            .put(Input::Decided(Box::new(Decided { outcome, asked_at })));
        Answer::Judged
    }

    fn more(&self, of: RecordId, persons: u8) -> Answer {
        let say = Say {
            persons: Some(persons),
            one_more: true,
        };
        let Some(way) = self.guard.way_of(of) else {
            return Answer::Failed(phrases::SAY_NEW_READING.sentence());
        };
        let outcome = match &way {
            Way::Reading(reading) => self.device.scan_as(reading, say),
            Way::Ticket(ticket) => self.device.admit_ticket(ticket, None, say),
        };
        self.guard.saw(&outcome, way);
        self.decided(outcome)
    }

    fn undone(
        &self,
        of: RecordId,
        undone: Result<stile_core::device::Undone, stile_core::journal::JournalError>,
        mismatch: bool,
    ) -> Answer {
        match undone {
            Ok(undone) => {
                (self.on_record)();
                match undone.denied {
                    None => {
                        self.promised.take_back(of);
                        Answer::TakenBack { of, mismatch }
                    }
                    Some(denied) => Answer::Failed(said::denied(denied)),
                }
            }
            Err(error) => failed(&error),
        }
    }

    fn overriding(&self, waiving: &Waiving) -> Answer {
        let overridden = self.device.override_refusal(&OverrideAsked {
            of: waiving.of,
            pin: &waiving.pin.0,
            why: &waiving.why,
            waive: &waiving.waived,
            persons: None,
        });
        match (overridden.denied, &overridden.outcome.verdict) {
            (None, _) => self.decided(overridden.outcome),
            (Some(Denied::FurtherReason), Verdict::Refuse(refusal)) => {
                (self.on_record)();
                let sentence = self.words.refused(refusal, overridden.outcome.now.at);
                Answer::Further(refusal.reason, sentence)
            }
            (Some(denied), _) => {
                (self.on_record)();
                Answer::Failed(match &overridden.pin_error {
                    Some(error) => said::operator_error(error),
                    None => said::denied(denied),
                })
            }
        }
    }

    fn look_up(&self, text: &str, name: &str) -> Answer {
        match self.device.look_up(text, name) {
            Ok(looked_up) => Answer::Found {
                rows: looked_up.found.iter().map(row).collect(),
                more: looked_up.more,
            },
            Err(error) => Answer::Failed(said::look_up_error(&error)),
        }
    }

    fn order(&self, order: OrderNumber) -> Answer {
        match self.device.look_up_order(&order) {
            Ok(whole) => Answer::Order {
                order,
                rows: whole.found.iter().map(row).collect(),
                more: whole.more,
            },
            Err(error) => Answer::Failed(said::look_up_error(&error)),
        }
    }

    fn admit(&self, tickets: Vec<(TicketId, u8)>, order: Option<OrderNumber>) -> Answer {
        let persons = |persons| Say {
            persons: Some(persons),
            one_more: true,
        };
        let outcomes = match &order {
            None => {
                let admit = |(ticket, n): &(TicketId, u8)| {
                    self.device.admit_ticket(ticket, None, persons(*n))
                };
                tickets.iter().map(admit).collect()
            }
            Some(order) => {
                let asked: Vec<_> = tickets.iter().map(order_ticket).collect();
                self.device.admit_order(order, &asked)
            }
        };
        let mut answered: Vec<_> = tickets.into_iter().zip(outcomes).collect();
        // Who is refused stands on the screen at the end, whatever the order of the tickets.
        answered.sort_by_key(|(_, outcome)| matches!(outcome.verdict, Verdict::Refuse(_)));
        for ((ticket, _), outcome) in answered {
            self.guard.saw(&outcome, Way::Ticket(ticket));
            self.decided(outcome);
        }
        Answer::Judged
    }

    fn walk_in(&self, direction: Direction, persons: u8, category: &str) -> Answer {
        let walked_in = match self.device.walk_in(persons, category, Some(direction)) {
            Ok(walked_in) => walked_in,
            Err(error) => return Answer::Failed(said::walk_in_error(&error)),
        };
        self.decided(ScanOutcome {
            verdict: Verdict::Admit(Admission {
                persons,
                remaining: 0,
                flags: Vec::new(),
            }),
            opens: walked_in.opens,
            passages: walked_in.passages,
            repeat: false,
            resumed: false,
            free_passage: false,
            record_id: walked_in.record_id,
            repeats: None,
            walk_in: Some(category.to_owned()),
            format: None,
            ticket: None,
            list_age_ms: None,
            mode: Mode::Isolated,
            claim: None,
            now: self.device.time(),
            decision_us: 0,
        })
    }

    fn free_passage(&self, why: Option<String>) -> Answer {
        let cause = FreePassageCause::Staff;
        let done = match &why {
            Some(why) => self.device.begin_free_passage(cause, why),
            None => self.device.end_free_passage(cause).map(|_| ()),
        };
        // The scan loop moves the relay to what the device says.
        self.inputs.put(Input::FreePassage);
        match (done, why) {
            (Ok(()), Some(_)) => self.recorded(phrases::FREE_PASSAGE.sentence()),
            (Ok(()), None) => self.recorded(phrases::SAY_FREE_ENDED.sentence()),
            (Err(FreePassageError::Practice), _) => {
                Answer::Failed(phrases::SAY_PRACTICE_STAYS_SHUT.sentence())
            }
            (Err(error), _) => failed(&error),
        }
    }

    fn troubles(&self) -> Answer {
        let conflicts = match self.device.conflicts() {
            Ok(conflicts) => conflicts,
            Err(error) => return failed(&error),
        };
        let set_aside = match self.device.set_aside(MOST_TROUBLES) {
            Ok(set_aside) => set_aside,
            Err(error) => return failed(&error),
        };
        let conflicts = conflicts
            .into_iter()
            .take(MOST_TROUBLES)
            .map(|one| Trouble {
                sort: TroubleSort::Conflict,
                at: one.admission.at,
                kind: "scan".into(),
                of: match one.ticket_id {
                    Some(ticket_id) => ticket_id.to_string(),
                    None => one.admission.record_id.to_string(),
                },
            });
        let set_aside = set_aside.into_iter().map(said::set_aside);
        Answer::Troubles(conflicts.chain(set_aside).collect())
    }
}

fn failed(error: &dyn std::error::Error) -> Answer {
    Answer::Failed(said::storage(error))
}

fn order_ticket((ticket_id, persons): &(TicketId, u8)) -> OrderTicket {
    OrderTicket {
        ticket_id: ticket_id.clone(),
        persons: Some(*persons),
    }
}

fn row(found: &TicketFound) -> Row {
    Row {
        ticket: found.ticket_id.clone(),
        order: found.order_number.clone(),
        shown: found.shown.clone(),
        service_day: found.service_day.clone(),
        status: found.status,
        standing: found.standing.clone(),
        remaining: found.remaining,
    }
}

fn counts(handed: HandOver) -> Counts {
    Counts {
        operator: name_of(&handed.signed_in),
        since: handed.signed_in.since,
        admitted: handed.tally.admitted,
        walk_ins: handed.tally.walk_ins,
        refused: handed.tally.refused.into_iter().collect(),
        undone: handed.tally.undone,
        overrides: handed.tally.overrides,
    }
}

/// What people call an operator; else the id.
pub fn name_of(signed_in: &SignedIn) -> String {
    match signed_in.name.as_str() {
        "" => signed_in.operator_id.to_string(),
        name => name.to_owned(),
    }
}
