//! One reading, from bytes to a durable answer.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{Device, Door};
use crate::admissions::{Fold, Way, fold};
use crate::clock::{BootId, Moment, Now};
use crate::codes::{self, Code, Malformed};
use crate::ids::{Checkpoint, RecordId, TicketNumber};
use crate::journal::Moved;
use crate::policy::Policy;
use crate::reason::Reason;
use crate::record::{Answer, Flag, Mode, Record, Scan, Via, What};
use crate::ticket::{Direction, Gate, Reentry, Session, Standing, Ticket};
use crate::time::EpochMillis;
use crate::verdict::{
    Admission, Asked, Day, Judged, Listed, Question, Tried, Verdict, explain, verdict,
};
use crate::whitelist::{HeldList, ListError};

/// The same ticket read again within this is one reading, in ms: firmware that sends a code
/// twice, a phone that is not taken away.
const REPEAT_MS: i64 = 3_000;

/// What came of a reading. An admission's record is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanOutcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the gate is to be opened: an admission that is no repeat.
    pub opens: bool,
    /// The same ticket was read just before: the first answer again, with another sound.
    pub repeat: bool,
    /// The record, unless it is a repeat or could not be written.
    pub record_id: Option<RecordId>,
    /// The code's format, unless it has none of the shapes.
    pub format: Option<codes::Format>,
    /// The ticket, once the code is verified.
    pub ticket: Option<TicketShown>,
    /// The time that it was decided by.
    pub now: Now,
    /// From the reading to the verdict, in µs; the record is written after that.
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
    pub last_four: Option<crate::ids::LastFour>,
    /// Persons that it admits in all.
    pub admits: u8,
    /// What to look at.
    pub attention: String,
    /// What people call its session; else the session's id.
    pub session: String,
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

/// The reading before, for the rule of repeats.
pub(super) struct LastReading {
    text: Vec<u8>,
    ticket: Option<TicketNumber>,
    boot_ms: i64,
    boot_id: BootId,
    outcome: ScanOutcome,
    gate_closed: bool,
}

/// A ticket as a held list has it.
struct Found {
    ticket: Ticket,
    session: Option<Arc<Session>>,
    day: Arc<Day>,
}

/// A question's parts.
struct Prepared {
    code: Result<Code, Malformed>,
    found: Option<Found>,
    admissions: Fold,
    policy: Arc<Policy>,
    gate: Arc<Gate>,
    list: Option<Arc<Day>>,
    now: Now,
    reachable: bool,
}

impl Prepared {
    fn question<'a>(&'a self, keys: &'a crate::key_manifest::KeyRing) -> Question<'a> {
        Question {
            asked: self.code.as_ref().map_or(Asked::NoCode, Asked::Code),
            server_says_genuine: None,
            keys,
            policy: &self.policy,
            gate: &self.gate,
            list: self.list.as_deref(),
            listed: self.found.as_ref().map(|found| Listed {
                ticket: &found.ticket,
                session: found.session.as_deref(),
                day: &found.day,
            }),
            admissions: &self.admissions,
            persons: 1,
            reachable: self.reachable,
            now: self.now,
            read_at: self.now,
            waived: &[],
        }
    }

    fn shown(&self) -> Option<TicketShown> {
        let Found {
            ticket, session, ..
        } = self.found.as_ref()?;
        Some(TicketShown::of(ticket, session.as_deref()))
    }

    /// The ticket's number, if the code is a genuine one that names it.
    fn ticket_number(&self) -> Option<TicketNumber> {
        let listed = self.found.as_ref().map(|found| found.ticket.number);
        let said = self.code.as_ref().ok().and_then(Code::payload);
        listed.or(said.map(|payload| payload.ticket_number))
    }
}

impl Device {
    /// Judges a reading, writes its record, and answers. When it says `opens`, the check-in is on
    /// disk. Never panics and never fails: what goes wrong is a refusal.
    pub fn scan(&self, reading: &[u8]) -> ScanOutcome {
        let started = self.platform.micros();
        let moment = self.platform.moment();
        let mut door = self.door();
        let now = door.clock.now(moment);
        let prepared = match self.prepare(&door, reading, now) {
            Ok(prepared) => prepared,
            Err(_) => return self.cannot_store(&mut door, now, self.micros_since(started)),
        };
        let keys = std::sync::Arc::clone(&door.keys);
        let question = prepared.question(&keys);
        let Judged {
            verdict, genuine, ..
        } = verdict(&question);
        if let Some(repeat) = door.repeat_of(reading, &prepared, genuine, moment) {
            door.repeats += 1;
            return repeat;
        }
        if let (Ok(Code::G2(code)), true) = (&prepared.code, genuine) {
            let issued_at = code.payload().issued_at.millis();
            let list_issued_at = door.newest_list_issued_at();
            door.clock.hear_code(issued_at, list_issued_at, now);
        }
        let decision_us = self.micros_since(started);
        let outcome = self.keep(&mut door, &prepared, verdict, genuine, decision_us);
        door.last = Some(LastReading {
            text: reading.to_vec(),
            ticket: prepared.ticket_number().filter(|_| genuine),
            boot_ms: moment.boot_ms,
            boot_id: moment.boot_id,
            outcome: outcome.clone(),
            gate_closed: false,
        });
        outcome
    }

