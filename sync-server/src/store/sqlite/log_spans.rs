//! Table `log_spans`: between which places of the log the records of a session, a day or an hour
//! stand, and of the days on which they came.

use std::collections::HashMap;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Params, ToSql, params};
use stile_core::ids::{SessionId, VenueNumber};
use stile_core::time::{EpochMillis, ServiceDay};

use super::records::place;
use crate::log_filter::LogFilter;
use crate::store::Result;

const HOUR_MS: i64 = 3_600_000;
pub(super) const DAY_MS: i64 = 24 * HOUR_MS;

/// What records can be of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Session(SessionId),
    Day(ServiceDay),
    /// Hours since 1970.
    Hour(i64),
    /// The day since 1970, UTC, on which it came.
    Received(i64),
}

impl Name {
    /// The hour of a time.
    pub(super) fn hour_of(at: EpochMillis) -> Self {
        Self::Hour(at.0.div_euclid(HOUR_MS))
    }

    /// The day on which something came at a time.
    pub(super) fn received(at: EpochMillis) -> Self {
        Self::Received(at.0.div_euclid(DAY_MS))
    }

    /// The word of its kind.
    fn kind(&self) -> &'static str {
        match self {
            Self::Session(_) => "session",
            Self::Day(_) => "day",
            Self::Hour(_) => "hour",
            Self::Received(_) => "received",
        }
    }
}

impl ToSql for Name {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Session(id) => ValueRef::Text(id.as_str().as_bytes()),
            Self::Day(day) => ValueRef::Text(day.as_str().as_bytes()),
            Self::Hour(n) | Self::Received(n) => ValueRef::Integer(*n),
        }))
    }
}

/// Places in a row, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub first: i64,
    pub last: i64,
}

impl Span {
    fn cut(self, other: Self) -> Self {
        Self {
            first: self.first.max(other.first),
            last: self.last.min(other.last),
        }
    }
}

/// Spans that grow, within one transaction.
#[derive(Default)]
pub(super) struct Spans(HashMap<Name, Span>);

impl Spans {
    /// A record of that name stands at a place.
    pub(super) fn add(&mut self, name: Name, place: i64) {
        let span = self.0.entry(name).or_insert(Span {
            first: place,
            last: place,
        });
        span.first = span.first.min(place);
        span.last = span.last.max(place);
    }

    /// Lets the stored ones grow by these.
    pub(super) fn keep(&self, connection: &Connection, venue: VenueNumber) -> Result<()> {
        let mut statement = connection.prepare_cached(
            "INSERT INTO log_spans (venue, kind, name, first, last) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET first = min(first, excluded.first),
                                       last = max(last, excluded.last)",
        )?;
        for (name, span) in &self.0 {
            statement.execute(params![venue.0, name.kind(), name, span.first, span.last])?;
        }
        Ok(())
    }
}

/// Where all stands that a filter can want; none if nothing does.
pub(super) fn of(
    connection: &Connection,
    venue: VenueNumber,
    filter: &LogFilter,
) -> Result<Option<Span>> {
    let session = filter.session_id.clone().map(Name::Session);
    let day = filter.service_day.clone().map(Name::Day);
    let mut span = Some(Span {
        first: place(venue, 0),
        last: place(venue, u64::MAX),
    });
    for name in [session, day].into_iter().flatten() {
        let sql = "SELECT first, last FROM log_spans WHERE venue = ?1 AND kind = ?2 AND name = ?3";
        let found = one(connection, sql, params![venue.0, name.kind(), name])?;
        span = span.zip(found).map(|(span, found)| span.cut(found));
    }
    if filter.from.is_some() || filter.until.is_some() {
        let hour = |at: i64| Name::hour_of(EpochMillis(at));
        let from = hour(filter.from.map_or(i64::MIN, |from| from.0));
        let to = hour(
            filter
                .until
                .map_or(i64::MAX, |until| until.0.saturating_sub(1)),
        );
        let sql = "SELECT min(first), max(last) FROM log_spans
                   WHERE venue = ?1 AND kind = 'hour' AND name BETWEEN ?2 AND ?3";
        let found = one(connection, sql, params![venue.0, from, to])?;
        span = span.zip(found).map(|(span, found)| span.cut(found));
    }
    Ok(span)
}

/// Where all stands that counts to days from one to another, both included, or was made between two
/// times.
pub(super) fn of_days(
    connection: &Connection,
    venue: VenueNumber,
    (from, to): (&ServiceDay, &ServiceDay),
    (since, until): (Option<EpochMillis>, Option<EpochMillis>),
) -> Result<Option<Span>> {
    let sql = "SELECT min(first), max(last) FROM log_spans
               WHERE venue = ?1 AND kind = ?2 AND name BETWEEN ?3 AND ?4";
    let between =
        |from: Name, to: Name| one(connection, sql, params![venue.0, from.kind(), from, to]);
    let days = between(Name::Day(from.clone()), Name::Day(to.clone()))?;
    let hours = match since.zip(until) {
        Some((since, until)) => between(Name::hour_of(since), Name::hour_of(until))?,
        None => None,
    };
    let join = |a: Span, b: Span| Span {
        first: a.first.min(b.first),
        last: a.last.max(b.last),
    };
    Ok(days.into_iter().chain(hours).reduce(join))
}

/// The last place of what came on days before a time, as far as nothing stands before it that came
/// since: what a clock set back made look old stays as long as that, and what seems to come from
/// the future goes with what is old behind it.
pub(super) fn came_before(
    connection: &Connection,
    venue: VenueNumber,
    since: EpochMillis,
    now: EpochMillis,
) -> Result<i64> {
    let sql = "SELECT min(first), max(last) FROM log_spans
               WHERE venue = ?1 AND kind = ?2 AND name BETWEEN ?3 AND ?4";
    let between =
        |from: Name, to: Name| one(connection, sql, params![venue.0, from.kind(), from, to]);
    let first = since.0.div_euclid(DAY_MS);
    let old = between(Name::Received(i64::MIN), Name::Received(first - 1))?;
    let kept = between(Name::Received(first), Name::received(now))?;
    let Some(old) = old else {
        return Ok(place(venue, 0));
    };
    Ok(match kept {
        Some(kept) if kept.first <= old.last => {
            let ahead = Name::Received(now.0.div_euclid(DAY_MS) + 1);
            let ahead = between(ahead, Name::Received(i64::MAX))?;
            ahead.map_or(kept.first, |ahead| ahead.first.min(kept.first)) - 1
        }
        _ => old.last,
    })
}

/// Removes at most `limit` spans that end at a place or before it; says whether there may be more.
pub(super) fn forget(
    connection: &Connection,
    venue: VenueNumber,
    through: i64,
    limit: u32,
) -> Result<bool> {
    let removed = connection
        .prepare_cached(
            "DELETE FROM log_spans WHERE (venue, kind, name) IN (
                 SELECT venue, kind, name FROM log_spans WHERE venue = ?1 AND last <= ?2 LIMIT ?3)",
        )?
        .execute(params![venue.0, through, limit])?;
    Ok(removed == limit as usize)
}

fn one(connection: &Connection, sql: &str, params: impl Params) -> Result<Option<Span>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    // A minimum of nothing is null.
    let (first, last): (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
    Ok(first.zip(last).map(|(first, last)| Span { first, last }))
}
