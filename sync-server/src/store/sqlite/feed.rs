//! Tables `feed`, `feed_positions`, `feed_days`: what gates hear of each other's admissions, in
//! the order of the commits.

use std::collections::HashSet;

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use stile_core::ids::{TicketNumber, VenueNumber};
use stile_core::protocol::FeedItem;
use stile_core::time::{EpochSeconds, ServiceDay};

use super::columns::{count, number, parsed, to_i64, word_if_any};
use super::records::{place, position};
use super::standings::damaged;
use crate::admissions::{Counted, feed_item};
use crate::store::{FeedPage, Position, Result};

/// Adds to a venue's feed, within one transaction.
pub(super) struct Feed<'c> {
    connection: &'c Connection,
    venue: VenueNumber,
    insert: CachedStatement<'c>,
    last: u64,
    was: u64,
    days: HashSet<ServiceDay>,
}

impl<'c> Feed<'c> {
    pub(super) fn begin(connection: &'c Connection, venue: VenueNumber) -> Result<Self> {
        let last = last(connection, venue)?;
        let insert =
            connection.prepare_cached("INSERT INTO feed (entry, place) VALUES (?1, ?2)")?;
        Ok(Self {
            connection,
            venue,
            insert,
            last,
            was: last,
            days: HashSet::new(),
        })
    }

    /// Adds the record at a place, which counts to a day; again is to say its state anew.
    pub(super) fn add(&mut self, at: i64, day: &ServiceDay) -> Result<()> {
        self.last += 1;
        self.insert.execute([place(self.venue, self.last), at])?;
        if !self.days.contains(day) {
            self.connection
                .prepare_cached(
                    "INSERT INTO feed_days (venue, service_day, first) VALUES (?1, ?2, ?3)
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![self.venue.0, day.as_str(), to_i64(self.last)?])?;
            self.days.insert(day.clone());
        }
        Ok(())
    }

    /// Keeps the last position that was given.
    pub(super) fn finish(self) -> Result<()> {
        if self.last != self.was {
            self.connection
                .prepare_cached(
                    "INSERT INTO feed_positions (venue, last) VALUES (?1, ?2)
                     ON CONFLICT DO UPDATE SET last = excluded.last",
                )?
                .execute(params![self.venue.0, self.last])?;
        }
        Ok(())
    }
}

fn last(connection: &Connection, venue: VenueNumber) -> Result<u64> {
    let last = connection
        .prepare_cached("SELECT last FROM feed_positions WHERE venue = ?1")?
        .query_row([venue.0], |row| row.get(0))
        .optional()?;
    Ok(last.unwrap_or(0))
}

/// The last position that each venue's feed has given.
pub(super) fn each_end(
    connection: &Connection,
    mut end: impl FnMut(VenueNumber, Position),
) -> Result<()> {
    let mut statement = connection.prepare_cached("SELECT venue, last FROM feed_positions")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        end(VenueNumber(row.get(0)?), Position(count(row, 1)?));
    }
    Ok(())
}

pub(super) fn page(
    connection: &Connection,
    venue: VenueNumber,
    after: Position,
    limit: u32,
    ended_since: EpochSeconds,
) -> Result<FeedPage> {
    let days: HashSet<ServiceDay> = connection
        .prepare_cached("SELECT service_day FROM list_days WHERE venue = ?1 AND day_until >= ?2")?
        .query_map(params![venue.0, ended_since.0], |row| parsed(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    let first: Option<u64> = connection
        .prepare_cached(
            "SELECT min(first) FROM feed_days JOIN list_days USING (venue, service_day)
             WHERE venue = ?1 AND day_until >= ?2",
        )?
        .query_row(params![venue.0, ended_since.0], |row| row.get(0))?;
    let Some(first) = first else {
        return Ok(FeedPage {
            items: Vec::new(),
            next: Position(last(connection, venue)?),
            more: false,
        });
    };
    // Further than there is: a position of what was put back from a backup since.
    let after = if after > Position(last(connection, venue)?) {
        Position(0)
    } else {
        after
    };
    let after = after.max(Position(first.saturating_sub(1)));
    let mut statement = connection.prepare_cached(
        "SELECT entry, number, service_day, checkpoint, standing, record
         FROM feed CROSS JOIN records USING (place)
         WHERE entry > ?1 AND entry <= ?2 ORDER BY entry LIMIT ?3",
    )?;
    let (behind, end) = (place(venue, after.0), place(venue, u64::MAX));
    let mut rows = statement.query(params![behind, end, i64::from(limit) + 1])?;
    let mut page = FeedPage {
        items: Vec::new(),
        next: after,
        more: false,
    };
    let mut seen = 0;
    while let Some(row) = rows.next()? {
        // One more than asked tells whether there is more.
        if seen == limit {
            page.more = true;
            break;
        }
        seen += 1;
        page.next = number(row, 0, position)?;
        let day: ServiceDay = parsed(row, 2)?;
        if days.contains(&day) {
            page.items.extend(item(row, day)?);
        }
    }
    Ok(page)
}

fn item(row: &rusqlite::Row<'_>, service_day: ServiceDay) -> Result<Option<FeedItem>> {
    let counted = Counted {
        number: number(row, 1, TicketNumber::from_i64)?,
        service_day,
        checkpoint: parsed(row, 3)?,
        standing: word_if_any(row, 4)?,
    };
    let bytes = row.get_ref(5)?.as_blob().map_err(|error| damaged(&error))?;
    feed_item(bytes, counted).map_err(|error| damaged(&error))
}