    /// The gate has closed behind the last admission: at an unattended gate the next reading of
    /// the same ticket is the next person of its party.
    pub fn gate_closed(&self) {
        if let Some(last) = &mut self.door().last {
            last.gate_closed = true;
        }
    }

    /// What the gate would answer to a reading, now or at a time, and how it comes to it.
    /// Changes nothing.
    pub fn explain(&self, reading: &[u8], at: Option<EpochMillis>) -> Result<Explained, ListError> {
        let mut door = self.door();
        let mut now = door.clock.look(self.platform.moment());
        if let Some(at) = at {
            now = Now {
                at,
                u_ms: 0,
                trust: crate::clock::Trust::Anchored,
            };
        }
        let prepared = self.prepare(&door, reading, now)?;
        let question = prepared.question(&door.keys);
        let (
            Judged {
                verdict, genuine, ..
            },
            rows,
        ) = explain(&question);
        Ok(Explained {
            malformed: prepared.code.as_ref().err().cloned(),
            format: prepared.code.as_ref().ok().map(Code::format),
            now,
            rows,
            verdict,
            ticket: prepared.shown().filter(|_| genuine),
        })
    }

    /// The gate as a list has it; without one, as it was when the device was enrolled. One that
    /// the device may not serve is neither, and opens nothing without a list.
    pub(super) fn gate(&self, list: Option<&HeldList>) -> Arc<Gate> {
        if let Some(gate) = list.and_then(|list| list.gate(&self.gate_id)) {
            return Arc::clone(gate);
        }
        let mut gates = self.identity.gates.iter();
        let enrolled = gates.find(|gate| gate.gate_id == self.gate_id).cloned();
        Arc::new(enrolled.unwrap_or_else(|| Gate {
            gate_id: self.gate_id.clone(),
            name: String::new(),
            direction: Direction::In,
            checkpoint: Checkpoint::default(),
            zones: Vec::new(),
            unattended: true,
        }))
    }

    fn prepare(&self, door: &Door, reading: &[u8], now: Now) -> Result<Prepared, ListError> {
        let list = door.list_for(now.at);
        let policy = list.map_or_else(Arc::default, |list| Arc::clone(list.policy()));
        let gate = self.gate(list);
        let code = codes::parse(reading, &policy.shapes());
        let found = match &code {
            Ok(code) => self.find(door, code, now.at)?,
            Err(_) => None,
        };
        let list = list.map(|list| Arc::clone(list.day()));
        let admissions = self.admissions(
            door,
            &code,
            found.as_ref(),
            &gate.checkpoint,
            list.as_deref(),
        )?;
        Ok(Prepared {
            code,
            found,
            admissions,
            policy,
            gate,
            list,
            now,
            reachable: self.is_reachable(),
        })
    }

    /// The ticket that a code names, in any held list.
    fn find(&self, door: &Door, code: &Code, now: EpochMillis) -> Result<Option<Found>, ListError> {
        let mut found = Vec::new();
        for list in &door.lists {
            let tickets = match code {
                Code::V1(code) => list.by_id(code.ticket_id())?.into_iter().collect(),
                Code::G2(_) | Code::G3(_) => match code.payload() {
                    // A sister venue's number may be one of ours by chance.
                    Some(payload) if payload.venue_number == self.identity.venue_number => {
                        list.by_number(payload.ticket_number)?.into_iter().collect()
                    }
                    _ => Vec::new(),
                },
                Code::Opaque(code) => list.by_opaque(&code.hash(&self.identity.venue_id))?,
                Code::Document(document) => list.by_document(document)?,
            };
            found.extend(tickets.into_iter().map(|ticket| Found {
                session: list.session(&ticket.session_id).cloned(),
                day: Arc::clone(list.day()),
                ticket,
            }));
        }
        Ok(choose(found, now))
    }

