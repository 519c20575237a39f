//! The relay: closed at start, after each pulse, on error, at the end, and at the start after a
//! crash.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use stile_turnstile::relay::{CommandRelay, Hold, PulseEvent, Pulses, Relay, RelayError};

use crate::common::process::{Place, Running, Scene, eventually};

/// A relay that notes what it is told and fails as it is told.
#[derive(Clone, Default)]
struct Noted {
    moves: Arc<Mutex<Vec<&'static str>>>,
    failing: Arc<Mutex<Vec<&'static str>>>,
}

impl Noted {
    fn note(&self, action: &'static str) -> Result<(), RelayError> {
        self.moves.lock().unwrap().push(action);
        match self.failing.lock().unwrap().contains(&action) {
            true => Err(RelayError::TimedOut {
                relay: "noted".into(),
                action,
                after: Duration::ZERO,
            }),
            false => Ok(()),
        }
    }
}

impl Relay for Noted {
    fn open(&mut self) -> Result<(), RelayError> {
        self.note("open")
    }

    fn close(&mut self) -> Result<(), RelayError> {
        self.note("close")
    }
}

#[test]
fn every_opening_has_its_close_and_none_overlap() {
    let relay = Noted::default();
    let moves = Arc::clone(&relay.moves);
    let (sender, closes) = channel();
    let on = move |event| {
        if matches!(event, PulseEvent::Closed) {
            sender.send(()).unwrap();
        }
    };
    let pulses = Pulses::start(vec![Box::new(relay)], Duration::from_millis(1), on).unwrap();
    assert_eq!(*moves.lock().unwrap(), ["close"], "closed before anything");
    let opened: Vec<_> = (0..3).map(|_| pulses.pulse(None)).collect();
    for opened in opened {
        assert!(opened.recv().unwrap().result.is_ok());
    }
    drop(pulses);
    let pulse = ["open", "close"];
    let expected = [&["close"][..], &pulse, &pulse, &pulse, &["close"]].concat();
    assert_eq!(*moves.lock().unwrap(), expected);
    assert_eq!(closes.iter().count(), 4);
}

#[test]
fn an_opening_that_fails_is_closed_and_not_tried_again() {
    let relay = Noted::default();
    let (moves, failing) = (Arc::clone(&relay.moves), Arc::clone(&relay.failing));
    let pulses = Pulses::start(vec![Box::new(relay)], Duration::ZERO, |_| ()).unwrap();
    failing.lock().unwrap().push("open");
    assert!(pulses.pulse(None).recv().unwrap().result.is_err());
    failing.lock().unwrap().clear();
    assert!(pulses.pulse(None).recv().unwrap().result.is_ok());
    drop(pulses);
    let expected = ["close", "open", "close", "open", "close", "close"];
    assert_eq!(*moves.lock().unwrap(), expected);
}

#[test]
fn a_close_that_fails_is_told_once_and_tried_until_it_is_done() {
    let relay = Noted::default();
    let failing = Arc::clone(&relay.failing);
    failing.lock().unwrap().push("close");
    let moves = Arc::clone(&relay.moves);
    let (sender, events) = channel();
    let on = move |event| sender.send(event).unwrap();
    let pulses = Pulses::start(vec![Box::new(relay)], Duration::ZERO, on).unwrap();
    eventually("closed again", || moves.lock().unwrap().len() >= 3);
    failing.lock().unwrap().clear();
    assert!(matches!(events.recv(), Ok(PulseEvent::CloseFailed(_))));
    assert!(matches!(events.recv(), Ok(PulseEvent::Closed)));
    drop(pulses);
    assert!(events.recv().is_err(), "nothing more to tell");
}

