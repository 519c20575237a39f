//! Putting, cancelling and finding tickets: what changes is judged here, row by row.

use std::collections::HashMap;
use std::rc::Rc;

use rusqlite::Connection;
use stile_core::ids::{SessionId, TicketNumber, VenueNumber};
use stile_core::ticket::{CancelCause, Session, Standing, TicketStatus};
use stile_core::time::EpochMillis;

use super::feed::Feed;
use super::lists::Versions;
use super::ticket_rows::{DayRow, current, insert, replace};
use super::{erasure, holders, moves, quarantine, sessions, standings};
use crate::store::{
    Change, ListRow, Reissued, Result, StoreError, TicketFields, TicketInSession, TicketUpsert,
    Upserted,
};

pub(super) fn upsert(
    connection: &Connection,
    venue: VenueNumber,
    lines: &[TicketUpsert],
    now: EpochMillis,
) -> Result<Vec<Upserted>> {
    let stripped = erasure::without_erased(connection, venue, lines)?;
    let lines = stripped.as_deref().unwrap_or(lines);
    let mut upsert = Upsert {
        connection,
        venue,
        versions: Versions::new(connection, venue),
        sessions: HashMap::new(),
        arrived: Vec::new(),
        unsettled: Vec::new(),
        now,
    };
    let outcomes = lines
        .iter()
        .map(|line| upsert.line(line))
        .collect::<Result<_>>()?;
    let mut feed = Feed::begin(connection, venue)?;
    quarantine::release(connection, venue, &upsert.arrived, now, &mut feed)?;
    for number in upsert.unsettled {
        standings::settle_ticket(connection, venue, number, now, &mut feed)?;
    }
    feed.finish()?;
    Ok(outcomes)
}

/// One call's worth of lines.
struct Upsert<'c> {
    connection: &'c Connection,
    venue: VenueNumber,
    versions: Versions<'c>,
    /// Sessions looked up so far; lines of one file name few.
    sessions: HashMap<SessionId, Option<Rc<Session>>>,
    /// Tickets that are new: records may be waiting for them.
    arrived: Vec<TicketNumber>,
    /// Tickets whose entries may stand otherwise now.
    unsettled: Vec<TicketNumber>,
    now: EpochMillis,
}

