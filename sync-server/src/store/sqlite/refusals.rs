//! Reads from table `records` the readings that were refused, for attendance.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::civil::Date;
use rusqlite::{Connection, OptionalExtension, params};
use serde::Deserialize;
use stile_core::ids::{GateId, SessionId, VenueNumber};
use stile_core::record::Answer;
use stile_core::ticket::Session;
use stile_core::time::{EpochMillis, ServiceDay};

use super::columns::parsed_if_any;
use super::log_spans;
use super::standings::damaged;
use crate::attendance::{AttendanceQuery, Refused, Tally};
use crate::store::Result;

/// What is read of a record to tell whether, and how often, it refused.
#[derive(Deserialize)]
struct Said {
    at: EpochMillis,
    kind: String,
    gate_id: GateId,
    #[serde(default)]
    session_id: Option<SessionId>,
    #[serde(default)]
    service_day: Option<ServiceDay>,
    #[serde(default)]
    verdict: Option<Answer>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    flags: Vec<String>,
    /// Of a record that counts refusals.
    #[serde(default)]
    count: u32,
}

impl Said {
    fn refused(&self) -> Option<(String, u64)> {
        let count = match self.kind.as_str() {
            "scan" if self.verdict == Some(Answer::Refuse) => 1,
            "refusals" => u64::from(self.count),
            _ => 0,
        };
        let counts = count > 0 && !self.flags.iter().any(|flag| flag == "practice");
        self.reason
            .clone()
            .filter(|_| counts)
            .map(|why| (why, count))
    }
}

/// Counts the refused readings of the days that are asked for. A reading that names no day counts
/// to the date, in the venue's zone, on which it was made.
pub(super) fn count(
    connection: &Connection,
    venue: VenueNumber,
    query: &AttendanceQuery,
    sessions: &HashMap<SessionId, Session>,
    tally: &mut Tally,
) -> Result<()> {
    let days = query.from.as_str()..=query.to.as_str();
    let times = (
        day_start(query, &query.from, 0),
        day_start(query, &query.to, 1),
    );
    let Some(span) = log_spans::of_days(connection, venue, (&query.from, &query.to), times)? else {
        return Ok(());
    };
    let mut statement = connection.prepare_cached(
        "SELECT of_ticket, service_day, record FROM records
         WHERE place BETWEEN ?1 AND ?2 AND NOT check_in",
    )?;
    let mut rows = statement.query(params![span.first, span.last])?;
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(2)?.as_blob().map_err(|error| damaged(&error))?;
        let said: Said = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
        let Some((reason, count)) = said.refused() else {
            continue;
        };
        let stored: Option<ServiceDay> = parsed_if_any(row, 1)?;
        let day = stored.or(said.service_day).or_else(|| date(query, said.at));
        let Some(day) = day.filter(|day| days.contains(&day.as_str())) else {
            continue;
        };
        let session = said.session_id.and_then(|id| sessions.get(&id));
        let category = category(connection, venue, row.get(0)?)?;
        let (at, gate) = (said.at, said.gate_id);
        let refused = Refused {
            reason,
            count,
            at,
            gate,
            day,
            category,
        };
        tally.refused(session, &refused);
    }
    Ok(())
}

fn category(
    connection: &Connection,
    venue: VenueNumber,
    ticket: Option<i64>,
) -> Result<Option<String>> {
    let Some(ticket) = ticket else {
        return Ok(None);
    };
    let found = connection
        .prepare_cached(
            "SELECT category FROM tickets INDEXED BY tickets_by_number
             WHERE venue = ?1 AND number = ?2 LIMIT 1",
        )?
        .query_row(params![venue.0, ticket], |row| row.get(0));
    Ok(found.optional()?)
}

/// The first moment of the date that is so many days after a day.
fn day_start(query: &AttendanceQuery, day: &ServiceDay, after: i32) -> Option<EpochMillis> {
    let date: Date = day.as_str().parse().ok()?;
    let date = date.checked_add(jiff::Span::new().days(after)).ok()?;
    let start = date.to_zoned_datetime(query.zone.clone()).ok()?;
    Some(EpochMillis(start.timestamp().as_millisecond()))
}

fn date(query: &AttendanceQuery, at: EpochMillis) -> Option<ServiceDay> {
    let at = Timestamp::from_millisecond(at.0).ok()?;
    let date = at.to_zoned_datetime(query.zone.clone()).date();
    ServiceDay::new(date.to_string()).ok()
}
