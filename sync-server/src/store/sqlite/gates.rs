//! Table `gates`.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::ids::{GateId, VenueNumber};
use stile_core::ticket::Gate;
use stile_core::time::EpochMillis;

use super::columns::{joined, list, parsed, word};
use super::lists;
use super::words::Word;
use crate::store::{Change, Result};

macro_rules! gate_where {
    ($rest:literal) => {
        concat!(
            "SELECT gate_id, name, direction, checkpoint, zones, unattended FROM gates
             WHERE venue = ?1 ",
            $rest
        )
    };
}

pub(super) fn put(
    connection: &Connection,
    venue: VenueNumber,
    gate: &Gate,
    now: EpochMillis,
) -> Result<Change> {
    let change = match get(connection, venue, &gate.gate_id)? {
        None => Change::Created,
        Some(old) if old == *gate => return Ok(Change::Unchanged),
        Some(_) => Change::Changed,
    };
    connection.execute(
        "INSERT OR REPLACE INTO gates
         (venue, gate_id, name, direction, checkpoint, zones, unattended)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            venue.0,
            gate.gate_id.as_str(),
            gate.name,
            gate.direction.word(),
            gate.checkpoint.as_str(),
            joined(&gate.zones),
            gate.unattended
        ],
    )?;
    lists::touch_all(connection, venue, now)?;
    Ok(change)
}

pub(super) fn get(
    connection: &Connection,
    venue: VenueNumber,
    id: &GateId,
) -> Result<Option<Gate>> {
    let mut statement = connection.prepare_cached(gate_where!("AND gate_id = ?2"))?;
    Ok(statement
        .query_row(params![venue.0, id.as_str()], gate)
        .optional()?)
}

pub(super) fn all(connection: &Connection, venue: VenueNumber) -> Result<Vec<Gate>> {
    let mut statement = connection.prepare_cached(gate_where!("ORDER BY gate_id"))?;
    Ok(statement
        .query_map([venue.0], gate)?
        .collect::<rusqlite::Result<_>>()?)
}

fn gate(row: &Row<'_>) -> rusqlite::Result<Gate> {
    Ok(Gate {
        gate_id: parsed(row, 0)?,
        name: row.get(1)?,
        direction: word(row, 2)?,
        checkpoint: parsed(row, 3)?,
        zones: list(row, 4)?,
        unattended: row.get(5)?,
    })
}
