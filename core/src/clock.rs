//! The trusted clock: what time it is by the server's word carried on by the boot-time clock,
//! never below what has been seen before, and how sure that is. One bad source never locks a
//! gate, and a bad wall clock never opens one. Reads no clock itself: a [`Moment`] is passed in.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::time::EpochMillis;

/// A round trip longer than this says too little about the server's time, in ms.
pub const MAX_ROUND_TRIP_MS: i64 = 5_000;
/// How far the boot-time clock may drift: 100 parts per million, as crystals do.
const DRIFT_PPM: i64 = 100;
/// A server time this far off the running anchor is disputed, in ms.
pub const DISPUTE_MS: i64 = 3_600_000;
/// A wall clock this far over the floor is not believed, in ms: a board that was off overnight
/// must work in the morning, one that slept for a month must not guess.
pub const WALL_OVER_FLOOR_MS: i64 = 24 * 3_600_000;
/// A supervisor's word this far over the newest signed manifest is a slip of the pen, in ms: lists
/// are signed every day, and nobody opens a gate that has lain without one for a year.
pub const SET_OVER_SIGNED_MS: i64 = 366 * 24 * 3_600_000;
/// Wall and trusted time this far apart are worth a warning, in ms.
pub const WARNING_MS: i64 = 30_000;

/// What the platform's clocks show at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The wall clock, which anybody may have set.
    pub wall: EpochMillis,
    /// Milliseconds since boot, sleep included (`CLOCK_BOOTTIME`, `elapsedRealtime`).
    pub boot_ms: i64,
    /// Differs after each boot.
    pub boot_id: BootId,
}

/// Names one boot of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BootId(pub u128);

/// How far the time can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The server's time, carried on.
    Anchored,
    /// The same, while the server now says something quite different.
    Disputed,
    /// No word of the server since boot; a plausible wall clock, or the floor.
    Unanchored,
    /// No word of the server, and a wall clock that cannot be right.
    Untrusted,
}

impl Trust {
    /// Whether the server's word stands behind it.
    pub fn is_anchored(self) -> bool {
        matches!(self, Trust::Anchored | Trust::Disputed)
    }
}

/// The time, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The best estimate.
    pub at: EpochMillis,
    /// It may be off by this much either way, in ms.
    pub u_ms: i64,
    /// How far it can be trusted.
    pub trust: Trust,
}

/// The server's time, tied to the boot-time clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Anchor {
    at: EpochMillis,
    boot_ms: i64,
    boot_id: BootId,
    half_round_trip_ms: i64,
}

/// What became of a server's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It is the anchor now.
    Taken,
    /// The round trip was too long to say anything.
    TooSlow,
    /// Too far from what is known; waits for a second source.
    Disputed,
}

/// The state of the clock; kept by the journal, so that a restart in the same boot keeps its
/// anchor and a reboot keeps its floor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedClock {
    anchor: Option<Anchor>,
    disputed: Option<Anchor>,
    floor: EpochMillis,
    /// The latest time that records were given while unanchored. Time does not run below it until
    /// server or supervisor say more; their word is not held against it, since it came from a
    /// wall clock.
    #[serde(default)]
    guess: EpochMillis,
    /// What a supervisor set, for as long as this boot lasts.
    #[serde(default)]
    set: Option<Anchor>,
    /// The floor and the boot time at the first look after boot, so that an unanchored clock
    /// under the floor still runs.
    unanchored_since: Option<(EpochMillis, i64, BootId)>,
}

impl TrustedClock {
    /// A clock that knows nothing but that it is not earlier than `floor` (the build's or the
    /// enrolment's time).
    pub fn new(floor: EpochMillis) -> Self {
        Self {
            anchor: None,
            disputed: None,
            floor,
            guess: EpochMillis(0),
            set: None,
            unanchored_since: None,
        }
    }

    /// The time at a moment. Remembers it as the floor, so that time never runs backwards.
    pub fn now(&mut self, moment: Moment) -> Now {
        let now = self.look(moment);
        if now.trust.is_anchored() {
            self.floor = self.floor.max(now.at);
        }
        now
    }