#[test]
fn a_gate_that_is_held_open_opens_every_relay_and_closes_when_it_is_let_go() {
    let (own, other) = (Noted::default(), Noted::default());
    let relays: Vec<Box<dyn Relay>> = vec![Box::new(own.clone()), Box::new(other.clone())];
    let (sender, events) = channel();
    let on = move |event| sender.send(event).unwrap();
    let pulses = Pulses::start(relays, Duration::ZERO, on).unwrap();
    assert!(matches!(events.recv(), Ok(PulseEvent::Closed)));
    let holder = pulses.holder();
    holder.hold(Hold::FreePassage, true);
    assert!(matches!(events.recv(), Ok(PulseEvent::HeldOpen)));
    holder.hold(Hold::Emergency, true);
    pulses.wait_until_at_rest();
    assert!(pulses.pulse(None).recv().unwrap().result.is_ok());
    assert!(matches!(events.recv(), Ok(PulseEvent::Pulsed(_))));
    holder.hold(Hold::FreePassage, false);
    pulses.wait_until_at_rest();
    assert_eq!(
        *other.moves.lock().unwrap(),
        ["close", "open"],
        "still held"
    );
    holder.hold(Hold::Emergency, false);
    assert!(matches!(events.recv(), Ok(PulseEvent::Closed)));
    for relay in [&own, &other] {
        assert_eq!(*relay.moves.lock().unwrap(), ["close", "open", "close"]);
    }
}

#[test]
fn an_emergency_in_the_middle_of_a_pulse_does_not_close_the_gate_in_between() {
    let relay = Noted::default();
    let pulses = Pulses::start(
        vec![Box::new(relay.clone())],
        Duration::from_secs(3600),
        |_| (),
    );
    let pulses = pulses.unwrap();
    assert!(pulses.pulse(None).recv().unwrap().result.is_ok());
    pulses.holder().hold(Hold::Emergency, true);
    pulses.wait_until_at_rest();
    assert_eq!(*relay.moves.lock().unwrap(), ["close", "open", "open"]);
}

#[test]
fn an_emergency_outlasts_the_program() {
    let relay = Noted::default();
    let (sender, events) = channel();
    let on = move |event| sender.send(event).unwrap();
    let pulses = Pulses::start(vec![Box::new(relay.clone())], Duration::ZERO, on).unwrap();
    pulses.holder().hold(Hold::Emergency, true);
    while !matches!(events.recv(), Ok(PulseEvent::HeldOpen)) {}
    drop(pulses);
    assert_eq!(*relay.moves.lock().unwrap(), ["close", "open"]);
}

#[test]
fn an_emergency_opening_that_fails_is_tried_until_it_is_done() {
    let relay = Noted::default();
    relay.failing.lock().unwrap().push("open");
    let (sender, events) = channel();
    let on = move |event| sender.send(event).unwrap();
    let pulses = Pulses::start(vec![Box::new(relay.clone())], Duration::ZERO, on).unwrap();
    pulses.holder().hold(Hold::Emergency, true);
    while !matches!(events.recv(), Ok(PulseEvent::HoldFailed(_))) {}
    relay.failing.lock().unwrap().clear();
    assert!(matches!(events.recv(), Ok(PulseEvent::HeldOpen)));
}

#[test]
fn a_gate_closes_at_start_after_each_pulse_and_at_the_end() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    assert_eq!(scene.place.relay_moves(), ["close"]);
    gate.scan(&scene.code(0));
    assert!(gate.terminate().success());
    let expected = ["close", "open", "close", "close"];
    assert_eq!(scene.place.relay_moves(), expected);
}

#[test]
fn a_gate_killed_while_it_stands_open_is_shut_at_the_next_start() {
    let scene = Scene::new();
    let relay = scene.place.relay_flag();
    let arguments = ["run", "--json", "--relay", &relay, "--hold-ms", "10000"];
    let mut gate = Running::start(&scene.place.data(), &arguments);
    gate.scan(&scene.code(0));
    gate.kill();
    assert_eq!(scene.place.relay_moves(), ["close", "open"]);
    let gate = scene.place.run(&[]);
    assert_eq!(scene.place.relay_moves(), ["close", "open", "close"]);
    gate.terminate();
}

