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
use crate::relay::{Shutter, Turns};
use crate::systemd::Notifier;
use crate::threads;

/// A loop that has not turned for so long hangs. The longest that one may rightly be busy is a
/// pulse of ten seconds with a slow relay around it, or a card that stalls for some seconds.
const HUNG_AFTER: Duration = Duration::from_secs(30);
/// The least that a service manager can be answered within: a few turns of the loops.
const LEAST_HUNG_AFTER: Duration = Duration::from_secs(5);
/// How often the loops are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long the relay's own thread, and then another, may take to close the relay.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);
/// Time to say what hangs before the process ends itself.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Closes the relay by other means than its own thread, which may be what hangs.
pub type CloseAnyway = Arc<dyn Fn() + Send + Sync>;

/// How the gate is shut before the process ends.
pub struct LastAct {
    /// Asks the relay's thread.
    pub shutter: Shutter,
    /// Where that does not answer.
    pub close_anyway: CloseAnyway,
}

impl LastAct {
    /// Closes the relay where that can be done within a bounded time. In an emergency it stays
    /// open: people first.
    fn shut(&self) {
        if self.shutter.is_emergency() || self.shutter.shut(CLOSE_WITHIN) {
            return;
        }
        let close = Arc::clone(&self.close_anyway);
        let (done, closed) = sync_channel(1);
        let spawned = threads::spawn("last close", move || {
            close();
            // Whoever waited may have gone.
            let _ = done.send(());
        });
        if spawned.is_ok() {
            // In vain: the next start closes it.
            let _ = closed.recv_timeout(CLOSE_WITHIN);
        }
    }
}

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
        last_act: LastAct,
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
                        last_act.shut();
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
    use crate::relay::{Hold, Pulses, Relay, RelayError};

    /// A relay that opens, and whose driver then never returns.
    struct Stuck(SyncSender<()>);

    impl Relay for Stuck {
        fn open(&mut self) -> Result<(), RelayError> {
            self.0.send(()).unwrap();
            loop {
                std::thread::park();
            }
        }

        fn close(&mut self) -> Result<(), RelayError> {
            Ok(())
        }
    }

    #[test]
    fn where_the_relays_own_thread_hangs_another_closes_the_relay() {
        let (opening, opens) = sync_channel(1);
        let relay = Box::new(Stuck(opening));
        let pulses = Pulses::start(vec![relay], Duration::ZERO, |_| ()).unwrap();
        let (closed, closing) = sync_channel(1);
        let last_act = LastAct {
            shutter: pulses.shutter(),
            close_anyway: Arc::new(move || closed.send(()).unwrap()),
        };
        let _opened = pulses.pulse(None);
        opens.recv().unwrap();
        last_act.shut();
        assert!(closing.try_recv().is_ok());
        // Its thread never ends, and would be waited for.
        std::mem::forget(pulses);
    }

    #[test]
    fn an_emergency_outlasts_a_gate_that_hangs() {
        let (opening, opens) = sync_channel(1);
        let relay = Box::new(Stuck(opening));
        let pulses = Pulses::start(vec![relay], Duration::ZERO, |_| ()).unwrap();
        let last_act = LastAct {
            shutter: pulses.shutter(),
            close_anyway: Arc::new(|| panic!("it is to stay open")),
        };
        pulses.holder().hold(Hold::Emergency, true);
        opens.recv().unwrap();
        last_act.shut();
        std::mem::forget(pulses);
    }

    #[test]
    fn a_loop_may_stand_still_for_half_of_what_systemd_waits() {
        let seconds = Duration::from_secs;
        assert_eq!(limit(Some(seconds(40))), seconds(20));
        assert_eq!(limit(Some(seconds(600))), HUNG_AFTER);
        assert_eq!(limit(Some(seconds(1))), LEAST_HUNG_AFTER);
        assert_eq!(limit(None), HUNG_AFTER);
    }
}
