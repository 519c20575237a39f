//! The log on its way to back ends behind signed cursors: one piece, or all there is, piece by
//! piece. No read is held open between two pieces, however slow their taker is.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use stile_core::ids::{GateId, SessionId, TicketId, VenueId};
use stile_core::protocol::{Pulled, PulledRecord, SessionFinality};
use stile_core::record::Answer;
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};

use super::Server;
use super::finality::sessions_of;
use super::venues::zone;
use super::waiting::Awaited;
use crate::config::{PULL_DEFAULT, PULL_MAX};
use crate::cursor::{Cursors, Stream};
use crate::error::ServerError;
use crate::import::times::parse_time;
use crate::log_filter::LogFilter;
use crate::store::{LogQuery, LogStream, Page, Position, StoreError, StoredRecord};
use crate::venue_keys::VenueKeys;

/// Records that are read at a time of a log that is taken whole: some 400 KiB, and at most 2 MiB,
/// which is what a slow taker keeps in memory.
const PIECE: u32 = 500;

/// Pieces in a row that may have nothing that a filter wants before a request is answered: it is
/// answered in seconds then, and its cursor is further on.
const EMPTY_PIECES: u32 = 50;

/// Which part of a venue's log is wanted.
#[derive(Debug, Clone)]
pub struct PullRequest {
    /// All records, or check-ins.
    pub stream: LogStream,
    /// Which of them.
    pub filter: PullFilter,
    /// The cursor of the piece before; none for the log's start.
    pub after: Option<String>,
    /// Records at most, and never more than 10,000.
    pub limit: Option<u32>,
    /// Seconds to wait while there is none, and never more than 25.
    pub wait_s: u32,
}

/// Which records are wanted, as a back end says it: those for which all that is set holds. See
/// [`LogFilter`].
#[derive(Debug, Clone, Default)]
pub struct PullFilter {
    /// Of this session.
    pub session_id: Option<SessionId>,
    /// Made at this gate.
    pub gate_id: Option<GateId>,
    /// Of this day.
    pub service_day: Option<ServiceDay>,
    /// Made then or later: a time as in ticket files, local ones in the venue's zone.
    pub from: Option<String>,
    /// Made before, likewise.
    pub to: Option<String>,
    /// That name this ticket.
    pub ticket_id: Option<TicketId>,
    /// Of this kind.
    pub kind: Option<String>,
    /// With this verdict.
    pub verdict: Option<Answer>,
    /// With this reason.
    pub reason: Option<String>,
}

/// What a request comes down to.
struct Asked {
    keys: Arc<VenueKeys>,
    stream: LogStream,
    filter: LogFilter,
}

impl Server {
    /// The next piece of a venue's log, 1,000 records unless the request says otherwise. While
    /// there is nothing, waits for it; whoever still waits when the server stops gets nothing. Of a
    /// long log in which a filter finds little, a piece may be empty and yet there is more.
    pub async fn pull(
        &self,
        venue: &VenueId,
        request: &PullRequest,
    ) -> Result<Pulled, ServerError> {
        let asked = self.asked(venue, request).await?;
        let limit = request.limit.unwrap_or(PULL_DEFAULT);
        let page = self.first_page(&asked, request, limit).await?;
        let records = records(page.records)?;
        let mut named = self.named(&asked).await?;
        named.extend(sessions_of(&records));
        Ok(Pulled {
            cursor: self.cursors(&asked).write(page.next),
            more: page.more,
            sessions: self.finality(asked.keys.number, named).await?,
            records,
        })
    }

    /// The log from a cursor to its end as it is now, or as far as the request's limit goes.
    /// Waits as [`Server::pull`] does.
    pub async fn pull_whole(
        self: &Arc<Self>,
        venue: &VenueId,
        request: &PullRequest,
    ) -> Result<WholeLog, ServerError> {
        let asked = self.asked(venue, request).await?;
        let limit = request.limit.unwrap_or(PIECE);
        let mut page = self.first_page(&asked, request, limit).await?;
        let is_bounded = request.limit.is_some();
        let goes_on = page.more && !is_bounded;
        let behind = if goes_on { page.end } else { page.next };
        let cursor = self.cursors(&asked).write(behind);
        let named = self.named(&asked).await?;
        let (number, now) = (asked.keys.number, self.now());
        let complete_through = self.store.complete_through(number, now).await?;
        let left_out = page.more && is_bounded;
        page.more = goes_on;
        Ok(WholeLog {
            server: Arc::clone(self),
            asked,
            end: page.end,
            next: Next::Read(page),
            cursor,
            more: left_out,
            named,
            complete_through,
        })
    }

    /// The sessions that a filter names.
    async fn named(&self, asked: &Asked) -> Result<BTreeSet<SessionId>, ServerError> {
        let filter = &asked.filter;
        let mut named: BTreeSet<_> = filter.session_id.iter().cloned().collect();
        if let (None, Some(day)) = (&filter.session_id, &filter.service_day) {
            let sessions = self.store.sessions(asked.keys.number, Some(day)).await?;
            named.extend(sessions.into_iter().map(|session| session.session_id));
        }
        Ok(named)
    }

