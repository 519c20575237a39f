//! What the other gates did: the admissions feed on its way in, and the conflicts that it tells of.

use super::Device;
use super::judging::Found;
use super::scan::TicketShown;
use crate::ids::TicketId;
use crate::journal::{JournalError, KnownConflict};
use crate::protocol::{FeedAnswer, FeedKind};

/// A conflict that this device knows of: one of its own admissions did not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The admission: which ticket, where, when.
    pub admission: KnownConflict,
    /// The ticket's id, if a held list has it.
    pub ticket_id: Option<TicketId>,
    /// What the list shows of it.
    pub ticket: Option<TicketShown>,
}

impl Device {
    /// Where the next piece of the feed starts: pass it as `after`. None before the first.
    pub fn feed_cursor(&self) -> Result<Option<String>, JournalError> {
        self.outgoing().sync_log.feed_cursor()
    }

    /// Takes a piece of the feed. The same again changes nothing, own records that come back are
    /// not counted twice, and an undo may come before what it takes back.
    ///
    /// Says how many of its own entries and exits come that its journal does not have: it was put
    /// back from an image, or damaged. They count from now on. Where one of them is of the log at
    /// work, somebody else goes on with that, and a new one begins.
    pub fn take_feed(&self, answer: &FeedAnswer) -> Result<usize, JournalError> {
        let mut outgoing = self.outgoing();
        let lacking = outgoing
            .sync_log
            .take_feed(answer, &self.identity.device_id)?;
        drop(outgoing);
        self.count_conflicts()?;
        let mut door = self.door();
        if lacking.contains(&door.journal.log_id()) {
            let fingerprint = self.platform.fingerprint();
            door.journal.begin_log(&fingerprint, self.platform.as_ref());
        }
        let moved = |item: &&crate::protocol::FeedItem| item.kind != FeedKind::Undo;
        let items = answer.items.iter();
        door.journal
            .has_moved(items.clone().filter(moved).map(|item| item.ticket_number));
        for item in items.filter(|item| item.kind == FeedKind::Undo) {
            door.recent.forget(item.ticket_number);
            door.unfinished
                .retain(|one| Some(one.record_id) != item.refers_to);
        }
        Ok(lacking.len())
    }

    /// Counts the conflicts anew, after the feed or an own act has changed them.
    pub(super) fn count_conflicts(&self) -> Result<(), JournalError> {
        let mut outgoing = self.outgoing();
        let known = outgoing.sync_log.conflicts(&self.identity.device_id)?;
        outgoing.conflicts = known.len() as u64;
        Ok(())
    }

    /// The conflicts that this device knows of, the newest first; undone ones are none any more.
    pub fn conflicts(&self) -> Result<Vec<Conflict>, JournalError> {
        let known = self
            .outgoing()
            .sync_log
            .conflicts(&self.identity.device_id)?;
        let named = |admission: KnownConflict| {
            let found = self.found_by_number(admission.ticket_number);
            Conflict {
                admission,
                ticket: found.as_ref().map(Found::shown),
                ticket_id: found.map(|found| found.ticket.ticket_id),
            }
        };
        Ok(known.into_iter().map(named).collect())
    }
}