    /// The time at a moment, without remembering it.
    pub fn look(&mut self, moment: Moment) -> Now {
        match self
            .anchor
            .filter(|anchor| anchor.boot_id == moment.boot_id)
        {
            Some(anchor) => {
                let age = moment.boot_ms.saturating_sub(anchor.boot_ms).max(0);
                let drift = age.saturating_mul(DRIFT_PPM) / 1_000_000;
                let disputed = self
                    .disputed
                    .is_some_and(|other| other.boot_id == moment.boot_id);
                Now {
                    at: anchor.at.plus(age).max(self.floor),
                    u_ms: anchor.half_round_trip_ms.saturating_add(drift),
                    trust: if disputed {
                        Trust::Disputed
                    } else {
                        Trust::Anchored
                    },
                }
            }
            None => self.look_unanchored(moment),
        }
    }

    fn look_unanchored(&mut self, moment: Moment) -> Now {
        if let Some(set) = self.set.filter(|set| set.boot_id == moment.boot_id) {
            let age = moment.boot_ms.saturating_sub(set.boot_ms).max(0);
            return Now {
                at: set.at.plus(age).max(self.floor),
                u_ms: 0,
                trust: Trust::Unanchored,
            };
        }
        let since = match self.unanchored_since {
            Some(since) if since.2 == moment.boot_id => since,
            _ => (self.base(), moment.boot_ms, moment.boot_id),
        };
        self.unanchored_since = Some(since);
        let elapsed = moment.boot_ms.saturating_sub(since.1).max(0);
        let running_floor = since.0.plus(elapsed).max(self.base());
        if moment.wall > running_floor.plus(WALL_OVER_FLOOR_MS) {
            return Now {
                at: running_floor,
                u_ms: 0,
                trust: Trust::Untrusted,
            };
        }
        Now {
            at: running_floor.max(moment.wall),
            u_ms: 0,
            trust: Trust::Unanchored,
        }
    }

    /// Hears the server's time: `server` as its answer said it, `round_trip_ms` from sending to
    /// receiving by the boot-time clock, `moment` when the answer came, `not_after` the end of
    /// the newest list held.
    pub fn hear_server(
        &mut self,
        server: EpochMillis,
        round_trip_ms: i64,
        moment: Moment,
        not_after: Option<EpochMillis>,
    ) -> Heard {
        if !(0..=MAX_ROUND_TRIP_MS).contains(&round_trip_ms) {
            return Heard::TooSlow;
        }
        let heard = Anchor {
            at: server.plus(round_trip_ms / 2),
            boot_ms: moment.boot_ms,
            boot_id: moment.boot_id,
            half_round_trip_ms: round_trip_ms.saturating_add(1) / 2,
        };
        let known = self.look(moment);
        let off_anchor =
            known.trust.is_anchored() && heard.at.since(known.at).saturating_abs() > DISPUTE_MS;
        let under_floor = self.floor.since(heard.at) > DISPUTE_MS;
        // A running anchor has been believed before; only without one does the list's end count.
        let past_list = !known.trust.is_anchored() && not_after.is_some_and(|end| heard.at >= end);
        if off_anchor || under_floor || past_list {
            self.disputed = Some(heard);
            return Heard::Disputed;
        }
        self.take(heard);
        Heard::Taken
    }

    /// Hears the issue time of a manifest whose signature is verified and that is newer than the
    /// one held. It raises the floor, and settles a dispute when it agrees with the server.
    pub fn hear_manifest(&mut self, issued_at: EpochMillis, moment: Moment) {
        if let (Some(server), Some(heard)) = (self.disputed_time(moment), self.disputed)
            && server.since(issued_at).saturating_abs() <= DISPUTE_MS
        {
            // Two sources agree, and one of them is signed: the old word was the wrong one.
            self.floor = self.floor.min(server);
            self.take(heard);
        }
        self.raise_floor(issued_at);
    }

    /// Hears the issue time of a verified code while unanchored; it counts for at most a day
    /// over the newest list's.
    pub fn hear_code(&mut self, issued_at: EpochMillis, list_issued_at: EpochMillis, now: Now) {
        if !now.trust.is_anchored() {
            self.raise_floor(issued_at.min(list_issued_at.plus(WALL_OVER_FLOOR_MS)));
        }
    }

