//! Reports of who came.

use jiff::civil::Date;
use stile_core::ids::VenueId;
use stile_core::protocol::Attendance;
use stile_core::time::ServiceDay;

use super::Server;
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
        let number = self.keys(venue).await?.number;
        Ok(self.store.attendance(number, from, to, self.now()).await?)
    }
}
