//! Taking back what was just admitted, let out or walked in.

use super::{Device, words};
use crate::ids::RecordId;
use crate::journal::JournalError;
use crate::record::{Answer, Denied, Flag, Record, Undo, What};

/// An admission can be taken back for this long, in ms (15 min); exactly then it is too late.
const UNDO_MS: i64 = 900_000;

/// What a mismatch is recorded as, in the guard's place.
const MISMATCH: &str = "does not match";

/// What came of an undo. Either way it is on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undone {
    /// Its record.
    pub record_id: RecordId,
    /// Why it was not carried out, if it was not.
    pub denied: Option<Denied>,
}

impl Device {
    /// Takes an admission, exit or walk-in of this device back, with the guard's reason. An error
    /// means that it is not on disk, and that nothing was taken back.
    pub fn undo(&self, of: RecordId, why: &str) -> Result<Undone, JournalError> {
        self.take_back(of, why, false)
    }

    /// "Does not match", pressed after green: the person is not the one that the ticket names.
    pub fn does_not_match(&self, of: RecordId) -> Result<Undone, JournalError> {
        self.take_back(of, MISMATCH, true)
    }

    fn take_back(&self, of: RecordId, why: &str, mismatch: bool) -> Result<Undone, JournalError> {
        let mut door = self.door();
        let now = door.clock.now(self.platform.moment());
        let shown = of;
        let record = door.journal.admission(shown)?.filter(can_be_undone);
        let of = record.as_ref().map_or(shown, |record| record.id);
        let denied = match &record {
            None => Some(Denied::NothingThere),
            Some(_) if why.trim().is_empty() => Some(Denied::NoReason),
            Some(record) if door.journal.is_taken_back(record.id)? => Some(Denied::AlreadyUndone),
            Some(record) if now.at.since(record.at) >= UNDO_MS => Some(Denied::TooLate),
            Some(_) => None,
        };
        let scan = record.as_ref().and_then(|record| match &record.what {
            What::Scan(scan) => Some(scan),
            What::Override(one) => Some(&one.scan),
            _ => None,
        });
        let walked_in = record.as_ref().and_then(|record| match &record.what {
            What::WalkIn(walk_in) => walk_in.service_day.clone(),
            _ => None,
        });
        let practice = door.desk.practice || record.as_ref().is_some_and(Record::is_practice);
        let ticket_number = scan.and_then(|scan| scan.ticket_number);
        let what = What::Undo(Undo {
            refers_to: Some(of),
            ticket_id: scan.and_then(|scan| scan.ticket_id.clone()),
            ticket_number,
            session_id: scan.and_then(|scan| scan.session_id.clone()),
            service_day: scan.and_then(|scan| scan.service_day.clone()).or(walked_in),
            mismatch,
            why: words(why),
            operator: door.desk.operator(),
            denied,
            flags: practice.then_some(Flag::Practice).into_iter().collect(),
        });
        let gate = self.gate(door.list_for(now.at));
        let written = self.log(&mut door, &gate, now, what)?;
        if denied.is_none() {
            door.recent.forget_record(shown);
            door.recent.forget_record(of);
            door.unfinished.retain(|one| one.record_id != of);
            if let Some(ticket) = ticket_number {
                door.recent.forget(ticket);
            }
        }
        drop(door);
        // It is undone, whatever becomes of a count that is only shown.
        let _ = self.count_conflicts();
        Ok(Undone {
            record_id: written.id,
            denied,
        })
    }
}

/// Whether a record let anybody in or out.
fn can_be_undone(record: &Record) -> bool {
    match &record.what {
        What::Scan(scan) => scan.verdict == Answer::Admit,
        What::Override(one) => one.denied.is_none() && one.scan.verdict == Answer::Admit,
        What::WalkIn(_) => true,
        _ => false,
    }
}