    /// A supervisor says what time it is. A server's time that is disputed and agrees is taken
    /// after all; else the clock runs on from the supervisor's word, whatever the wall clock says,
    /// until the machine is started again or the server's time is taken.
    pub fn set(&mut self, to: EpochMillis, moment: Moment) {
        // The word may have been a slip: it lowers what time never runs below, and does not raise it, so
        // that the server's next good answer counts more.
        self.guess = to;
        self.unanchored_since = None;
        match self.disputed_time(moment) {
            Some(server) if server.since(to).saturating_abs() <= DISPUTE_MS => {
                self.floor = to.min(server);
                if let Some(heard) = self.disputed {
                    self.take(heard);
                }
            }
            _ => {
                self.floor = self.floor.min(to);
                self.anchor = None;
                self.disputed = None;
                self.set = Some(Anchor {
                    at: to,
                    boot_ms: moment.boot_ms,
                    boot_id: moment.boot_id,
                    half_round_trip_ms: 0,
                });
            }
        }
    }

    /// What the server says now, while that is disputed.
    pub fn disputed_time(&self, moment: Moment) -> Option<EpochMillis> {
        let heard = self
            .disputed
            .filter(|heard| heard.boot_id == moment.boot_id)?;
        let elapsed = moment.boot_ms.saturating_sub(heard.boot_ms).max(0);
        Some(heard.at.plus(elapsed))
    }

    /// A record was given this time: no later one is given an earlier time.
    pub fn recorded(&mut self, now: Now) {
        if now.trust.is_anchored() {
            self.raise_floor(now.at);
        } else {
            self.guess = self.guess.max(now.at);
        }
    }

    fn base(&self) -> EpochMillis {
        self.floor.max(self.guess)
    }

    /// Makes sure that time does not run below a time that is known to have passed.
    pub fn raise_floor(&mut self, at: EpochMillis) {
        self.floor = self.floor.max(at);
    }

    /// What time never runs below.
    pub fn floor(&self) -> EpochMillis {
        self.floor
    }

    /// By how much the wall clock is off, in ms, when that is worth a warning.
    pub fn warning(&mut self, moment: Moment) -> Option<i64> {
        let now = self.look(moment);
        let off = moment.wall.since(now.at);
        (now.trust == Trust::Untrusted || off.saturating_abs() >= WARNING_MS).then_some(off)
    }

