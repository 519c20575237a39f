//! Wrong PINs and the lock-out behind them. It survives a restart, and setting the wall clock
//! does not end it: it is counted by the boot-time clock, or by the server's time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::{BootId, Moment, Now};
use crate::time::EpochMillis;

/// Wrong PINs in a row before the first lock-out.
pub(super) const TRIES: u32 = 5;
/// The first lock-out, in ms: long enough to spoil guessing, short enough for a queue. Each
/// further wrong PIN doubles it.
const FIRST_LOCK_MS: i64 = 30_000;
/// The longest lock-out, in ms: a day, so that a venue gets its gate back without help.
const LONGEST_LOCK_MS: i64 = 24 * 3_600_000;

/// Wrong PINs against one thing: a person's sign-in, or the venue's supervisors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Tries {
    wrong: u32,
    /// When the last one was tried.
    boot_id: BootId,
    boot_ms: i64,
    /// The same by the server's word, where the clock had it.
    at: Option<EpochMillis>,
}

impl Tries {
    fn lock_ms(self) -> i64 {
        match self.wrong.checked_sub(TRIES) {
            None => 0,
            Some(doublings) => FIRST_LOCK_MS
                .saturating_mul(1_i64.checked_shl(doublings.min(32)).unwrap_or(i64::MAX))
                .min(LONGEST_LOCK_MS),
        }
    }

    /// Milliseconds for which nothing may be tried.
    fn left_ms(self, moment: Moment, now: Now) -> i64 {
        // After a reboot the machine has been up for at least as long as it has been down for
        // nobody knows how long.
        let by_boot = if moment.boot_id == self.boot_id {
            moment.boot_ms.saturating_sub(self.boot_ms)
        } else {
            moment.boot_ms
        };
        let by_server = self
            .at
            .filter(|_| now.trust.is_anchored())
            .map_or(0, |at| now.at.since(at));
        self.lock_ms().saturating_sub(by_boot.max(by_server).max(0))
    }
}

/// What is tried with a PIN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// One person's sign-in.
    SignIn(crate::ids::OperatorId),
    /// Any supervisor of the venue.
    Supervisor,
}

impl Target {
    /// No operator id holds a space, so that nobody can be called as the supervisors are.
    fn name(&self) -> &str {
        match self {
            Target::SignIn(operator) => operator.as_str(),
            Target::Supervisor => "any supervisor",
        }
    }
}

/// All wrong PINs that count, kept by the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct WrongPins(BTreeMap<String, Tries>);

impl WrongPins {
    /// Milliseconds until a PIN may be tried; 0 if now.
    pub fn wait_ms(&self, target: &Target, moment: Moment, now: Now) -> i64 {
        let tries = self.0.get(target.name());
        tries.map_or(0, |tries| tries.left_ms(moment, now).max(0))
    }

    /// Counts a try as wrong. Called before the PIN is checked, so that pulling the plug in
    /// between wins nothing.
    pub fn charge(&mut self, target: &Target, moment: Moment, now: Now) {
        let wrong = self.0.get(target.name()).map_or(0, |tries| tries.wrong);
        let tries = Tries {
            wrong: wrong.saturating_add(1),
            boot_id: moment.boot_id,
            boot_ms: moment.boot_ms,
            at: now.trust.is_anchored().then_some(now.at),
        };
        self.0.insert(target.name().to_owned(), tries);
    }

    /// The PIN was right.
    pub fn forgive(&mut self, target: &Target) {
        self.0.remove(target.name());
    }

    /// Tries left before the next lock-out.
    pub fn tries_left(&self, target: &Target) -> u32 {
        let wrong = self.0.get(target.name()).map_or(0, |tries| tries.wrong);
        TRIES.saturating_sub(wrong)
    }
}
