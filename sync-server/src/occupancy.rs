//! Who is inside, of a session and of zones during it, by core's fold; and when that is an alarm.
//! Knows no storage.

use std::collections::{BTreeMap, HashMap};

use stile_core::admissions::{Fold, Movement, Way, fold};
use stile_core::ids::{Checkpoint, GateId, Zone};
use stile_core::protocol::AlarmKind;
use stile_core::ticket::{Capacity, Gate, Reentry, Session};

/// Percent of a capacity by which the number inside must fall below an alarm's own for the alarm
/// to be over: one visitor who comes and goes at the edge opens it once.
const SLACK_PERCENT: u64 = 5;

/// The kinds of alarms about capacity, each with its percent.
pub const CAPACITY_ALARMS: [(AlarmKind, u64); 2] =
    [(AlarmKind::Capacity80, 80), (AlarmKind::Capacity100, 100)];

/// Whether an alarm about capacity is to be open.
pub fn is_filled(is_open: bool, percent: u64, inside: u64, capacity: Capacity) -> bool {
    let percent = if is_open {
        percent - SLACK_PERCENT
    } else {
        percent
    };
    inside.saturating_mul(100) >= u64::from(capacity.persons()) * percent
}

/// The zones of gates.
#[derive(Debug, Clone, Default)]
pub struct GateZones(HashMap<GateId, Vec<Zone>>);

impl GateZones {
    /// Of these gates.
    pub fn of(gates: Vec<Gate>) -> Self {
        let zones = gates.into_iter().map(|gate| (gate.gate_id, gate.zones));
        Self(zones.collect())
    }

    /// Whether a movement led into a zone, or out of it. A gate of no zone lets nobody into one in
    /// particular, and who leaves by it leaves all of them.
    fn concerns(&self, movement: &Movement, zone: &Zone) -> bool {
        let zones = self.0.get(&movement.gate_id).map_or(&[][..], Vec::as_slice);
        zones.contains(zone) || (zones.is_empty() && movement.way == Way::Exit)
    }
}

/// Persons of a session who are inside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inside {
    /// Of several checkpoints the one with most counts, ticket by ticket.
    pub persons: u64,
    /// In each zone that the session gives a capacity.
    pub zones: BTreeMap<Zone, u64>,
}

impl Inside {
    /// Nobody yet.
    pub fn of(session: &Session) -> Self {
        let zones = session.zone_capacities.keys();
        Self {
            persons: 0,
            zones: zones.map(|zone| (zone.clone(), 0)).collect(),
        }
    }

    /// Adds a ticket of the session by its movements at each checkpoint, taken back ones left out.
    pub fn add(
        &mut self,
        admits: u8,
        reentry: Reentry,
        movements: &BTreeMap<Checkpoint, Vec<Movement>>,
        gates: &GateZones,
    ) {
        let at_checkpoints = movements
            .values()
            .map(|movements| present(admits, reentry, &fold(admits, reentry, movements.clone())));
        self.persons += at_checkpoints.max().unwrap_or(0);
        for (zone, inside) in &mut self.zones {
            let all = movements.values().flatten();
            let of_zone = all.filter(|movement| gates.concerns(movement, zone));
            let fold = fold(admits, reentry, of_zone.cloned().collect());
            *inside += present(admits, reentry, &fold);
        }
    }
}

/// Persons of a ticket who are there. Who may enter freely, and was not seen to leave, is the same
/// person when they enter again.
fn present(admits: u8, reentry: Reentry, fold: &Fold) -> u64 {
    u64::from(match reentry {
        Reentry::Free => fold.inside.min(admits.into()),
        Reentry::None | Reentry::AfterExit => fold.inside,
    })
}

/// How full something is, in ten-thousandths.
pub fn share(inside: u64, capacity: Capacity) -> f64 {
    ((inside as f64 / f64::from(capacity.persons())) * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_opens_at_its_percent_and_is_over_five_points_below() {
        let capacity = Capacity::try_from(100).unwrap();
        for (is_open, inside, expected) in [
            (false, 79, false),
            (false, 80, true),
            (true, 79, true),
            (true, 75, true),
            (true, 74, false),
            (true, u64::MAX, true),
        ] {
            let filled = is_filled(is_open, 80, inside, capacity);
            assert_eq!(filled, expected, "{is_open} {inside}");
        }
        let one = Capacity::try_from(1).unwrap();
        assert!(!is_filled(false, 80, 0, one) && is_filled(false, 100, 1, one));
        assert!(!is_filled(true, 100, 0, one));
    }
}
