//! Tables `audit`, `audit_positions`: administrative acts, in the order of the commits.

use rusqlite::{Connection, Row, params};
use stile_core::ids::VenueNumber;
use stile_core::protocol::ApiKeyId;

use super::columns::{count, millis, parsed, parsed_if_any, to_i64};
use crate::acting::{ActRow, ActedBy, Acting};
use crate::store::{AuditPage, Position, Result, StoreError};

/// Where an act is kept.
pub(super) type Places = Vec<(VenueNumber, Position)>;

/// Adds an act to the log of each of these venues.
pub(super) fn add(connection: &Connection, row: &ActRow, venues: &[VenueNumber]) -> Result<Places> {
    let add = |venue: &VenueNumber| {
        let position: u64 = connection
            .prepare_cached(
                "INSERT INTO audit_positions (venue, last) VALUES (?1, 1)
                 ON CONFLICT DO UPDATE SET last = last + 1 RETURNING last",
            )?
            .query_row([venue.0], |row| count(row, 0))?;
        let (key, uid) = match row.by {
            ActedBy::Key(ApiKeyId(id)) => (Some(id), None),
            ActedBy::CommandLine(uid) => (None, Some(uid)),
        };
        connection
            .prepare_cached(
                "INSERT INTO audit
                 (venue, position, at, act, api_key, uid, thing, result, count, trace)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                venue.0,
                to_i64(position)?,
                row.at.0,
                row.act.name(),
                key,
                uid,
                row.thing,
                row.result.to_string(),
                row.count.map(to_i64).transpose()?,
                row.trace
            ])?;
        Ok((*venue, Position(position)))
    };
    venues.iter().map(add).collect()
}

/// Keeps what became of an act: in its rows if it has some, else in new ones.
pub(super) fn finish(connection: &Connection, acting: &Acting) -> Result<(ActRow, Places)> {
    let (row, venues) = acting.to_keep();
    let Some(places) = acting.places() else {
        let places = add(connection, &row, &venues)?;
        return Ok((row, places));
    };
    for (venue, position) in &places {
        connection
            .prepare_cached(
                "UPDATE audit SET thing = ?3, result = ?4, count = ?5
                 WHERE venue = ?1 AND position = ?2",
            )?
            .execute(params![
                venue.0,
                to_i64(position.0)?,
                row.thing,
                row.result.to_string(),
                row.count.map(to_i64).transpose()?
            ])?;
    }
    Ok((row, places))
}

pub(super) fn page(
    connection: &Connection,
    venue: VenueNumber,
    after: Position,
    limit: u32,
) -> Result<AuditPage> {
    let mut statement = connection.prepare_cached(
        "SELECT position, at, act, api_key, uid, thing, result, count, trace FROM audit
         WHERE venue = ?1 AND position > ?2 ORDER BY position LIMIT ?3",
    )?;
    // One more than asked tells whether there is more.
    let mut acts = statement
        .query_map(
            params![venue.0, to_i64(after.0)?, i64::from(limit) + 1],
            |row| Ok((Position(count(row, 0)?), act(row)?)),
        )?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let more = acts.len() > limit as usize;
    acts.truncate(limit as usize);
    let next = acts.last().map_or(after, |(position, _)| *position);
    let acts = acts.into_iter().map(|(_, act)| act);
    let acts = acts.collect::<Option<_>>();
    Ok(AuditPage {
        acts: acts.ok_or_else(|| StoreError::Damaged("an act that nobody did".into()))?,
        next,
        more,
    })
}

fn act(row: &Row<'_>) -> rusqlite::Result<Option<ActRow>> {
    let by = match (row.get::<_, Option<i64>>(3)?, row.get(4)?) {
        (Some(key), _) => ActedBy::Key(ApiKeyId(key)),
        (None, Some(uid)) => ActedBy::CommandLine(uid),
        (None, None) => return Ok(None),
    };
    Ok(Some(ActRow {
        at: millis(row, 1)?,
        act: parsed(row, 2)?,
        by,
        thing: parsed_if_any(row, 5)?,
        result: parsed(row, 6)?,
        count: row.get::<_, Option<i64>>(7)?.map(i64::unsigned_abs),
        trace: parsed_if_any(row, 8)?,
    }))
}
