//! Relay boards on serial lines, to the byte, by the running program: LCUS commands at start,
//! pulse, end, after a kill and after the board was unplugged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::process::{Place, Running, Scene};
use crate::common::pty::Pty;

const OPEN: [u8; 4] = [0xA0, 0x01, 0x01, 0xA2];
const CLOSE: [u8; 4] = [0xA0, 0x01, 0x00, 0xA1];

fn board(place: &Place) -> PathBuf {
    place.beside("ttyUSB0")
}

/// A gate on standard input with a board.
fn run(place: &Place, board: &Path, hold_ms: &str) -> Running {
    let relay = format!("lcus:{}", board.display());
    let arguments = ["run", "--json", "--relay", &relay, "--hold-ms", hold_ms];
    Running::start(&place.data(), &arguments)
}

#[test]
fn a_board_is_told_to_close_at_start_behind_each_pulse_and_at_the_end() {
    let scene = Scene::new();
    let path = board(&scene.place);
    let board = Pty::plug(&path);
    let mut gate = run(&scene.place, &path, "5");
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    assert_eq!(gate.scan("no ticket at all")["verdict"], "refuse");
    assert!(gate.terminate().success());
    board.receives(&[CLOSE, OPEN, CLOSE, CLOSE].concat());
}

#[test]
fn situation_27_a_gate_killed_in_a_pulse_tells_the_board_to_close_when_it_starts_again() {
    let scene = Scene::new();
    let path = board(&scene.place);
    let board = Pty::plug(&path);
    let mut gate = run(&scene.place, &path, "10000");
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    gate.kill();
    board.receives(&[CLOSE, OPEN].concat());
    let gate = run(&scene.place, &path, "5");
    board.receives(&[CLOSE, OPEN, CLOSE].concat());
    gate.terminate();
}

#[test]
fn a_gate_that_cannot_start_tells_the_board_to_close_all_the_same() {
    let place = Place::default();
    let board = Pty::plug(&board(&place));
    let relay = format!("lcus:{}", self::board(&place).display());
    assert_eq!(
        place.call(&["run", "--relay", &relay]).status.code(),
        Some(3)
    );
    board.receives(&CLOSE);
}

#[test]
fn with_normally_closed_wiring_off_is_open_and_both_directions_close_at_start() {
    let scene = Scene::new();
    let path = board(&scene.place);
    let board = Pty::plug(&path);
    let config = format!(
        "[relay]\ndriver = \"lcus:{0},channel=1\"\nnormally_closed = true\nhold_ms = 5\n\
         [relay_out]\ndriver = \"lcus:{0},channel=2\"\n",
        path.display()
    );
    fs::write(scene.place.data().join("stile-gate.toml"), config).unwrap();
    let mut gate = Running::start(&scene.place.data(), &["run", "--json"]);
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    gate.terminate();
    let close_out = [0xA0, 0x02, 0x00, 0xA2];
    let close = [OPEN, close_out].concat();
    let expected = [close.clone(), CLOSE.to_vec(), close.clone(), close].concat();
    board.receives(&expected);
}

#[test]
fn a_board_that_is_plugged_in_again_is_closed_and_opens_for_the_next_visitor() {
    let scene = Scene::new();
    let path = board(&scene.place);
    let board = Pty::plug(&path);
    let mut gate = run(&scene.place, &path, "5");
    board.receives(&CLOSE);
    drop(board);
    let lost = gate.event("relay_lost");
    assert!(lost["what"].as_str().unwrap().contains("ttyUSB0"), "{lost}");
    let board = Pty::plug(&path);
    gate.event("relay_back");
    board.receives(&CLOSE);
    let admitted = gate.scan(&scene.code(0));
    assert!(admitted["line_to_relay_us"].is_u64(), "{admitted}");
    gate.terminate();
    board.receives(&[CLOSE, OPEN, CLOSE, CLOSE].concat());
}

#[test]
fn an_opening_without_a_board_is_told_and_not_made_up_for_later() {
    let scene = Scene::new();
    let path = board(&scene.place);
    let mut gate = run(&scene.place, &path, "5");
    assert!(
        gate.event("relay_failed")["what"]
            .as_str()
            .unwrap()
            .contains("not plugged in")
    );
    let admitted = gate.scan(&scene.code(0));
    assert!(admitted["line_to_relay_us"].is_null(), "{admitted}");
    gate.event("relay_failed");
    let board = Pty::plug(&path);
    board.has_received(&CLOSE);
    gate.terminate();
    board.receives(&[CLOSE, CLOSE].concat());
}