    fn take(&mut self, heard: Anchor) {
        self.anchor = Some(heard);
        self.disputed = None;
        self.unanchored_since = None;
        self.set = None;
        self.guess = EpochMillis(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: i64 = 1_790_000_000_000;
    const HOUR: i64 = 3_600_000;

    fn moment(wall: i64, boot_ms: i64, boot: u128) -> Moment {
        Moment {
            wall: EpochMillis(wall),
            boot_ms,
            boot_id: BootId(boot),
        }
    }

    fn anchored() -> TrustedClock {
        let mut clock = TrustedClock::new(EpochMillis(0));
        assert_eq!(
            clock.hear_server(EpochMillis(T), 100, moment(0, 1_000, 1), None),
            Heard::Taken
        );
        clock
    }

    #[test]
    fn the_servers_time_is_carried_on_by_the_boot_clock_whatever_the_wall_says() {
        let mut clock = anchored();
        let now = clock.now(moment(-5, 11_000, 1));
        assert_eq!(now.at, EpochMillis(T + 50 + 10_000));
        assert_eq!((now.u_ms, now.trust), (51, Trust::Anchored));
    }

    #[test]
    fn uncertainty_grows_with_the_age_of_the_anchor() {
        let mut clock = anchored();
        assert_eq!(clock.now(moment(0, 1_000 + 10 * HOUR, 1)).u_ms, 50 + 3_600);
    }

    #[test]
    fn a_slow_answer_says_nothing() {
        let mut clock = TrustedClock::new(EpochMillis(0));
        let heard = clock.hear_server(EpochMillis(T), 5_001, moment(0, 0, 1), None);
        assert_eq!(heard, Heard::TooSlow);
        assert_ne!(clock.now(moment(T, 0, 1)).trust, Trust::Anchored);
    }

    #[test]
    fn after_a_reboot_a_plausible_wall_clock_serves_and_an_impossible_one_does_not() {
        let mut clock = anchored();
        clock.now(moment(T, 2_000, 1));
        assert_eq!(
            clock.now(moment(T + 10 * HOUR, 5, 2)).trust,
            Trust::Unanchored
        );
        assert_eq!(
            clock.now(moment(T + 10 * HOUR, 5, 2)).at,
            EpochMillis(T + 10 * HOUR)
        );
        assert_eq!(
            clock.now(moment(T + 30 * HOUR, 5, 2)).trust,
            Trust::Untrusted
        );
    }

    #[test]
    fn a_wall_clock_of_1970_counts_as_the_floor_and_time_still_runs() {
        let mut clock = anchored();
        let floor = clock.now(moment(T, 2_000, 1)).at;
        assert_eq!(clock.now(moment(0, 100, 2)).at, floor);
        assert_eq!(clock.now(moment(60_000, 60_100, 2)).at, floor.plus(60_000));
    }

    #[test]
    fn one_source_that_jumps_to_2099_is_disputed_and_the_gate_goes_on_with_its_own_clock() {
        let mut clock = anchored();
        let year_2099 = EpochMillis(4_070_908_800_000);
        assert_eq!(
            clock.hear_server(year_2099, 10, moment(0, 3_000, 1), None),
            Heard::Disputed
        );
        let now = clock.now(moment(0, 4_000, 1));
        assert_eq!(
            (now.at, now.trust),
            (EpochMillis(T + 50 + 3_000), Trust::Disputed)
        );
        assert_eq!(
            clock.hear_server(EpochMillis(T + 4_000), 10, moment(0, 5_000, 1), None),
            Heard::Taken
        );
        assert_eq!(clock.now(moment(0, 5_000, 1)).trust, Trust::Anchored);
    }

    #[test]
    fn a_signed_manifest_that_agrees_settles_the_dispute() {
        let mut clock = anchored();
        let next_week = T + 7 * 24 * HOUR;
        clock.hear_server(EpochMillis(next_week), 10, moment(0, 3_000, 1), None);
        clock.hear_manifest(EpochMillis(next_week - 600_000), moment(0, 4_000, 1));
        let now = clock.now(moment(0, 4_000, 1));
        assert_eq!(
            (now.at, now.trust),
            (EpochMillis(next_week + 5 + 1_000), Trust::Anchored)
        );
    }

    #[test]
    fn a_server_time_past_the_end_of_the_held_list_waits_for_a_second_source() {
        let mut clock = TrustedClock::new(EpochMillis(T));
        let end = Some(EpochMillis(T + HOUR));
        assert_eq!(
            clock.hear_server(EpochMillis(T + HOUR), 10, moment(T, 0, 1), end),
            Heard::Disputed
        );
    }

    #[test]
    fn codes_raise_the_floor_by_a_day_at_most_and_never_move_an_anchored_clock() {
        let mut clock = TrustedClock::new(EpochMillis(T));
        let now = clock.now(moment(T, 0, 1));
        clock.hear_code(EpochMillis(T + 99 * HOUR), EpochMillis(T), now);
        assert_eq!(clock.floor(), EpochMillis(T + 24 * HOUR));
        let mut clock = anchored();
        let now = clock.now(moment(T, 1_000, 1));
        clock.hear_code(EpochMillis(T + 5 * HOUR), EpochMillis(T), now);
        assert_eq!(clock.now(moment(T, 1_000, 1)).at, EpochMillis(T + 50));
    }

    #[test]
    fn a_supervisors_slip_is_over_with_the_servers_next_good_answer() {
        for slip in [-HOUR / 3, HOUR / 3, 5 * 24 * HOUR] {
            let mut clock = TrustedClock::new(EpochMillis(T - 24 * HOUR));
            clock.set(EpochMillis(T + slip), moment(T, 1_000, 1));
            let later = moment(T + 60_000, 61_000, 1);
            assert_eq!(clock.now(later).at, EpochMillis(T + slip + 60_000));
            let heard = clock.hear_server(EpochMillis(T + 60_000), 10, later, None);
            assert_eq!(heard, Heard::Taken, "{slip}");
            let now = clock.now(moment(T, 71_000, 1));
            assert_eq!((now.at.0 - T) / 1_000, 70, "{slip}: it runs, and is right");
        }
    }

    #[test]
    fn the_warning_comes_at_thirty_seconds_and_goes_by_itself() {
        let mut clock = anchored();
        assert_eq!(
            clock.warning(moment(T + 50 - 30_000, 1_000, 1)),
            Some(-30_000)
        );
        assert_eq!(clock.warning(moment(T + 50 - 29_999, 1_000, 1)), None);
    }
}
