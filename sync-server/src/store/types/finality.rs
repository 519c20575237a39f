//! What devices say of their outbox, and what other systems are told of a venue.

use stile_core::ids::DeviceId;
use stile_core::time::EpochMillis;

use super::Position;

use crate::traced::TraceId;

/// What a device said of its outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxState {
    /// The device.
    pub device_id: DeviceId,
    /// Every record that it made before this is here.
    pub delivered_through: EpochMillis,
    /// Records that it holds back.
    pub outstanding: u64,
}

/// What an event tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// Nothing more can be missing of a session; its id is the event's thing.
    SessionFinalized,
    /// A ticket was admitted for more persons than it has; its id is the event's thing.
    ConflictOpened,
    /// That is so no longer.
    ConflictCleared,
    /// Something needs a person; what it is about is the event's thing.
    AlarmOpened,
    /// That is so no longer.
    AlarmEnded,
}

impl EventKind {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionFinalized => "session.finalized",
            Self::ConflictOpened => "conflict.opened",
            Self::ConflictCleared => "conflict.cleared",
            Self::AlarmOpened => "alarm.opened",
            Self::AlarmEnded => "alarm.ended",
        }
    }
}

/// Something that happened at a venue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its place among the venue's.
    pub position: Position,
    /// When.
    pub at: EpochMillis,
    /// The server's generation then.
    pub generation: u64,
    /// What.
    pub kind: EventKind,
    /// The id of what it is about.
    pub thing: String,
    /// A JSON object.
    pub detail: String,
    /// The trace of the request in which it happened, if it happened in one.
    pub trace: Option<TraceId>,
}
