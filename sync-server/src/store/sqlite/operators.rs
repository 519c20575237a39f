//! Table `operators`.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::ids::{OperatorId, VenueNumber};
use stile_core::protocol::Operator;
use stile_core::time::EpochMillis;

use super::columns::{parsed, word};
use super::lists;
use super::words::Word;
use crate::store::{Change, NO_PIN, NO_ROOM, OperatorUpdate, Result, StoreError};

macro_rules! operator_where {
    ($rest:literal) => {
        concat!(
            "SELECT operator_id, name, role, pin_hash, badge_hash FROM operators
             WHERE venue = ?1 ",
            $rest
        )
    };
}

pub(super) fn put(
    connection: &Connection,
    venue: VenueNumber,
    update: &OperatorUpdate,
    limit: usize,
    now: EpochMillis,
) -> Result<(Operator, Change)> {
    let old = get(connection, venue, &update.operator_id)?;
    let pin_hash = update
        .pin_hash
        .clone()
        .or_else(|| old.as_ref().map(|old| old.pin_hash.clone()))
        .ok_or(StoreError::Missing(NO_PIN))?;
    let badge_hash = update
        .badge_hash
        .clone()
        .or_else(|| old.as_ref().and_then(|old| old.badge_hash.clone()));
    let new = Operator {
        operator_id: update.operator_id.clone(),
        name: update.name.clone(),
        role: update.role,
        pin_hash,
        badge_hash,
    };
    let change = match old {
        Some(old) if old == new => return Ok((new, Change::Unchanged)),
        Some(_) => Change::Changed,
        None if all(connection, venue)?.len() >= limit => {
            return Err(StoreError::Missing(NO_ROOM));
        }
        None => Change::Created,
    };
    connection.execute(
        "INSERT OR REPLACE INTO operators (venue, operator_id, name, role, pin_hash, badge_hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            venue.0,
            new.operator_id.as_str(),
            new.name,
            new.role.word(),
            new.pin_hash,
            new.badge_hash
        ],
    )?;
    lists::touch_all(connection, venue, now)?;
    Ok((new, change))
}

pub(super) fn remove(
    connection: &Connection,
    venue: VenueNumber,
    id: &OperatorId,
    now: EpochMillis,
) -> Result<bool> {
    let removed = connection.execute(
        "DELETE FROM operators WHERE venue = ?1 AND operator_id = ?2",
        params![venue.0, id.as_str()],
    )?;
    if removed > 0 {
        lists::touch_all(connection, venue, now)?;
    }
    Ok(removed > 0)
}

fn get(connection: &Connection, venue: VenueNumber, id: &OperatorId) -> Result<Option<Operator>> {
    let mut statement = connection.prepare_cached(operator_where!("AND operator_id = ?2"))?;
    Ok(statement
        .query_row(params![venue.0, id.as_str()], operator)
        .optional()?)
}

pub(super) fn all(connection: &Connection, venue: VenueNumber) -> Result<Vec<Operator>> {
    let mut statement = connection.prepare_cached(operator_where!("ORDER BY operator_id"))?;
    Ok(statement
        .query_map([venue.0], operator)?
        .collect::<rusqlite::Result<_>>()?)
}

fn operator(row: &Row<'_>) -> rusqlite::Result<Operator> {
    Ok(Operator {
        operator_id: parsed(row, 0)?,
        name: row.get(1)?,
        role: word(row, 2)?,
        pin_hash: row.get(3)?,
        badge_hash: row.get(4)?,
    })
}
