//! The admissions feed on its way to gates.

use stile_core::protocol::{FeedAnswer, MAX_FEED_ITEMS};
use stile_core::time::EpochSeconds;

use super::lists::KEPT_AFTER_DAY_S;
use super::waiting::Awaited;
use super::{Device, Server};
use crate::cursor::{Cursors, Stream};
use crate::error::ServerError;
use crate::store::Position;

impl Server {
    /// The next piece of the admissions feed of the device's venue, behind the cursor `after`.
    /// While there is nothing, waits for it, at most `wait_s` seconds and never more than 25. A
    /// cursor that is not of this feed starts anew: items are united by record id.
    pub async fn admissions_feed(
        &self,
        device: &Device,
        after: Option<&str>,
        wait_s: u32,
    ) -> Result<FeedAnswer, ServerError> {
        let keys = self.keys(&device.venue_id).await?;
        let cursors = Cursors {
            secret: &keys.cursor,
            venue: keys.number,
            stream: Stream::Feed,
            generation: self.generation,
        };
        let after = after.and_then(|cursor| cursors.read(cursor).ok());
        let after = after.unwrap_or(Position(0));
        let mut waiting = self.waiting(keys.number, Awaited::Feed, wait_s);
        loop {
            waiting.mark();
            let now = self.now().seconds();
            let ended_since = EpochSeconds(now.0.saturating_sub(KEPT_AFTER_DAY_S));
            let page = self
                .store
                .feed(keys.number, after, MAX_FEED_ITEMS, ended_since)
                .await?;
            let answer = FeedAnswer {
                cursor: cursors.write(page.next),
                more: page.more,
                items: page.items,
            };
            if !answer.items.is_empty() || answer.more || !waiting.for_more().await {
                return Ok(answer);
            }
        }
    }
}
