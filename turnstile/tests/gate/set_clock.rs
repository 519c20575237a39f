//! `stile-gate set-clock`: who may set the clock of a gate without a screen, to what, and how the
//! PIN is said.

use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::os::fd::AsFd;
use std::process::{Output, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::Value;
use stile_core::pin::hash_pin;
use stile_core::protocol::{Operator, OperatorRole};

use crate::common::process::{
    Place, Scene, error_of, eventually, program, program_on_terminal, text_of,
};
use crate::common::venue::{NINE, Venue, id};

const PIN: &str = "135790";
/// Ten minutes past nine in the venue, and a minute later in other words.
const TEN_PAST: &str = "2026-10-01 09:10";
const ELEVEN_PAST: &str = "2026-10-01T09:11:00+08:00";

/// A gate that knows a supervisor and a guard, and has seen its list.
fn scene() -> Scene {
    let mut venue = Venue::new();
    let operator = |name: &str, role, pin: &str| Operator {
        operator_id: id(name),
        name: name.into(),
        role,
        pin_hash: hash_pin(pin, b"sixteen bytes ok").unwrap(),
        badge_hash: None,
    };
    venue.operators = vec![
        operator("wang", OperatorRole::Supervisor, PIN),
        operator("lin", OperatorRole::Guard, "2468"),
    ];
    let scene = Scene::of(venue);
    let mut gate = scene.place.run(&[]);
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    gate.terminate();
    scene
}

/// Calls with a PIN on standard input.
fn set_clock(place: &Place, at: &str, reason: &str, pin: &str) -> Output {
    let typed = place.beside("pin");
    fs::write(&typed, format!("{pin}\n")).unwrap();
    let arguments = ["set-clock", "--at", at, "--reason", reason];
    place.call_with_input(&arguments, &typed)
}

/// The records of clocks that were set.
fn clocks_set(place: &Place) -> Vec<Value> {
    let records = place.all_records();
    let records = records.iter().map(|one| serde_json::from_str(one).unwrap());
    records
        .filter(|one: &Value| one["kind"] == "clock_set")
        .collect()
}

#[test]
fn the_clock_of_a_gate_that_does_not_run_is_set_in_its_folder_and_holds_when_it_starts() {
    let scene = scene();
    let away = scene.server.away();
    let output = set_clock(&scene.place, TEN_PAST, "battery dead", PIN);
    assert!(output.status.success(), "{}", error_of(&output));
    assert!(
        text_of(&output).contains("2026-10-01 09:10:00"),
        "{}",
        text_of(&output)
    );
    let set = clocks_set(&scene.place).pop().unwrap();
    assert_eq!(set["to"], (NINE + 600) * 1000);
    assert_eq!(
        (&set["supervisor"], &set["why"]),
        (&"wang".into(), &"battery dead".into())
    );
    let mut gate = scene.place.run(&[]);
    let seen = gate.scan("no ticket at all")["at"].as_i64().unwrap();
    assert!(seen >= (NINE + 600) * 1000, "{seen}");
    gate.terminate();
    drop(away);
}

#[test]
fn a_running_gate_sets_its_clock_itself_and_goes_on() {
    let scene = scene();
    let away = scene.server.away();
    let mut gate = scene.place.run(&[]);
    let output = set_clock(&scene.place, ELEVEN_PAST, "by the town clock", PIN);
    assert!(output.status.success(), "{}", error_of(&output));
    let set = clocks_set(&scene.place).pop().unwrap();
    assert_eq!(set["to"], (NINE + 660) * 1000);
    assert_eq!(set["why"], "by the town clock");
    let seen = gate.scan("no ticket at all")["at"].as_i64().unwrap();
    assert!(seen >= (NINE + 660) * 1000, "{seen}");
    gate.terminate();
    drop(away);
}

#[test]
fn five_wrong_pins_lock_the_clock_whether_the_gate_runs_or_not() {
    let scene = scene();
    let refused = |pin, why: &str| {
        let output = set_clock(&scene.place, TEN_PAST, "why", pin);
        assert_eq!(output.status.code(), Some(1));
        assert!(error_of(&output).contains(why), "{}", error_of(&output));
        assert!(!error_of(&output).contains(PIN));
    };
    // A guard's PIN is no supervisor's.
    refused("2468", "4 tries left");
    refused("000000", "3 tries left");
    let gate = scene.place.run(&[]);
    refused("000000", "2 tries left");
    refused("000000", "1 try left");
    refused("000000", "0 tries left");
    refused(PIN, "oo many wrong PINs; wait");
    gate.terminate();
    refused(PIN, "oo many wrong PINs; wait");
    assert_eq!(clocks_set(&scene.place), [Value::Null; 0]);
}

#[test]
fn times_that_cannot_be_right_are_refused_with_what_can_be() {
    let scene = scene();
    let refused = |at: &str, code, why: &str| {
        let output = set_clock(&scene.place, at, "why", PIN);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{at}: {}",
            text_of(&output)
        );
        assert!(
            error_of(&output).contains(why),
            "{at}: {}",
            error_of(&output)
        );
    };
    let all = || {
        refused(
            "2026-09-01 09:00",
            1,
            "It cannot be earlier than 2026-10-01",
        );
        refused("20261001", 1, "It cannot be earlier than 2026-10-01");
        refused("2062-10-01 09:00", 1, "It cannot be later than 2027-10-02");
        // Milliseconds where seconds are asked for.
        refused("1790816400000", 1, "It cannot be later than 2027-10-02");
        refused("2026-10-01 25:00", 2, "--at 2026-10-01 25:00: a time is");
        refused("tomorrow", 2, "--at tomorrow: a time is");
    };
    all();
    let gate = scene.place.run(&[]);
    all();
    gate.terminate();
    assert_eq!(clocks_set(&scene.place), [Value::Null; 0]);
}

