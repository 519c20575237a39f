//! What a service manager hears of a gate, and what becomes of one that hangs.

use std::os::unix::net::UnixDatagram;
use std::process::Command;

use stile_core::policy::Party;

use crate::common::process::{PATIENCE, Place, Running, Scene, program};
use crate::common::venue::Venue;

/// A service manager, as far as a service sees one.
struct Manager {
    socket: UnixDatagram,
    place: Place,
}

impl Manager {
    fn new() -> Self {
        let place = Place::default();
        let socket = UnixDatagram::bind(place.beside("notify")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { socket, place }
    }

    /// Makes a call one of its services, and waits so long for it to be alive.
    fn of(&self, mut command: Command, watchdog_s: u64) -> Command {
        command.env("NOTIFY_SOCKET", self.place.beside("notify"));
        command.env("WATCHDOG_USEC", (watchdog_s * 1_000_000).to_string());
        command
    }

    fn hear(&self) -> String {
        let mut datagram = [0; 4096];
        let length = self.socket.recv(&mut datagram).unwrap();
        String::from_utf8(datagram[..length].to_vec()).unwrap()
    }

    /// All that it hears up to the first that begins so.
    fn hear_until(&self, start: &str) -> Vec<String> {
        let mut heard = Vec::new();
        loop {
            heard.push(self.hear());
            if heard.last().unwrap().starts_with(start) {
                return heard;
            }
        }
    }
}

fn command(scene: &Scene) -> Command {
    let relay = scene.place.relay_flag();
    let arguments = ["run", "--json", "--relay", &relay, "--hold-ms", "1"];
    program(&scene.place.data(), &arguments)
}

#[test]
fn a_gate_says_when_it_takes_codes_how_it_is_and_when_it_stops() {
    let (scene, manager) = (Scene::new(), Manager::new());
    let (mut gate, _) = Running::spawn(manager.of(command(&scene), 60));
    manager.hear_until("READY=1\n");
    let status = manager.hear_until("STATUS=gate east: online, list of 2026-10-01 v1");
    assert!(!status.is_empty());
    gate.scan(&scene.code(0));
    assert!(gate.terminate().success());
    manager.hear_until("STOPPING=1\n");
}

#[test]
fn an_idle_gate_and_one_at_work_are_alive_to_systemd() {
    let (scene, manager) = (Scene::new(), Manager::new());
    let (mut gate, _) = Running::spawn(manager.of(command(&scene), 60));
    for _ in 0..3 {
        manager.hear_until("WATCHDOG=1\n");
    }
    gate.scan(&scene.code(0));
    manager.hear_until("WATCHDOG=1\n");
    gate.terminate();
}

/// A gate where one reading admits a whole party, and a party of so many persons.
fn with_a_party(persons: u8) -> Scene {
    let mut venue = Venue::new();
    venue.policy.unattended.party = Party::All;
    let mut scene = Scene::of(venue);
    scene.tickets[0].admits = persons;
    scene.server.put_list(2, &scene.tickets);
    scene
}

/// A gate at work for parties, each pulse a second.
fn for_parties(scene: &Scene) -> Command {
    let relay = scene.place.relay_flag();
    let arguments = [
        "run",
        "--json",
        "--gate",
        "arm-1",
        "--relay",
        &relay,
        "--hold-ms",
        "1000",
    ];
    program(&scene.place.data(), &arguments)
}

#[test]
fn a_party_that_takes_longer_than_a_loop_may_stand_still_is_no_hang() {
    let (scene, manager) = (with_a_party(9), Manager::new());
    // A loop that stood still for 5 s would be taken for hanging.
    let (mut gate, _) = Running::spawn(manager.of(for_parties(&scene), 10));
    gate.event("list_applied");
    assert_eq!(gate.scan(&scene.code(0))["persons"], 9);
    assert_eq!(gate.scan(&scene.code(1))["verdict"], "admit");
    assert_eq!(scene.place.opens(), 10);
    assert!(gate.terminate().success());
    manager.socket.set_nonblocking(true).unwrap();
    let mut heard = [0; 4096];
    while let Ok(length) = manager.socket.recv(&mut heard) {
        assert!(!heard[..length].starts_with(b"WATCHDOG=trigger"));
    }
}

#[test]
fn a_gate_that_is_told_to_stop_opens_for_nobody_more() {
    let scene = with_a_party(200);
    let (mut gate, _) = Running::spawn(for_parties(&scene));
    gate.event("list_applied");
    gate.scan(&scene.code(0));
    gate.type_line(&scene.code(1));
    assert!(gate.terminate().success());
    let moves = scene.place.relay_moves();
    assert_eq!(moves.last().unwrap(), "close");
    assert!(scene.place.opens() < 10, "{moves:?}");
}

#[test]
fn a_gate_whose_service_manager_has_gone_goes_on() {
    let (scene, manager) = (Scene::new(), Manager::new());
    let (mut gate, _) = Running::spawn(manager.of(command(&scene), 60));
    manager.hear_until("WATCHDOG=1\n");
    drop(manager);
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    assert!(gate.terminate().success());
}

/// Hangs are made by the fault points, which the program has in tests only.
#[cfg(feature = "fault-points")]
mod hanging {
    use std::fs;
    use std::os::unix::process::ExitStatusExt;
    use std::path::PathBuf;

