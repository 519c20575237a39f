//! Records on their way in, in the log, in conflict, in quarantine.

use stile_core::admissions::Way;
use stile_core::ids::{
    Checkpoint, DeviceId, GateId, LogId, RecordId, SessionId, TicketId, TicketNumber,
};
use stile_core::protocol::{DeviceStanding, FeedItem, LogState, QuarantineCause, RecordStanding};
use stile_core::ticket::Direction;
use stile_core::time::{EpochMillis, ServiceDay};

use crate::log_filter::LogFilter;

/// A batch of one device, verified and read.
#[derive(Debug, Clone)]
pub struct FilingBatch {
    /// Who signed it.
    pub device_id: DeviceId,
    /// How that device stands: what one that is not enrolled admitted is set aside.
    pub sender: DeviceStanding,
    /// Its records.
    pub records: Vec<FilingRecord>,
}

/// A record, read as far as filing needs it.
#[derive(Debug, Clone)]
pub struct FilingRecord {
    /// Its id.
    pub id: RecordId,
    /// SHA-256 of its bytes.
    pub hash: [u8; 32],
    /// Its log.
    pub log_id: LogId,
    /// Its place there, 1 ..= 2^63 − 1.
    pub sequence: u64,
    /// Made for another venue, or names another device.
    pub foreign: bool,
    /// When it was made, by the device's clock.
    pub at: EpochMillis,
    /// The ticket that it names, whatever came of it.
    pub ticket: Option<TicketNumber>,
    /// The session that it names.
    pub session_id: Option<SessionId>,
    /// The day that it names.
    pub service_day: Option<ServiceDay>,
    /// What it did to a ticket, if anything.
    pub movement: Option<FilingMovement>,
    /// The record of the same device that it takes back, if it takes one back.
    pub takes_back: Option<RecordId>,
    /// Whom it let pass without a ticket, if anybody.
    pub walk_in: Option<FilingWalkIn>,
    /// The bytes as the device wrote them.
    pub bytes: Vec<u8>,
}

/// What a record did to a ticket's admissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilingMovement {
    /// Entry (a check-in) or exit.
    pub way: Way,
    /// The ticket; none if the record names none.
    pub number: Option<TicketNumber>,
    /// The day that the record says. It counts to that day if the ticket stands or stood in its
    /// list, else to the ticket's own.
    pub service_day: Option<ServiceDay>,
    /// Where.
    pub checkpoint: Checkpoint,
    /// How many.
    pub persons: u8,
}

/// Persons without a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilingWalkIn {
    /// Which way.
    pub direction: Direction,
    /// The venue's category, as the device wrote it.
    pub category: String,
    /// How many.
    pub persons: u8,
    /// The day that they count to, where the record says so; else the day of its time.
    pub service_day: Option<ServiceDay>,
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilingOutcome {
    /// One per record, in the order given.
    pub results: Vec<FilingResult>,
    /// One per log, in the order in which they came first.
    pub logs: Vec<LogState>,
}

/// What became of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilingResult {
    /// Stored now.
    Accepted(Option<RecordStanding>),
    /// Stored before.
    Replayed(Option<RecordStanding>),
    /// Set aside, now or before.
    Quarantined(QuarantineCause),
}

/// Which part of a venue's log is pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogStream {
    /// All accepted records.
    Records,
    /// Those that admitted a ticket at an `in` gate, and those that took one of these back which
    /// stood before them.
    CheckIns,
}

/// Which piece of a log is read.
#[derive(Debug, Clone)]
pub struct LogQuery {
    /// All records, or check-ins.
    pub stream: LogStream,
    /// Which of them.
    pub filter: LogFilter,
    /// Behind which position; 0 at first.
    pub after: Position,
    /// Records at most.
    pub limit: u32,
}

/// A record's place in its venue's log: the order in which it was accepted, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Position(pub u64);

/// The last positions that a venue's log and feed have given; 0 at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ends {
    /// Of the log.
    pub log: Position,
    /// Of the admissions feed.
    pub feed: Position,
}

/// A piece of a venue's log.
#[derive(Debug, Clone)]
pub struct Page {
    /// In ascending order of their positions.
    pub records: Vec<StoredRecord>,
    /// Behind which the next piece starts.
    pub next: Position,
    /// Whether there was more at that moment, or may have been: a piece is also over when enough
    /// records have been looked at for it.
    pub more: bool,
    /// The last position that the log had given at that moment; `next` where there was no more.
    pub end: Position,
    /// Of what was asked for, records up to this position are gone: their time was over.
    pub removed: Option<Position>,
}

/// An accepted record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// Its place.
    pub position: Position,
    /// When the server got it.
    pub received_at: EpochMillis,
    /// Where a check-in stands; none once it is taken back.
    pub standing: Option<RecordStanding>,
    /// Whether it is a check-in of a ticket that was cancelled before its scan.
    pub after_cancel: bool,
    /// Whether a later record took it back.
    pub taken_back: bool,
    /// Whether it came after its session was final, and changes what was counted then.
    pub late_after_final: bool,
    /// The bytes as the device wrote them.
    pub bytes: Vec<u8>,
}

/// A piece of a venue's admissions feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// In ascending order of their positions.
    pub items: Vec<FeedItem>,
    /// Behind which the next piece starts.
    pub next: Position,
    /// Whether there was more at that moment.
    pub more: bool,
}

/// Which conflicts are wanted.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConflictState {
    /// Those that have a loser.
    #[default]
    Open,
    /// Those that have none any more.
    Cleared,
    /// Both.
    All,
}

/// A ticket that was admitted for more persons than it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The ticket.
    pub ticket_id: TicketId,
    /// Its number.
    pub number: TicketNumber,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The day.
    pub service_day: ServiceDay,
    /// When it was first seen.
    pub opened_at: EpochMillis,
    /// Since when it has no loser; none while it is open.
    pub cleared_at: Option<EpochMillis>,
    /// Its entries, taken back ones left out, in the order of the rule.
    pub entries: Vec<ConflictEntry>,
}

/// One entry of a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictEntry {
    /// The record.
    pub record_id: RecordId,
    /// Where.
    pub gate_id: GateId,
    /// When, by the device's clock.
    pub at: EpochMillis,
    /// For how many.
    pub persons: u8,
    /// Whether it fitted.
    pub standing: RecordStanding,
}

/// Which quarantined records are read.
#[derive(Debug, Clone)]
pub enum QuarantineQuery {
    /// Those that nobody has judged, the oldest first.
    Waiting {
        /// Of this device alone.
        device: Option<DeviceId>,
        /// At most so many.
        limit: u32,
    },
    /// Those that wait because of how their device stands, the oldest first.
    OfStanding {
        /// The device.
        device: DeviceId,
        /// At most so many.
        limit: u32,
    },
    /// These, judged or not.
    These(Vec<RecordId>),
}

/// A record that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// Its id.
    pub id: RecordId,
    /// Who sent it.
    pub device_id: DeviceId,
    /// Why it waits.
    pub cause: QuarantineCause,
    /// When the server got it.
    pub received_at: EpochMillis,
    /// The bytes as the device wrote them.
    pub bytes: Vec<u8>,
}
