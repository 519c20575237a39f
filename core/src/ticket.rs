//! Tickets, sessions and gates as a gate holds them. What the booking back end sends is wider
//! (names, phones) and lives on the server only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::codes::document::DOCUMENT_HASH_BYTES;
use crate::ids::{
    Checkpoint, GateId, LastFour, OrderNumber, SessionId, TicketId, TicketNumber, Zone,
};
use crate::keys::{RotationKey, TicketKey};
use crate::time::{EpochSeconds, ServiceDay};

/// What the last four digits are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DigitsOf {
    /// A phone number.
    Phone,
    /// An identity document's number.
    Document,
}

/// Where a ticket stands. Used and no-show are no statuses: they follow from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TicketStatus {
    /// Unpaid or waiting.
    Pending,
    /// Good for admission.
    Valid,
    /// Stolen, disputed or banned.
    Blocked,
    /// Cancelled, with a cause.
    Cancelled,
}

/// Why a ticket was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CancelCause {
    /// By the visitor.
    Visitor,
    /// By the venue.
    Operator,
    /// Paid back.
    Refunded,
    /// Not paid in time.
    Expired,
    /// Its session does not take place.
    SessionCancelled,
}

/// Whether a row of the list is the ticket or only says what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The ticket itself.
    Live,
    /// A tombstone: the ticket was moved to a session of another day.
    Moved {
        /// Its session now.
        session_id: SessionId,
        /// The day of that session.
        service_day: ServiceDay,
        /// When admission to it begins.
        admit_from: EpochSeconds,
    },
    /// A tombstone: the ticket is no longer in the booking system's set. Answers as cancelled.
    Deleted,
}

/// One row of a whitelist: the right of one party to enter one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The number that G2 and G3 codes carry.
    pub number: TicketNumber,
    /// The booking system's id.
    pub ticket_id: TicketId,
    /// The order that it belongs to.
    pub order_number: OrderNumber,
    /// The session that it enters.
    pub session_id: SessionId,
    /// Zones that it opens; empty means those of its session.
    pub zones: Vec<Zone>,
    /// What the guard reads, such as a seat ("A-12-5"); empty if none.
    pub label: String,
    /// The holder's name, masked; empty if none.
    pub holder_mask: String,
    /// Digits to compare with the visitor's phone or document.
    pub last_four: Option<LastFour>,
    /// What those digits are of.
    pub last_four_of: Option<DigitsOf>,
    /// Ticket category, as the booking system names it; empty if none.
    pub category: String,
    /// What a guard must look at; empty if nothing.
    pub attention: String,
    /// The channel it was booked by; empty where the venue does not use it.
    pub source: String,
    /// Age group of the holder; empty where the venue does not use it.
    pub age_group: String,
    /// Persons that it admits, 1 to 255.
    pub admits: u8,
    /// Where it stands.
    pub status: TicketStatus,
    /// Why it was cancelled, if it was.
    pub cancel_cause: Option<CancelCause>,
    /// Counts up when the ticket is issued anew.
    pub revision: u8,
    /// Start of its own admission window, if it has one.
    pub admit_from: Option<EpochSeconds>,
    /// End (exclusive) of its own admission window, if it has one.
    pub admit_until: Option<EpochSeconds>,
    /// K_t, where the venue takes v1 codes with derived keys.
    pub ticket_key: Option<TicketKey>,
    /// K_r, where the venue takes G3 codes.
    pub rotation_key: Option<RotationKey>,
    /// Hashes of its opaque codes.
    pub opaque_hashes: Vec<[u8; 16]>,
    /// Hashes of the documents that it enters by, under the day's key.
    pub document_hashes: Vec<[u8; DOCUMENT_HASH_BYTES]>,
    /// The ticket itself, or a tombstone.
    pub standing: Standing,
}

/// How often one ticket enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reentry {
    /// Each admission is used once.
    #[default]
    None,
    /// An exit gives the admission back.
    AfterExit,
    /// As often as the holder likes, for at most the persons that it admits at a time.
    Free,
}

/// Whether a session takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// It takes place.
    #[default]
    Open,
    /// It does not.
    Cancelled,
}

/// A timed-entry slot (场次).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Its id.
    pub session_id: SessionId,
    /// The venue's business date that it counts to.
    pub service_day: ServiceDay,
    /// What people call it; empty if nothing.
    #[serde(default)]
    pub name: String,
    /// Start.
    pub starts_at: EpochSeconds,
    /// End, exclusive.
    pub ends_at: EpochSeconds,
    /// Start of admission.
    pub admit_from: EpochSeconds,
    /// End of admission, exclusive.
    pub admit_until: EpochSeconds,
    /// Zones that its tickets open, unless they say otherwise.
    #[serde(default)]
    pub zones: Vec<Zone>,
    /// How often a ticket of it enters.
    #[serde(default)]
    pub reentry: Reentry,
    /// Whether it takes place.
    #[serde(default)]
    pub status: SessionStatus,
    /// A word for guards and visitors, such as why it is cancelled; empty if none.
    #[serde(default)]
    pub note: String,
    /// Persons that it takes at once, if anybody says. Gates admit by tickets alone and make
    /// nothing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// The same of zones while it takes place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub zone_capacities: BTreeMap<Zone, Capacity>,
}

/// Most persons of a [`Capacity`]: no museum takes as many.
pub const MOST_CAPACITY: u32 = 1_000_000;

/// A number is no capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a capacity is 1 to {MOST_CAPACITY} persons")]
pub struct CapacityError;

/// Persons that something takes at once, 1 to 1,000,000.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(try_from = "u32", into = "u32")]
#[schema(value_type = u32, minimum = 1, maximum = 1_000_000)]
pub struct Capacity(u32);

impl Capacity {
    /// The persons.
    pub fn persons(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Capacity {
    type Error = CapacityError;
    fn try_from(persons: u32) -> Result<Self, CapacityError> {
        match persons {
            1..=MOST_CAPACITY => Ok(Self(persons)),
            _ => Err(CapacityError),
        }
    }
}

impl From<Capacity> for u32 {
    fn from(capacity: Capacity) -> Self {
        capacity.0
    }
}

/// Which way people pass a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Into the venue: every rule holds.
    #[default]
    In,
    /// Out of it: locks nobody in.
    Out,
}

/// One door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Gate {
    /// Its id.
    pub gate_id: GateId,
    /// What people call it; empty if nothing.
    #[serde(default)]
    pub name: String,
    /// Which way people pass.
    #[serde(default)]
    pub direction: Direction,
    /// What one admission here is good for.
    pub checkpoint: Checkpoint,
    /// The zones that it admits to.
    #[serde(default)]
    pub zones: Vec<Zone>,
    /// Whether nobody stands at it.
    #[serde(default)]
    pub unattended: bool,
}
