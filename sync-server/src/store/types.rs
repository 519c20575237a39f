//! What the store takes and gives: the domain's things as the server knows them, without any
//! engine's.

use std::fmt;

use serde::{Deserialize, Serialize};
use stile_core::admissions::Way;
use stile_core::ids::{
    Checkpoint, DeviceId, GateId, Kid, LastFour, LogId, OrderNumber, RecordId, SessionId, TicketId,
    TicketNumber, VenueId, VenueNumber, Zone,
};
use stile_core::policy::Policy;
use stile_core::protocol::{LogState, QuarantineCause, RecordStanding};
use stile_core::signed::Signed;
use stile_core::ticket::{CancelCause, Session, Standing, TicketStatus};
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};

/// What holds for the whole server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// UTC seconds at which the data was put back from a backup; 0 at first.
    pub generation: u64,
    /// What the master key is checked against, once it was kept.
    pub vault_check: Option<Vec<u8>>,
}

/// What putting something did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// It was not there before.
    Created,
    /// It was there, with other content.
    Changed,
    /// It was there as it is.
    Unchanged,
}

/// A venue.
#[derive(Debug, Clone, PartialEq)]
pub struct Venue {
    /// Its id.
    pub venue_id: VenueId,
    /// Its number in codes and in the store.
    pub number: VenueNumber,
    /// What people call it.
    pub name: String,
    /// IANA name of its time zone.
    pub time_zone: String,
    /// What it decided for itself.
    pub policy: Policy,
    /// When it was created.
    pub created_at: EpochMillis,
}

/// A venue to be created.
#[derive(Debug, Clone)]
pub struct NewVenue {
    /// Its id.
    pub venue_id: VenueId,
    /// What people call it.
    pub name: String,
    /// IANA name of its time zone.
    pub time_zone: String,
    /// Its policy.
    pub policy: Policy,
    /// When.
    pub created_at: EpochMillis,
    /// Its secrets, sealed.
    pub secrets: Vec<SealedSecret>,
}

/// What a secret is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SecretKind {
    /// Ed25519 seed that signs key manifests.
    Root,
    /// Ed25519 seed that signs lists and certificates.
    List,
    /// Ed25519 seed that signs codes.
    Code,
    /// Ticket and rotation keys are derived from it.
    Issuer,
    /// Ticket numbers are derived from it.
    Numbering,
    /// Cursors are signed with it.
    Cursor,
    /// Devices' bearers are derived from it.
    Bearer,
}

impl SecretKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Root,
        Self::List,
        Self::Code,
        Self::Issuer,
        Self::Numbering,
        Self::Cursor,
        Self::Bearer,
    ];

    /// Its stable name in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::List => "list",
            Self::Code => "code",
            Self::Issuer => "issuer",
            Self::Numbering => "numbering",
            Self::Cursor => "cursor",
            Self::Bearer => "bearer",
        }
    }
}

/// A secret as it is stored: encrypted under the master key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecret {
    /// What it is for.
    pub kind: SecretKind,
    /// Its name in its role; 0 for what is no signing key of a role with several.
    pub kid: Kid,
    /// The sealed bytes.
    pub sealed: Vec<u8>,
}

/// A key manifest as it was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKeyManifest {
    /// Its version.
    pub version: u64,
    /// The generation that it was signed in.
    pub generation: u64,
    /// When a newer one must be there.
    pub not_after: EpochSeconds,
    /// What was signed.
    pub signed: Signed,
}

/// Names an API key for people; says nothing of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ApiKeyId(pub i64);

impl fmt::Display for ApiKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What an API key may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// Sessions and tickets.
    #[serde(rename = "tickets:write")]
    TicketsWrite,
    /// Codes.
    #[serde(rename = "codes:mint")]
    CodesMint,
    /// Records, check-ins and conflicts.
    #[serde(rename = "records:read")]
    RecordsRead,
    /// Everything.
    #[serde(rename = "admin")]
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 4] = [
        Self::TicketsWrite,
        Self::CodesMint,
        Self::RecordsRead,
        Self::Admin,
    ];

    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::TicketsWrite => "tickets:write",
            Self::CodesMint => "codes:mint",
            Self::RecordsRead => "records:read",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a scope is one of tickets:write, codes:mint, records:read, admin")]
pub struct ScopeError;

impl std::str::FromStr for Scope {
    type Err = ScopeError;
    fn from_str(text: &str) -> std::result::Result<Self, ScopeError> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.name() == text)
            .ok_or(ScopeError)
    }
}

/// An API key, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its name for programs.
    pub id: ApiKeyId,
    /// What people call it.
    pub name: String,
    /// The venues that it is good for, by id.
    pub venues: Vec<VenueId>,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: EpochMillis,
    /// The first moment at which it is no longer good, if ever.
    pub expires_at: Option<EpochSeconds>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<EpochMillis>,
}

impl ApiKey {
    /// Whether its scopes allow this; `admin` allows everything.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }
}

/// An API key to be added.
#[derive(Debug, Clone)]
pub struct NewApiKey {
    /// SHA-256 of its text.
    pub hash: [u8; 32],
    /// What people call it.
    pub name: String,
    /// The venues that it is good for.
    pub venues: Vec<VenueId>,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// When.
    pub created_at: EpochMillis,
    /// The first moment at which it is no longer good, if ever.
    pub expires_at: Option<EpochSeconds>,
}

