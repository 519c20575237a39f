//! Putting, cancelling and finding tickets: what changes is judged here, row by row.

use std::collections::HashMap;
use std::rc::Rc;

use rusqlite::{Connection, params};
use stile_core::ids::{SessionId, TicketNumber, VenueNumber};
use stile_core::ticket::{Session, Standing, TicketStatus};
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};

use super::columns::count;
use super::feed::Feed;
use super::lists::Versions;
use super::ticket_rows::{DayRow, current, insert, replace};
use super::{alarms, erasure, holders, moves, quarantine, sessions, standings};
use crate::store::{
    Change, ListRow, Result, StoreError, TicketFields, TicketInSession, TicketUpsert, Upserted,
};

pub(super) fn upsert(
    connection: &Connection,
    venue: VenueNumber,
    lines: &[TicketUpsert],
    now: EpochMillis,
) -> Result<Vec<Upserted>> {
    let stripped = erasure::without_erased(connection, venue, lines)?;
    let lines = stripped.as_deref().unwrap_or(lines);
    let mut upsert = Upsert::new(connection, venue, now);
    let outcomes = lines
        .iter()
        .map(|line| upsert.line(line, None))
        .collect::<Result<Vec<_>>>()?;
    upsert.settle()?;
    if outcomes.iter().any(|one| matches!(one, Upserted::Put(_))) {
        alarms::note_feed(connection, venue, now)?;
    }
    Ok(outcomes)
}

/// What a line comes to.
pub(super) enum Judged {
    /// It is not taken.
    Refused(Upserted),
    /// It is the first of its ticket.
    New(Rc<Session>),
    /// Its ticket is as it says.
    Same,
    /// Its ticket changes to this.
    Differs {
        old: Box<DayRow>,
        row: Box<ListRow>,
        session: Rc<Session>,
    },
}

/// Says what lines come to; changes nothing.
pub(super) struct Judge<'c> {
    connection: &'c Connection,
    venue: VenueNumber,
    /// Sessions looked up so far; lines of one file name few.
    sessions: HashMap<SessionId, Option<Rc<Session>>>,
    now: EpochMillis,
}

impl<'c> Judge<'c> {
    pub(super) fn new(connection: &'c Connection, venue: VenueNumber, now: EpochMillis) -> Self {
        Self {
            connection,
            venue,
            sessions: HashMap::new(),
            now,
        }
    }

    /// A line, of the set of `day` if one is given.
    pub(super) fn line(&mut self, line: &TicketUpsert, day: Option<&ServiceDay>) -> Result<Judged> {
        let Some(session) = self.session(&line.fields.session_id)? else {
            return Ok(Judged::Refused(Upserted::UnknownSession));
        };
        if day.is_some_and(|day| *day != session.service_day) {
            return Ok(Judged::Refused(Upserted::NotOfDay));
        }
        let document = line.fields.document.as_ref();
        if document.is_some_and(|document| document.day != session.service_day) {
            return Ok(Judged::Refused(Upserted::OtherDay));
        }
        let Some(old) = current(self.connection, self.venue, line.number)? else {
            return Ok(Judged::New(session));
        };
        if old.row.fields.ticket_id != line.fields.ticket_id {
            return Ok(Judged::Refused(Upserted::NumberTaken));
        }
        match (line.fields.source_version, old.row.fields.source_version) {
            (Some(new), Some(old)) if new < old => Ok(Judged::Refused(Upserted::Outdated(old))),
            _ => Ok(self.existing(old, line, session)),
        }
    }

    fn existing(&self, old: DayRow, line: &TicketUpsert, session: Rc<Session>) -> Judged {
        let (status, cancel_cause) = match line.status {
            Some(status) => (status, line.cancel_cause),
            None => (old.row.status, old.row.cancel_cause),
        };
        let cancelled_at =
            (status == TicketStatus::Cancelled).then(|| old.row.cancelled_at.unwrap_or(self.now));
        // A line that does not count changes does not reset the count.
        let source_version = line.fields.source_version.or(old.row.fields.source_version);
        let row = ListRow {
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
            return Judged::Same;
        }
        Judged::Differs {
            old: Box::new(old),
            row: Box::new(row),
            session,
        }
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

/// Puts lines, within one transaction.
pub(super) struct Upsert<'c> {
    judge: Judge<'c>,
    versions: Versions<'c>,
    /// Tickets that are new: records may be waiting for them.
    arrived: Vec<TicketNumber>,
    /// Tickets whose entries may stand otherwise now.
    unsettled: Vec<TicketNumber>,
}

impl<'c> Upsert<'c> {
    pub(super) fn new(connection: &'c Connection, venue: VenueNumber, now: EpochMillis) -> Self {
        Self {
            judge: Judge::new(connection, venue, now),
            versions: Versions::new(connection, venue),
            arrived: Vec::new(),
            unsettled: Vec::new(),
        }
    }