    async fn asked(&self, venue: &VenueId, request: &PullRequest) -> Result<Asked, ServerError> {
        let keys = self.keys(venue).await?;
        let wanted = request.filter.clone();
        let (from, until) = self.times(venue, &wanted).await?;
        let ticket = wanted.ticket_id;
        let filter = LogFilter {
            session_id: wanted.session_id,
            gate_id: wanted.gate_id,
            service_day: wanted.service_day,
            from,
            until,
            ticket: ticket.map(|id| keys.numbering.ticket_number(venue, &id)),
            kind: wanted.kind,
            verdict: wanted.verdict,
            reason: wanted.reason,
        };
        Ok(Asked {
            keys,
            stream: request.stream,
            filter,
        })
    }

    /// `from` and `to` of a filter, read in the venue's zone.
    async fn times(
        &self,
        venue: &VenueId,
        wanted: &PullFilter,
    ) -> Result<(Option<EpochMillis>, Option<EpochMillis>), ServerError> {
        if wanted.from.is_none() && wanted.to.is_none() {
            return Ok((None, None));
        }
        let zone = zone(&self.venue(venue).await?.time_zone)?;
        let time = |field, text: Option<&String>| {
            let time = text.map(|text| parse_time(text, &zone)).transpose();
            time.map(|time| time.map(EpochSeconds::millis))
                .map_err(|error| ServerError::invalid(field, error))
        };
        let (from, to) = (
            time("from", wanted.from.as_ref())?,
            time("to", wanted.to.as_ref())?,
        );
        match from.zip(to) {
            Some((from, to)) if from >= to => {
                Err(ServerError::invalid("to", "does not lie after from"))
            }
            _ => Ok((from, to)),
        }
    }

    async fn first_page(
        &self,
        asked: &Asked,
        request: &PullRequest,
        limit: u32,
    ) -> Result<Page, ServerError> {
        let after = request.after.as_deref();
        let cursors = self.cursors(asked);
        let mut after = after.map_or(Ok(Position(0)), |cursor| cursors.read(cursor))?;
        let limit = limit.clamp(1, PULL_MAX);
        let mut waiting = self.waiting(asked.keys.number, Awaited::Log, request.wait_s);
        let mut empty = 0;
        // Whoever begins without a cursor begins with what there is.
        let mut has_begun = request.after.is_some();
        loop {
            waiting.mark();
            let page = self.page(asked, after, limit, has_begun).await?;
            has_begun = true;
            if !page.records.is_empty() {
                return Ok(page);
            }
            after = page.next;
            empty += 1;
            let goes_on = match page.more {
                true => empty < EMPTY_PIECES,
                false => waiting.for_more().await,
            };
            if !goes_on {
                return Ok(page);
            }
        }
    }

    /// A piece; for whoever `has_begun` one that nothing is missing before.
    async fn page(
        &self,
        asked: &Asked,
        after: Position,
        limit: u32,
        has_begun: bool,
    ) -> Result<Page, ServerError> {
        let query = LogQuery {
            stream: asked.stream,
            filter: asked.filter.clone(),
            after,
            limit,
        };
        let page = self.store.pull(asked.keys.number, query).await?;
        match page.removed {
            Some(through) if has_begun => Err(ServerError::CursorExpired {
                go_on: self.cursors(asked).write(through),
            }),
            _ => Ok(page),
        }
    }

    fn cursors<'a>(&self, asked: &'a Asked) -> Cursors<'a> {
        Cursors {
            secret: &asked.keys.cursor,
            venue: asked.keys.number,
            stream: Stream::Log(asked.stream, asked.filter.mark()),
            generation: self.generation,
        }
    }
}

/// The log from a cursor to its end, to be taken piece by piece.
pub struct WholeLog {
    pub(super) server: Arc<Server>,
    asked: Asked,
    /// Where the log ended when it was asked for: what is added meanwhile is not waited for.
    end: Position,
    next: Next,
    cursor: String,
    more: bool,
    /// The sessions that the filters and the records taken so far name.
    named: BTreeSet<SessionId>,
    complete_through: Option<EpochMillis>,
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

    /// Up to when every record of the venue is in the log; none while a device that is waited for
    /// has never reported.
    pub fn complete_through(&self) -> Option<EpochMillis> {
        self.complete_through
    }

    /// How complete the sessions are that the filters and the records taken so far name.
    pub async fn sessions(&self) -> Result<Vec<SessionFinality>, ServerError> {
        let number = self.asked.keys.number;
        self.server.finality(number, self.named.clone()).await
    }

    pub(super) fn keys(&self) -> &VenueKeys {
        &self.asked.keys
    }

    /// The next piece; `None` behind the last.
    pub async fn next(&mut self) -> Result<Option<Vec<PulledRecord>>, ServerError> {
        let page = match std::mem::replace(&mut self.next, Next::None) {
            Next::Read(page) => page,
            Next::After(after) => self.server.page(&self.asked, after, PIECE, true).await?,
            Next::None => return Ok(None),
        };
        if page.more && page.next < self.end {
            self.next = Next::After(page.next);
        }
        let mut piece = page.records;
        piece.retain(|record| record.position <= self.end);
        let piece = records(piece)?;
        self.named.extend(sessions_of(&piece));
        Ok(Some(piece))
    }
}

pub(super) fn records(stored: Vec<StoredRecord>) -> Result<Vec<PulledRecord>, ServerError> {
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
        late_after_final: record.late_after_final,
        record: RawValue::from_string(text).map_err(|error| damaged(&error))?,
    })
}
