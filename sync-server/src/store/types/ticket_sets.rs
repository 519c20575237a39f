//! Whole sets of tickets: kept aside line by line, then applied at once.

use stile_core::ids::{RecordId, TicketNumber};
use stile_core::time::{EpochMillis, ServiceDay};
use uuid::Uuid;

use super::{TicketUpsert, Upserted};

/// Lines of a set that an application names as refused; beyond, they are only counted.
pub const SET_REFUSALS_NAMED: usize = 1_000;

/// A set that is being kept aside: a UUIDv7, so that it says when it was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetId(pub Uuid);

impl SetId {
    /// The id of a set that begins now.
    pub fn at(now: EpochMillis, random: [u8; 10]) -> Self {
        Self(RecordId::at(now, random).0)
    }
}

/// Lines for a set.
#[derive(Debug, Clone, Default)]
pub struct SetLines {
    /// Where each line stands in its file, and what it says.
    pub lines: Vec<(u64, TicketUpsert)>,
    /// Tickets of lines that are not taken: they are in the set, and stay as they are.
    pub named: Vec<TicketNumber>,
}

/// What of a day's tickets a whole set does away with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VanishRule {
    /// The day whose whole set it is.
    pub day: ServiceDay,
    /// Percent of the day's tickets that may vanish unasked.
    pub percent: u8,
    /// How many may vanish by a person's word.
    pub confirmed: u64,
    /// Whether none vanishes: lines of the set name no ticket, so any may be of them.
    pub withheld: bool,
}

impl VanishRule {
    /// How many may vanish.
    pub fn allowed(&self, counts: &VanishCounts) -> u64 {
        let unasked = counts.of.saturating_mul(self.percent.into()) / 100;
        unasked.max(self.confirmed)
    }
}

/// What stands in a day and not in its set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VanishCounts {
    /// The day's tickets before the set that are neither cancelled, blocked nor deleted.
    pub of: u64,
    /// Those of them that are not in the set, and vanish.
    pub vanishing: u64,
    /// Those of them that are not in the set, and stay since somebody was admitted by them.
    pub admitted: u64,
}

/// What a set does, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetCounts {
    /// Tickets that are new.
    pub created: u64,
    /// Tickets that change.
    pub changed: u64,
    /// Tickets that are as the set says.
    pub unchanged: u64,
    /// Lines that were taken when they came and cannot be any more, such as those of a session
    /// that went to another day meanwhile.
    pub refused_count: u64,
    /// The first of them.
    pub refused: Vec<(u64, Upserted)>,
    /// What vanishes, where the set is a day's whole set.
    pub vanish: Option<VanishCounts>,
}

/// What came of applying a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetOutcome {
    /// It was done.
    Applied(SetCounts),
    /// More would vanish than may; nothing was done.
    TooManyVanish(VanishCounts),
}
