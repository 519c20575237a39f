//! Waiting for something to be added to a venue's log or feed: woken by the commit that adds it,
//! without a look at the store, a connection or a thread meanwhile.

use std::collections::HashMap;
use std::time::Duration;

use stile_core::ids::VenueNumber;
use stile_core::protocol::MAX_WAIT_S;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Server;
use crate::store::Ends;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    /// A record.
    Log,
    /// An item of the admissions feed.
    Feed,
}

/// Somebody who waits.
pub(super) struct Waiting {
    venue: VenueNumber,
    what: Awaited,
    ends: watch::Receiver<HashMap<VenueNumber, Ends>>,
    stopping: watch::Receiver<bool>,
    until: Option<Instant>,
    marked: u64,
}

impl Server {
    /// Begins to wait, at most `wait_s` seconds and never more than [`MAX_WAIT_S`].
    pub(super) fn waiting(&self, venue: VenueNumber, what: Awaited, wait_s: u32) -> Waiting {
        let wait = Duration::from_secs(wait_s.min(MAX_WAIT_S).into());
        Waiting {
            venue,
            what,
            ends: self.store.ends(),
            stopping: self.stopping.subscribe(),
            until: (!wait.is_zero()).then(|| Instant::now() + wait),
            marked: 0,
        }
    }
}

impl Waiting {
    /// Before the store is read: what is added from here on ends [`Self::for_more`].
    pub(super) fn mark(&mut self) {
        self.marked = end(&self.ends.borrow(), self.venue, self.what);
    }

    /// Waits until something was added since the mark, and says whether it is worth another look;
    /// it is not once the time is over or the server stops.
    pub(super) async fn for_more(&mut self) -> bool {
        let Some(until) = self.until else {
            return false;
        };
        let (venue, what, marked) = (self.venue, self.what, self.marked);
        tokio::select! {
            added = self.ends.wait_for(|ends| end(ends, venue, what) != marked) => added.is_ok(),
            _ = self.stopping.wait_for(|stopping| *stopping) => false,
            () = tokio::time::sleep_until(until) => false,
        }
    }
}

fn end(ends: &HashMap<VenueNumber, Ends>, venue: VenueNumber, what: Awaited) -> u64 {
    let ends = ends.get(&venue).copied().unwrap_or_default();
    match what {
        Awaited::Log => ends.log.0,
        Awaited::Feed => ends.feed.0,
    }
}
