//! How the gate is, gathered from the device for the bar.

use stile_core::clock::Trust;
use stile_core::device::{Device, ListStatus, LiveStatus, Today};
use stile_core::time::EpochMillis;

use super::acts::{ClockWord, GateState, SessionLine};
use super::desk::name_of;

/// How often the records are counted, in states of a second each: it reads the whole journal.
const COUNT_EVERY: u64 = 5;

/// Gathers states, and remembers the last counts between countings.
#[derive(Debug, Default)]
pub struct States {
    gathered: u64,
    /// Unsent, quarantined, stuck.
    counts: (u64, u64, u64),
}

impl States {
    /// How the gate is now.
    pub fn of(&mut self, device: &Device) -> GateState {
        if self.gathered.is_multiple_of(COUNT_EVERY)
            && let Ok(status) = device.status()
        {
            self.counts = (status.unsent, status.quarantined, status.stuck);
        }
        self.gathered += 1;
        state(&device.live_status(), device.today(), self.counts)
    }
}

fn state(live: &LiveStatus, today: Today, counts: (u64, u64, u64)) -> GateState {
    let now = live.clock.now;
    let list = list_of_today(live, now);
    GateState {
        gate: match today.gate.name.as_str() {
            "" => today.gate.gate_id.to_string(),
            name => name.to_owned(),
        },
        direction: today.gate.direction,
        sessions: sessions(&today, now),
        list_issued_at: list.map(|list| list.issued_at),
        list_tickets: list.map_or(0, |list| list.tickets),
        now,
        clock: match live.clock.trust {
            Trust::Anchored => ClockWord::Right,
            Trust::Disputed => ClockWord::Disputed(live.clock.disputed),
            Trust::Unanchored => ClockWord::Own,
            Trust::Untrusted => ClockWord::Unknown,
        },
        wall_off_ms: live.clock.wall_off_ms,
        revoked: live.revoked_at.is_some(),
        keys_overdue: live.keys.overdue,
        network: live.network(),
        operator: live.signed_in.as_ref().map(name_of),
        practice: live.practice,
        free_passage: live.free_passage.is_some(),
        unsent: counts.0,
        quarantined: counts.1,
        stuck: counts.2,
        conflicts: live.conflicts,
        categories: today.walk_in_categories,
    }
}

/// The list that the gate decides by: one that is not too old, the earliest of them.
fn list_of_today(live: &LiveStatus, now: EpochMillis) -> Option<&ListStatus> {
    let mut lists = live.lists.iter();
    lists.find(|list| now < list.not_after.millis())
}

/// The sessions that admit now, or else the one that does next.
fn sessions(today: &Today, now: EpochMillis) -> Vec<SessionLine> {
    let line = |session: &std::sync::Arc<stile_core::ticket::Session>, admits_now| SessionLine {
        name: match session.name.as_str() {
            "" => session.session_id.to_string(),
            name => name.to_owned(),
        },
        admit_from: session.admit_from,
        admit_until: session.admit_until,
        admits_now,
    };
    let admits = |session: &&std::sync::Arc<stile_core::ticket::Session>| {
        session.admit_from.millis() <= now && now < session.admit_until.millis()
    };
    let now_on: Vec<_> = today
        .sessions
        .iter()
        .filter(admits)
        .map(|one| line(one, true))
        .collect();
    if !now_on.is_empty() {
        return now_on;
    }
    let mut later = today
        .sessions
        .iter()
        .filter(|one| now < one.admit_from.millis());
    later
        .next()
        .map(|one| line(one, false))
        .into_iter()
        .collect()
}
