//! The log on its way to back ends, piece by piece behind signed cursors.

use serde_json::value::RawValue;
use stile_core::ids::VenueId;
use stile_core::protocol::{Pulled, PulledRecord};

use super::Server;
use super::waiting::Awaited;
use crate::cursor::{Cursors, Stream};
use crate::error::ServerError;
use crate::store::{LogStream, Position, StoreError, StoredRecord};

/// Records of one pull at most: some 8 MiB of ordinary ones.
const MAX_PULL: u32 = 10_000;

/// Which piece of a venue's log is wanted.
#[derive(Debug, Clone)]
pub struct PullRequest {
    /// All records, or check-ins.
    pub stream: LogStream,
    /// The cursor of the piece before; none for the log's start.
    pub after: Option<String>,
    /// Records at most, and never more than 10,000.
    pub limit: u32,
    /// Seconds to wait while there is none, and never more than 25.
    pub wait_s: u32,
}

impl Server {
    /// The next piece of a venue's log. While there is nothing, waits for it; whoever still waits
    /// when the server stops gets nothing.
    pub async fn pull(
        &self,
        venue: &VenueId,
        request: &PullRequest,
    ) -> Result<Pulled, ServerError> {
        let keys = self.keys(venue).await?;
        let cursors = Cursors {
            secret: &keys.cursor,
            venue: keys.number,
            stream: Stream::Log(request.stream),
            generation: self.generation,
        };
        let after = request.after.as_deref();
        let after = after.map_or(Ok(Position(0)), |cursor| cursors.read(cursor))?;
        let limit = request.limit.clamp(1, MAX_PULL);
        let mut waiting = self.waiting(keys.number, Awaited::Log, request.wait_s);
        let page = loop {
            waiting.mark();
            let page = self
                .store
                .pull(keys.number, request.stream, after, limit)
                .await?;
            if !page.records.is_empty() || !waiting.for_more().await {
                break page;
            }
        };
        Ok(Pulled {
            records: page
                .records
                .into_iter()
                .map(pulled)
                .collect::<Result<_, _>>()?,
            cursor: cursors.write(page.next),
            more: page.more,
        })
    }
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
