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
}

impl RetentionJob {
    /// Every job, in the order of a run.
    pub const ALL: [Self; 4] = [Self::Phones, Self::DocumentKeys, Self::Hashes, Self::Acts];

    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Phones => "phones",
            Self::DocumentKeys => "document_keys",
            Self::Hashes => "hashes",
            Self::Acts => "acts",
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
    /// Days that the audit log is kept.
    pub keep_days: u16,
    /// The end of the last day that any venue has had a session on.
    pub last_day_until: Option<EpochSeconds>,
    /// The newest runs, newest first.
    pub runs: Vec<RetentionRun>,
}

/// What a small step of a job removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// How many.
    pub removed: u64,
    /// Whether there may be more.
    pub more: bool,
}
