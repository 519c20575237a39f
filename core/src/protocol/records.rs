//! Records on their way up: signed batches, and what the server says of each record.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::clock::Trust;
use crate::ids::{
    Checkpoint, DeviceId, GateId, LogId, RecordId, SessionId, TicketId, TicketNumber, VenueId,
};
use crate::reason::Reason;
use crate::record::{Answer, ClaimOutcome, PassageOutcome, Record};
use crate::signed::Signed;
use crate::ticket::Direction;
use crate::time::{EpochMillis, ServiceDay};

/// Most records in one batch.
pub const MAX_BATCH: usize = 500;
/// Longest record, in bytes of its JSON text: four times what a scan with every field takes.
pub const MAX_RECORD_BYTES: usize = 4096;

/// `POST /v1/gate/records`. The payload is the JSON text of a [`Batch`], signed by the device
/// key; its `kid` is 0, since a device has one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct SignedBatch(pub Signed);

/// What a batch's signed payload says. Records stay the bytes that the device wrote.
#[derive(Debug, Serialize, Deserialize)]
pub struct Batch<'a> {
    /// The device.
    pub device_id: DeviceId,
    /// 1 to [`MAX_BATCH`] records.
    #[serde(borrow)]
    pub records: Vec<&'a RawValue>,
}

/// What the server reads of a record to file it; the rest is kept as it came, also kinds and
/// fields that it does not know yet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RecordHead {
    /// Its id.
    pub id: RecordId,
    /// Its log.
    pub log_id: LogId,
    /// Its place there.
    pub sequence: u64,
    /// The venue that it was made for.
    pub venue_id: VenueId,
    /// The device that wrote it.
    pub device_id: DeviceId,
    /// The gate.
    pub gate_id: GateId,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// When.
    pub at: EpochMillis,
    /// How far that time could be trusted.
    pub trust: Trust,
    /// `scan`, or what a newer device calls it.
    pub kind: String,
    /// Which way, where it moved people.
    #[serde(default)]
    pub direction: Direction,
    /// The ticket's id, if known.
    #[serde(default)]
    pub ticket_id: Option<TicketId>,
    /// The ticket's number, if known.
    #[serde(default)]
    pub ticket_number: Option<TicketNumber>,
    /// The session, if known.
    #[serde(default)]
    pub session_id: Option<SessionId>,
    /// The session's day, if known.
    #[serde(default)]
    pub service_day: Option<ServiceDay>,
    /// `admit` or `refuse`, where there is a verdict.
    #[serde(default)]
    pub verdict: Option<Answer>,
    /// Why it was refused, as the device calls it.
    #[serde(default)]
    pub reason: Option<String>,
    /// Persons moved.
    #[serde(default)]
    pub persons: u8,
    /// The record that it speaks of.
    #[serde(default)]
    pub refers_to: Option<RecordId>,
    /// What server or hub said to its claim; none also where a newer device says another word.
    #[serde(default, deserialize_with = "known")]
    pub claim: Option<ClaimOutcome>,
    /// Of an override: what was waived, as the device calls it.
    #[serde(default)]
    pub waived: Vec<String>,
    /// Of an undo or override: why it was not carried out.
    #[serde(default)]
    pub denied: Option<String>,
    /// Of a passage: what the sensor said; none also where a newer device says another word.
    #[serde(default, deserialize_with = "known")]
    pub outcome: Option<PassageOutcome>,
    /// Of a passage: whether it gives the admission back.
    #[serde(default)]
    pub frees: bool,
    /// Of a walk-in: its category, as the device calls it.
    #[serde(default)]
    pub category: String,
    /// What else it notes, as the device calls it.
    #[serde(default)]
    pub flags: Vec<String>,
}

/// A word that is known, else none.
fn known<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Word<T> {
        Known(T),
        Other(serde::de::IgnoredAny),
    }
    Ok(match Option::<Word<T>>::deserialize(deserializer)? {
        Some(Word::Known(word)) => Some(word),
        Some(Word::Other(_)) | None => None,
    })
}

impl RecordHead {
    /// Whether it admitted a ticket at an `in` gate: a `scan` or an `override`, practice left out.
    pub fn is_check_in(&self) -> bool {
        matches!(self.kind.as_str(), "scan" | "override")
            && self.direction == Direction::In
            && self.verdict == Some(Answer::Admit)
            && self.counts()
    }

    /// The record that it takes out of the fold, if it is an undo that was carried out or a
    /// passage that gives its admission back.
    pub fn takes_back(&self) -> Option<RecordId> {
        let is_undo = self.kind == "undo" && self.denied.is_none();
        let is_freed = self.kind == "passage" && self.frees;
        self.refers_to
            .filter(|_| self.counts() && (is_undo || is_freed))
    }

    /// Whether a supervisor waived `already_used` for it: never a loser.
    pub fn waived_already_used(&self) -> bool {
        let name = Reason::AlreadyUsed.name();
        self.kind == "override" && self.waived.iter().any(|waived| waived == name)
    }

    /// Whether it counts at all: what is made in practice mode does not.
    pub fn counts(&self) -> bool {
        !self.flags.iter().any(|flag| flag == "practice")
    }
}

/// The answer to a batch: one result per record, in the order sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordsAnswer {
    /// One per record.
    pub results: Vec<RecordResult>,
    /// Per log of the batch, up to where nothing is missing.
    pub logs: Vec<LogState>,
}

/// How far the server has a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogState {
    /// The log.
    pub log_id: LogId,
    /// Every sequence up to here is stored.
    pub have_through: u64,
    /// What is missing between there and the highest sequence that is stored, lowest first, at most
    /// [`MISSING_RANGES`]. A device sends it again as long as it holds it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<SequenceRange>,
}

/// Missing ranges that an answer names at most; the next answers name the others.
pub const MISSING_RANGES: usize = 32;

/// Sequences of a log in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SequenceRange {
    /// The first of them.
    pub first: u64,
    /// The last of them.
    pub last: u64,
}

/// What became of one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordResult {
    /// The record.
    pub id: RecordId,
    /// Stored now, stored before, or set aside for a person.
    pub result: Filed,
    /// Where an admission of a ticket stands now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<RecordStanding>,
    /// Why it was quarantined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<QuarantineCause>,
}

/// The three things that become of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Filed {
    /// Stored now.
    Accepted,
    /// This id is stored with the same bytes.
    Replayed,
    /// Stored for a person to judge; counts nowhere until accepted.
    Quarantined,
}

/// Where an admission stands among those of its ticket and checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordStanding {
    /// It fitted.
    Winner,
    /// It did not: there is a conflict.
    Loser,
}

/// Why a record is set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuarantineCause {
    /// It admitted a ticket that the server does not know.
    UnknownTicket,
    /// It was made for another venue, or names another device.
    ForeignVenue,
    /// This id is stored with other content.
    IdTaken,
    /// This place of the log is stored with another record.
    SequenceTaken,
    /// The device is revoked.
    RevokedDevice,
    /// The server knows the device by its certificate alone.
    ForgottenDevice,
}

/// One record in the log that the back end pulls.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PulledRecord {
    /// When the server stored it.
    pub received_at: EpochMillis,
    /// Where an admission of a ticket stood when it was pulled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<RecordStanding>,
    /// Whether it admitted a ticket that was cancelled before its scan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_cancel: bool,
    /// Whether a later record took it back: undone, or nobody passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub taken_back: bool,
    /// Whether it came after its session was final, and changes what was counted then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late_after_final: bool,
    /// The record as the device wrote it; kinds and members of newer devices included.
    #[schema(value_type = Record)]
    pub record: Box<RawValue>,
}
