//! One reading, from bytes to a durable answer.

use std::sync::MutexGuard;

use super::judging::{Asking, Found, Input, Prepared};
use super::{Device, Door};
use crate::clock::{Moment, Now, Trust};
use crate::codes::{self, Code, Malformed};
use crate::fault;
use crate::ids::{LastFour, RecordId, TicketNumber};
use crate::policy::V1Key;
use crate::reason::Reason;
use crate::record::{ClaimOutcome, Mode, What};
use crate::ticket::{Direction, Session, Ticket};
use crate::time::EpochMillis;
use crate::verdict::{Admission, Judged, Tried, Verdict, explain};
use crate::whitelist::ListError;

/// What came of a reading. An admission's record is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanOutcome {
    /// The verdict. While [`free_passage`](Self::free_passage) lasts nothing is judged, and this
    /// admits nobody in particular.
    pub verdict: Verdict,
    /// Whether the gate is to be opened: an admission that is no repeat.
    pub opens: bool,
    /// Persons whom the gate is to let pass when it opens.
    pub passages: u8,
    /// The same ticket was read just before: the first answer again, with another sound.
    pub repeat: bool,
    /// An admission from before a crash is carried out now; nobody further is admitted.
    pub resumed: bool,
    /// The gate stands open for everybody: the reading was not judged and is not recorded.
    pub free_passage: bool,
    /// The record, unless it is a repeat or could not be written.
    pub record_id: Option<RecordId>,
    /// Of a repeat, the record of the reading that it repeats: what staff do, they do about that.
    pub repeats: Option<RecordId>,
    /// Of persons without a ticket, what they are.
    pub walk_in: Option<String>,
    /// The code's format, unless it has none of the shapes or was looked up.
    pub format: Option<codes::Format>,
    /// The ticket, once the code is verified.
    pub ticket: Option<TicketShown>,
    /// Of an admission whose ticket is in no list: the list's age in ms, where it is worth showing.
    pub list_age_ms: Option<i64>,
    /// Whether server or hub could be asked.
    pub mode: Mode,
    /// What they said to the claim, if one was made.
    pub claim: Option<ClaimOutcome>,
    /// The time that it was decided by.
    pub now: Now,
    /// From the reading to the verdict, in µs, with the claim if one was made; the record is
    /// written after that.
    pub decision_us: u32,
}

/// What the guard reads of a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketShown {
    /// The ticket.
    pub number: TicketNumber,
    /// Seat or the like.
    pub label: String,
    /// The holder's name, masked.
    pub holder_mask: String,
    /// Last four digits, to compare.
    pub last_four: Option<LastFour>,
    /// Persons that it admits in all.
    pub admits: u8,
    /// What to look at.
    pub attention: String,
    /// What people call its session; else the session's id.
    pub session: String,
}

impl ScanOutcome {
    /// The first answer again: shown, with another sound, and nothing else happens.
    pub(super) fn again(self) -> Self {
        Self {
            opens: false,
            passages: 0,
            repeat: true,
            resumed: false,
            record_id: None,
            repeats: self.record_id,
            ..self
        }
    }
}

impl TicketShown {
    pub(super) fn of(ticket: &Ticket, session: Option<&Session>) -> Self {
        let name = session.map(|session| session.name.clone());
        Self {
            number: ticket.number,
            label: ticket.label.clone(),
            holder_mask: ticket.holder_mask.clone(),
            last_four: ticket.last_four,
            admits: ticket.admits,
            attention: ticket.attention.clone(),
            session: name
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| ticket.session_id.to_string()),
        }
    }
}

/// What staff say with a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Say {
    /// How many persons are to enter; without it, as the venue's policy has it.
    pub persons: Option<u8>,
    /// "One more person": the same ticket just before was no repeat.
    pub one_more: bool,
}

/// What a gate would answer, and how it comes to it. Nothing is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// Why the text is no code, if it is none.
    pub malformed: Option<Malformed>,
    /// The format, if it is one.
    pub format: Option<codes::Format>,
    /// The time asked about.
    pub now: Now,
    /// Each row that was tried, what it looked at, and whether it refused.
    pub rows: Vec<Tried>,
    /// The answer.
    pub verdict: Verdict,
    /// The ticket, once the code is verified.
    pub ticket: Option<TicketShown>,
}

