//! Whether the loops that a gate cannot do without still turn: each notes when it last did.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

/// A loop that waits for work turns at least this often, so that waiting is not taken for
/// hanging.
pub const BEAT_EVERY: Duration = Duration::from_secs(1);

/// A loop without which a gate is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loop {
    /// Takes codes and decides.
    Scan,
    /// Moves the relay.
    Relay,
    /// Sends records and fetches lists.
    Sync,
}

impl Loop {
    const ALL: [Self; 3] = [Self::Sync, Self::Relay, Self::Scan];
}

impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scan => "the scan loop",
            Self::Relay => "the relay",
            Self::Sync => "the sync loop",
        })
    }
}

/// When each loop last turned. Shared by all of them; never waits.
#[derive(Debug)]
pub struct Heartbeats {
    since: Instant,
    last_ms: [AtomicU64; Loop::ALL.len()],
}

impl Default for Heartbeats {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            last_ms: Default::default(),
        }
    }
}

impl Heartbeats {
    /// A loop turns.
    pub fn beat(&self, of: Loop) {
        self.beat_at(of, self.now_ms());
    }

    /// The loop that has been still for the longest, and for how long, if that is over the
    /// limit.
    pub fn hung(&self, limit: Duration) -> Option<(Loop, Duration)> {
        self.hung_at(self.now_ms(), limit)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn beat_at(&self, of: Loop, now_ms: u64) {
        self.last_ms[of as usize].store(now_ms, Ordering::Relaxed);
    }

    fn hung_at(&self, now_ms: u64, limit: Duration) -> Option<(Loop, Duration)> {
        let still = |of: Loop| {
            let last = self.last_ms[of as usize].load(Ordering::Relaxed);
            Duration::from_millis(now_ms.saturating_sub(last))
        };
        let loops = Loop::ALL.map(|of| (of, still(of)));
        let longest = loops.into_iter().max_by_key(|(_, still)| *still);
        longest.filter(|(_, still)| *still > limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[test]
    fn a_gate_whose_loops_all_turn_does_not_hang() {
        let beats = Heartbeats::default();
        for of in Loop::ALL {
            beats.beat_at(of, 100_000);
        }
        assert_eq!(beats.hung_at(100_000, LIMIT), None);
        assert_eq!(beats.hung_at(130_000, LIMIT), None);
    }

    #[test]
    fn one_loop_that_stands_still_is_named_while_the_others_turn() {
        for hung in Loop::ALL {
            let beats = Heartbeats::default();
            for of in Loop::ALL {
                beats.beat_at(of, if of == hung { 1_000 } else { 31_001 });
            }
            let expected = Some((hung, Duration::from_millis(30_001)));
            assert_eq!(beats.hung_at(31_001, LIMIT), expected);
        }
    }

    #[test]
    fn of_two_that_stand_still_the_one_that_stopped_first_is_named() {
        let beats = Heartbeats::default();
        beats.beat_at(Loop::Relay, 1_000);
        beats.beat_at(Loop::Scan, 2_000);
        beats.beat_at(Loop::Sync, 99_000);
        let (hung, _) = beats.hung_at(99_000, LIMIT).unwrap();
        assert_eq!(hung, Loop::Relay);
    }

    #[test]
    fn a_loop_that_has_not_begun_counts_from_the_start() {
        let beats = Heartbeats::default();
        assert_eq!(beats.hung_at(29_000, LIMIT), None);
        assert!(beats.hung_at(30_001, LIMIT).is_some());
    }

    #[test]
    fn a_loop_that_turns_again_is_well_again() {
        let beats = Heartbeats::default();
        for of in Loop::ALL {
            beats.beat_at(of, 0);
        }
        assert!(beats.hung_at(40_000, LIMIT).is_some());
        for of in Loop::ALL {
            beats.beat_at(of, 40_000);
        }
        assert_eq!(beats.hung_at(40_000, LIMIT), None);
    }
}
