//! Reads who is inside of sessions that say what they take.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use stile_core::admissions::Movement;
use stile_core::ids::{Checkpoint, VenueNumber};
use stile_core::ticket::Session;
use stile_core::time::EpochSeconds;

use super::columns::parsed;
use super::standings::damaged;
use super::{gates, sessions};
use crate::admissions::movement;
use crate::occupancy::{GateZones, Inside};
use crate::store::{Occupancy, Result};

/// Of each session with a capacity that takes place now, who is inside.
pub(super) fn occupancy(
    connection: &Connection,
    venue: VenueNumber,
    now: EpochSeconds,
) -> Result<Vec<Occupancy>> {
    let sessions = sessions::with_capacity(connection, venue, now)?;
    if sessions.is_empty() {
        return Ok(Vec::new());
    }
    let gates = GateZones::of(gates::all(connection, venue)?);
    sessions
        .into_iter()
        .map(|session| {
            let inside = inside(connection, venue, &session, &gates)?;
            Ok(Occupancy {
                session,
                persons: inside.persons,
                zones: inside.zones,
            })
        })
        .collect()
}

/// A ticket while its movements are read.
struct Open {
    number: i64,
    admits: u8,
    movements: BTreeMap<Checkpoint, Vec<Movement>>,
}

fn inside(
    connection: &Connection,
    venue: VenueNumber,
    session: &Session,
    gates: &GateZones,
) -> Result<Inside> {
    let mut inside = Inside::of(session);
    let mut statement = connection.prepare_cached(
        "SELECT t.number, t.admits, m.checkpoint, r.record
         FROM tickets t
         CROSS JOIN movements m ON m.venue = t.venue AND m.number = t.number
                               AND m.service_day = t.service_day
         CROSS JOIN records r ON r.place = m.place
         WHERE t.venue = ?1 AND t.service_day = ?2 AND t.session_id = ?3 AND NOT r.taken_back
         ORDER BY t.number",
    )?;
    let key = params![
        venue.0,
        session.service_day.as_str(),
        session.session_id.as_str()
    ];
    let mut rows = statement.query(key)?;
    let mut open: Option<Open> = None;
    let mut close = |ticket: Option<Open>| {
        if let Some(ticket) = ticket {
            inside.add(ticket.admits, session.reentry, &ticket.movements, gates);
        }
    };
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        if open.as_ref().is_none_or(|open| open.number != number) {
            close(open.take());
            open = Some(Open {
                number,
                admits: row.get(1)?,
                movements: BTreeMap::new(),
            });
        }
        if let Some(open) = &mut open {
            let bytes = row.get_ref(3)?.as_blob().map_err(|error| damaged(&error))?;
            let here = open.movements.entry(parsed(row, 2)?).or_default();
            here.extend(movement(bytes).map_err(|error| damaged(&error))?);
        }
    }
    close(open);
    Ok(inside)
}
