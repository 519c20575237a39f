//! Records as the door makes them, and what their reaching the disk means for the gate.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::claims::Decided;
use super::judging::{Found, Prepared};
use super::refusals::Written;
use super::scan::ScanOutcome;
use super::{Device, Door};
use crate::clock::Now;
use crate::codes::Code;
use crate::ids::RecordId;
use crate::journal::JournalError;
use crate::reason::Reason;
use crate::record::{Answer, Flag, Record, Scan, What};
use crate::ticket::{Direction, Gate};
use crate::verdict::Verdict;

/// From this age on, in ms (15 minutes), a guard is told how old the list is in which a ticket is
/// not.
const LIST_AGE_SHOWN_MS: i64 = 15 * 60_000;

impl Device {
    /// An id for a record of now.
    pub(super) fn new_id(&self, now: Now) -> RecordId {
        let mut random = [0; 10];
        self.platform.fill(&mut random);
        RecordId::at(now.at, random)
    }

    /// A record. `ahead`: records that go into the log before it in the same transaction.
    pub(super) fn record(
        &self,
        door: &Door,
        ahead: u64,
        id: RecordId,
        gate: &Gate,
        now: Now,
        what: What,
    ) -> Record {
        Record {
            id,
            log_id: door.journal.log_id(),
            sequence: door.journal.next_sequence() + ahead,
            venue_id: self.identity.venue_id.clone(),
            device_id: self.identity.device_id.clone(),
            gate_id: self.gate_id.clone(),
            checkpoint: gate.checkpoint.clone(),
            at: now.at,
            u_ms: now.u_ms,
            trust: now.trust,
            what,
        }
    }

    /// What a record of a reading says. A ticket is named only where it is genuine, and a day only
    /// where a list has the ticket: the server knows the day of one that was booked since.
    pub(super) fn scan_of(
        &self,
        door: &Door,
        prepared: &Prepared,
        decided: &Decided,
        decision_us: u32,
    ) -> Scan {
        let (verdict, reason, persons, mut flags) = match &decided.verdict {
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
        let code = prepared.code();
        let known = prepared.found().filter(|_| decided.genuine);
        Scan {
            via: prepared.via(),
            direction: prepared.gate.direction,
            ticket_id: known.map(|found| found.ticket.ticket_id.clone()),
            ticket_number: prepared.ticket_number().filter(|_| decided.genuine),
            session_id: known.map(|found| found.ticket.session_id.clone()),
            service_day: known.map(|found| found.day.service_day.clone()),
            format: prepared.format(),
            kid: code.and_then(Code::payload).map(|payload| payload.kid),
            text_hash: code
                .and_then(Code::text)
                .map(|text| text_hash(door.journal.text_key(), text)),
            verdict,
            reason,
            persons,
            mode: decided.mode,
            claim: decided.claim,
            operator: door.desk.operator(),
            decision_us,
            flags,
            source: known
                .map(|found| found.ticket.source.clone())
                .unwrap_or_default(),
            age_group: known
                .map(|found| found.ticket.age_group.clone())
                .unwrap_or_default(),
        }
    }

    /// Writes the record; what cannot be made durable does not open an `in` gate.
    pub(super) fn keep(
        &self,
        door: &mut Door,
        prepared: &Prepared,
        decided: &Decided,
        record: &Record,
        decision_us: u32,
    ) -> ScanOutcome {
        let written = self.append_or_count(door, record, prepared.now);
        self.outcome(door, prepared, decided, written, decision_us)
    }

    /// The answer, once it is known whether the record is on disk.
    pub(super) fn outcome(
        &self,
        door: &mut Door,
        prepared: &Prepared,
        decided: &Decided,
        written: Written,
        decision_us: u32,
    ) -> ScanOutcome {
        let is_exit = prepared.gate.direction == Direction::Out;
        match written {
            Written::Recorded(_) => door.clock.recorded(prepared.now),
            Written::Counted => {}
            Written::Not => door.unlogged += 1,
        }
        let verdict = match written {
            // An exit opens, durable or not; what cannot be logged is counted.
            Written::Not if !is_exit => Verdict::Refuse(Reason::StoreUnavailable.into()),
            _ => decided.verdict.clone(),
        };
        let persons = match &verdict {
            Verdict::Admit(admission) => admission.persons,
            Verdict::Refuse(_) => 0,
        };
        ScanOutcome {
            // Practice lets nobody in, and locks nobody in.
            opens: persons > 0 && (is_exit || !door.desk.practice),
            passages: persons,
            verdict,
            repeat: false,
            resumed: false,
            free_passage: false,
            repeats: None,
            walk_in: None,
            record_id: match written {
                Written::Recorded(id) => Some(id),
                Written::Counted | Written::Not => None,
            },
            format: prepared.format(),
            ticket: prepared
                .found()
                .filter(|_| decided.genuine)
                .map(Found::shown),
            list_age_ms: match &decided.verdict {
                Verdict::Admit(admission) if admission.flags.contains(&Flag::Unlisted) => door
                    .list_age_ms(prepared.now.at)
                    .filter(|age| *age >= LIST_AGE_SHOWN_MS),
                _ => None,
            },
            mode: decided.mode,
            claim: decided.claim,
            now: prepared.now,
            decision_us,
        }
    }

    /// Writes a record that no gate waits for.
    pub(super) fn log(
        &self,
        door: &mut Door,
        gate: &Gate,
        now: Now,
        what: What,
    ) -> Result<Record, JournalError> {
        let record = self.record(door, 0, self.new_id(now), gate, now, what);
        match door.journal.append(&record) {
            Ok(()) => {
                door.clock.recorded(now);
                Ok(record)
            }
            Err(error) => {
                door.unlogged += 1;
                Err(error)
            }
        }
    }
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
