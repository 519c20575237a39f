//! What the booking back end and the operator say to the server, and what it answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Problem, PulledRecord, RecordStanding, SessionFinality};
use crate::codes::Format;
use crate::ids::{
    Checkpoint, GateId, LastFour, OrderNumber, RecordId, SessionId, TicketId, TicketNumber, Zone,
};
use crate::policy::Policy;
use crate::ticket::{
    CancelCause, Capacity, Direction, Gate, Reentry, Session, SessionStatus, TicketStatus,
};
use crate::time::{EpochMillis, EpochSeconds, ServiceDay};

/// A point in time as a booking system has it: epoch seconds, RFC 3339 with an offset, or a local
/// date and time in the venue's zone (`2026-10-01 09:30`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum TimeInput {
    /// Epoch seconds.
    Epoch(i64),
    /// RFC 3339 or local.
    Text(String),
}

/// `PUT /v1/sessions/{session_id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewSession {
    /// The business date it counts to; by default the venue's date of `starts_at`, and the day
    /// before for a session that starts between 00:00 and 06:00.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_day: Option<ServiceDay>,
    /// What people call it.
    #[serde(default)]
    pub name: String,
    /// Start.
    pub starts_at: TimeInput,
    /// End, exclusive. A local end that is not after the start is taken to be on the next day.
    pub ends_at: TimeInput,
    /// Start of admission; by default 30 minutes before the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admit_from: Option<TimeInput>,
    /// End of admission, exclusive; by default the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admit_until: Option<TimeInput>,
    /// Zones that its tickets open.
    #[serde(default)]
    pub zones: Vec<Zone>,
    /// How often a ticket enters.
    #[serde(default)]
    pub reentry: Reentry,
    /// Whether it takes place.
    #[serde(default)]
    pub status: SessionStatus,
    /// A word for guards and visitors.
    #[serde(default)]
    pub note: String,
    /// Persons that it takes at once; alarms open at 80 and 100 percent of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// The same of zones while it takes place, by zone: `{"A": 200}`. Persons are in a zone when
    /// they were admitted at a gate to it, until they leave by one of it or of no zone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub zone_capacities: BTreeMap<Zone, Capacity>,
}

/// The answer to `PUT /v1/policy`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PolicyPut {
    /// The policy as it stands now.
    #[serde(flatten)]
    pub policy: Policy,
    /// What should be thought about, for people: each begins with the member that it speaks of.
    pub warnings: Vec<String>,
}

/// `PUT /v1/gates/{gate_id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewGate {
    /// What people call it.
    #[serde(default)]
    pub name: String,
    /// Which way people pass.
    #[serde(default)]
    pub direction: Direction,
    /// What one admission is good for; by default `entry`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
    /// The zones that it admits to.
    #[serde(default)]
    pub zones: Vec<Zone>,
    /// Whether nobody stands at it.
    #[serde(default)]
    pub unattended: bool,
}

/// A ticket as the server shows it: nothing of the holder but mask and last four digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TicketView {
    /// The booking system's id.
    pub ticket_id: TicketId,
    /// The number in G2 and G3 codes.
    pub ticket_number: TicketNumber,
    /// Its order.
    pub order_number: OrderNumber,
    /// Its session.
    pub session_id: SessionId,
    /// The day of that session.
    pub service_day: ServiceDay,
    /// The holder's name, masked.
    pub holder_mask: String,
    /// Last four digits of the holder's phone.
    pub last_four: Option<LastFour>,
    /// Persons that it admits.
    #[schema(maximum = 255)]
    pub admits: u8,
    /// Where it stands.
    pub status: TicketStatus,
    /// Why it was cancelled, if it was.
    pub cancel_cause: Option<CancelCause>,
    /// Counts up when it is issued anew.
    #[schema(maximum = 255)]
    pub revision: u8,
    /// Whether it is no longer in its day's whole set; gates answer as if it were cancelled.
    pub deleted: bool,
}

/// `POST /v1/codes`: at most 1,000 at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MintRequest {
    /// The codes wanted.
    pub codes: Vec<MintItem>,
}

