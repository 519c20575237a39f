//! What a device does beside its scans, without a server's word: old lists and records go, counts
//! are written, room on disk is kept.

use std::fs;

use super::{Device, Door};
use crate::clock::Now;
use crate::journal::{JournalError, LOW_BYTES};
use crate::time::EpochMillis;
use crate::verdict::Day;
use crate::whitelist::{HeldList, list_path};

const HOUR_MS: i64 = 3_600_000;
/// A list that is no longer wanted goes this long past its `not_after`, in ms (12 h).
const KEEP_PAST_NOT_AFTER_MS: i64 = 12 * HOUR_MS;
/// Personal data is gone this long after the day, at the latest, in ms (72 h).
const KEEP_PAST_DAY_MS: i64 = 72 * HOUR_MS;
/// A day is the previous one until the next has passed as well, in ms (24 h).
const PREVIOUS_MS: i64 = 24 * HOUR_MS;
/// Records stay this long after the server has them, in ms (7 days): it may ask for them again.
const KEEP_SYNCED_MS: i64 = 7 * 24 * HOUR_MS;
/// How often old records are looked for, in ms of boot time.
const LOOK_EVERY_MS: i64 = 10 * 60_000;

/// Whether a list's time is over. `wanted` is whether the server named it in its last answer.
fn is_over(day: &Day, wanted: bool, at: EpochMillis) -> bool {
    let past = |end: crate::time::EpochSeconds, ms: i64| at > end.millis().plus(ms);
    let is_unwanted =
        !wanted && past(day.not_after, KEEP_PAST_NOT_AFTER_MS) && past(day.day_until, PREVIOUS_MS);
    is_unwanted || past(day.day_until, KEEP_PAST_DAY_MS)
}

/// A time that has passed for certain: trusted time, or else the floor.
fn certain(door: &Door, now: Now) -> EpochMillis {
    if now.trust.is_anchored() {
        now.at
    } else {
        door.clock.floor()
    }
}

impl Device {
    /// Keeps the device in order; the sync loop calls it every second, with and without a
    /// network. Lists whose time is over go, and with them what they hold of persons; so do
    /// records that the server has had for seven days, never others. Folds the journal's grown
    /// log back into its file, and holds room for an hour of admissions.
    pub fn maintain(&self) -> Result<(), JournalError> {
        let moment = self.platform.moment();
        let mut door = self.door();
        let now = door.clock.look(moment);
        let at = certain(&door, now);
        let mut gone = self.drop_outdated(&mut door, now);
        let is_low = |free: Option<u64>| free.is_some_and(|free| free < LOW_BYTES);
        let room = door.journal.regain_room();
        if is_low(room.free_bytes) || !room.reserved {
            gone.extend(self.drop_past_lists(&mut door, now));
        }
        let counted = self.write_refusal_counts(&mut door, now, false);
        let held: Vec<_> = door
            .lists
            .iter()
            .map(|list| list.day().service_day.clone())
            .collect();
        drop(door);
        let gone_days: Vec<_> = gone
            .iter()
            .map(|list| list.day().service_day.clone())
            .collect();
        // Closing them takes a while, and no scan must wait for it.
        drop(gone);
        let mut outgoing = self.outgoing();
        let is_time = outgoing
            .tidied_ms
            .is_none_or(|last| !(0..LOOK_EVERY_MS).contains(&(moment.boot_ms - last)));
        for day in &gone_days {
            outgoing.sync_log.drop_feed_of(day)?;
        }
        if is_time {
            outgoing.tidied_ms = Some(moment.boot_ms);
            let before = at.plus(-KEEP_SYNCED_MS);
            outgoing.sync_log.forget_synced(before)?;
            outgoing.sync_log.forget_admissions(before, &held)?;
            outgoing.sync_log.forget_taken_back(before)?;
        }
        outgoing.sync_log.maintain()?;
        // Counts that found no room wait.
        match counted {
            Err(JournalError::NoRoom) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Lists whose time is over.
    pub(super) fn drop_outdated(&self, door: &mut Door, now: Now) -> Vec<HeldList> {
        let at = certain(door, now);
        self.drop_lists(door, |door, list| {
            is_over(list.day(), door.named.contains(&list.day().service_day), at)
        })
    }

    /// Lists of days before the current one: what goes first when the disk is nearly full.
    fn drop_past_lists(&self, door: &mut Door, now: Now) -> Vec<HeldList> {
        let current = door
            .list_for(now.at)
            .filter(|list| list.day().holds(now.at));
        let Some(from) = current.map(|list| list.day().day_from) else {
            return Vec::new();
        };
        self.drop_lists(door, |_, list| list.day().day_until <= from)
    }

    /// Takes lists out of use and deletes their files.
    fn drop_lists(
        &self,
        door: &mut Door,
        goes: impl Fn(&Door, &HeldList) -> bool,
    ) -> Vec<HeldList> {
        let lists = std::mem::take(&mut door.lists);
        let (gone, kept): (Vec<_>, Vec<_>) = lists.into_iter().partition(|list| goes(door, list));
        for list in &gone {
            // A file that stays behind is dropped at the next start.
            let _ = fs::remove_file(list_path(&self.folder, &list.day().service_day));
        }
        door.lists = kept;
        gone
    }
}