/// When something at the door began, and the time that it is decided by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    /// In µs of the platform.
    pub started: u64,
    /// What the clocks showed.
    pub moment: Moment,
    /// The time to decide by.
    pub now: Now,
}

impl Device {
    /// Judges a reading, writes its record, and answers. When it says `opens`, the check-in is on
    /// disk. Never panics and never fails: what goes wrong is a refusal.
    pub fn scan(&self, reading: &[u8]) -> ScanOutcome {
        self.scan_as(reading, Say::default())
    }

    /// The same, with what staff say to it.
    pub fn scan_as(&self, reading: &[u8], say: Say) -> ScanOutcome {
        self.admit(Input::Reading(reading.to_vec()), say)
    }

    /// Takes the door to decide by the time that it is now, and keeps the plan of free passage. The
    /// error is the answer to everything while the gate stands open for everybody.
    pub(super) fn at_door(&self) -> Result<(MutexGuard<'_, Door>, Begun), Box<ScanOutcome>> {
        let started = self.platform.micros();
        let moment = self.platform.moment();
        let mut door = self.door();
        let now = door.clock.now(moment);
        self.keep_schedule_of(&mut door, now);
        if door.is_held_open() {
            let freely = self.passes_freely(&door, now, self.micros_since(started));
            return Err(Box::new(freely));
        }
        let begun = Begun {
            started,
            moment,
            now,
        };
        Ok((door, begun))
    }

    /// A reading or a look-up, to its answer.
    pub(super) fn admit(&self, input: Input, say: Say) -> ScanOutcome {
        let (mut door, begun) = match self.at_door() {
            Ok(at_door) => at_door,
            Err(freely) => return *freely,
        };
        let (door, moment, now) = (&mut *door, begun.moment, begun.now);
        if let Some(resumed) = self.resume(door, &input, now, begun.started) {
            return resumed;
        }
        let asking = Asking {
            persons: say.persons,
            ..Asking::plain(&input)
        };
        fault::point("scan: read");
        let Ok((prepared, judged)) = self.judge(door, &asking, now) else {
            return self.cannot_store(door, now, self.micros_since(begun.started));
        };
        fault::point("scan: judged");
        if let Some(repeat) = door.recent.repeat_of(&prepared, &judged, moment)
            && !say.one_more
        {
            door.repeats += 1;
            // What is shown is what a supervisor may waive.
            door.remember_refused(prepared.input, &repeat, moment);
            return repeat;
        }
        hear_code(door, &prepared, judged.genuine, now);
        let id = self.new_id(now);
        let decided = self.decide(door, &prepared, judged, &[], (id, 0));
        fault::point("scan: decided");
        let decision_us = self.micros_since(begun.started);
        let scan = self.scan_of(door, &prepared, &decided, decision_us);
        let record = self.record(door, 0, id, &prepared.gate, now, What::Scan(scan));
        let outcome = self.keep(door, &prepared, &decided, &record, decision_us);
        door.recent
            .remember(&prepared, decided.genuine, &outcome, moment);
        door.remember_refused(prepared.input, &outcome, moment);
        outcome
    }

    /// The gate has closed behind the last admission: at an unattended gate the next reading of
    /// the same ticket is the next person of its party.
    pub fn gate_closed(&self) {
        self.door().recent.gate_closed();
    }

    /// The verdict on a reading now, and nothing else: changes nothing and asks nobody.
    pub fn verdict(&self, reading: &[u8]) -> Result<Verdict, ListError> {
        let mut door = self.door();
        let now = door.clock.look(self.platform.moment());
        let (_, judged) = self.look(&mut door, reading, now)?;
        Ok(judged.verdict)
    }

    /// Whether a reading is a code of this venue for certain: signed with its keys, or in its list.
    /// Where another was cut off just before, anything else may be the rest of that one, which is
    /// no visitor's fault; that also goes for a code that only the server could verify.
    pub fn is_certain(&self, reading: &[u8]) -> bool {
        let mut door = self.door();
        let now = door.clock.look(self.platform.moment());
        // What cannot be judged now is left to the scan, which says why.
        let judged = self.look(&mut door, reading, now);
        judged.map_or(true, |(prepared, judged)| {
            let asks = matches!(prepared.code(), Some(Code::V1(_)))
                && prepared.policy.v1_key == V1Key::Shared;
            judged.genuine && !asks
        })
    }

