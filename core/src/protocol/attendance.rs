//! `GET /v1/reports/attendance`: who came, by the same fold that gates use: per session, or by
//! day, gate, hour or category.
//!
//! Two rates are usual, and each has its name. `rate_of_expected` is attended persons of those
//! expected: what was cancelled, blocked or never paid is not expected. `rate_of_booked` is
//! attended persons of all that were booked, cancelled ones included. Neither can pass 1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Finality;
use crate::ids::{SessionId, Zone};
use crate::ticket::{Capacity, Direction};
use crate::time::{EpochSeconds, ServiceDay};

/// Attendance over a span of service days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Attendance {
    /// By session, and empty by anything else. In the order of day, start and id. A session that
    /// has left a day is there as well if it had check-ins on it.
    pub sessions: Vec<SessionAttendance>,
    /// By what is asked for other than session, in the order of the names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<AttendanceGroup>,
    /// Refused readings that belong to none of these, by reason: those of texts that name no
    /// ticket have neither session nor category.
    #[serde(default)]
    pub refused_elsewhere: BTreeMap<String, u64>,
    /// Persons without a ticket, by day, direction and category; undone ones left out.
    pub walk_ins: Vec<WalkInCount>,
    /// The first day that is counted: of days before it records are gone, since their time was
    /// over. Not there where none are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_since: Option<ServiceDay>,
}

/// What came of one session on one day. Practice counts nowhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
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
    /// Persons who are inside: those who entered and were not seen to leave. Who enters again with
    /// `free` re-entry is the same person. Of several checkpoints the one with most counts. Persons
    /// without a ticket are of no session.
    pub inside: u64,
    /// Persons that it takes at once; null where nobody says.
    pub capacity: Option<Capacity>,
    /// `inside` / `capacity`; above 1 where there are more. Null without a capacity.
    pub share_of_capacity: Option<f64>,
    /// The zones that it gives a capacity.
    pub zones: Vec<ZoneOccupancy>,
    /// Persons of its valid tickets, and those who attended by others.
    pub expected: u64,
    /// Persons of all its tickets, whatever their status, and those who attended by tickets that
    /// are gone.
    pub booked: u64,
    /// `persons` / `expected`, 0 to 1; null where nobody was expected.
    pub rate_of_expected: Option<f64>,
    /// `persons` / `booked`, 0 to 1; null where nobody booked.
    pub rate_of_booked: Option<f64>,
    /// Refused readings by reason; one visitor may have several, and be admitted after all.
    pub refused: BTreeMap<String, u64>,
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

/// A zone during a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ZoneOccupancy {
    /// The zone.
    pub zone: Zone,
    /// Persons of the session who are in it: admitted at a gate to it, and not seen to leave by one
    /// of it or of no zone.
    pub inside: u64,
    /// Persons that it takes at once.
    pub capacity: Capacity,
    /// `inside` / `capacity`; above 1 where there are more.
    pub share_of_capacity: f64,
}

/// What came of a day, gate, hour or category. Practice counts nowhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttendanceGroup {
    /// The day, `2026-10-01`; the gate's id; the hour in the venue's zone, `2026-10-01T09:00`; or
    /// the category, empty for tickets without one.
    pub name: String,
    /// Persons who attended. By gate and hour: persons of the check-ins that stand there, so that
    /// who enters twice counts twice.
    pub persons: u64,
    /// Tickets of which at least one person attended. By gate and hour a ticket may count in
    /// several.
    pub tickets: u64,
    /// Persons of valid tickets, and those who attended by others. Null by gate and hour: nobody
    /// is expected there.
    pub expected: Option<u64>,
    /// Persons of all tickets, whatever their status; null likewise.
    pub booked: Option<u64>,
    /// `persons` / `expected`, 0 to 1; null where there is no `expected`, or nobody was.
    pub rate_of_expected: Option<f64>,
    /// `persons` / `booked`, 0 to 1; null likewise.
    pub rate_of_booked: Option<f64>,
    /// Refused readings by reason.
    pub refused: BTreeMap<String, u64>,
    /// Records that admitted, those undone later included.
    pub check_ins: u64,
    /// Check-ins that were taken back, or whose visitor did not pass.
    pub undone: u64,
    /// Check-ins for which a supervisor waived a refusal.
    pub overrides: u64,
    /// Check-ins of tickets that were cancelled before their scan.
    pub after_cancel: u64,
    /// Check-ins that came after their session was final.
    pub late_check_ins: u64,
    /// Expected persons who did not come. Null until every session with tickets in it is final,
    /// and by gate and hour.
    pub no_show: Option<u64>,
    /// Valid tickets of which nobody came; null likewise.
    pub no_show_tickets: Option<u64>,
    /// Sessions with tickets in it that are not final yet; null by gate and hour.
    pub open_sessions: Option<u64>,
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