/// What an upsert may set of a ticket, whatever it was before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketFields {
    /// The booking system's id.
    pub ticket_id: TicketId,
    /// Its order.
    pub order_number: OrderNumber,
    /// The session that it enters.
    pub session_id: SessionId,
    /// Zones that it opens; empty means those of its session.
    pub zones: Vec<Zone>,
    /// What the guard reads; empty if nothing.
    pub label: String,
    /// The holder's name, masked; empty if none.
    pub holder_mask: String,
    /// Last four digits of the holder's phone.
    pub last_four: Option<LastFour>,
    /// Ticket category; empty if none.
    pub category: String,
    /// What a guard must look at; empty if nothing.
    pub attention: String,
    /// The channel it was booked by; empty if none.
    pub source: String,
    /// Age group of the holder; empty if none.
    pub age_group: String,
    /// Persons that it admits.
    pub admits: u8,
    /// Start of its own admission window, if it has one.
    pub admit_from: Option<EpochSeconds>,
    /// End of its own admission window, exclusive, if it has one.
    pub admit_until: Option<EpochSeconds>,
    /// Hashes of its opaque codes.
    pub opaque_hashes: Vec<[u8; 16]>,
    /// The booking system's count of changes, if it has one.
    pub source_version: Option<i64>,
}

/// One line of an upsert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketUpsert {
    /// Its number, derived from its id.
    pub number: TicketNumber,
    /// The bucket of its number.
    pub bucket: u8,
    /// What it is to be.
    pub fields: TicketFields,
    /// Where it is to stand, if the line says so.
    pub status: Option<TicketStatus>,
    /// Why it was cancelled, where `status` is cancelled.
    pub cancel_cause: Option<CancelCause>,
}

/// What became of a line of an upsert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upserted {
    /// It is as the line says.
    Put(Change),
    /// There is no such session.
    UnknownSession,
    /// The stored `source_version` is this, and the line's is lower.
    Outdated(i64),
    /// Another ticket has this number.
    NumberTaken,
}

/// A row of a day's list: a ticket, or the tombstone of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRow {
    /// Its number.
    pub number: TicketNumber,
    /// What an upsert sets.
    pub fields: TicketFields,
    /// Where it stands.
    pub status: TicketStatus,
    /// Why it was cancelled, if it was.
    pub cancel_cause: Option<CancelCause>,
    /// Counts up when it is issued anew.
    pub revision: u8,
    /// The ticket itself, or a tombstone.
    pub standing: Standing,
    /// The list's version at the row's last change.
    pub version: u64,
}

/// A ticket with its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketInSession {
    /// The ticket; never a tombstone of a moved one.
    pub ticket: ListRow,
    /// Its session.
    pub session: Session,
}

/// What holds for a day's list as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListState {
    /// Counts up with each change of rows or settings; 1 at first.
    pub version: u64,
    /// The day's first moment.
    pub day_from: EpochSeconds,
    /// The first moment that is no longer the day's.
    pub day_until: EpochSeconds,
}

/// An invitation to enrol.
#[derive(Debug, Clone)]
pub struct NewEnrolment {
    /// SHA-256 of the token.
    pub token_hash: [u8; 32],
    /// The gates that the device may serve.
    pub gates: Vec<GateId>,
    /// When it was made.
    pub created_at: EpochMillis,
    /// The first moment at which the token is no longer good.
    pub expires_at: EpochSeconds,
}

/// A device that shows a token.
#[derive(Debug, Clone)]
pub struct EnrolmentClaim {
    /// SHA-256 of the token.
    pub token_hash: [u8; 32],
    /// The device's public key.
    pub public_key: [u8; 32],
    /// The id that it is to have if it is new.
    pub device_id: DeviceId,
    /// SHA-256 of the bearer that it is to have if it is new.
    pub bearer_hash: [u8; 32],
    /// What people call it.
    pub name: String,
    /// Make and model.
    pub model: String,
    /// Now.
    pub now: EpochMillis,
}

/// What became of a device that showed a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnrolOutcome {
    /// It is enrolled, now or since before.
    Enrolled(Device),
    /// There is no such token.
    Unknown,
    /// The token is over.
    Over,
    /// Another key has used the token.
    Taken,
}

/// An enrolled device as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its id.
    pub device_id: DeviceId,
    /// Its Ed25519 public key.
    pub public_key: [u8; 32],
    /// What people call it.
    pub name: String,
    /// Make and model.
    pub model: String,
    /// The gates that it may serve.
    pub gates: Vec<GateId>,
    /// When it was enrolled.
    pub enrolled_at: EpochMillis,
}

/// A batch of one device, verified and read.
#[derive(Debug, Clone)]
pub struct FilingBatch {
    /// Who signed it.
    pub device_id: DeviceId,
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
    /// What it did to a ticket, if anything.
    pub movement: Option<FilingMovement>,
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
    /// The day that it counts to, where the record says so; else the ticket's.
    pub service_day: Option<ServiceDay>,
    /// Where.
    pub checkpoint: Checkpoint,
    /// How many.
    pub persons: u8,
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
    /// Those that admitted a ticket at an `in` gate.
    CheckIns,
}

/// A record's place in its venue's log: the order in which it was accepted, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(pub u64);

/// A piece of a venue's log.
#[derive(Debug, Clone)]
pub struct Page {
    /// In ascending order of their positions.
    pub records: Vec<StoredRecord>,
    /// Behind which the next piece starts.
    pub next: Position,
    /// Whether there was more at that moment.
    pub more: bool,
}

/// An accepted record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// Its place.
    pub position: Position,
    /// When the server got it.
    pub received_at: EpochMillis,
    /// Where a check-in stands.
    pub standing: Option<RecordStanding>,
    /// The bytes as the device wrote them.
    pub bytes: Vec<u8>,
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
    /// Its entries, in the order of the rule.
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
