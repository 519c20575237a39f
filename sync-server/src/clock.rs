//! What time it is, passed in so that tests decide it.

use std::time::{SystemTime, UNIX_EPOCH};

use stile_core::fault;
use stile_core::time::EpochMillis;

/// Tells the time. The server's is the venue's truth: gates anchor their clocks to it.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> EpochMillis;
}

/// The machine's wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> EpochMillis {
        if let Some(set) = fault::clocks() {
            return set.wall;
        }
        let ms = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        };
        EpochMillis(ms)
    }
}