    fn admissions(
        &self,
        door: &Door,
        code: &Result<Code, Malformed>,
        found: Option<&Found>,
        checkpoint: &Checkpoint,
        list: Option<&Day>,
    ) -> Result<Fold, ListError> {
        let said = code.as_ref().ok().and_then(Code::payload);
        let (number, admits, reentry, day) = match (found, said, list) {
            (
                Some(Found {
                    ticket,
                    session,
                    day,
                }),
                ..,
            ) => {
                let reentry = session.as_ref().map(|session| session.reentry);
                (
                    ticket.number,
                    ticket.admits,
                    reentry.unwrap_or_default(),
                    &**day,
                )
            }
            (None, Some(payload), Some(day)) => {
                (payload.ticket_number, payload.admits, Reentry::None, day)
            }
            (None, ..) => return Ok(Fold::default()),
        };
        let movements = door
            .journal
            .movements(
                &day.service_day,
                number,
                checkpoint,
                &self.identity.device_id,
            )
            .map_err(|error| ListError::Io(std::io::Error::other(error)))?;
        Ok(fold(admits, reentry, movements))
    }

    /// Writes the record; what cannot be made durable does not open an `in` gate.
    fn keep(
        &self,
        door: &mut Door,
        prepared: &Prepared,
        verdict: Verdict,
        genuine: bool,
        decision_us: u32,
    ) -> ScanOutcome {
        let record = self.record(door, prepared, &verdict, genuine, decision_us);
        let practice = door.desk.practice;
        let moved = self
            .moved(prepared, &verdict, genuine)
            .filter(|_| !practice);
        let written = door.journal.append(&record, moved.as_ref());
        let (verdict, record_id) = match written {
            Ok(()) => (verdict, Some(record.id)),
            // An exit opens, durable or not; what cannot be logged is counted.
            Err(_) if prepared.gate.direction == Direction::Out => {
                door.unlogged += 1;
                (verdict, None)
            }
            Err(_) => {
                door.unlogged += 1;
                (Verdict::Refuse(Reason::StoreUnavailable.into()), None)
            }
        };
        ScanOutcome {
            // Practice lets nobody in, and locks nobody in.
            opens: matches!(verdict, Verdict::Admit(_))
                && !(practice && prepared.gate.direction == Direction::In),
            verdict,
            repeat: false,
            record_id,
            format: prepared.code.as_ref().ok().map(Code::format),
            ticket: prepared.shown().filter(|_| genuine),
            now: prepared.now,
            decision_us,
        }
    }

    fn micros_since(&self, started: u64) -> u32 {
        let micros = self.platform.micros().saturating_sub(started);
        u32::try_from(micros).unwrap_or(u32::MAX)
    }

    fn cannot_store(&self, door: &mut Door, now: Now, decision_us: u32) -> ScanOutcome {
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
            verdict,
            opens: is_exit,
            repeat: false,
            record_id: None,
            format: None,
            ticket: None,
            now,
            decision_us,
        }
    }

    fn record(
        &self,
        door: &Door,
        prepared: &Prepared,
        verdict: &Verdict,
        genuine: bool,
        decision_us: u32,
    ) -> Record {
        let mut random = [0; 10];
        self.platform.fill(&mut random);
        let (answer, reason, persons, mut flags) = match verdict {
            Verdict::Admit(admission) => (
                Answer::Admit,
                None,
                admission.persons,
                admission.flags.clone(),
            ),
            Verdict::Refuse(refusal) => (Answer::Refuse, Some(refusal.reason), 0, Vec::new()),
        };
        if door.desk.practice {
            flags.push(Flag::Practice);
        }
        let code = prepared.code.as_ref().ok();
        let known = prepared.found.as_ref().filter(|_| genuine);
        // An exit counts for listed tickets only, so an unlisted one's has no day.
        let is_entry = prepared.gate.direction == Direction::In;
        let unlisted_day = || prepared.list.as_ref().filter(|_| genuine && is_entry);
        Record {
            id: RecordId::at(prepared.now.at, random),
            log_id: door.journal.log_id(),
            sequence: door.journal.next_sequence(),
            venue_id: self.identity.venue_id.clone(),
            device_id: self.identity.device_id.clone(),
            gate_id: self.gate_id.clone(),
            checkpoint: prepared.gate.checkpoint.clone(),
            at: prepared.now.at,
            u_ms: prepared.now.u_ms,
            trust: prepared.now.trust,
            what: What::Scan(Scan {
                via: match code {
                    Some(Code::Document(_)) => Via::Document,
                    _ => Via::Code,
                },
                direction: prepared.gate.direction,
                ticket_id: known.map(|found| found.ticket.ticket_id.clone()),
                ticket_number: prepared.ticket_number().filter(|_| genuine),
                session_id: known.map(|found| found.ticket.session_id.clone()),
                service_day: known
                    .map(|found| &found.day)
                    .or_else(unlisted_day)
                    .map(|day| day.service_day.clone()),
                format: code.map(Code::format),
                kid: code.and_then(Code::payload).map(|payload| payload.kid),
                text_hash: code
                    .and_then(Code::text)
                    .map(|text| text_hash(door.journal.text_key(), text)),
                verdict: answer,
                reason,
                persons,
                mode: if prepared.reachable {
                    Mode::Online
                } else {
                    Mode::Isolated
                },
                claim: None,
                operator: door.desk.operator(),
                decision_us,
                flags,
                source: known
                    .map(|found| found.ticket.source.clone())
                    .unwrap_or_default(),
                age_group: known
                    .map(|found| found.ticket.age_group.clone())
                    .unwrap_or_default(),
            }),
        }
    }

    /// Whom an admission moves. At an exit only a verified, listed ticket counts.
    fn moved(&self, prepared: &Prepared, verdict: &Verdict, genuine: bool) -> Option<Moved> {
        let Verdict::Admit(admission) = verdict else {
            return None;
        };
        let way = match prepared.gate.direction {
            Direction::In => Way::Entry,
            Direction::Out => Way::Exit,
        };
        if way == Way::Exit && !(genuine && prepared.found.is_some()) {
            return None;
        }
        let day = prepared
            .found
            .as_ref()
            .map(|found| &found.day)
            .or(prepared.list.as_ref())?;
        Some(Moved {
            service_day: day.service_day.clone(),
            ticket_number: prepared.ticket_number()?,
            way,
            persons: admission.persons,
        })
    }
}

