//! Records on their way into the store, without the store: what filing reads of each, and where
//! the entries of a ticket stand by the fold.

use std::collections::HashSet;

use sha2::{Digest, Sha256};
use stile_core::admissions::{Movement, Way, fold, in_order};
use stile_core::ids::{Checkpoint, DeviceId, RecordId, TicketNumber, VenueId};
use stile_core::keys::NumberingSecret;
use stile_core::protocol::{FeedItem, FeedKind, RecordHead, RecordStanding};
use stile_core::record::{Answer, ClaimOutcome};
use stile_core::ticket::{Direction, Reentry};
use stile_core::time::ServiceDay;

use crate::store::{FilingMovement, FilingRecord, FilingWalkIn};

/// Why a record cannot be filed at all. Holds nothing of the record but names of members.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableRecord {
    /// Not the JSON that every record is.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// Not the object that every record is.
    #[error("it is no JSON object")]
    NoObject,
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
    // A list of the members' values would do for what is read here, and for nobody else.
    if !bytes.starts_with(b"{") {
        return Err(UnreadableRecord::NoObject);
    }
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
        at: head.at,
        ticket: number,
        movement: movement_to_file(&head, number),
        takes_back: head.takes_back(),
        walk_in: walk_in(&head),
        session_id: head.session_id,
        service_day: head.service_day,
        bytes: bytes.to_vec(),
    })
}

fn walk_in(head: &RecordHead) -> Option<FilingWalkIn> {
    (head.kind == "walk_in" && head.counts()).then(|| FilingWalkIn {
        direction: head.direction,
        category: head.category.clone(),
        persons: head.persons,
        service_day: head.service_day.clone(),
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
        && head.counts()
        && head.direction == Direction::Out
        && head.verdict == Some(Answer::Admit);
    is_exit.then_some(Way::Exit)
}

/// A stored record as the fold takes it. `None` if it moved nobody.
pub fn movement(bytes: &[u8]) -> Result<Option<Movement>, UnreadableRecord> {
    Ok(movement_of(serde_json::from_slice(bytes)?))
}

/// The same, of a head that was read already.
pub fn movement_of(head: RecordHead) -> Option<Movement> {
    way(&head).map(|way| Movement {
        record_id: head.id,
        way,
        persons: head.persons,
        at: head.at,
        anchored: head.trust.is_anchored(),
        claim_granted: head.claim == Some(ClaimOutcome::Granted),
        waived_already_used: head.waived_already_used(),
        gate_id: head.gate_id,
        device_id: head.device_id,
        log_id: head.log_id,
        sequence: head.sequence,
    })
}

/// What a stored record counts to, and where it stands.
#[derive(Debug, Clone)]
pub struct Counted {
    /// The ticket.
    pub number: TicketNumber,
    /// The day.
    pub service_day: ServiceDay,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Of a check-in: where it stands.
    pub standing: Option<RecordStanding>,
}

/// A stored record as gates hear of it. `None` if it neither moved anybody nor took a movement
/// back.
pub fn feed_item(bytes: &[u8], counted: Counted) -> Result<Option<FeedItem>, UnreadableRecord> {
    let head: RecordHead = serde_json::from_slice(bytes)?;
    let (kind, refers_to) = match (way(&head), head.takes_back()) {
        (Some(Way::Entry), _) => (FeedKind::Entry, None),
        (Some(Way::Exit), _) => (FeedKind::Exit, None),
        (None, Some(target)) => (FeedKind::Undo, Some(target)),
        (None, None) => return Ok(None),
    };
    let is_undo = kind == FeedKind::Undo;
    Ok(Some(FeedItem {
        record_id: head.id,
        kind,
        refers_to,
        ticket_number: counted.number,
        service_day: counted.service_day,
        checkpoint: counted.checkpoint,
        at: head.at,
        anchored: head.trust.is_anchored(),
        persons: if is_undo { 0 } else { head.persons },
        claim_granted: head.claim == Some(ClaimOutcome::Granted),
        waived_already_used: head.waived_already_used(),
        loses: counted.standing == Some(RecordStanding::Loser),
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
