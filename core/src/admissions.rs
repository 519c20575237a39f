//! The fold over what a ticket did at a checkpoint on its service day: how many admissions
//! remain, who won and who lost when gates admitted too many. Pure; the same on gate, hub and
//! server, whatever the order in which records arrive.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::ids::{DeviceId, GateId, LogId, RecordId};
use crate::ticket::Reentry;
use crate::time::EpochMillis;

/// Which way a record moved people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// Admitted at an `in` gate.
    Entry,
    /// Seen at an `out` gate.
    Exit,
}

/// One record that moved people of one ticket past one checkpoint, undone ones left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Movement {
    /// The record.
    pub record_id: RecordId,
    /// Entry or exit.
    pub way: Way,
    /// Persons it moved.
    pub persons: u8,
    /// When, by the device's trusted clock.
    pub at: EpochMillis,
    /// Whether that clock was anchored; unanchored ones rank last.
    pub anchored: bool,
    /// Whether server or hub had granted a claim; those rank first.
    pub claim_granted: bool,
    /// Whether a supervisor waived `already_used` for it: never a loser.
    pub waived_already_used: bool,
    /// The gate that it happened at.
    pub gate_id: GateId,
    /// The device that wrote it.
    pub device_id: DeviceId,
    /// Its log.
    pub log_id: LogId,
    /// Its place in that log.
    pub sequence: u64,
}

/// What the fold found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fold {
    /// Persons that may still enter here.
    pub remaining: u32,
    /// Persons entered, over all entries.
    pub entered: u32,
    /// Persons inside now, counting exits.
    pub inside: u32,
    /// The most that were inside at once.
    pub peak: u32,
    /// The largest single entry.
    pub largest: u32,
    /// Entries that fit, in order.
    pub winners: Vec<RecordId>,
    /// Entries that did not: one conflict while there is any.
    pub losers: Vec<RecordId>,
    /// The last entry in the order: when and where the ticket was last used.
    pub last_entry: Option<LastEntry>,
}

/// When and where a ticket was last used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastEntry {
    /// When.
    pub at: EpochMillis,
    /// At which gate.
    pub gate_id: GateId,
}

/// The movements of one ticket at one checkpoint in the order in which the fold goes over them. A
/// record seen twice is there once.
pub fn in_order(reentry: Reentry, mut movements: Vec<Movement>) -> Vec<Movement> {
    let mut seen = HashSet::with_capacity(movements.len());
    movements.retain(|movement| seen.insert(movement.record_id));
    movements.sort_by(|a, b| order(reentry, a, b));
    movements
}

/// Folds the movements of one ticket at one checkpoint. A record seen twice counts once.
pub fn fold(admits: u8, reentry: Reentry, movements: Vec<Movement>) -> Fold {
    let admits = u32::from(admits);
    let movements = in_order(reentry, movements);
    let mut fold = Fold {
        remaining: admits,
        ..Fold::default()
    };
    for movement in &movements {
        let persons = u32::from(movement.persons);
        if movement.way == Way::Exit {
            fold.inside = fold.inside.saturating_sub(persons);
            continue;
        }
        let taken = match reentry {
            Reentry::None => fold.entered,
            Reentry::AfterExit => fold.inside,
            Reentry::Free => 0,
        };
        let fits = taken.saturating_add(persons) <= admits;
        if fits {
            fold.winners.push(movement.record_id);
        } else if !movement.waived_already_used {
            fold.losers.push(movement.record_id);
        }
        fold.entered = fold.entered.saturating_add(persons);
        fold.inside = fold.inside.saturating_add(persons);
        fold.peak = fold.peak.max(fold.inside);
        fold.largest = fold.largest.max(persons);
        fold.last_entry = Some(LastEntry {
            at: movement.at,
            gate_id: movement.gate_id.clone(),
        });
    }
    fold.remaining = match reentry {
        Reentry::None => admits.saturating_sub(fold.entered),
        Reentry::AfterExit => admits.saturating_sub(fold.inside),
        Reentry::Free => admits,
    };
    fold
}

/// Persons of a ticket that count as having attended at one checkpoint.
pub fn attended(admits: u8, reentry: Reentry, fold: &Fold) -> u32 {
    let counted = match reentry {
        Reentry::None => fold.entered,
        Reentry::AfterExit => fold.peak,
        Reentry::Free => fold.largest,
    };
    counted.min(u32::from(admits))
}

fn order(reentry: Reentry, a: &Movement, b: &Movement) -> Ordering {
    let rank = |m: &Movement| (!m.claim_granted, !m.anchored);
    let tie = |m: &Movement| (m.at, m.device_id.clone(), m.log_id, m.sequence);
    match reentry {
        // Entries and exits interleave, so time alone can order them.
        Reentry::AfterExit => tie(a).cmp(&tie(b)),
        Reentry::None | Reentry::Free => rank(a).cmp(&rank(b)).then_with(|| tie(a).cmp(&tie(b))),
    }
    .then_with(|| a.record_id.cmp(&b.record_id))
}