    use super::*;

    fn hanging(scene: &Scene, mut command: Command, what: &str) -> (Command, PathBuf) {
        let file = scene.place.beside("hang");
        command.env("STILE_FAULT_HANG", format!("{what}:{}", file.display()));
        (command, file)
    }

    #[test]
    fn a_loop_that_hangs_stops_the_beats_and_systemd_is_told() {
        for (what, admits) in [("scan", false), ("relay", true), ("sync", false)] {
            let (scene, manager) = (Scene::new(), Manager::new());
            let (command, file) = hanging(&scene, manager.of(command(&scene), 10), what);
            let (mut gate, _) = Running::spawn(command);
            manager.hear_until("WATCHDOG=1\n");
            fs::write(&file, "").unwrap();
            if admits {
                gate.scan(&scene.code(0));
            }
            assert_eq!(gate.event("loop_hung")["which"], what);
            manager.hear_until("WATCHDOG=trigger\n");
            manager.socket.set_nonblocking(true).unwrap();
            let mut more = [0; 64];
            while let Ok(length) = manager.socket.recv(&mut more) {
                assert!(!more[..length].starts_with(b"WATCHDOG=1"), "{what}");
            }
            gate.kill();
            // What was admitted before is kept.
            assert_eq!(scene.place.all_records().len(), usize::from(admits));
        }
    }

    #[test]
    fn a_gate_that_hangs_amid_a_party_is_shut_before_it_ends() {
        let (scene, manager) = (with_a_party(200), Manager::new());
        let (command, file) = hanging(&scene, manager.of(for_parties(&scene), 10), "scan");
        let (mut gate, _) = Running::spawn(command);
        gate.event("list_applied");
        gate.scan(&scene.code(0));
        fs::write(&file, "").unwrap();
        assert_eq!(gate.event("loop_hung")["which"], "scan");
        manager.hear_until("WATCHDOG=trigger\n");
        let moves = scene.place.relay_moves();
        assert_eq!(moves.last().unwrap(), "close", "{moves:?}");
        gate.kill();
        assert_eq!(scene.place.relay_moves(), moves, "no pulse begins any more");
    }

    #[test]
    fn without_a_service_manager_a_gate_that_hangs_ends_by_itself() {
        let scene = Scene::new();
        let (command, file) = hanging(&scene, command(&scene), "scan");
        let (mut gate, _) = Running::spawn(command);
        fs::write(&file, "").unwrap();
        assert_eq!(gate.event("loop_hung")["which"], "scan");
        assert!(gate.wait().signal().is_some());
        fs::remove_file(&file).unwrap();
        let mut gate = scene.place.run(&[]);
        assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
        gate.terminate();
    }
}
