//! `/v1/reconciliations`: what a day's tickets are by the booking system, and what they are here.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::TicketId;
use crate::time::{EpochMillis, ServiceDay};

/// Tickets of one kind that a report names; beyond, they are only counted.
pub const DIFFERING_NAMED: usize = 100;

/// How a day's set was stated, or looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReconciliationForm {
    /// The whole set was stated and compared, ticket by ticket.
    Set,
    /// The whole set was put (`PUT /v1/service-days/{service_day}/tickets`).
    PutDay,
    /// Count and digest of the set were stated.
    Digest,
    /// The server looked, on the evening before, whether the set that was last stated is still
    /// what is here.
    Nightly,
}

/// Tickets that differ, by how. A ticket may differ in several ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Differences {
    /// Tickets that differ, each counted once.
    pub tickets: u64,
    /// Those that were stated and are not here, or not any more.
    pub missing_here: u64,
    /// Those that are here, valid or pending, and were not stated.
    pub unknown_there: u64,
    /// Those of another status, or cancelled for another cause.
    pub status: u64,
    /// Those of another session.
    pub session: u64,
    /// Those that admit another number of persons.
    pub admits: u64,
    /// Those that differ in anything else that a line says.
    pub other: u64,
    /// Lines that could not be read or taken, whatever ticket they are of.
    pub refused: u64,
}

impl Differences {
    /// Whether nothing differs, and every line could be told.
    pub fn none(&self) -> bool {
        self.tickets == 0 && self.refused == 0
    }
}

/// A set that was stated, or a look at what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reconciliation {
    /// Its id, counted per venue from 1.
    pub reconciliation_id: u64,
    /// The day.
    pub service_day: ServiceDay,
    /// When.
    pub at: EpochMillis,
    /// How.
    pub form: ReconciliationForm,
    /// Whether what is here is what was stated, as far as that form can tell.
    pub equal: bool,
    /// Tickets that were stated.
    pub stated: u64,
    /// Tickets of the day that were here then, valid or pending.
    pub held: u64,
    /// SHA-256 of the file that was stated, as 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// What differed. Of `digest` and `nightly`: of the set that was last stated.
    pub differences: Differences,
    /// Of `digest` and `nightly`: tickets of the day that were changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_since: Option<u64>,
}

/// The tickets that differ in some way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DifferingTickets {
    /// The first 100 of each way.
    pub missing_here: Vec<TicketId>,
    /// Likewise.
    pub unknown_there: Vec<TicketId>,
    /// Likewise.
    pub status: Vec<TicketId>,
    /// Likewise.
    pub session: Vec<TicketId>,
    /// Likewise.
    pub admits: Vec<TicketId>,
    /// Likewise.
    pub other: Vec<TicketId>,
}

/// `POST /v1/reconciliations/{service_day}/digest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatedDigest {
    /// Tickets of the file.
    #[schema(minimum = 0, maximum = 1_000_000_000)]
    pub count: u64,
    /// SHA-256 of the file before any content encoding, as 64 hexadecimal digits.
    #[schema(pattern = "^[0-9A-Fa-f]{64}$")]
    pub sha256: String,
}

/// `GET /v1/reconciliations`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reconciliations {
    /// The newest first.
    pub reconciliations: Vec<Reconciliation>,
    /// Whether there are older ones: ask for those before the last one's `reconciliation_id`.
    pub more: bool,
}
