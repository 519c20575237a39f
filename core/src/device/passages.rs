//! What becomes of an admission after the verdict: the gate opened, somebody passed or nobody did,
//! and what a crash left half done is carried out once.

use super::judging::{Asking, Found, Input};
use super::scan::ScanOutcome;
use super::{Device, Door};
use crate::admissions::Way;
use crate::clock::Now;
use crate::ids::RecordId;
use crate::journal::JournalError;
use crate::reason::Reason;
use crate::record::{Passage, PassageOutcome, Resume, What};
use crate::ticket::Direction;
use crate::verdict::Verdict;

/// A check-in for which the gate did not open may resume this long after its scan, in ms (30 s).
pub(super) const RESUME_MS: i64 = 30_000;
/// A sensor's word on an admission older than this frees nothing, in ms (15 min, as for an undo).
const FREES_WITHIN_MS: i64 = 900_000;

/// What came of a sensor's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassageNoted {
    /// Its record; none while the gate stands open for everybody, where passages are counted.
    pub record_id: Option<RecordId>,
    /// Whether the admission is free again.
    pub frees: bool,
}

impl Device {
    /// The open command for an admission has returned; at a gate without a relay, its answer is
    /// shown. From then on a crash lets nobody in by it again, so that this waits for the disk:
    /// behind the visitor's back, and for the sake of the one who would pass on the same ticket.
    pub fn released(&self, admission: RecordId) -> Result<(), JournalError> {
        self.door().journal.released(admission)
    }

    /// A sensor says that somebody passed, or that the arm closed and nobody had; `admission` is
    /// what the gate had opened for. The first time that nobody passed on a ticket its admission
    /// is free again. That somebody passed is marked with its record.
    pub fn passage(
        &self,
        admission: Option<RecordId>,
        outcome: PassageOutcome,
    ) -> Result<PassageNoted, JournalError> {
        let mut door = self.door();
        if door.is_held_open() {
            if outcome == PassageOutcome::Passed {
                let counted = door.count_free_passage();
                drop(door);
                self.keep_free_passages(counted)?;
            }
            let (record_id, frees) = (None, false);
            return Ok(PassageNoted { record_id, frees });
        }
        let now = door.clock.now(self.platform.moment());
        let opened_for = match admission {
            Some(id) => door.journal.admission(id)?,
            None => None,
        };
        let (opened_by, admission) = match &opened_for {
            Some(record) => (admission, Some(record.id)),
            None => (admission, admission),
        };
        let moves = opened_for.as_ref().and_then(|record| record.moves());
        let freed = match (&opened_for, &moves, outcome) {
            (Some(record), Some(moves), PassageOutcome::NotPassed) => {
                let is_entry = moves.way == Way::Entry;
                let is_recent = now.at.since(record.at) < FREES_WITHIN_MS;
                is_entry
                    && is_recent
                    && !door.journal.has_passed(record.id)?
                    && !door.journal.is_taken_back(record.id)?
                    && !door.journal.was_freed(moves.ticket_number)?
            }
            _ => false,
        };
        let gate = self.gate(door.list_for(now.at));
        let what = What::Passage(Passage {
            refers_to: admission,
            outcome,
            frees: freed,
            ticket_number: moves
                .as_ref()
                .filter(|_| freed)
                .map(|one| one.ticket_number),
            service_day: moves
                .as_ref()
                .filter(|_| freed)
                .and_then(|one| one.service_day.clone()),
        });
        let record = self.log(&mut door, &gate, now, what)?;
        for record in [opened_by, admission].into_iter().flatten() {
            door.recent.forget_record(record);
        }
        if let Some(moves) = moves {
            door.recent.forget(moves.ticket_number);
        }
        drop(door);
        if freed {
            // It is free, whatever becomes of a count that is only shown.
            let _ = self.count_conflicts();
        }
        Ok(PassageNoted {
            record_id: Some(record.id),
            frees: freed,
        })
    }

    /// Carries out an admission that a crash left half done, once, for the same ticket at the same
    /// device and checkpoint. It stands in the fold already, so that the ticket is judged without
    /// it and nobody further is admitted. `None` if there is none, or the ticket is refused now.
    pub(super) fn resume(
        &self,
        door: &mut Door,
        input: &Input,
        now: Now,
        started: u64,
    ) -> Option<ScanOutcome> {
        door.unfinished
            .retain(|one| now.at.since(one.at) <= RESUME_MS);
        if door.unfinished.is_empty() || door.desk.practice {
            return None;
        }
        let (prepared, judged) = self.judge(door, &Asking::plain(input), now).ok()?;
        let ticket = prepared.ticket_number().filter(|_| judged.genuine)?;
        let place = door
            .unfinished
            .iter()
            .position(|one| one.ticket == ticket && one.checkpoint == prepared.gate.checkpoint)?;
        let unfinished = door.unfinished.get(place)?.clone();
        let asking = Asking {
            persons: Some(unfinished.persons),
            without: Some(unfinished.record_id),
            ..Asking::plain(input)
        };
        let (prepared, judged) = self.judge(door, &asking, now).ok()?;
        let admits = matches!(judged.verdict, Verdict::Admit(_));
        if !admits || prepared.gate.direction == Direction::Out {
            return None;
        }
        let decision_us = self.micros_since(started);
        let known = prepared.found();
        let what = What::Resume(Resume {
            refers_to: unfinished.record_id,
            ticket_id: known.map(|found| found.ticket.ticket_id.clone()),
            ticket_number: Some(ticket),
            persons: 0,
        });
        let written = self.log(door, &prepared.gate, now, what);
        let verdict = match &written {
            Ok(_) => {
                door.unfinished.remove(place);
                judged.verdict
            }
            Err(_) => Verdict::Refuse(Reason::StoreUnavailable.into()),
        };
        let outcome = ScanOutcome {
            opens: written.is_ok(),
            passages: if written.is_ok() {
                unfinished.persons
            } else {
                0
            },
            resumed: written.is_ok(),
            record_id: written.ok().map(|record| record.id),
            format: prepared.format(),
            ticket: prepared.found().map(Found::shown),
            ..self.unjudged(verdict, now, decision_us)
        };
        let moment = self.platform.moment();
        door.recent.remember(&prepared, true, &outcome, moment);
        Some(outcome)
    }
}