    /// The lists' next versions, as far as lines gave them.
    pub(super) fn versions(&mut self) -> &mut Versions<'c> {
        &mut self.versions
    }

    /// The session of an id.
    pub(super) fn session(&mut self, id: &SessionId) -> Result<Option<Rc<Session>>> {
        self.judge.session(id)
    }

    /// Puts a line, of the set of `day` if one is given.
    pub(super) fn line(
        &mut self,
        line: &TicketUpsert,
        day: Option<&ServiceDay>,
    ) -> Result<Upserted> {
        let outcome = match self.judge.line(line, day)? {
            Judged::Refused(outcome) => return Ok(outcome),
            Judged::Same => Change::Unchanged,
            Judged::New(session) => {
                self.insert(line, &session)?;
                Change::Created
            }
            Judged::Differs { old, row, session } => {
                self.change(*old, *row, &session)?;
                Change::Changed
            }
        };
        let (connection, venue) = (self.judge.connection, self.judge.venue);
        holders::put(connection, venue, line.number, line.holder.as_deref())?;
        Ok(Upserted::Put(outcome))
    }

    /// Does for the lines so far what follows from them: accepts records that waited for their
    /// tickets, and settles standings anew.
    pub(super) fn settle(&mut self) -> Result<()> {
        let (connection, venue, now) = (self.judge.connection, self.judge.venue, self.judge.now);
        let mut feed = Feed::begin(connection, venue)?;
        quarantine::release(connection, venue, &self.arrived, now, &mut feed)?;
        self.arrived.clear();
        for number in self.unsettled.drain(..) {
            standings::settle_ticket(connection, venue, number, now, &mut feed)?;
        }
        feed.finish()
    }

    fn insert(&mut self, line: &TicketUpsert, session: &Session) -> Result<()> {
        let now = self.judge.now;
        let row = DayRow {
            day: session.service_day.clone(),
            bucket: line.bucket,
            row: ListRow {
                number: line.number,
                status: line.status.unwrap_or(TicketStatus::Valid),
                cancel_cause: line.cancel_cause,
                cancelled_at: (line.status == Some(TicketStatus::Cancelled)).then_some(now),
                revision: 0,
                standing: Standing::Live,
                version: self.versions.next(&session.service_day)?,
                fields: line.fields.clone(),
            },
        };
        insert(self.judge.connection, self.judge.venue, &row)?;
        self.arrived.push(line.number);
        Ok(())
    }

    /// Puts a ticket's row in place of its old one, in the list of its session's day.
    pub(super) fn change(
        &mut self,
        old: DayRow,
        mut row: ListRow,
        session: &Session,
    ) -> Result<()> {
        let (number, was) = (row.number, &old.row.fields);
        let changes_session = row.fields.session_id != was.session_id;
        if changes_session || row.fields.admits != was.admits {
            self.unsettled.push(number);
        }
        let (connection, venue) = (self.judge.connection, self.judge.venue);
        if old.day != session.service_day {
            return moves::relocate(connection, venue, &mut self.versions, old, row, session);
        }
        row.version = self.versions.next(&old.day)?;
        replace(connection, venue, &DayRow { row, ..old })?;
        if changes_session {
            moves::follow(connection, venue, &mut self.versions, number, session)?;
        }
        Ok(())
    }
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

pub(super) fn in_session(
    connection: &Connection,
    venue: VenueNumber,
    ticket: ListRow,
) -> Result<TicketInSession> {
    let session = sessions::get(connection, venue, &ticket.fields.session_id)?
        .ok_or_else(|| StoreError::Damaged("a ticket's session is not there".into()))?;
    Ok(TicketInSession { ticket, session })
}

/// How many are live and valid, of days that are not over.
pub(super) fn count_valid(
    connection: &Connection,
    venue: VenueNumber,
    now: EpochSeconds,
) -> Result<u64> {
    let mut statement = connection.prepare_cached(
        "SELECT count(*) FROM tickets AS t JOIN list_days AS d
             ON d.venue = t.venue AND d.service_day = t.service_day
         WHERE t.venue = ?1 AND d.day_until > ?2 AND t.standing = 'live' AND t.status = 'valid'",
    )?;
    Ok(statement.query_row(params![venue.0, now.0], |row| count(row, 0))?)
}
