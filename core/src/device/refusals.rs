//! Refusals that anybody can make by the thousand, with noise or made-up codes: up to sixty a
//! minute have a record each, the others are counted, one record per minute and reason. A crash
//! loses the counts of the minute that runs, and no more.

use std::collections::BTreeMap;

use super::{Device, Door};
use crate::clock::Now;
use crate::ids::RecordId;
use crate::journal::JournalError;
use crate::reason::Reason;
use crate::record::{Record, Refusals, What};
use crate::time::EpochMillis;

/// Such refusals in a minute that have a record each.
pub const RECORDED_A_MINUTE: u32 = 60;
const MINUTE_MS: i64 = 60_000;
/// Counts that wait for room on disk; beyond them the oldest go.
const WAITING: usize = 1_000;

/// What became of a reading's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// It is on disk.
    Recorded(RecordId),
    /// The reading is a refusal that is only counted.
    Counted,
    /// It could not be made durable.
    Not,
}

/// What is counted and not yet on disk.
#[derive(Debug, Default)]
pub(super) struct RefusalMeter {
    minute: EpochMillis,
    recorded: u32,
    counts: BTreeMap<(EpochMillis, Reason), u32>,
}

fn minute_of(now: Now) -> EpochMillis {
    EpochMillis(now.at.0 - now.at.0.rem_euclid(MINUTE_MS))
}

/// Rows 1 to 4, `not_listed` and `unverifiable_offline`: what needs no ticket.
fn is_metered(reason: Reason) -> bool {
    reason.row() <= 4 || matches!(reason, Reason::NotListed | Reason::UnverifiableOffline)
}

impl RefusalMeter {
    /// Whether a refusal has a record of its own; if not, it is counted.
    pub fn records(&mut self, reason: Reason, now: Now) -> bool {
        if !is_metered(reason) {
            return true;
        }
        let minute = minute_of(now);
        if self.minute != minute {
            (self.minute, self.recorded) = (minute, 0);
        }
        if self.recorded < RECORDED_A_MINUTE {
            self.recorded += 1;
            return true;
        }
        self.count(reason, now);
        false
    }

    /// Counts a refusal, whatever its reason.
    pub fn count(&mut self, reason: Reason, now: Now) {
        let count = self.counts.entry((minute_of(now), reason)).or_default();
        *count = count.saturating_add(1);
        while self.counts.len() > WAITING {
            self.counts.pop_first();
        }
    }

    /// A count of a minute that is over, or of the one that runs if it is the last.
    fn due(&self, now: Now, last: bool) -> Option<Refusals> {
        let minute_now = minute_of(now);
        let is_due = |minute: EpochMillis| last || minute != minute_now;
        let mut over = self.counts.iter().filter(|(key, _)| is_due(key.0));
        over.next().map(|((minute, reason), count)| Refusals {
            reason: *reason,
            minute: *minute,
            count: *count,
        })
    }
}

impl Device {
    /// Writes a reading's record, or counts it: refusals above the measure, and all for which no
    /// room is left.
    pub(super) fn append_or_count(&self, door: &mut Door, record: &Record, now: Now) -> Written {
        let refused = match &record.what {
            What::Scan(scan) => scan.reason.filter(|_| !door.desk.practice),
            _ => None,
        };
        if let Some(reason) = refused
            && !door.refusals.records(reason, now)
        {
            return Written::Counted;
        }
        match (door.journal.append(record), refused) {
            (Ok(()), _) => Written::Recorded(record.id),
            (Err(JournalError::NoRoom), Some(reason)) => {
                door.refusals.count(reason, now);
                Written::Counted
            }
            (Err(_), _) => Written::Not,
        }
    }

    /// Writes the counts of minutes that are over; `last`: also of the one that runs.
    pub(super) fn write_refusal_counts(
        &self,
        door: &mut Door,
        now: Now,
        last: bool,
    ) -> Result<(), JournalError> {
        while let Some(refusals) = door.refusals.due(now, last) {
            let key = (refusals.minute, refusals.reason);
            let gate = self.gate(door.list_for(now.at));
            let what = What::Refusals(refusals);
            let record = self.record(door, 0, self.new_id(now), &gate, now, what);
            door.journal.append(&record)?;
            door.refusals.counts.remove(&key);
        }
        Ok(())
    }
}

impl Drop for Device {
    /// A device that is closed in order loses no count.
    fn drop(&mut self) {
        let moment = self.platform.moment();
        let mut door = self.door();
        let now = door.clock.look(moment);
        // Where it cannot be written there is nobody left to tell.
        let _ = self.write_refusal_counts(&mut door, now, true);
    }
}
