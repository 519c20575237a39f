//! Alarms: what is opened and ended, and what the rules about tickets go by.

use std::collections::BTreeMap;

pub use stile_core::protocol::{Alarm, AlarmDetail, AlarmKind};

use stile_core::ids::Zone;
use stile_core::ticket::Session;

/// Opens or ends an alarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlarmChange {
    /// What is wrong, or is so no longer.
    pub kind: AlarmKind,
    /// What it is about.
    pub thing: String,
    /// What the alarm says, if it is to be open.
    pub open: Option<AlarmDetail>,
}

/// Which alarms are wanted, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlarmQuery {
    /// Those that have ended as well.
    pub ended: bool,
    /// Those with a lower id alone.
    pub before: Option<u64>,
    /// At most so many.
    pub limit: u32,
}

/// A service day, as far as it says whether visitors can be expected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DayOutlook {
    /// Its sessions.
    pub sessions: u64,
    /// Those of them that take place.
    pub open_sessions: u64,
    /// Whether one of these has a ticket that is valid, or waits to be paid.
    pub has_tickets: bool,
}

/// A session that takes place, and who is inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupancy {
    /// The session.
    pub session: Session,
    /// Its persons who are inside.
    pub persons: u64,
    /// Those in each zone that it gives a capacity.
    pub zones: BTreeMap<Zone, u64>,
}
