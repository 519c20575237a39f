//! Ends a gate that hangs, so that it is started again: a gate that stands still turns visitors
//! away until somebody comes, and everything it has said yes to is on its disk.
//!
//! Under systemd with `WatchdogSec=` the service manager is told that all loops turn, and no
//! longer when one does not; it then ends the process. Anywhere else the process ends itself,
//! which any supervisor answers with a new start.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use crate::event::{Event, Tell};
use crate::heartbeats::{Heartbeats, Loop};
use crate::relay::Turns;
use crate::systemd::Notifier;
use crate::threads;

/// A loop that has not turned for so long hangs. The longest that one may rightly be busy is a
/// pulse of ten seconds with a slow relay around it, or a card that stalls for some seconds.
const HUNG_AFTER: Duration = Duration::from_secs(30);
/// The least that a service manager can be answered within: a few turns of the loops.
const LEAST_HUNG_AFTER: Duration = Duration::from_secs(5);
/// How often the loops are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Time to say what hangs before the process ends itself.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The watching thread. Watches until it is dropped.
#[derive(Debug)]
pub struct Watchdog {
    _end: SyncSender<()>,
}

impl Watchdog {
    /// Starts to watch the loops that beat by themselves, and the relay.
    pub fn start(
        beats: Arc<Heartbeats>,
        relay: Turns,
        notifier: Arc<Notifier>,
        tell: Tell,
    ) -> io::Result<Self> {
        let (end, ended) = sync_channel(1);
        let limit = limit(notifier.watchdog());
        threads::spawn("watchdog", move || {
            let mut suspected = None;
            while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if relay.has_turned() {
                    beats.beat(Loop::Relay);
                }
                match beats.hung(limit) {
                    None => {
                        suspected = None;
                        notifier.alive();
                    }
                    // A process that was stopped as a whole wakes up late: look once more.
                    Some((what, _)) if suspected != Some(what) => suspected = Some(what),
                    Some((what, still)) => {
                        tell(Event::LoopHung {
                            which: what,
                            still_s: still.as_secs(),
                        });
                        return end_process(&notifier);
                    }
                }
            }
        })?;
        Ok(Self { _end: end })
    }
}

/// How long a loop may stand still: half of what the service manager waits.
fn limit(watchdog: Option<Duration>) -> Duration {
    match watchdog {
        Some(patience) => (patience / 2).clamp(LEAST_HUNG_AFTER, HUNG_AFTER),
        None => HUNG_AFTER,
    }
}

fn end_process(notifier: &Notifier) {
    std::thread::sleep(LAST_WORDS);
    match notifier.watchdog() {
        Some(_) => notifier.hung(),
        // Not an orderly end: that would wait for the loop that hangs.
        None => std::process::abort(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_may_stand_still_for_half_of_what_systemd_waits() {
        let seconds = Duration::from_secs;
        assert_eq!(limit(Some(seconds(40))), seconds(20));
        assert_eq!(limit(Some(seconds(600))), HUNG_AFTER);
        assert_eq!(limit(Some(seconds(1))), LEAST_HUNG_AFTER);
        assert_eq!(limit(None), HUNG_AFTER);
    }
}
