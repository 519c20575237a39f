//! Free passage by command: `stile-gate open` and `stile-gate shut` beside a running gate.

use std::os::unix::fs::PermissionsExt;

use crate::common::process::{Running, Scene, call, error_of, eventually, text_of};

#[test]
fn a_gate_that_staff_open_stands_open_until_they_shut_it_and_both_are_on_record() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    let opened = scene.place.call(&["open", "--reason", "fire drill"]);
    assert!(opened.status.success(), "{}", error_of(&opened));
    gate.event("held_open");
    gate.type_line(&scene.code(0));
    // Read after the code, and told: the code has been passed over.
    gate.type_line(&"x".repeat(5_000));
    gate.event("code_overlong");
    let shut = scene.place.call(&["shut"]);
    assert!(text_of(&shut).contains("judges each visitor again"));
    gate.event("let_go");
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    gate.terminate();
    let kinds = scene.place.record_kinds();
    assert_eq!(kinds, ["free_passage", "free_passage", "scan"]);
    let first = scene.place.all_records().remove(0);
    assert!(first.contains("fire drill"), "{first}");
    let expected = ["close", "open", "close", "open", "close", "close"];
    assert_eq!(scene.place.relay_moves(), expected);
}

#[test]
fn status_says_that_the_gate_stands_open_for_everybody() {
    let scene = Scene::new();
    let _gate = scene.place.run(&[]);
    let says = || text_of(&scene.place.call(&["status"])).contains("stands open for everybody, by");
    assert!(!says());
    let opened = scene.place.call(&["open", "--reason", "fire drill"]);
    assert!(opened.status.success(), "{}", error_of(&opened));
    eventually("status says so", says);
}

#[test]
fn free_passage_goes_on_after_a_crash() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    let opened = scene.place.call(&["open", "--reason", "delivery"]);
    assert!(opened.status.success(), "{}", error_of(&opened));
    gate.event("held_open");
    gate.kill();
    let mut gate = scene.place.run(&[]);
    gate.event("held_open");
    assert!(scene.place.call(&["shut"]).status.success());
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
}

#[test]
fn opening_needs_a_reason_and_a_gate_at_work() {
    let scene = Scene::new();
    let refused = scene.place.call(&["open", "--reason", "fire drill"]);
    assert!(error_of(&refused).contains("no gate is at work"));
    let _gate = scene.place.run(&[]);
    let refused = scene.place.call(&["open", "--reason", " "]);
    assert!(error_of(&refused).contains("needs a reason"));
    assert!(scene.place.record_kinds().is_empty());
}

#[test]
fn a_gate_in_a_folder_with_a_long_path_is_reached_all_the_same() {
    let scene = Scene::new();
    let data = scene.place.beside(&"long".repeat(40));
    std::fs::rename(scene.place.data(), &data).unwrap();
    let relay = scene.place.relay_flag();
    let mut gate = Running::start(&data, &["run", "--json", "--relay", &relay]);
    let opened = call(&data, &["open", "--reason", "fire drill"]);
    assert!(opened.status.success(), "{}", error_of(&opened));
    gate.event("held_open");
}

#[test]
fn nobody_but_the_gates_own_user_reaches_its_socket() {
    let scene = Scene::new();
    let _gate = scene.place.run(&[]);
    let socket = scene.place.data().join("control.sock");
    let mode = std::fs::metadata(socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
