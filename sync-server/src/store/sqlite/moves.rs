//! What moving tickets between days does to the lists: the ticket goes, a tombstone stays, and
//! tombstones follow the ticket wherever it goes next.

use rusqlite::{Connection, params};
use stile_core::ids::{TicketNumber, VenueNumber};
use stile_core::ticket::{Session, Standing};
use stile_core::time::{EpochMillis, ServiceDay};

use super::columns::{parsed, to_i64};
use super::lists::{Versions, settings_changed};
use super::ticket_rows::{DayRow, day_row, elsewhere, replace, rows_where};
use crate::store::{ListRow, Result};

/// What tombstones say of a ticket of this session.
pub(super) fn moved_to(session: &Session) -> Standing {
    Standing::Moved {
        session_id: session.session_id.clone(),
        service_day: session.service_day.clone(),
        admit_from: session.admit_from,
    }
}

/// Puts a ticket into the list of its session's day, in place of its tombstone if it has one
/// there, and leaves a tombstone where it was.
pub(super) fn relocate(
    connection: &Connection,
    venue: VenueNumber,
    versions: &mut Versions<'_>,
    left: DayRow,
    row: ListRow,
    session: &Session,
) -> Result<()> {
    let number = row.number;
    let day = session.service_day.clone();
    let arrived = ListRow {
        version: versions.next(&day)?,
        ..row
    };
    replace(
        connection,
        venue,
        &DayRow {
            day,
            bucket: left.bucket,
            row: arrived,
        },
    )?;
    let standing = moved_to(session);
    let version = versions.next(&left.day)?;
    let tombstone = ListRow {
        standing,
        version,
        ..left.row
    };
    replace(
        connection,
        venue,
        &DayRow {
            row: tombstone,
            ..left
        },
    )?;
    follow(connection, venue, versions, number, session)
}

/// Makes a ticket's tombstones point to its session.
pub(super) fn follow(
    connection: &Connection,
    venue: VenueNumber,
    versions: &mut Versions<'_>,
    number: TicketNumber,
    session: &Session,
) -> Result<()> {
    let standing = moved_to(session);
    for mut tombstone in elsewhere(connection, venue, number, &session.service_day)? {
        if tombstone.row.standing != standing {
            tombstone.row.standing = standing.clone();
            tombstone.row.version = versions.next(&tombstone.day)?;
            replace(connection, venue, &tombstone)?;
        }
    }
    Ok(())
}

/// Takes the tickets of a session from the day that it left to the one that it is in now.
pub(super) fn move_session(
    connection: &Connection,
    venue: VenueNumber,
    versions: &mut Versions<'_>,
    left: &ServiceDay,
    session: &Session,
) -> Result<()> {
    let mut statement = connection.prepare_cached(rows_where!(
        "service_day = ?2 AND session_id = ?3 AND standing <> 'moved'"
    ))?;
    let key = params![venue.0, left.as_str(), session.session_id.as_str()];
    let tickets = statement
        .query_map(key, day_row)?
        .collect::<rusqlite::Result<Vec<DayRow>>>()?;
    for ticket in tickets {
        let row = ticket.row.clone();
        relocate(connection, venue, versions, ticket, row, session)?;
    }
    Ok(())
}

/// Makes the tombstones that point to a session say what is true of it now. Their lists get their
/// next version in any case, since the session stands beside their rows.
pub(super) fn update_tombstones_of(
    connection: &Connection,
    venue: VenueNumber,
    versions: &mut Versions<'_>,
    session: &Session,
    now: EpochMillis,
) -> Result<()> {
    let days = connection
        .prepare_cached(
            "SELECT DISTINCT service_day FROM tickets INDEXED BY tombstones_by_session
             WHERE venue = ?1 AND standing = 'moved' AND moved_session = ?2",
        )?
        .query_map(params![venue.0, session.session_id.as_str()], |row| {
            parsed(row, 0)
        })?
        .collect::<rusqlite::Result<Vec<ServiceDay>>>()?;
    for day in days {
        let version = versions.next(&day)?;
        settings_changed(connection, venue, &day, now)?;
        connection
            .prepare_cached(
                "UPDATE tickets INDEXED BY tombstones_by_session SET moved_day = ?4, moved_admit_from = ?5, version = ?6
                 WHERE venue = ?1 AND service_day = ?2 AND standing = 'moved'
                   AND moved_session = ?3 AND (moved_day <> ?4 OR moved_admit_from <> ?5)",
            )?
            .execute(params![
                venue.0,
                day.as_str(),
                session.session_id.as_str(),
                session.service_day.as_str(),
                session.admit_from.0,
                to_i64(version)?
            ])?;
    }
    Ok(())
}
