//! What the other gates did, on its way down: the server holds each question until it has news, so
//! that an admission at one gate is known at the next within seconds.

use stile_core::outbox::{BACKOFF_BASE_MS, BACKOFF_CAP_MS};
use stile_core::protocol::FeedAnswer;

use super::Work;
use crate::client::{ClientError, complaint};
use crate::event::Event;

/// Why a piece of the feed was not taken.
#[derive(Debug, thiserror::Error)]
enum FeedError {
    /// No answer, or not the whole.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server's word.
    #[error("the server gives no admissions feed: {0}")]
    Refused(String),
    /// An answer that is not of its type.
    #[error("the admissions feed cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// The journal, which has been told of already.
    #[error(transparent)]
    Journal(#[from] stile_core::journal::JournalError),
}

impl Work {
    pub(super) async fn feed(&self) {
        let mut failed = 0;
        loop {
            match self.feed_piece().await {
                Ok(()) => failed = 0,
                Err(error) => {
                    if let FeedError::Journal(error) = &error {
                        self.tell_storage(error);
                    }
                    tracing::debug!("{error}");
                    let doubled = BACKOFF_BASE_MS
                        .saturating_mul(1_u64.checked_shl(failed).unwrap_or(u64::MAX))
                        .min(BACKOFF_CAP_MS);
                    failed = failed.saturating_add(1);
                    self.pause(&self.wake.feed, self.jittered(doubled)).await;
                }
            }
        }
    }

    /// Takes the next piece; waits for it where there is none yet.
    async fn feed_piece(&self) -> Result<(), FeedError> {
        let cursor = self.device.feed_cursor()?;
        let bearer = self.device.identity().bearer();
        let asked = self.client.admissions(bearer, cursor.as_deref()).await?;
        // The server held the question back, so its time says nothing exact.
        let answer = asked.read().await?;
        if answer.status != 200 {
            return Err(FeedError::Refused(complaint(&answer)));
        }
        let piece: FeedAnswer = serde_json::from_slice(&answer.body)?;
        let lacking = self.device.take_feed(&piece)?;
        if lacking > 0 {
            (self.tell)(Event::JournalWentBack { lacking });
        }
        Ok(())
    }
}
