//! `GET /v1/reports/attendance`: who came, per session and day, by the same fold that gates use.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Finality;
use crate::ids::SessionId;
use crate::ticket::Direction;
use crate::time::{EpochSeconds, ServiceDay};

/// Attendance over a span of service days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attendance {
    /// In the order of day, start and id. A session that has left a day is there as well if it
    /// had check-ins on it.
    pub sessions: Vec<SessionAttendance>,
    /// Persons without a ticket, by day, direction and category; undone ones left out.
    pub walk_ins: Vec<WalkInCount>,
}

/// What came of one session on one day. Practice counts nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionAttendance {
    /// The session.
    pub session_id: SessionId,
    /// The day.
    pub service_day: ServiceDay,
    /// What people call it.
    pub name: String,
    /// When it starts.
    pub starts_at: EpochSeconds,
    /// Persons who attended: never more than their tickets admit. Of several checkpoints the one
    /// with most counts.
    pub persons: u64,
    /// Tickets of which at least one person attended.
    pub tickets: u64,
    /// Persons of its valid tickets, and those who attended by others.
    pub expected: u64,
    /// Records that admitted, those undone later included.
    pub check_ins: u64,
    /// Check-ins that were taken back, or whose visitor did not pass.
    pub undone: u64,
    /// Check-ins for which a supervisor waived a refusal.
    pub overrides: u64,
    /// Check-ins of tickets that were cancelled before their scan.
    pub after_cancel: u64,
    /// Tickets, per checkpoint, that were admitted for more persons than they have.
    pub conflicts_open: u64,
    /// Those of which no admission loses any more.
    pub conflicts_cleared: u64,
    /// Check-ins that came after the session was final.
    pub late_check_ins: u64,
    /// Expected persons who did not come. Null until the session is final: nobody is a no-show
    /// while a gate may still say otherwise.
    pub no_show: Option<u64>,
    /// Valid tickets of which nobody came; null likewise.
    pub no_show_tickets: Option<u64>,
    /// How complete these counts are.
    pub finality: Finality,
}

/// Persons without a ticket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WalkInCount {
    /// The day.
    pub service_day: ServiceDay,
    /// Which way they passed.
    pub direction: Direction,
    /// The venue's category, as the device wrote it.
    pub category: String,
    /// How many.
    pub persons: u64,
}