impl Door {
    fn repeat_of(
        &self,
        reading: &[u8],
        prepared: &Prepared,
        genuine: bool,
        moment: Moment,
    ) -> Option<ScanOutcome> {
        let last = self
            .last
            .as_ref()
            .filter(|last| last.boot_id == moment.boot_id)?;
        let age = moment.boot_ms.saturating_sub(last.boot_ms);
        let same = last.text == reading
            || (genuine && last.ticket.is_some() && last.ticket == prepared.ticket_number());
        let again = match &last.outcome.verdict {
            Verdict::Refuse(refusal) => !matches!(
                refusal.reason,
                Reason::TooEarly | Reason::CodeNotYetValid | Reason::StoreUnavailable
            ),
            Verdict::Admit(admission) => {
                let next_person = last.gate_closed && admission.remaining > 0;
                !(prepared.gate.unattended && next_person)
            }
        };
        if !(same && again && (0..REPEAT_MS).contains(&age)) {
            return None;
        }
        Some(ScanOutcome {
            // An exit opens as often as it is asked; only the count is not repeated.
            opens: last.outcome.opens && prepared.gate.direction == Direction::Out,
            repeat: true,
            record_id: None,
            ..last.outcome.clone()
        })
    }
}

/// The ticket among those that a code names: a live row beats a tombstone; then the one that
/// admits now (the earliest end, then the lowest number), else the one whose window comes next,
/// else the latest past.
fn choose(mut found: Vec<Found>, now: EpochMillis) -> Option<Found> {
    if found.len() > 1 {
        let is_live = |found: &Found| found.ticket.standing == Standing::Live;
        if found.iter().any(is_live) {
            found.retain(is_live);
        }
        let at = now.seconds().0;
        found.sort_by_key(
            |Found {
                 ticket, session, ..
             }| {
                let session = session.as_ref();
                let from = ticket
                    .admit_from
                    .or(session.map(|session| session.admit_from));
                let until = ticket
                    .admit_until
                    .or(session.map(|session| session.admit_until));
                let (from, until) = (from.map_or(0, |at| at.0), until.map_or(0, |at| at.0));
                match () {
                    () if from <= at && at < until => (0, until, ticket.number),
                    () if at < from => (1, from, ticket.number),
                    () => (2, -until, ticket.number),
                }
            },
        );
    }
    found.into_iter().next()
}

/// HMAC of a text under the log's key, first 16 bytes in hex.
fn text_hash(key: &[u8; 32], text: &str) -> String {
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mut mac) => {
            mac.update(text.as_bytes());
            data_encoding::HEXLOWER.encode(&mac.finalize().into_bytes()[..16])
        }
        Err(_) => String::new(), // HMAC takes keys of any length
    }
}
