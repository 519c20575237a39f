//! Tables `logs`, `log_ranges`: which places of a device's logs are taken.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};
use stile_core::ids::{DeviceId, LogId, VenueNumber};
use stile_core::protocol::{LogState, MISSING_RANGES, SequenceRange};

use super::columns::{count, to_i64};
use crate::store::Result;
use crate::store::have::Have;

/// A log while a batch is filed.
pub(super) struct OpenLog {
    pub log_id: LogId,
    pub have: Have,
    was: Have,
}

/// Loads what is known of a log, as far as sequences from `first` to `last` concern it.
pub(super) fn load(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    log_id: LogId,
    first: u64,
    last: u64,
) -> Result<OpenLog> {
    let key = (venue.0, device.as_str(), log_id.0);
    let through = connection
        .prepare_cached(
            "SELECT have_through FROM logs WHERE venue = ?1 AND device_id = ?2 AND log_id = ?3",
        )?
        .query_row(key, |row| count(row, 0))
        .optional()?
        .unwrap_or(0);
    let mut statement = connection.prepare_cached(
        "SELECT first, last FROM log_ranges
         WHERE venue = ?1 AND device_id = ?2 AND log_id = ?3 AND first <= ?5 AND last >= ?4",
    )?;
    // A range that touches a sequence grows with it.
    let (from, to) = (
        first.saturating_sub(1),
        last.saturating_add(1).min(i64::MAX as u64),
    );
    let ranges = statement
        .query_map(
            params![
                venue.0,
                device.as_str(),
                log_id.0,
                to_i64(from)?,
                to_i64(to)?
            ],
            |row| Ok((count(row, 0)?, count(row, 1)?)),
        )?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let have = Have::new(through, ranges);
    Ok(OpenLog {
        log_id,
        was: have.clone(),
        have,
    })
}

/// Keeps what has changed of a log.
pub(super) fn keep(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    log: &OpenLog,
) -> Result<()> {
    if log.have == log.was {
        return Ok(());
    }
    let log_id = log.log_id.0;
    connection
        .prepare_cached(
            "INSERT INTO logs (venue, device_id, log_id, have_through) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET have_through = excluded.have_through",
        )?
        .execute(params![
            venue.0,
            device.as_str(),
            log_id,
            to_i64(log.have.through())?
        ])?;
    let (was, is): (BTreeSet<_>, BTreeSet<_>) =
        (log.was.ranges().collect(), log.have.ranges().collect());
    for (first, _) in was.difference(&is) {
        connection
            .prepare_cached(
                "DELETE FROM log_ranges
                 WHERE venue = ?1 AND device_id = ?2 AND log_id = ?3 AND first = ?4",
            )?
            .execute(params![venue.0, device.as_str(), log_id, to_i64(*first)?])?;
    }
    for (first, last) in is.difference(&was) {
        connection
            .prepare_cached(
                "INSERT INTO log_ranges (venue, device_id, log_id, first, last)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                venue.0,
                device.as_str(),
                log_id,
                to_i64(*first)?,
                to_i64(*last)?
            ])?;
    }
    Ok(())
}

/// What the answer says of a log once what was filed is kept.
pub(super) fn state(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    log: &OpenLog,
) -> Result<LogState> {
    let mut statement = connection.prepare_cached(
        "SELECT first, last FROM log_ranges
         WHERE venue = ?1 AND device_id = ?2 AND log_id = ?3 ORDER BY first LIMIT ?4",
    )?;
    let ranges = statement
        .query_map(
            params![venue.0, device.as_str(), log.log_id.0, MISSING_RANGES],
            |row| Ok((count(row, 0)?, count(row, 1)?)),
        )?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let have_through = log.have.through();
    let mut before = have_through;
    let missing = ranges.into_iter().map(|(first, last)| {
        let missing = SequenceRange {
            first: before + 1,
            last: first - 1,
        };
        before = last;
        missing
    });
    Ok(LogState {
        log_id: log.log_id,
        have_through,
        missing: missing.collect(),
    })
}

/// How many records of a venue's logs are missing before others that have come.
pub(super) fn missing(connection: &Connection, venue: VenueNumber) -> Result<u64> {
    let missing = connection
        .prepare_cached(
            "SELECT coalesce(sum(last - have_through - held), 0) FROM (
                 SELECT device_id, log_id, max(last) AS last, sum(last - first + 1) AS held
                   FROM log_ranges WHERE venue = ?1 GROUP BY device_id, log_id)
             JOIN logs USING (device_id, log_id) WHERE venue = ?1",
        )?
        .query_row([venue.0], |row| count(row, 0))?;
    Ok(missing)
}