#[test]
fn without_a_reason_or_a_pin_nothing_is_set() {
    let scene = scene();
    let silent = set_clock(&scene.place, TEN_PAST, " ", PIN);
    assert_eq!(silent.status.code(), Some(1));
    assert!(
        error_of(&silent).contains("Give a reason"),
        "{}",
        error_of(&silent)
    );
    let nobody = set_clock(&scene.place, TEN_PAST, "why", "");
    assert_eq!(nobody.status.code(), Some(2));
    assert!(
        error_of(&nobody).contains("no PIN was said"),
        "{}",
        error_of(&nobody)
    );
    let gate = scene.place.run(&[]);
    let endless = set_clock(&scene.place, TEN_PAST, &"why ".repeat(2_000), PIN);
    assert_eq!(endless.status.code(), Some(1));
    assert!(
        error_of(&endless).contains("too long"),
        "{}",
        error_of(&endless)
    );
    gate.terminate();
    let in_argument = scene
        .place
        .call(&["set-clock", "--at", TEN_PAST, "--pin", PIN]);
    assert_eq!(in_argument.status.code(), Some(2), "no flag takes a PIN");
    assert_eq!(clocks_set(&scene.place), [Value::Null; 0]);
}

#[test]
fn a_folder_of_no_device_asks_for_no_pin() {
    let place = Place::default();
    fs::create_dir(place.data()).unwrap();
    let arguments = ["set-clock", "--at", TEN_PAST, "--reason", "why"];
    let output = program(&place.data(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", error_of(&output));
}

#[test]
fn a_pin_that_is_typed_on_a_terminal_is_not_seen_and_the_terminal_is_given_back() {
    let scene = scene();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let open = || File::options().read(true).write(true).open(&name).unwrap();
    // Kept open, so that its modes can be asked for at the end.
    let terminal = open();
    let (mut keyboard, echoes) = (File::from(master), |terminal: &File| {
        let modes = tcgetattr(terminal.as_fd()).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    });
    for (typed, code) in [("13579\x03", 2), ("2468\r", 1), ("135799\x7f0\r", 0)] {
        let arguments = ["set-clock", "--at", TEN_PAST, "--reason", "why"];
        let mut child = program_on_terminal(&scene.place.data(), &arguments)
            .stdin(open())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut prompt = [0; "PIN of a supervisor: ".len()];
        errors.read_exact(&mut prompt).unwrap();
        assert_eq!(&prompt, b"PIN of a supervisor: ");
        assert!(!echoes(&terminal));
        keyboard.write_all(typed.as_bytes()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{typed:?}");
        assert!(echoes(&terminal), "{typed:?}");
    }
    // What the terminal has shown ends with this.
    let mut last = &terminal;
    last.write_all(b"$").unwrap();
    let mut shown = Vec::new();
    let mut byte = [0];
    while shown.last() != Some(&b'$') {
        keyboard.read_exact(&mut byte).unwrap();
        shown.push(byte[0]);
    }
    assert_eq!(shown, b"$", "{}", String::from_utf8_lossy(&shown));
    eventually("it is on record", || clocks_set(&scene.place).len() == 1);
}