impl Upsert<'_> {
    fn line(&mut self, line: &TicketUpsert) -> Result<Upserted> {
        let outcome = self.put(line)?;
        if let Upserted::Put(_) = outcome {
            let (connection, venue) = (self.connection, self.venue);
            holders::put(connection, venue, line.number, line.holder.as_deref())?;
        }
        Ok(outcome)
    }

    fn put(&mut self, line: &TicketUpsert) -> Result<Upserted> {
        let Some(session) = self.session(&line.fields.session_id)? else {
            return Ok(Upserted::UnknownSession);
        };
        let document = line.fields.document.as_ref();
        if document.is_some_and(|document| document.day != session.service_day) {
            return Ok(Upserted::OtherDay);
        }
        let number = line.number;
        let cancelled_at = (line.status == Some(TicketStatus::Cancelled)).then_some(self.now);
        let Some(old) = current(self.connection, self.venue, number)? else {
            let row = DayRow {
                day: session.service_day.clone(),
                bucket: line.bucket,
                row: ListRow {
                    number,
                    status: line.status.unwrap_or(TicketStatus::Valid),
                    cancel_cause: line.cancel_cause,
                    cancelled_at,
                    revision: 0,
                    standing: Standing::Live,
                    version: self.versions.next(&session.service_day)?,
                    fields: line.fields.clone(),
                },
            };
            insert(self.connection, self.venue, &row)?;
            self.arrived.push(number);
            return Ok(Upserted::Put(Change::Created));
        };
        if old.row.fields.ticket_id != line.fields.ticket_id {
            return Ok(Upserted::NumberTaken);
        }
        match (line.fields.source_version, old.row.fields.source_version) {
            (Some(new), Some(old)) if new < old => Ok(Upserted::Outdated(old)),
            _ => self.change(old, line, &session),
        }
    }

    fn change(&mut self, old: DayRow, line: &TicketUpsert, session: &Session) -> Result<Upserted> {
        let (status, cancel_cause) = match line.status {
            Some(status) => (status, line.cancel_cause),
            None => (old.row.status, old.row.cancel_cause),
        };
        let cancelled_at =
            (status == TicketStatus::Cancelled).then(|| old.row.cancelled_at.unwrap_or(self.now));
        // A line that does not count changes does not reset the count.
        let source_version = line.fields.source_version.or(old.row.fields.source_version);
        let mut row = ListRow {
            fields: TicketFields {
                source_version,
                ..line.fields.clone()
            },
            status,
            cancel_cause,
            cancelled_at,
            standing: Standing::Live,
            ..old.row.clone()
        };
        if row == old.row {
            return Ok(Upserted::Put(Change::Unchanged));
        }
        let (number, was) = (row.number, &old.row.fields);
        let changes_session = row.fields.session_id != was.session_id;
        if changes_session || row.fields.admits != was.admits {
            self.unsettled.push(number);
        }
        let (connection, venue) = (self.connection, self.venue);
        if old.day != session.service_day {
            moves::relocate(connection, venue, &mut self.versions, old, row, session)?;
        } else {
            row.version = self.versions.next(&old.day)?;
            replace(connection, venue, &DayRow { row, ..old })?;
            if changes_session {
                moves::follow(connection, venue, &mut self.versions, number, session)?;
            }
        }
        Ok(Upserted::Put(Change::Changed))
    }

    fn session(&mut self, id: &SessionId) -> Result<Option<Rc<Session>>> {
        if let Some(known) = self.sessions.get(id) {
            return Ok(known.clone());
        }
        let session = sessions::get(self.connection, self.venue, id)?.map(Rc::new);
        self.sessions.insert(id.clone(), session.clone());
        Ok(session)
    }
}

pub(super) fn cancel(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
    cause: CancelCause,
    now: EpochMillis,
) -> Result<Option<TicketInSession>> {
    let Some(mut ticket) = current(connection, venue, number)? else {
        return Ok(None);
    };
    let (status, cause) = (TicketStatus::Cancelled, Some(cause));
    if (ticket.row.status, ticket.row.cancel_cause) != (status, cause) {
        (ticket.row.status, ticket.row.cancel_cause) = (status, cause);
        ticket.row.cancelled_at.get_or_insert(now);
        ticket.row.version = Versions::new(connection, venue).next(&ticket.day)?;
        replace(connection, venue, &ticket)?;
    }
    in_session(connection, venue, ticket.row).map(Some)
}

pub(super) fn reissue(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
    revision: u8,
) -> Result<Option<Reissued>> {
    let Some(mut ticket) = current(connection, venue, number)? else {
        return Ok(None);
    };
    let has = ticket.row.revision;
    if revision != has {
        if has.checked_add(1) != Some(revision) {
            return Ok(Some(Reissued::Has(has)));
        }
        ticket.row.revision = revision;
        ticket.row.version = Versions::new(connection, venue).next(&ticket.day)?;
        replace(connection, venue, &ticket)?;
    }
    let ticket = in_session(connection, venue, ticket.row)?;
    Ok(Some(Reissued::Done(Box::new(ticket))))
}

pub(super) fn get(
    connection: &Connection,
    venue: VenueNumber,
    numbers: &[TicketNumber],
) -> Result<Vec<Option<TicketInSession>>> {
    let one = |number: &TicketNumber| {
        current(connection, venue, *number)?
            .map(|ticket| in_session(connection, venue, ticket.row))
            .transpose()
    };
    numbers.iter().map(one).collect()
}

fn in_session(
    connection: &Connection,
    venue: VenueNumber,
    ticket: ListRow,
) -> Result<TicketInSession> {
    let session = sessions::get(connection, venue, &ticket.fields.session_id)?
        .ok_or_else(|| StoreError::Damaged("a ticket's session is not there".into()))?;
    Ok(TicketInSession { ticket, session })
}
