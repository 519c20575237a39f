//! Sets that the booking system stated of a day's tickets, and what differed.

pub use stile_core::protocol::{Differences, DifferingTickets, Reconciliation, ReconciliationForm};

use stile_core::time::{EpochMillis, ServiceDay};

/// A set that was stated, or a look at what became of it, before it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReconciliation {
    /// The day.
    pub service_day: ServiceDay,
    /// How.
    pub form: ReconciliationForm,
    /// Tickets that were stated.
    pub stated: u64,
    /// SHA-256 of the file, if there was one.
    pub sha256: Option<[u8; 32]>,
    /// What differed.
    pub differences: Differences,
}

/// Which reconciliations are wanted, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconciliationQuery {
    /// Those of this day alone.
    pub service_day: Option<ServiceDay>,
    /// Those with a lower id alone.
    pub before: Option<u64>,
    /// At most so many.
    pub limit: u32,
}

/// What is known of a day's sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayReconciliation {
    /// The one that was last stated whole, or put.
    pub last: Option<Reconciliation>,
    /// Whether the evening's look was taken.
    pub looked: bool,
}

/// What is known of a booking system's habit to state its sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReconciliationState {
    /// Whether it does.
    pub reconciles: bool,
    /// When what is here was last said to be its set, or compared with it.
    pub last_at: Option<EpochMillis>,
}