    /// What the gate would answer to a reading, now or at a time, and how it comes to it.
    /// Changes nothing and asks nobody.
    pub fn explain(&self, reading: &[u8], at: Option<EpochMillis>) -> Result<Explained, ListError> {
        let mut door = self.door();
        let mut now = door.clock.look(self.platform.moment());
        if let Some(at) = at {
            now = Now {
                at,
                u_ms: 0,
                trust: Trust::Anchored,
            };
        }
        let (prepared, _) = self.look(&mut door, reading, now)?;
        let (
            Judged {
                verdict, genuine, ..
            },
            rows,
        ) = explain(&prepared.question(&door.keys, &[]));
        Ok(Explained {
            malformed: prepared
                .code
                .as_ref()
                .and_then(|code| code.as_ref().err())
                .cloned(),
            format: prepared.format(),
            now,
            rows,
            verdict,
            ticket: prepared.found().filter(|_| genuine).map(Found::shown),
        })
    }

    /// Judges a reading at a time. Changes nothing and asks nobody.
    fn look(
        &self,
        door: &mut Door,
        reading: &[u8],
        now: Now,
    ) -> Result<(Prepared, Judged), ListError> {
        let input = Input::Reading(reading.to_vec());
        let asking = Asking {
            may_ask: false,
            ..Asking::plain(&input)
        };
        self.judge(door, &asking, now)
    }

    pub(super) fn micros_since(&self, started: u64) -> u32 {
        let micros = self.platform.micros().saturating_sub(started);
        u32::try_from(micros).unwrap_or(u32::MAX)
    }

    /// The answer where the journal or a list cannot even be read.
    pub(super) fn cannot_store(&self, door: &mut Door, now: Now, decision_us: u32) -> ScanOutcome {
        door.unlogged += 1;
        let is_exit = self.gate(door.list_for(now.at)).direction == Direction::Out;
        let verdict = match is_exit {
            true => Verdict::Admit(Admission {
                persons: 1,
                remaining: 0,
                flags: Vec::new(),
            }),
            false => Verdict::Refuse(Reason::StoreUnavailable.into()),
        };
        ScanOutcome {
            opens: is_exit,
            passages: 1,
            ..self.unjudged(verdict, now, decision_us)
        }
    }

    /// An answer that speaks of no ticket.
    pub(super) fn unjudged(&self, verdict: Verdict, now: Now, decision_us: u32) -> ScanOutcome {
        ScanOutcome {
            verdict,
            opens: false,
            passages: 0,
            repeat: false,
            resumed: false,
            free_passage: false,
            record_id: None,
            repeats: None,
            walk_in: None,
            format: None,
            ticket: None,
            list_age_ms: None,
            mode: match self.is_reachable() {
                true => Mode::Online,
                false => Mode::Isolated,
            },
            claim: None,
            now,
            decision_us,
        }
    }
}

/// While the clock is unanchored, a verified code's issue time says how late it is at least.
fn hear_code(door: &mut Door, prepared: &Prepared, genuine: bool, now: Now) {
    if let (Some(Code::G2(code)), true) = (prepared.code(), genuine) {
        let issued_at = code.payload().issued_at.millis();
        let list_issued_at = door.newest_list_issued_at();
        door.clock.hear_code(issued_at, list_issued_at, now);
    }
}

/// A refused reading, for a supervisor to waive.
pub(super) struct Refused {
    pub input: Input,
    pub record_id: Option<RecordId>,
    pub reason: Reason,
    pub now: Now,
    pub moment: Moment,
}

impl Door {
    /// Remembers the last refused reading, with the record of the first if it is a repeat; an
    /// admission that comes after it changes nothing.
    pub(super) fn remember_refused(&mut self, input: Input, outcome: &ScanOutcome, moment: Moment) {
        if let Verdict::Refuse(refusal) = &outcome.verdict {
            self.refused = Some(Refused {
                input,
                record_id: outcome.record_id.or(outcome.repeats),
                reason: refusal.reason,
                now: outcome.now,
                moment,
            });
        }
    }
}
