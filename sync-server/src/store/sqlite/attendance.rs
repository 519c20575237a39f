//! Reads what attendance is counted from: a day's rows, their movements, conflicts and walk-ins.

use std::collections::HashMap;

use rusqlite::{Connection, Row, params};
use stile_core::ids::{SessionId, VenueNumber};
use stile_core::protocol::{Attendance, WalkInCount};
use stile_core::ticket::{Session, SessionStatus};
use stile_core::time::ServiceDay;

use super::columns::{count, parsed, word};
use super::standings::damaged;
use super::{finality, gates, refusals, removal, sessions};
use crate::attendance::{AttendanceQuery, Tally, TicketMovement, TicketOfDay};
use crate::store::{Result, StoreError};

pub(super) fn attendance(
    connection: &Connection,
    venue: VenueNumber,
    query: &AttendanceQuery,
) -> Result<Attendance> {
    // Days of which records are gone are not counted at all, rather than wrongly.
    let kept_since = removal::kept_since(connection, venue, &query.zone)?;
    let query = &AttendanceQuery {
        from: kept_since
            .iter()
            .fold(query.from.clone(), |from, first| from.max(first.clone())),
        ..query.clone()
    };
    let mut tally = Tally::new(query.by, query.zone.clone(), gates::all(connection, venue)?);
    let sessions: HashMap<SessionId, Session> = sessions::all(connection, venue, None)?
        .into_iter()
        .map(|session| (session.session_id.clone(), session))
        .collect();
    let (from, to) = (&query.from, &query.to);
    let days = from.as_str()..=to.as_str();
    sessions
        .values()
        .filter(|session| days.contains(&session.service_day.as_str()))
        .for_each(|session| tally.session(session));
    let span = Span { venue, from, to };
    tickets(connection, &span, &sessions, &mut tally)?;
    refusals::count(connection, venue, query, &sessions, &mut tally)?;
    conflicts(connection, &span, &sessions, &mut tally)?;
    walk_ins(connection, &span, &mut tally)?;
    let ids = tally.session_ids();
    let finality = finality::of_sessions(connection, venue, &ids, query.now)?;
    Ok(Attendance {
        kept_since,
        ..tally.finish(finality)
    })
}

/// The rows that are asked for.
struct Span<'a> {
    venue: VenueNumber,
    from: &'a ServiceDay,
    to: &'a ServiceDay,
}

impl Span<'_> {
    fn key(&self) -> (u16, &str, &str) {
        (self.venue.0, self.from.as_str(), self.to.as_str())
    }
}

/// A row of a list while its movements are read.
struct Open {
    day: ServiceDay,
    number: i64,
    session_id: SessionId,
    ticket: TicketOfDay,
    movements: Vec<TicketMovement>,
}

fn tickets(
    connection: &Connection,
    span: &Span<'_>,
    sessions: &HashMap<SessionId, Session>,
    tally: &mut Tally,
) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT t.service_day, t.number, t.session_id, t.admits,
                t.standing = 'live' AND t.status = 'valid', m.checkpoint, r.taken_back,
                r.after_cancel, r.record, r.late_after_final, t.category,
                t.standing = 'live'
         FROM tickets t
         LEFT JOIN movements m ON m.venue = t.venue AND m.number = t.number
                              AND m.service_day = t.service_day
         LEFT JOIN records r ON r.place = m.place
         WHERE t.venue = ?1 AND t.service_day BETWEEN ?2 AND ?3
         ORDER BY t.service_day, t.number",
    )?;
    let mut rows = statement.query(span.key())?;
    let mut open: Option<Open> = None;
    while let Some(row) = rows.next()? {
        let (day, number): (ServiceDay, i64) = (parsed(row, 0)?, row.get(1)?);
        if open
            .as_ref()
            .is_none_or(|open| open.number != number || open.day != day)
        {
            close(open.take(), sessions, tally)?;
            open = Some(Open {
                day,
                number,
                session_id: parsed(row, 2)?,
                ticket: TicketOfDay {
                    admits: row.get(3)?,
                    category: row.get(10)?,
                    is_booked: row.get(11)?,
                    is_expected: row.get(4)?,
                },
                movements: Vec::new(),
            });
        }
        if let Some(open) = &mut open {
            open.movements.extend(movement(row)?);
        }
    }
    close(open, sessions, tally)
}

fn movement(row: &Row<'_>) -> Result<Option<TicketMovement>> {
    let Some(bytes) = row.get::<_, Option<Vec<u8>>>(8)? else {
        return Ok(None);
    };
    Ok(Some(TicketMovement {
        checkpoint: parsed(row, 5)?,
        taken_back: row.get(6)?,
        after_cancel: row.get(7)?,
        late_after_final: row.get(9)?,
        bytes,
    }))
}

fn close(
    open: Option<Open>,
    sessions: &HashMap<SessionId, Session>,
    tally: &mut Tally,
) -> Result<()> {
    let Some(open) = open else {
        return Ok(());
    };
    let session = session_of(sessions, &open.session_id)?;
    let takes_place = session.status == SessionStatus::Open;
    let ticket = TicketOfDay {
        is_expected: open.ticket.is_expected && takes_place,
        ..open.ticket
    };
    tally
        .ticket(session, &open.day, &ticket, open.movements)
        .map_err(|error| damaged(&error))
}

fn session_of<'s>(
    sessions: &'s HashMap<SessionId, Session>,
    id: &SessionId,
) -> Result<&'s Session> {
    sessions
        .get(id)
        .ok_or_else(|| StoreError::Damaged("a ticket's session is not there".into()))
}

fn conflicts(
    connection: &Connection,
    span: &Span<'_>,
    sessions: &HashMap<SessionId, Session>,
    tally: &mut Tally,
) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT t.session_id, c.service_day, c.cleared_at IS NOT NULL
         FROM conflicts c JOIN tickets t ON t.venue = c.venue AND t.service_day = c.service_day
                                        AND t.number = c.number
         WHERE c.venue = ?1 AND c.service_day BETWEEN ?2 AND ?3",
    )?;
    let mut rows = statement.query(span.key())?;
    while let Some(row) = rows.next()? {
        let session = session_of(sessions, &parsed(row, 0)?)?;
        tally.conflict(session, &parsed(row, 1)?, row.get(2)?);
    }
    Ok(())
}

fn walk_ins(connection: &Connection, span: &Span<'_>, tally: &mut Tally) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT walk_ins.service_day, direction, category, sum(persons)
         FROM walk_ins JOIN records USING (place)
         WHERE venue = ?1 AND walk_ins.service_day BETWEEN ?2 AND ?3 AND NOT taken_back
         GROUP BY walk_ins.service_day, direction, category
         ORDER BY walk_ins.service_day, direction, category",
    )?;
    let (venue, from, to) = span.key();
    let mut rows = statement.query(params![venue, from, to])?;
    while let Some(row) = rows.next()? {
        tally.walk_ins(WalkInCount {
            service_day: parsed(row, 0)?,
            direction: word(row, 1)?,
            category: row.get(2)?,
            persons: count(row, 3)?,
        });
    }
    Ok(())
}
