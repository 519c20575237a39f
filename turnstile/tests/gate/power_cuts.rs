//! The power fails at each place of a scan: behind it there is no record and a shut gate, or one
//! record; whom the gate had not opened for is let in once more, and nobody twice.

use crate::common::process::{Running, Scene, program};

/// Every place between a code at the scanner and the gate that has closed behind the visitor, in
/// their order.
const PLACES: [&str; 13] = [
    "scan: read",
    "scan: judged",
    "scan: decided",
    "journal: begun",
    "journal: written",
    "journal: committed",
    "gate: answered",
    "relay: asked",
    "relay: open",
    "released: written",
    "released: committed",
    "relay: held",
    "relay: closed",
];

/// A gate that ends at a place.
fn doomed(scene: &Scene, place: &str) -> Running {
    let relay = scene.place.relay_flag();
    // Held open until the opening is on record, so that the places come in their order.
    let arguments = ["run", "--json", "--relay", &relay, "--hold-ms", "1000"];
    let mut command = program(&scene.place.data(), &arguments);
    command.env("STILE_FAULT_KILL", place);
    Running::spawn(command).0
}

#[test]
fn wherever_the_power_fails_in_a_scan_nothing_is_lost_doubled_or_left_open() {
    for (turn, place) in PLACES.into_iter().enumerate() {
        let scene = Scene::new();
        let mut gate = doomed(&scene, place);
        gate.type_line(&scene.code(0));
        assert!(!gate.wait().success(), "{place}: it went on");
        let (records, opens) = (scene.place.all_records().len(), scene.place.opens());
        let is_recorded = turn
            >= PLACES
                .iter()
                .position(|p| *p == "journal: committed")
                .unwrap();
        let has_opened = turn >= PLACES.iter().position(|p| *p == "relay: open").unwrap();
        let is_released = turn
            >= PLACES
                .iter()
                .position(|p| *p == "released: committed")
                .unwrap();
        assert_eq!(records, usize::from(is_recorded), "{place}: records");
        assert_eq!(opens, usize::from(has_opened), "{place}: openings");

        let moves = scene.place.relay_moves().len();
        let mut gate = scene.place.run(&[]);
        assert_eq!(
            scene.place.relay_moves()[moves],
            "close",
            "{place}: closed at the start"
        );
        let again = gate.scan(&scene.code(0));
        match is_released {
            // The visitor had their opening, and whoever shows the ticket now is another.
            true => assert_eq!(again["reason"], "already_used", "{place}"),
            false => assert_eq!(again["verdict"], "admit", "{place}"),
        }
        let opened = scene.place.opens();
        assert_eq!(
            opened,
            opens + usize::from(!is_released),
            "{place}: let in once more"
        );
        gate.scan(&scene.code(0));
        assert_eq!(scene.place.opens(), opened, "{place}: once, and no more");
        gate.terminate();
        let kinds = scene.place.record_kinds();
        let records = scene.place.all_records();
        let admitting = |record: &&String| record.contains(r#""verdict":"admit""#);
        assert_eq!(
            records.iter().filter(admitting).count(),
            1,
            "{place}: {records:?}"
        );
        let resumed = kinds.iter().filter(|kind| *kind == "resume").count();
        assert_eq!(
            resumed,
            usize::from(is_recorded && !is_released),
            "{place}: {kinds:?}"
        );
    }
}
