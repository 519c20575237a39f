//! Reports of who came.

use jiff::civil::Date;
use stile_core::ids::VenueId;
use stile_core::protocol::Attendance;
use stile_core::time::ServiceDay;

use super::Server;
use super::venues::zone;
use crate::attendance::{AttendanceQuery, GroupBy};
use crate::error::ServerError;

/// Days of one report at most: a quarter. Each is counted anew from its records.
const MAX_DAYS: i32 = 93;

impl Server {
    /// Attendance per session of the days `from` to `to`, both included.
    pub async fn attendance(
        &self,
        venue: &VenueId,
        from: &ServiceDay,
        to: &ServiceDay,
    ) -> Result<Attendance, ServerError> {
        self.attendance_by(venue, from, to, GroupBy::Session).await
    }

    /// Attendance of the days `from` to `to`, both included, by session or something else.
    pub async fn attendance_by(
        &self,
        venue: &VenueId,
        from: &ServiceDay,
        to: &ServiceDay,
        by: GroupBy,
    ) -> Result<Attendance, ServerError> {
        let date = |field, day: &ServiceDay| {
            let parsed = day.as_str().parse::<Date>();
            parsed.map_err(|_| ServerError::invalid(field, "lies outside the calendar"))
        };
        let days = date("from", from)?
            .until(date("to", to)?)
            .map_err(ServerError::internal)?
            .get_days();
        if days < 0 {
            return Err(ServerError::invalid("to", "lies before from"));
        }
        if days >= MAX_DAYS {
            let problem = format!("a report covers {MAX_DAYS} days at most");
            return Err(ServerError::invalid("to", problem));
        }
        let venue = self.venue(venue).await?;
        let query = AttendanceQuery {
            from: from.clone(),
            to: to.clone(),
            by,
            zone: zone(&venue.time_zone)?,
            now: self.now(),
        };
        Ok(self.store.attendance(venue.number, query).await?)
    }
}
