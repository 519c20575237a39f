//! The log on its way to back ends behind signed cursors: one piece, or all there is, piece by
//! piece. No read is held open between two pieces, however slow their taker is.

use std::sync::Arc;

use serde_json::value::RawValue;
use stile_core::ids::VenueId;
use stile_core::protocol::{Pulled, PulledRecord};

use super::Server;
use super::waiting::Awaited;
use crate::config::{PULL_DEFAULT, PULL_MAX};
use crate::cursor::{Cursors, Stream};
use crate::error::ServerError;
use crate::store::{LogStream, Page, Position, StoreError, StoredRecord};
use crate::venue_keys::VenueKeys;

/// Records that are read at a time of a log that is taken whole: some 400 KiB, and at most 2 MiB,
/// which is what a slow taker keeps in memory.
const PIECE: u32 = 500;

/// Which part of a venue's log is wanted.
#[derive(Debug, Clone)]
pub struct PullRequest {
    /// All records, or check-ins.
    pub stream: LogStream,
    /// The cursor of the piece before; none for the log's start.
    pub after: Option<String>,
    /// Records at most, and never more than 10,000.
    pub limit: Option<u32>,
    /// Seconds to wait while there is none, and never more than 25.
    pub wait_s: u32,
}

impl Server {
    /// The next piece of a venue's log, 1,000 records unless the request says otherwise. While
    /// there is nothing, waits for it; whoever still waits when the server stops gets nothing.
    pub async fn pull(
        &self,
        venue: &VenueId,
        request: &PullRequest,
    ) -> Result<Pulled, ServerError> {
        let keys = self.keys(venue).await?;
        let limit = request.limit.unwrap_or(PULL_DEFAULT);
        let page = self.first_page(&keys, request, limit).await?;
        let cursors = self.cursors(&keys, request.stream);
        Ok(Pulled {
            cursor: cursors.write(page.next),
            more: page.more,
            records: records(page.records)?,
        })
    }

    /// The log from a cursor to its end as it is now, or as far as the request's limit goes.
    /// Waits as [`Server::pull`] does.
    pub async fn pull_whole(
        self: &Arc<Self>,
        venue: &VenueId,
        request: &PullRequest,
    ) -> Result<WholeLog, ServerError> {
        let keys = self.keys(venue).await?;
        let limit = request.limit.unwrap_or(PIECE);
        let mut page = self.first_page(&keys, request, limit).await?;
        let is_bounded = request.limit.is_some();
        let goes_on = page.more && !is_bounded;
        let behind = if goes_on { page.end } else { page.next };
        let cursor = self.cursors(&keys, request.stream).write(behind);
        let left_out = page.more && is_bounded;
        page.more = goes_on;
        Ok(WholeLog {
            server: Arc::clone(self),
            keys,
            stream: request.stream,
            end: page.end,
            next: Next::Read(page),
            cursor,
            more: left_out,
        })
    }

    async fn first_page(
        &self,
        keys: &VenueKeys,
        request: &PullRequest,
        limit: u32,
    ) -> Result<Page, ServerError> {
        let after = request.after.as_deref();
        let cursors = self.cursors(keys, request.stream);
        let after = after.map_or(Ok(Position(0)), |cursor| cursors.read(cursor))?;
        let limit = limit.clamp(1, PULL_MAX);
        let mut waiting = self.waiting(keys.number, Awaited::Log, request.wait_s);
        loop {
            waiting.mark();
            let page = self.store.pull(keys.number, request.stream, after, limit);
            let page = page.await?;
            if !page.records.is_empty() || !waiting.for_more().await {
                return Ok(page);
            }
        }
    }

    fn cursors<'k>(&self, keys: &'k VenueKeys, stream: LogStream) -> Cursors<'k> {
        Cursors {
            secret: &keys.cursor,
            venue: keys.number,
            stream: Stream::Log(stream),
            generation: self.generation,
        }
    }
}

/// The log from a cursor to its end, to be taken piece by piece.
pub struct WholeLog {
    pub(super) server: Arc<Server>,
    pub(super) keys: Arc<VenueKeys>,
    stream: LogStream,
    /// Where the log ended when it was asked for: what is added meanwhile is not waited for.
    end: Position,
    next: Next,
    cursor: String,
    more: bool,
}

/// Where the next piece of a whole log comes from.
enum Next {
    /// It is read already.
    Read(Page),
    /// It is to be read behind this position.
    After(Position),
    /// There is none.
    None,
}

impl WholeLog {
    /// The cursor behind all of it.
    pub fn cursor(&self) -> &str {
        &self.cursor
    }

    /// Whether the request's limit left something out.
    pub fn more(&self) -> bool {
        self.more
    }

    /// The next piece; `None` behind the last.
    pub async fn next(&mut self) -> Result<Option<Vec<PulledRecord>>, ServerError> {
        let page = match std::mem::replace(&mut self.next, Next::None) {
            Next::Read(page) => page,
            Next::After(after) => {
                let (store, venue) = (&self.server.store, self.keys.number);
                store.pull(venue, self.stream, after, PIECE).await?
            }
            Next::None => return Ok(None),
        };
        if page.more && page.next < self.end {
            self.next = Next::After(page.next);
        }
        let mut piece = page.records;
        piece.retain(|record| record.position <= self.end);
        records(piece).map(Some)
    }
}

fn records(stored: Vec<StoredRecord>) -> Result<Vec<PulledRecord>, ServerError> {
    stored.into_iter().map(pulled).collect()
}

fn pulled(record: StoredRecord) -> Result<PulledRecord, ServerError> {
    let damaged = |error: &dyn std::error::Error| {
        let position = record.position.0;
        ServerError::from(StoreError::Damaged(format!("record {position}: {error}")))
    };
    let text = String::from_utf8(record.bytes).map_err(|error| damaged(&error))?;
    Ok(PulledRecord {
        received_at: record.received_at,
        standing: record.standing,
        after_cancel: record.after_cancel,
        taken_back: record.taken_back,
        record: RawValue::from_string(text).map_err(|error| damaged(&error))?,
    })
}
