//! The audit log: acts are carried out within it, and it is read.

use std::future::Future;

use stile_core::ids::{VenueId, VenueNumber};
use stile_core::protocol::{Act, AuditEntry, AuditLog};

use super::Server;
use crate::acting::{ActResult, ActRow, ActedBy, Acting, WHOLE_SERVER};
use crate::cursor::{Cursors, Stream};
use crate::error::ServerError;
use crate::store::{AuditPage, Position};

/// Acts of one piece at most.
const MAX_ACTS: u32 = 1_000;

impl Server {
    /// An act that begins now, at a venue or on the server as a whole.
    pub async fn begin_act(
        &self,
        act: Act,
        by: ActedBy,
        venue: Option<&VenueId>,
    ) -> Result<Acting, ServerError> {
        let row = ActRow {
            at: self.now(),
            act,
            by,
            thing: None,
            result: ActResult::Done,
            count: None,
            trace: None,
        };
        self.begin_act_with(row, venue).await
    }

    /// The same, with what is known of it beside.
    pub async fn begin_act_with(
        &self,
        row: ActRow,
        venue: Option<&VenueId>,
    ) -> Result<Acting, ServerError> {
        let venue = match venue {
            Some(venue) => Some(self.keys(venue).await?.number),
            None => None,
        };
        Ok(Acting::new(row, venue))
    }

    /// Carries an act out. Its row is stored with the first thing that it stores; when it is over,
    /// the log hears what became of it, also if it stored nothing.
    pub async fn act<T>(
        &self,
        acting: &Acting,
        work: impl Future<Output = T>,
        result: impl FnOnce(&T) -> ActResult,
    ) -> T {
        let outcome = acting.carry_out(work).await;
        if acting.end(result(&outcome))
            && let Err(error) = self.store.finish_act(acting).await
        {
            // What was done is done, and must not be answered as if it were not.
            tracing::error!(%error, act = ?acting.to_keep().0, "an act's end is not in the audit log");
        }
        outcome
    }

    /// The next piece of a venue's audit log, behind the cursor `after`.
    pub async fn audit(
        &self,
        venue: &VenueId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<AuditLog, ServerError> {
        let keys = self.keys(venue).await?;
        let cursors = Cursors {
            secret: &keys.cursor,
            venue: keys.number,
            stream: Stream::Audit,
            generation: self.generation,
        };
        let after = after.map_or(Ok(Position(0)), |cursor| cursors.read(cursor))?;
        let page = self.audit_page(keys.number, after, limit).await?;
        Ok(AuditLog {
            acts: page.acts.into_iter().map(entry).collect(),
            cursor: cursors.write(page.next),
            more: page.more,
        })
    }

    /// The whole audit log of a venue, or of the server where none is named, piece by piece.
    pub async fn audit_through(
        &self,
        venue: Option<&VenueId>,
        mut each: impl FnMut(AuditEntry) -> std::io::Result<()>,
    ) -> Result<std::io::Result<()>, ServerError> {
        let number = match venue {
            Some(venue) => self.keys(venue).await?.number,
            None => WHOLE_SERVER,
        };
        let mut after = Position(0);
        loop {
            let page = self.audit_page(number, after, MAX_ACTS).await?;
            if let Err(error) = page.acts.into_iter().map(entry).try_for_each(&mut each) {
                return Ok(Err(error));
            }
            if !page.more {
                return Ok(Ok(()));
            }
            after = page.next;
        }
    }

    async fn audit_page(
        &self,
        log: VenueNumber,
        after: Position,
        limit: u32,
    ) -> Result<AuditPage, ServerError> {
        let limit = limit.clamp(1, MAX_ACTS);
        Ok(self.store.audit(log, after, limit).await?)
    }
}

fn entry(row: ActRow) -> AuditEntry {
    let (api_key_id, uid) = match row.by {
        ActedBy::Key(id) => (Some(id), None),
        ActedBy::CommandLine(uid) => (None, Some(uid)),
    };
    AuditEntry {
        at: row.at,
        act: row.act,
        api_key_id,
        uid,
        thing: row.thing,
        result: row.result.to_string(),
        count: row.count,
        trace: row.trace,
    }
}
