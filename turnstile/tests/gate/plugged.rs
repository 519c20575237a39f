//! Scanners on serial lines and keyboards: unplugged, plugged in again, and with noise.

use std::path::Path;

use evdev::uinput::VirtualDevice;
use evdev::{AttributeSet, EventType, InputEvent, KeyCode};
use stile_turnstile::ports::{Ports, SerialSpec};

use crate::common::process::{Place, Running, Scene};
use crate::common::pty::Pty;
use crate::common::venue::NINE;

/// A gate with one scanner that is not there yet, and what it said to that.
fn run(place: &Place, scanner: &str, more: &[&str]) -> Running {
    let relay = place.relay_flag();
    let mut arguments = vec!["run", "--json", "--relay", &relay, "--hold-ms", "5"];
    arguments.extend(["--scanner", scanner]);
    arguments.extend(more);
    let mut gate = Running::start(&place.data(), &arguments);
    let lost = gate.event("scanner_lost");
    assert!(lost["why"].as_str().unwrap().contains("not plugged in"));
    assert!(scanner.starts_with(lost["scanner"].as_str().unwrap().split(',').next().unwrap()));
    gate
}

fn serial(path: &Path) -> String {
    format!("serial:{}:9600", path.display())
}

#[test]
fn situation_25_a_scanner_that_is_unplugged_and_plugged_in_again_comes_back_and_says_so() {
    let scene = Scene::new();
    let path = scene.place.beside("ttyUSB1");
    let mut gate = run(&scene.place, &serial(&path), &[]);
    for ticket in 0..2 {
        let scanner = Pty::plug(&path);
        gate.event("scanner_back");
        scanner.send(format!("{}\r", scene.code(ticket)).as_bytes());
        assert_eq!(gate.verdict()["verdict"], "admit");
        drop(scanner);
        gate.event("scanner_lost");
    }
    gate.terminate();
    assert_eq!(scene.place.opens(), 2);
}

#[test]
fn situation_26_noise_and_half_codes_on_the_line_are_counted_and_refuse_nobody() {
    let scene = Scene::new();
    let path = scene.place.beside("ttyUSB1");
    let mut gate = run(&scene.place, &serial(&path), &[]);
    let scanner = Pty::plug(&path);
    gate.event("scanner_back");
    scanner.send(b"\xff\x81\x13\r");
    gate.event("code_broken");
    let code = scene.code(0);
    // The line falls silent in the middle of a code; what comes next stands by itself.
    scanner.send(&code.as_bytes()[..40]);
    gate.event("code_broken");
    scanner.send(format!("{code}\r\n").as_bytes());
    assert_eq!(gate.verdict()["verdict"], "admit");
    // A code in two halves that are too far apart: neither is a visitor's.
    let code = scene.code(1);
    let (head, rest) = code.split_at(40);
    scanner.send(head.as_bytes());
    gate.event("code_broken");
    scanner.send(format!("{rest}\r").as_bytes());
    gate.event("code_broken");
    // Nor is a rest that has the shape of a code, of a ticket that nobody showed.
    scanner.send(b"T");
    gate.event("code_broken");
    let v1 = format!("T-1-{}-{}\r", NINE + 600, "A".repeat(43));
    scanner.send(v1.as_bytes());
    gate.event("code_broken");
    // What is no code by itself is judged, as long as nothing was cut off before.
    scanner.send(format!("{rest}\r").as_bytes());
    assert_eq!(gate.verdict()["reason"], "malformed");
    gate.terminate();
    assert_eq!(scene.place.all_records().len(), 2, "noise is no reading");
}

#[test]
fn a_scanner_without_line_ends_is_read_by_the_idle_gap() {
    let scene = Scene::new();
    let path = scene.place.beside("ttyUSB1");
    let mut gate = run(&scene.place, &serial(&path), &["--idle-gap-ms", "50"]);
    let scanner = Pty::plug(&path);
    gate.event("scanner_back");
    scanner.send(scene.code(0).as_bytes());
    assert_eq!(gate.verdict()["verdict"], "admit");
    gate.terminate();
}

#[test]
fn a_port_belongs_to_one_program() {
    let place = Place::default();
    let path = place.beside("ttyUSB1");
    let _scanner = Pty::plug(&path);
    let spec: SerialSpec = path.display().to_string().parse().unwrap();
    let ports = Ports::default();
    let first = ports.open_serial(&spec).unwrap();
    let second = ports.open_serial(&spec).unwrap_err().to_string();
    assert!(second.contains("ttyUSB1"), "{second}");
    drop(first);
    ports.open_serial(&spec).unwrap();
}

/// The keys that a US keyboard presses for a code and its Enter.
fn strokes(code: &str) -> Vec<InputEvent> {
    let mut events = Vec::new();
    let mut key = |key: KeyCode, down: i32| {
        events.push(InputEvent::new(EventType::KEY.0, key.0, down));
    };
    for character in code.chars() {
        let shift = character.is_ascii_uppercase();
        let name = format!("KEY_{}", character.to_ascii_uppercase());
        let code: KeyCode = name.parse().unwrap();
        if shift {
            key(KeyCode::KEY_LEFTSHIFT, 1);
        }
        key(code, 1);
        key(code, 0);
        if shift {
            key(KeyCode::KEY_LEFTSHIFT, 0);
        }
    }
    key(KeyCode::KEY_ENTER, 1);
    key(KeyCode::KEY_ENTER, 0);
    events
}

#[test]
fn a_scanner_that_types_is_grabbed_and_read() {
    if !Path::new("/dev/uinput").exists() {
        eprintln!("skipped: there is no /dev/uinput to make a keyboard with");
        return;
    }
    let scene = Scene::new();
    let link = scene.place.beside("event-kbd");
    let mut gate = run(&scene.place, &format!("hid:{}", link.display()), &[]);
    let code = scene.code(0);
    let strokes = strokes(&code);
    let keys: AttributeSet<KeyCode> = (1..=248).map(KeyCode).collect();
    let builder = VirtualDevice::builder().unwrap().name("scanner");
    let mut keyboard = builder.with_keys(&keys).unwrap().build().unwrap();
    let mut nodes = keyboard.enumerate_dev_nodes_blocking().unwrap();
    let node = nodes.next().unwrap().unwrap();
    std::os::unix::fs::symlink(node, &link).unwrap();
    gate.event("scanner_back");
    for event in strokes {
        keyboard.emit(&[event]).unwrap();
    }
    assert_eq!(gate.verdict()["verdict"], "admit");
    std::fs::remove_file(&link).unwrap();
    drop(keyboard);
    gate.event("scanner_lost");
    gate.terminate();
}
