//! Free passage: the gate stands open for everybody, in an emergency, by the venue's plan, or by
//! staff. Readings are not judged and not recorded while it lasts; passages are counted. It goes
//! on over a restart, until what began it ends it.

use std::sync::Arc;

use super::scan::ScanOutcome;
use super::{Device, Door, words};
use crate::clock::{Now, Trust};
use crate::ids::RecordId;
use crate::journal::{HeldOpen, JournalError};
use crate::record::{FreePassage, FreePassageCause, What};
use crate::ticket::Direction;
use crate::verdict::{Admission, Verdict};

/// Why free passage does not begin or end.
#[derive(Debug, thiserror::Error)]
pub enum FreePassageError {
    /// Staff must say why.
    #[error("free passage by staff needs a reason")]
    NoReason,
    /// Practice opens for nobody.
    #[error("this is practice, and opens for nobody; end it first")]
    Practice,
    /// The record could not be made durable, and an `in` gate stays shut in doubt.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// What the schedule did to the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleChange {
    /// It stands open now.
    Opened,
    /// It does so no longer, by the schedule.
    Ended,
}

impl Device {
    /// Holds the gate open for everybody. An emergency always does, durable or not; so does
    /// anything at an `out` gate. Begun again by the same cause, it goes on as it is.
    pub fn begin_free_passage(
        &self,
        cause: FreePassageCause,
        why: &str,
    ) -> Result<(), FreePassageError> {
        if cause == FreePassageCause::Staff && why.trim().is_empty() {
            return Err(FreePassageError::NoReason);
        }
        let mut door = self.door();
        if cause == FreePassageCause::Staff && door.desk.practice {
            return Err(FreePassageError::Practice);
        }
        let now = door.clock.now(self.platform.moment());
        Ok(self.hold_open(&mut door, now, cause, why)?)
    }

    /// Ends what this cause began. Says how many passages were counted, if a sensor counted any;
    /// `None` if nothing of this cause held the gate open. The gate is shut when nothing else does.
    pub fn end_free_passage(
        &self,
        cause: FreePassageCause,
    ) -> Result<Option<Option<u64>>, FreePassageError> {
        let mut door = self.door();
        let now = door.clock.now(self.platform.moment());
        Ok(self.let_go(&mut door, now, cause)?)
    }

    /// What holds the gate open for everybody now: the first of the causes, if there is one.
    pub fn free_passage(&self) -> Option<FreePassageCause> {
        self.door().held_open.first().map(|held| held.cause)
    }

    /// Begins and ends free passage by the venue's plan. Each reading does the same; the controller
    /// calls it every second or so, since doors open without one.
    pub fn keep_schedule(&self) -> Option<ScheduleChange> {
        let mut door = self.door();
        let now = door.clock.look(self.platform.moment());
        self.keep_schedule_of(&mut door, now)
    }

    pub(super) fn keep_schedule_of(&self, door: &mut Door, now: Now) -> Option<ScheduleChange> {
        // Without a list there is no plan, and what it began ends: in doubt shut.
        let policy = door.list_for(now.at).map(|list| Arc::clone(list.policy()));
        let second = now.at.seconds();
        let mut plan = policy.iter().flat_map(|policy| &policy.free_passage);
        let planned = plan.find(|time| {
            time.gate_id == self.gate_id && time.from <= second && second < time.until
        });
        let mut held = door.held_open.iter();
        let is_held = held.any(|held| held.cause == FreePassageCause::Scheduled);
        match planned {
            Some(time) if !is_held && now.trust != Trust::Untrusted => {
                let opened = self.hold_open(door, now, FreePassageCause::Scheduled, &time.why);
                opened.is_ok().then_some(ScheduleChange::Opened)
            }
            None if is_held => {
                // Ended at the gate even where its record cannot be written: in doubt shut.
                let _ = self.let_go(door, now, FreePassageCause::Scheduled);
                Some(ScheduleChange::Ended)
            }
            _ => None,
        }
    }

    fn hold_open(
        &self,
        door: &mut Door,
        now: Now,
        cause: FreePassageCause,
        why: &str,
    ) -> Result<(), JournalError> {
        if door.held_open.iter().any(|held| held.cause == cause) {
            return Ok(());
        }
        let gate = self.gate(door.list_for(now.at));
        let what = What::FreePassage(FreePassage {
            begins: true,
            cause,
            why: words(why),
            passages: None,
            refers_to: None,
        });
        let record = self.record(door, 0, self.new_id(now), &gate, now, what);
        let locks_nobody_in =
            cause == FreePassageCause::Emergency || gate.direction == Direction::Out;
        match door.journal.append(&record) {
            Err(error) if !locks_nobody_in => return Err(error),
            Err(_) => door.unlogged += 1,
            Ok(()) => {}
        }
        door.held_open.push(HeldOpen {
            record_id: record.id,
            cause,
            passages: None,
        });
        Ok(())
    }

    fn let_go(
        &self,
        door: &mut Door,
        now: Now,
        cause: FreePassageCause,
    ) -> Result<Option<Option<u64>>, JournalError> {
        let mut held = door.held_open.iter();
        let Some(place) = held.position(|held| held.cause == cause) else {
            return Ok(None);
        };
        let ended = door.held_open.remove(place);
        let gate = self.gate(door.list_for(now.at));
        let what = What::FreePassage(FreePassage {
            begins: false,
            cause,
            why: String::new(),
            passages: ended.passages,
            refers_to: Some(ended.record_id),
        });
        self.log(door, &gate, now, what)?;
        Ok(Some(ended.passages))
    }

    /// Keeps a count. Not waited for: it is worth less than a scan's time.
    pub(super) fn keep_free_passages(
        &self,
        counted: Option<(RecordId, u64)>,
    ) -> Result<(), JournalError> {
        match counted {
            Some((record_id, passages)) => {
                let mut outgoing = self.outgoing();
                outgoing.sync_log.keep_passages(record_id, passages)
            }
            None => Ok(()),
        }
    }

    /// The answer to a reading while the gate stands open for everybody.
    pub(super) fn passes_freely(&self, door: &Door, now: Now, decision_us: u32) -> ScanOutcome {
        debug_assert!(door.is_held_open());
        let nobody = Admission {
            persons: 0,
            remaining: 0,
            flags: Vec::new(),
        };
        ScanOutcome {
            free_passage: true,
            ..self.unjudged(Verdict::Admit(nobody), now, decision_us)
        }
    }
}

impl Door {
    /// Whether the gate stands open for everybody.
    pub(super) fn is_held_open(&self) -> bool {
        !self.held_open.is_empty()
    }

    /// Somebody passed: counted once, with what has held the gate open longest.
    pub(super) fn count_free_passage(&mut self) -> Option<(RecordId, u64)> {
        let held = self.held_open.first_mut()?;
        let passages = held.passages.unwrap_or(0).saturating_add(1);
        held.passages = Some(passages);
        Some((held.record_id, passages))
    }
}
