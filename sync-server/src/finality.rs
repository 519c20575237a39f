//! When nothing more can be missing of a session: which gates could have admitted to it, and how
//! far the devices that may serve them have reported. Knows no storage.

use std::collections::BTreeMap;

use stile_core::ids::{GateId, Zone};
use stile_core::protocol::{AwaitedDevice, AwaitedGate, DeviceView, Finality};
use stile_core::ticket::{Direction, Gate, Session};
use stile_core::time::{EpochMillis, EpochSeconds};

/// Where and until when a session's tickets admit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The zones of the session, then those of each of its tickets that has its own. An empty one
    /// is no limit.
    pub zones: Vec<Vec<Zone>>,
    /// The latest end, exclusive.
    pub admit_until: EpochSeconds,
}

impl Reach {
    /// Of a session whose tickets all go by it.
    pub fn of(session: &Session) -> Self {
        Self {
            zones: vec![session.zones.clone()],
            admit_until: session.admit_until,
        }
    }

    fn meets(&self, gate: &Gate) -> bool {
        let shared = |zones: &Vec<Zone>| {
            zones.is_empty() || zones.iter().any(|zone| gate.zones.contains(zone))
        };
        gate.direction == Direction::In && (gate.zones.is_empty() || self.zones.iter().any(shared))
    }
}

/// What is stored of a session that is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Final {
    /// The end for which it is.
    pub admit_until: EpochSeconds,
    /// Since when.
    pub finalized_at: EpochMillis,
    /// Records that came afterwards.
    pub late: u64,
}

/// How complete what is known of a session is. `devices` are all of the venue.
pub fn finality(
    reach: &Reach,
    known: Option<Final>,
    gates: &[Gate],
    devices: &[DeviceView],
    now: EpochMillis,
) -> Finality {
    let end = reach.admit_until.millis();
    let mut complete_through = Some(now);
    let mut awaits: BTreeMap<GateId, Vec<AwaitedDevice>> = BTreeMap::new();
    let mut not_awaited = Vec::new();
    for device in devices {
        // What was enrolled afterwards admitted nobody to it.
        if device.enrolled_at >= end {
            continue;
        }
        let serves = |gate: &&Gate| device.gates.contains(&gate.gate_id) && reach.meets(gate);
        let serves: Vec<&Gate> = gates.iter().filter(serves).collect();
        if serves.is_empty() {
            continue;
        }
        let through = device.outbox.delivered_through;
        let is_past = through.is_some_and(|through| through >= end);
        if device.out_of_use_since.is_some() {
            if !is_past {
                not_awaited.push(device.outbox.clone());
            }
            continue;
        }
        complete_through = complete_through.zip(through).map(|(all, one)| all.min(one));
        if !is_past {
            for gate in serves {
                let devices = awaits.entry(gate.gate_id.clone()).or_default();
                devices.push(device.outbox.clone());
            }
        }
    }
    let known = known.filter(|known| known.admit_until >= reach.admit_until);
    Finality {
        admit_until: reach.admit_until,
        finalized_at: known.map(|known| known.finalized_at),
        complete_through,
        awaits: awaits
            .into_iter()
            .map(|(gate_id, devices)| AwaitedGate { gate_id, devices })
            .collect(),
        not_awaited,
        late_after_final: known.map_or(0, |known| known.late),
    }
}

/// Whether a session may be made final now.
pub fn is_due(finality: &Finality, now: EpochMillis) -> bool {
    finality.finalized_at.is_none()
        && finality.admit_until.millis() <= now
        && finality.awaits.is_empty()
}

#[cfg(test)]
mod tests {
    use stile_core::protocol::DeviceStanding;

    use super::*;

    const NOW: EpochMillis = EpochMillis(2_000_000);
    const END: EpochSeconds = EpochSeconds(1_000);

