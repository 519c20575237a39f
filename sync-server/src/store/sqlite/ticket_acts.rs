//! What is done to single tickets: cancel, restore, move, issue anew.

use rusqlite::Connection;
use stile_core::ids::{TicketNumber, VenueNumber};
use stile_core::ticket::{Standing, TicketStatus};
use stile_core::time::EpochMillis;

use super::alarms;
use super::ticket_rows::current;
use super::tickets::{Upsert, in_session};
use crate::store::{Acted, ListRow, Result, StoreError, TicketAct};

pub(super) fn act(
    connection: &Connection,
    venue: VenueNumber,
    acts: &[(TicketNumber, TicketAct)],
    now: EpochMillis,
) -> Result<Vec<Acted>> {
    let mut acting = Acting {
        connection,
        venue,
        upsert: Upsert::new(connection, venue, now),
        now,
    };
    let acted = acts
        .iter()
        .map(|(number, act)| acting.one(*number, act))
        .collect::<Result<Vec<_>>>()?;
    acting.upsert.settle()?;
    if acted.iter().any(|one| matches!(one, Acted::Done(_))) {
        alarms::note_feed(connection, venue, now)?;
    }
    Ok(acted)
}

struct Acting<'c> {
    connection: &'c Connection,
    venue: VenueNumber,
    upsert: Upsert<'c>,
    now: EpochMillis,
}

impl Acting<'_> {
    fn one(&mut self, number: TicketNumber, act: &TicketAct) -> Result<Acted> {
        let (connection, venue) = (self.connection, self.venue);
        let Some(old) = current(connection, venue, number)? else {
            return Ok(Acted::NoTicket);
        };
        if let TicketAct::Move(id) = act
            && self.upsert.session(id)?.is_none()
        {
            return Ok(Acted::NoSession);
        }
        let row = match changed(&old.row, act, self.now) {
            Ok(row) => row,
            Err(revision) => return Ok(Acted::HasRevision(revision)),
        };
        if row != old.row {
            let session = self.upsert.session(&row.fields.session_id)?;
            let session = session.ok_or_else(|| gone("session"))?;
            self.upsert.change(old, row, &session)?;
        }
        let ticket = current(connection, venue, number)?.ok_or_else(|| gone("ticket"))?;
        let ticket = in_session(connection, venue, ticket.row)?;
        Ok(Acted::Done(Box::new(ticket)))
    }
}

/// The row after the act; the revision that stands in its way.
fn changed(was: &ListRow, act: &TicketAct, now: EpochMillis) -> std::result::Result<ListRow, u8> {
    let mut row = was.clone();
    match act {
        TicketAct::Cancel(cause) => {
            row.status = TicketStatus::Cancelled;
            row.cancel_cause = Some(*cause);
            row.cancelled_at.get_or_insert(now);
        }
        TicketAct::Restore => {
            if row.status == TicketStatus::Cancelled {
                row.status = TicketStatus::Valid;
                row.cancel_cause = None;
            }
            row.cancelled_at = None;
            row.standing = Standing::Live;
        }
        TicketAct::Move(session_id) => {
            if row.fields.session_id != *session_id {
                row.fields.session_id = session_id.clone();
                // They were moments of the session that it leaves.
                row.fields.admit_from = None;
                row.fields.admit_until = None;
            }
        }
        TicketAct::Reissue(revision) => {
            let has = row.revision;
            if *revision != has && has.checked_add(1) != Some(*revision) {
                return Err(has);
            }
            row.revision = *revision;
        }
    }
    Ok(row)
}

fn gone(what: &str) -> StoreError {
    StoreError::Damaged(format!("a ticket's {what} is not there"))
}