#[test]
fn a_gate_that_cannot_start_is_shut_all_the_same() {
    let place = Place::default();
    let output = place.call(&["run", "--relay", &place.relay_flag()]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(place.relay_moves(), ["close"]);
}

fn program(place: &Place, text: &str) -> std::path::PathBuf {
    let path = place.beside("relay.sh");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_program_is_called_with_open_and_close() {
    let scene = Scene::new();
    let log = scene.place.beside("calls");
    let script = format!("#!/bin/sh\necho \"$1\" >> {}\n", log.display());
    let relay = format!("command:{}", program(&scene.place, &script).display());
    let arguments = ["run", "--json", "--relay", &relay, "--hold-ms", "1"];
    let mut gate = Running::start(&scene.place.data(), &arguments);
    assert!(gate.scan(&scene.code(0))["line_to_relay_us"].is_u64());
    gate.terminate();
    let calls = fs::read_to_string(log).unwrap();
    assert_eq!(calls, "close\nopen\nclose\nclose\n");
}

#[test]
fn a_program_that_fails_to_open_leaves_the_check_in_and_says_so() {
    let scene = Scene::new();
    let script = "#!/bin/sh\n[ \"$1\" = close ]\n";
    let relay = format!("command:{}", program(&scene.place, script).display());
    let arguments = ["run", "--json", "--relay", &relay];
    let mut gate = Running::start(&scene.place.data(), &arguments);
    let admitted = gate.scan(&scene.code(0));
    assert_eq!(admitted["verdict"], "admit");
    assert_eq!(admitted["line_to_relay_us"], json!(null));
    let failed = gate.event("relay_failed");
    let what = failed["what"].as_str().unwrap();
    assert!(what.contains("relay.sh open: exit status: 1"), "{what}");
    gate.terminate();
    assert_eq!(scene.place.all_records().len(), 1);
}

#[test]
fn a_program_that_hangs_is_ended_before_it_can_open_the_gate_late() {
    let place = Place::default();
    let mark = place.beside("late");
    let script = format!("#!/bin/sh\nsleep 3\ntouch {}\n", mark.display());
    let mut relay = CommandRelay::new(&program(&place, &script)).unwrap();
    assert!(matches!(relay.open(), Err(RelayError::TimedOut { .. })));
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(!mark.exists());
}

#[test]
fn a_program_that_is_not_there_or_may_not_be_run_is_refused_before_the_first_visitor() {
    let place = Place::default();
    assert!(CommandRelay::new(&place.beside("nothing")).is_err());
    let plain = place.beside("plain");
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(CommandRelay::new(&plain).is_err());
}

#[test]
fn nobody_is_admitted_while_the_gate_still_stands_open_for_another() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&["--hold-ms", "5000"]);
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    for n in 1..5 {
        gate.type_line(&scene.code(n));
    }
    std::thread::sleep(Duration::from_millis(500));
    gate.kill();
    let mut gate = scene.place.run(&["--hold-ms", "1"]);
    for n in 1..5 {
        assert_eq!(
            gate.scan(&scene.code(n))["verdict"],
            "admit",
            "not used up by the kill"
        );
    }
}

#[test]
fn a_gate_whose_relay_does_not_close_is_not_said_to_be_shut() {
    for (close, shut) in [("exit 0", true), ("exit 1", false)] {
        let scene = Scene::new();
        let script = scene.place.beside("relay.sh");
        fs::write(&script, format!("#!/bin/sh\n{close}\n")).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let relay = format!("command:{}", script.display());
        let arguments = ["run", "--json", "--relay", &relay];
        let mut gate = Running::start(&scene.place.data(), &arguments);
        gate.end_of_input();
        assert_eq!(gate.event("stopped")["shut"], shut);
    }
}
