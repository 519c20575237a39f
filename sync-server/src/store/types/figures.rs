//! What is counted at one moment for whoever watches over the server.

use stile_core::ids::VenueId;
use stile_core::protocol::AlarmKind;
use stile_core::time::EpochMillis;

/// A venue, in numbers that stay few however many tickets it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VenueFigures {
    /// Which.
    pub venue_id: VenueId,
    /// When each of its devices was last heard of, if it was.
    pub heard: Vec<Option<EpochMillis>>,
    /// Conflicts that are open, of all its days.
    pub conflicts_open: u64,
    /// Alarms that are open, of every kind.
    pub alarms_open: Vec<(AlarmKind, u64)>,
    /// Records that wait for a person.
    pub quarantined: u64,
    /// Records that are missing before others of the same log that have come.
    pub missing: u64,
    /// Sessions that admit now.
    pub admitting: u64,
    /// The version of the list of the service day that it is; of two, of the later.
    pub list_version: Option<u64>,
}
