//! Records: what a device logs, one JSON text each, never changed once written. The same bytes
//! lie in the journal, travel in signed batches and are kept by the server.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::Trust;
use crate::codes::Format;
use crate::ids::{
    Checkpoint, DeviceId, GateId, Kid, LogId, RecordId, SessionId, TicketId, TicketNumber, VenueId,
};
use crate::reason::Reason;
use crate::ticket::Direction;
use crate::time::{EpochMillis, ServiceDay};

/// One record of a device's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Record {
    /// Its own id, made with it and never again.
    pub id: RecordId,
    /// The log that it stands in.
    pub log_id: LogId,
    /// Its place in that log, from 1, without gaps.
    pub sequence: u64,
    /// The venue that the device was enrolled in when it wrote this.
    pub venue_id: VenueId,
    /// The device.
    pub device_id: DeviceId,
    /// The gate that the device served.
    pub gate_id: GateId,
    /// That gate's checkpoint.
    pub checkpoint: Checkpoint,
    /// When, by the device's trusted clock.
    pub at: EpochMillis,
    /// Uncertainty of that time, in ms.
    pub u_ms: i64,
    /// How far that time could be trusted.
    pub trust: Trust,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// The kinds of records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// One reading at a gate, whatever came of it.
    Scan(Scan),
}

/// How a reading came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// A code was read.
    Code,
}

/// Whether the gate could ask anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Server or hub answered lately.
    Online,
    /// Neither did.
    Isolated,
}

/// `admit` or `refuse`, as records and answers say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The gate opens.
    Admit,
    /// It stays shut.
    Refuse,
}

/// What a record notes beside its verdict.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// Admitted by a verified G2 code whose ticket was in no list.
    Unlisted,
    /// Admitted by a v1 code that nobody could verify.
    Unverified,
    /// The code was of a newer issue than the list knew.
    NewerRevision,
    /// The list was past its `not_after`.
    StaleList,
}

/// One reading of a code at a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Scan {
    /// How it came about.
    pub via: Via,
    /// Which way people pass the gate.
    pub direction: Direction,
    /// The ticket, once the code says which and is verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket_id: Option<TicketId>,
    /// Its number, likewise; an unlisted G2 code knows only this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket_number: Option<TicketNumber>,
    /// Its session, if listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The day of that session, if listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_day: Option<ServiceDay>,
    /// The code's format; none for `malformed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// The key that the code names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<Kid>,
    /// HMAC-SHA256 of the text under a random key of the log, first 16 bytes in hex; none for
    /// `malformed`. Tells two readings of one text without telling the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_hash: Option<String>,
    /// The verdict.
    pub verdict: Answer,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Persons admitted; 0 when refused.
    pub persons: u8,
    /// Whether anybody could be asked.
    pub mode: Mode,
    /// From the reading to the verdict, in µs.
    pub decision_us: u32,
    /// What else is to be said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The ticket's booking channel, where the venue uses it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The ticket's age group, where the venue uses it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub age_group: String,
}
