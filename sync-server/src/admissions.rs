//! Records on their way into the store, without the store: what filing reads of each, and where
//! the entries of a ticket stand by the fold.

use std::collections::HashSet;

use sha2::{Digest, Sha256};
use stile_core::admissions::{Movement, Way, fold, in_order};
use stile_core::ids::{DeviceId, RecordId, TicketNumber, VenueId};
use stile_core::keys::NumberingSecret;
use stile_core::protocol::{RecordHead, RecordStanding};
use stile_core::record::Answer;
use stile_core::ticket::{Direction, Reentry};

use crate::store::{FilingMovement, FilingRecord};

/// Why a record cannot be filed at all. Holds nothing of the record but names of members.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableRecord {
    /// Not the JSON that every record is.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// No place in a log.
    #[error("its sequence is not 1 to 2^63-1")]
    Sequence,
}

/// Who sent a record, and what its ticket's number is derived with.
#[derive(Debug, Clone, Copy)]
pub struct Sender<'a> {
    /// The device that signed the batch.
    pub device_id: &'a DeviceId,
    /// Its venue.
    pub venue_id: &'a VenueId,
    /// The venue's numbering secret.
    pub numbering: &'a NumberingSecret,
}

/// Reads of a record what filing needs, and no more: kinds and members of newer devices pass.
pub fn read(bytes: &[u8], sender: Sender<'_>) -> Result<FilingRecord, UnreadableRecord> {
    let head: RecordHead = serde_json::from_slice(bytes)?;
    if !(1..=i64::MAX as u64).contains(&head.sequence) {
        return Err(UnreadableRecord::Sequence);
    }
    let foreign = head.venue_id != *sender.venue_id || head.device_id != *sender.device_id;
    // The id says more than the number: numbers follow from ids.
    let number = match &head.ticket_id {
        Some(ticket) => Some(sender.numbering.ticket_number(sender.venue_id, ticket)),
        None => head.ticket_number,
    };
    Ok(FilingRecord {
        id: head.id,
        hash: Sha256::digest(bytes).into(),
        log_id: head.log_id,
        sequence: head.sequence,
        foreign,
        movement: movement_to_file(&head, number),
        bytes: bytes.to_vec(),
    })
}

/// What a record does to a ticket's admissions. A check-in always does, also one that names no
/// ticket; at an `out` gate only the scan of a listed ticket is an exit.
pub fn movement_to_file(head: &RecordHead, number: Option<TicketNumber>) -> Option<FilingMovement> {
    let way = way(head)?;
    let listed = number.is_some() && head.service_day.is_some();
    (way == Way::Entry || listed).then(|| FilingMovement {
        way,
        number,
        service_day: head.service_day.clone(),
        checkpoint: head.checkpoint.clone(),
        persons: head.persons,
    })
}

fn way(head: &RecordHead) -> Option<Way> {
    if head.is_check_in() {
        return Some(Way::Entry);
    }
    let is_exit = head.kind == "scan"
        && head.direction == Direction::Out
        && head.verdict == Some(Answer::Admit);
    is_exit.then_some(Way::Exit)
}

/// A stored record as the fold takes it. `None` if it moved nobody.
pub fn movement(bytes: &[u8]) -> Result<Option<Movement>, UnreadableRecord> {
    let head: RecordHead = serde_json::from_slice(bytes)?;
    Ok(way(&head).map(|way| Movement {
        record_id: head.id,
        way,
        persons: head.persons,
        at: head.at,
        anchored: head.trust.is_anchored(),
        claim_granted: false,
        waived_already_used: false,
        gate_id: head.gate_id,
        device_id: head.device_id,
        log_id: head.log_id,
        sequence: head.sequence,
    }))
}

/// Where the entries of one ticket at one checkpoint on one day stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The entries, in the order of the rule.
    pub entries: Vec<(Movement, RecordStanding)>,
}

impl Settled {
    /// Whether there is a conflict.
    pub fn has_loser(&self) -> bool {
        self.entries
            .iter()
            .any(|(_, standing)| *standing == RecordStanding::Loser)
    }
}

/// Settles by the fold who won and who lost. An entry that the fold leaves out of both, because a
/// supervisor waived `already_used` for it, stands as a winner.
pub fn settle(admits: u8, reentry: Reentry, movements: Vec<Movement>) -> Settled {
    let movements = in_order(reentry, movements);
    let fold = fold(admits, reentry, movements.clone());
    let losers: HashSet<RecordId> = fold.losers.into_iter().collect();
    let entries = movements
        .into_iter()
        .filter(|movement| movement.way == Way::Entry);
    let standing = |movement: &Movement| {
        if losers.contains(&movement.record_id) {
            RecordStanding::Loser
        } else {
            RecordStanding::Winner
        }
    };
    Settled {
        entries: entries
            .map(|entry| (entry.clone(), standing(&entry)))
            .collect(),
    }
}
