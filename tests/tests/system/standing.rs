//! Devices that are not simply the venue's any more, as both programs see them.

use std::time::Duration;

use serde_json::Value;
use stile_core::codes::Format;
use stile_tests::api::Stream;
use stile_tests::gate::Gate;
use stile_tests::museum::{ENTRANCE, Museum, wait_until_drained};
use stile_tests::programs::wait_until;
use stile_tests::server::Server;

use crate::house::House;

/// How long a gate may take to hear how it stands: a look at the lists every five seconds, or every
/// minute once it was refused.
const HEARD: Duration = Duration::from_secs(120);

fn lines(server: &Server, command: &[&str]) -> Vec<Value> {
    let said = server.command(command).unwrap();
    let lines = said.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

/// The device that serves a gate.
fn device_of(server: &Server, gate: &Gate) -> String {
    let devices = lines(server, &["device", "list"]);
    let serves = |device: &&Value| {
        let gates = device["gates"].as_array().unwrap();
        gates.iter().any(|id| id == gate.name())
    };
    let device = devices.iter().find(serves).unwrap();
    device["device_id"].as_str().unwrap().to_owned()
}

fn lists_on_disk(gate: &Gate) -> usize {
    let names = std::fs::read_dir(gate.data()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("whitelist-")).count()
}

#[test]
fn situation_15_a_lost_device_is_revoked_and_its_unsent_scans_are_judged_by_a_person() {
    let mut house = House::open(300);
    let codes = house.codes(4);
    assert!(house.entrance.scan(&codes[0]).unwrap().opens);
    wait_until_drained(&[&house.entrance]).unwrap();
    house.museum.server.stop().unwrap();
    for code in &codes[1..3] {
        assert!(house.entrance.scan(code).unwrap().opens);
    }
    let device = device_of(&house.museum.server, &house.entrance);
    let server = &mut house.museum.server;
    server.command(&["device", "revoke", &device]).unwrap();
    server.start().unwrap();
    house.entrance.wait_for_event("revoked", HEARD).unwrap();
    assert_eq!(lists_on_disk(&house.entrance), 0);
    assert!(!house.entrance.scan(&codes[3]).unwrap().opens);
    // The other gate admits whom it refuses.
    assert!(house.turnstile.scan(&codes[3]).unwrap().opens);
    wait_until_drained(&[&house.entrance, &house.turnstile]).unwrap();
    assert_eq!(
        house.check_ins().len(),
        2,
        "what it admitted unheard counts nowhere yet"
    );
    let server = &house.museum.server;
    let aside = lines(server, &["quarantine", "list", "--device", &device]);
    assert_eq!(aside.len(), 2);
    assert!(aside.iter().all(|one| one["cause"] == "revoked_device"));
    let accept = ["quarantine", "accept", "--device", &device];
    server.command(&accept).unwrap();
    assert_eq!(house.check_ins().len(), 4);
    house.everything_has_arrived_once();
    // A restart brings nothing back.
    house.entrance.stop().unwrap();
    house.entrance.start().unwrap();
    assert_eq!(lists_on_disk(&house.entrance), 0);
}

#[test]
fn a_server_put_back_from_before_an_enrolment_takes_the_devices_scans_and_asks_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let (mut museum, day) = Museum::open(&folder.path().join("museum"), 300, 1).unwrap();
    // Puts the gate, which the copy has; it has not the device, which enrols later.
    museum.invite(ENTRANCE).unwrap();
    let copy = museum.folder.join("copy.db").display().to_string();
    museum.server.command(&["backup", &copy]).unwrap();
    let mut gate = museum.open_gate(ENTRANCE, &day.timetable).unwrap();
    let device = device_of(&museum.server, &gate);
    let busy = day.timetable.busy();
    let sold: Vec<_> = ["F-1", "F-2"]
        .map(|id| {
            serde_json::json!({"ticket_id": id, "order_number": "F", "session_id": busy.session_id})
        })
        .into();
    museum.api.import_ndjson(&sold).unwrap();
    museum.wait_for_changes(&[&gate], &day.timetable).unwrap();
    let mint = |museum: &Museum, id| {
        let minted = museum.api.mint(id, Format::G2, Some(3_600)).unwrap();
        minted.code.unwrap()
    };
    let first = mint(&museum, "F-1");
    assert!(gate.scan(&first).unwrap().opens);
    wait_until_drained(&[&gate]).unwrap();

    museum.server.stop().unwrap();
    museum.server.command(&["restore", &copy]).unwrap();
    museum.server.start().unwrap();
    museum.api.import_ndjson(&sold).unwrap();
    gate.wait_for_event("forgotten", HEARD).unwrap();
    let devices = lines(&museum.server, &["device", "list"]);
    assert_eq!(devices[0]["standing"], "forgotten");
    assert!(lists_on_disk(&gate) > 0, "it goes on with what it has");
    let second = mint(&museum, "F-2");
    assert!(gate.scan(&second).unwrap().opens);
    let aside = ["quarantine", "list", "--device", &device];
    // The new one, and the one that the server lost: its answer says that it is missing.
    wait_until("both scans are set aside", HEARD, || {
        Ok(lines(&museum.server, &aside).len() == 2)
    })
    .unwrap();

    museum
        .server
        .command(&["device", "readmit", &device])
        .unwrap();
    let accept = ["quarantine", "accept", "--device", &device];
    museum.server.command(&accept).unwrap();
    let check_ins = || museum.api.pull_all(Stream::CheckIns, 7).unwrap().0.len();
    assert_eq!(check_ins(), 2);
    assert!(lines(&museum.server, &aside).is_empty());
    // From now on it is as any other.
    museum.wait_for_changes(&[&gate], &day.timetable).unwrap();
    assert_eq!(
        gate.scan(&mint(&museum, "F-1")).unwrap().outcome(),
        "already_used"
    );
}