    fn gate(id: &str, zones: &[&str], direction: Direction) -> Gate {
        let zones = zones.iter().map(|zone| zone.parse().unwrap()).collect();
        Gate {
            gate_id: id.parse().unwrap(),
            name: String::new(),
            direction,
            checkpoint: "entry".parse().unwrap(),
            zones,
            unattended: false,
        }
    }

    fn device(id: &str, gates: &[&str], through: Option<i64>) -> DeviceView {
        DeviceView {
            outbox: AwaitedDevice {
                device_id: id.parse().unwrap(),
                name: String::new(),
                reported_at: None,
                delivered_through: through.map(EpochMillis),
                outstanding: 0,
            },
            model: String::new(),
            gates: gates.iter().map(|gate| gate.parse().unwrap()).collect(),
            enrolled_at: EpochMillis(0),
            standing: DeviceStanding::Enrolled,
            standing_since: None,
            out_of_use_since: None,
        }
    }

    fn of(zones: &[&str], gates: &[Gate], devices: &[DeviceView]) -> Finality {
        let zones = zones.iter().map(|zone| zone.parse().unwrap()).collect();
        let reach = Reach {
            zones: vec![zones],
            admit_until: END,
        };
        finality(&reach, None, gates, devices, NOW)
    }

    fn awaited(finality: &Finality) -> Vec<&str> {
        let gates = finality.awaits.iter();
        gates.map(|gate| gate.gate_id.as_str()).collect()
    }

    #[test]
    fn a_gate_is_waited_for_until_it_has_reported_past_the_end() {
        let gates = [gate("north", &[], Direction::In)];
        for (through, expected) in [
            (None, vec!["north"]),
            (Some(999_999), vec!["north"]),
            (Some(1_000_000), vec![]),
        ] {
            let found = of(&[], &gates, &[device("d1", &["north"], through)]);
            assert_eq!(awaited(&found), expected, "{through:?}");
            assert_eq!(found.complete_through, through.map(EpochMillis));
            assert_eq!(is_due(&found, NOW), expected.is_empty());
        }
    }

    #[test]
    fn only_gates_that_could_have_admitted_are_waited_for() {
        let gates = [
            gate("exit", &[], Direction::Out),
            gate("hall", &["hall"], Direction::In),
            gate("any", &[], Direction::In),
        ];
        let silent = |id, gate| device(id, &[gate], None);
        let devices = [
            silent("d1", "exit"),
            silent("d2", "hall"),
            silent("d3", "any"),
        ];
        assert_eq!(awaited(&of(&["tower"], &gates, &devices)), ["any"]);
        assert_eq!(awaited(&of(&["hall"], &gates, &devices)), ["any", "hall"]);
        assert_eq!(awaited(&of(&[], &gates, &devices)), ["any", "hall"]);
    }

    #[test]
    fn a_device_out_of_use_is_named_and_not_waited_for_and_one_of_later_is_neither() {
        let gates = [gate("north", &[], Direction::In)];
        let mut drawer = device("d1", &["north"], None);
        drawer.out_of_use_since = Some(NOW);
        let mut new = device("d2", &["north"], None);
        new.enrolled_at = END.millis();
        let found = of(&[], &gates, &[drawer.clone(), new]);
        assert!(is_due(&found, NOW));
        assert_eq!(found.not_awaited, [drawer.outbox]);
        assert_eq!(found.complete_through, Some(NOW));
    }

    #[test]
    fn a_session_that_is_put_with_a_later_end_is_open_again() {
        let known = |admit_until| Final {
            admit_until: EpochSeconds(admit_until),
            finalized_at: NOW,
            late: 3,
        };
        let reach = Reach {
            zones: vec![vec![]],
            admit_until: END,
        };
        let of = |admit_until| finality(&reach, Some(known(admit_until)), &[], &[], NOW);
        let is_final = of(1_000);
        assert_eq!(
            (is_final.finalized_at, is_final.late_after_final),
            (Some(NOW), 3)
        );
        assert!(!is_due(&is_final, NOW));
        assert_eq!(of(999).finalized_at, None);
    }
}
