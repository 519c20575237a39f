//! Table `retention_runs`, and what its jobs remove, in small steps so that uploads need not wait.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::ids::VenueNumber;
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};

use super::columns::{count, millis, parsed, seconds, to_i64, word};
use super::lists::Versions;
use super::ticket_rows::{DayRow, day_row, replace, rows_where};
use super::words::Word;
use crate::store::{Result, RetentionRun, RetentionState, Swept};

pub(super) fn state(connection: &Connection, runs: u32) -> Result<RetentionState> {
    let keep_days = connection.query_row("SELECT keep_days FROM server", [], |row| row.get(0))?;
    let last_day_until = connection
        .query_row(
            "SELECT day_until FROM list_days ORDER BY day_until DESC LIMIT 1",
            [],
            |row| seconds(row, 0),
        )
        .optional()?;
    let runs = connection
        .prepare_cached(
            "SELECT at, job, removed, held FROM retention_runs ORDER BY run DESC LIMIT ?1",
        )?
        .query_map([runs], run)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(RetentionState {
        keep_days,
        last_day_until,
        runs,
    })
}

fn run(row: &Row<'_>) -> rusqlite::Result<RetentionRun> {
    Ok(RetentionRun {
        at: millis(row, 0)?,
        job: word(row, 1)?,
        removed: count(row, 2)?,
        held: row.get(3)?,
    })
}

/// Keeps a run, and the newest `keep` of all.
pub(super) fn keep(connection: &Connection, run: &RetentionRun, keep: u32) -> Result<()> {
    connection.execute(
        "INSERT INTO retention_runs (at, job, removed, held) VALUES (?1, ?2, ?3, ?4)",
        params![run.at.0, run.job.word(), to_i64(run.removed)?, run.held],
    )?;
    connection.execute(
        "DELETE FROM retention_runs WHERE run <= (SELECT max(run) FROM retention_runs) - ?1",
        [keep],
    )?;
    Ok(())
}

pub(super) fn set_keep_days(connection: &Connection, days: u16) -> Result<()> {
    connection.execute("UPDATE server SET keep_days = ?1", [days])?;
    Ok(())
}

/// Removes the hashes of at most `limit` rows of a list that ended before.
pub(super) fn hashes(
    connection: &Connection,
    ended_before: EpochSeconds,
    limit: u32,
) -> Result<Swept> {
    let day = connection
        .prepare_cached(
            "SELECT venue, service_day FROM list_days
             WHERE day_until < ?1 AND version IS NOT swept_version LIMIT 1",
        )?
        .query_row([ended_before.0], |row| {
            Ok((VenueNumber(row.get(0)?), parsed::<ServiceDay>(row, 1)?))
        })
        .optional()?;
    let Some((venue, day)) = day else {
        return Ok(Swept {
            removed: 0,
            more: false,
        });
    };
    let rows: Vec<DayRow> = connection
        .prepare_cached(rows_where!(
            "service_day = ?2
             AND (length(opaque_hashes) > 0 OR document_hash IS NOT NULL) LIMIT ?3"
        ))?
        .query_map(params![venue.0, day.as_str(), limit], day_row)?
        .collect::<rusqlite::Result<_>>()?;
    let removed = rows.len() as u64;
    let mut versions = Versions::new(connection, venue);
    for mut row in rows {
        row.row.fields.opaque_hashes.clear();
        row.row.fields.document = None;
        row.row.version = versions.next(&day)?;
        replace(connection, venue, &row)?;
    }
    if removed < u64::from(limit) {
        connection
            .prepare_cached(
                "UPDATE list_days SET swept_version = version
                 WHERE venue = ?1 AND service_day = ?2",
            )?
            .execute(params![venue.0, day.as_str()])?;
    }
    Ok(Swept {
        removed,
        more: true,
    })
}

/// Removes at most `limit` acts from before, of each log. What stands behind an act that is kept is
/// kept as well, whatever the clock said then; an act from the future keeps nothing but itself.
pub(super) fn acts(
    connection: &Connection,
    before: EpochMillis,
    now: EpochMillis,
    limit: u32,
) -> Result<Swept> {
    let removed = connection.execute(
        "DELETE FROM audit WHERE (venue, position) IN (
             SELECT a.venue, a.position FROM audit_positions p JOIN audit a USING (venue)
             WHERE a.at < ?1 AND a.position < coalesce(
                 (SELECT k.position FROM audit k
                  WHERE k.venue = p.venue AND k.at BETWEEN ?1 AND ?2
                  ORDER BY k.position LIMIT 1), p.last + 1)
             LIMIT ?3)",
        params![before.0, now.0, limit],
    )?;
    let removed = removed as u64;
    Ok(Swept {
        removed,
        more: removed == u64::from(limit),
    })
}
