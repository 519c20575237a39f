//! What is removed when its time is over.

use serde::Serialize;
use stile_core::time::{EpochMillis, EpochSeconds};

/// What a run removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RetentionJob {
    /// Sealed phones of tickets whose day is over.
    Phones,
    /// Keys that a day's documents are hashed under.
    DocumentKeys,
    /// Hashes of opaque codes and documents in lists that are over.
    Hashes,
    /// Acts in the audit logs.
    Acts,
    /// Accepted records, refusals among them.
    Records,
    /// Records that were set aside for a person.
    Quarantine,
    /// What happened, which webhooks tell.
    Events,
    /// Ids of records that are gone.
    RecordIds,
}

impl RetentionJob {
    /// Every job, in the order of a run.
    pub const ALL: [Self; 8] = [
        Self::Phones,
        Self::DocumentKeys,
        Self::Hashes,
        Self::Acts,
        Self::Records,
        Self::Quarantine,
        Self::Events,
        Self::RecordIds,
    ];

    /// Whether it goes through one venue after the other.
    pub fn is_per_venue(self) -> bool {
        match self {
            Self::Phones | Self::DocumentKeys | Self::Hashes | Self::Acts => false,
            Self::Records | Self::Quarantine | Self::Events | Self::RecordIds => true,
        }
    }

    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Phones => "phones",
            Self::DocumentKeys => "document_keys",
            Self::Hashes => "hashes",
            Self::Acts => "acts",
            Self::Records => "records",
            Self::Quarantine => "quarantine",
            Self::Events => "events",
            Self::RecordIds => "record_ids",
        }
    }
}

/// A job that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RetentionRun {
    /// When, by the server's clock.
    pub at: EpochMillis,
    /// What it removes.
    pub job: RetentionJob,
    /// How many it removed.
    pub removed: u64,
    /// Why it removed nothing, if something stood against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
}

/// What retention goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionState {
    /// Days that records, events and the audit log are kept.
    pub keep_days: u16,
    /// The end of the last day that any venue has had a session on.
    pub last_day_until: Option<EpochSeconds>,
    /// The newest runs, newest first.
    pub runs: Vec<RetentionRun>,
}

/// Since when what came is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptSince {
    /// All that came since is kept.
    pub all: EpochMillis,
    /// What came since, and a webhook has yet to tell, is kept as well.
    pub untold: EpochMillis,
}

/// What a small step of a job removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// How many.
    pub removed: u64,
    /// Whether there may be more.
    pub more: bool,
}