/// One code wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MintItem {
    /// The ticket.
    pub ticket_id: TicketId,
    /// `v1`, `G2` or `G3`.
    pub format: Format,
    /// How long it is to be valid, in seconds from now; by default 900. A G2 code rounds up to
    /// the next five minutes; a G3 code takes none, since its counter is its window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    pub ttl_s: Option<u32>,
}

/// Codes, in the order wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MintAnswer {
    /// One per code wanted.
    pub codes: Vec<Minted>,
}

/// One code, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Minted {
    /// The ticket.
    pub ticket_id: TicketId,
    /// Its format.
    pub format: Format,
    /// The text for the QR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The first second at which it is no longer valid, leeway left aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<EpochSeconds>,
    /// For G3: what the visitor's app needs to make the further codes by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation: Option<Rotation>,
    /// Why there is no code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What a visitor's app needs to show rotating codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Rotation {
    /// Payload and signature, 91 bytes, base64.
    pub signed_payload: String,
    /// K_r, 32 bytes, base64.
    pub rotation_key: String,
}

/// `GET /v1/records` and `GET /v1/check-ins`: a piece of the log.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Pulled {
    /// In the order in which the server stored them; each exactly once per generation.
    pub records: Vec<PulledRecord>,
    /// Where the next piece starts; keep it in the transaction that keeps the records.
    pub cursor: String,
    /// Whether there is more already.
    pub more: bool,
    /// How complete the sessions are that these records, or the filters, name; by start and id.
    #[serde(default)]
    pub sessions: Vec<SessionFinality>,
}

/// `GET /v1/conflicts`: tickets that were admitted for more persons than they have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Conflicts {
    /// Newest first, at most 1,000.
    pub conflicts: Vec<ConflictView>,
}

/// One conflict: one ticket at one checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictView {
    /// The ticket.
    pub ticket_id: TicketId,
    /// Its number.
    pub ticket_number: TicketNumber,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The day.
    pub service_day: ServiceDay,
    /// When the server first saw it.
    pub opened_at: EpochMillis,
    /// Since when none of its admissions loses any more; none while the conflict is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleared_at: Option<EpochMillis>,
    /// Its admissions, undone ones left out, in the order of the rule.
    pub admissions: Vec<ConflictAdmission>,
}

/// One admission of a ticket in conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictAdmission {
    /// The record.
    pub record_id: RecordId,
    /// Where.
    pub gate_id: GateId,
    /// When.
    pub at: EpochMillis,
    /// For how many.
    #[schema(maximum = 255)]
    pub persons: u8,
    /// Whether it fitted.
    pub standing: RecordStanding,
}

/// The last line of `GET /v1/records` and `GET /v1/check-ins` as lines of JSON, after one
/// [`PulledRecord`] per line; an answer without it was cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PulledEnd {
    /// Where the next piece starts.
    pub cursor: String,
    /// Whether there is more already.
    pub more: bool,
    /// How complete the sessions are that the lines, or the filters, name; by start and id.
    #[serde(default)]
    pub sessions: Vec<SessionFinality>,
}

/// `GET /v1/sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sessions {
    /// In the order of their start.
    pub sessions: Vec<Session>,
}

/// `GET /v1/gates`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Gates {
    /// In the order of their ids.
    pub gates: Vec<Gate>,
}

/// The problem document of a ticket file that was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileRefused {
    /// What is wrong with it.
    #[serde(flatten)]
    pub problem: Problem,
    /// Lines before the fault that went in and stay, if reading had begun; sending the whole file
    /// again is safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<u64>,
}

/// The problem document of a day's whole set that would do away with more tickets than may vanish
/// without a person's word (`too_many_vanish`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TooManyVanish {
    /// What is wrong with it.
    #[serde(flatten)]
    pub problem: Problem,
    /// Tickets that the day has, without those that are cancelled or blocked.
    pub day_had: u64,
    /// Those of them that are not in the set.
    pub would_vanish: u64,
    /// As many as may vanish.
    pub may_vanish: u64,
}

/// The problem document of a cursor that was given before the server's data was put back from a
/// backup (`cursor_restarted`), or behind which records are gone (`cursor_expired`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CursorRestarted {
    /// What happened.
    #[serde(flatten)]
    pub problem: Problem,
    /// Where to start anew, or to go on.
    pub cursor: String,
}
