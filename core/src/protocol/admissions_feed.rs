//! The admissions feed, `GET /v1/gate/admissions?after=&wait=`: what moved people of the venue's
//! held days, and what took a movement back, so that every gate knows what the others did. It is
//! not signed; a gate unites it with its own journal by record id.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{Checkpoint, DeviceId, GateId, LogId, RecordId, TicketNumber};
use crate::time::{EpochMillis, ServiceDay};

/// Most items in one answer.
pub const MAX_FEED_ITEMS: u32 = 5_000;

/// A piece of the feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedAnswer {
    /// In the order in which the server stored them.
    pub items: Vec<FeedItem>,
    /// Where the next piece starts: pass it as `after`. A server that was put back from a backup
    /// does not know it and starts from the beginning, which changes nothing: items are united by
    /// record id.
    pub cursor: String,
    /// Whether there is more already.
    pub more: bool,
}

/// What an item does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeedKind {
    /// Persons were admitted.
    Entry,
    /// Persons left.
    Exit,
    /// An entry or exit counts no longer: undone, or nobody passed.
    Undo,
}

/// One movement of a ticket, or one that is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedItem {
    /// The record that says it.
    pub record_id: RecordId,
    /// What it does.
    pub kind: FeedKind,
    /// Of an undo: the record that it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refers_to: Option<RecordId>,
    /// The ticket.
    pub ticket_number: TicketNumber,
    /// The day that it counts to.
    pub service_day: ServiceDay,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Where.
    pub gate_id: GateId,
    /// By which device.
    pub device_id: DeviceId,
    /// In which of its logs.
    pub log_id: LogId,
    /// At which place there.
    pub sequence: u64,
    /// When, by that device's trusted clock.
    pub at: EpochMillis,
    /// Whether that clock was anchored.
    pub anchored: bool,
    /// Persons moved; 0 for an undo.
    #[schema(maximum = 255)]
    pub persons: u8,
    /// Whether a claim had been granted.
    #[serde(default)]
    pub claim_granted: bool,
    /// Whether a supervisor waived `already_used` for it.
    #[serde(default)]
    pub waived_already_used: bool,
    /// Of an entry: whether the server's rule has it as a loser now. A conflict that another
    /// device made later reaches this one by it.
    #[serde(default)]
    pub loses: bool,
}
