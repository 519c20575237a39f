//! What the doctor says of a gate that is well, and of one that is not.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use serde_json::Value;
use stile_core::protocol::Code;

use crate::common::fake_server::Behaviour;
use crate::common::process::{Place, Scene, error_of, eventually, text_of};

/// The findings of one call, by what was looked at.
fn findings(output: &Output) -> BTreeMap<String, Value> {
    let lines = text_of(output);
    let findings = lines.lines().map(|line| {
        let finding: Value = serde_json::from_str(line).unwrap();
        (finding["check"].as_str().unwrap().to_owned(), finding)
    });
    findings.collect()
}

fn grade(findings: &BTreeMap<String, Value>, check: &str) -> String {
    findings[check]["grade"].as_str().unwrap().to_owned()
}

fn configure(place: &Place, text: &str) {
    fs::write(place.data().join("stile-gate.toml"), text).unwrap();
}

#[test]
fn a_gate_that_is_well_is_found_well_and_its_relay_clicks_once() {
    let scene = Scene::new();
    let (program, log) = (scene.place.beside("relay.sh"), scene.place.beside("moves"));
    fs::write(
        &program,
        format!("#!/bin/sh\necho $1 >> {}\n", log.display()),
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    configure(
        &scene.place,
        &format!(
            "scanners = [\"tcp:127.0.0.1:0\"]\n[relay]\ndriver = \"command:{}\"\nhold_ms = 1\n",
            program.display()
        ),
    );
    let output = scene.place.call(&["doctor", "--yes", "--json"]);
    assert!(
        output.status.success(),
        "{}{}",
        text_of(&output),
        error_of(&output)
    );
    let found = findings(&output);
    for check in ["server", "scanner", "relay"] {
        assert_eq!(grade(&found, check), "ok", "{found:?}");
    }
    assert_ne!(grade(&found, "storage"), "left_out");
    assert_eq!(grade(&found, "tls"), "warn", "the tests' server has none");
    assert_eq!(
        grade(&found, "clock"),
        "warn",
        "the tests' server has its own day"
    );
    assert_eq!(fs::read_to_string(log).unwrap(), "open\nclose\n");
}

#[test]
fn the_relay_is_left_alone_without_consent() {
    let scene = Scene::new();
    configure(&scene.place, "[relay]\ndriver = \"command:/bin/false\"\n");
    let answer = scene.place.beside("answer");
    fs::write(&answer, "no\n").unwrap();
    let output = scene.place.call_with_input(&["doctor"], &answer);
    let text = text_of(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("was not moved"), "{text}");
    let output = scene.place.call(&["doctor", "--yes"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text_of(&output).contains("FAIL relay"),
        "{}",
        text_of(&output)
    );
}

#[test]
fn a_server_that_is_away_or_does_not_know_the_device_is_said_with_what_to_do() {
    let scene = Scene::new();
    scene.server.behave(Behaviour::Problem(Code::Unauthorized));
    let output = scene.place.call(&["doctor", "--yes", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let server = &findings(&output)["server"];
    assert_eq!(server["grade"], "fail");
    assert!(
        server["todo"].as_str().unwrap().contains("still enrolled"),
        "{server}"
    );
    scene.server.behave(Behaviour::Page(200));
    let found = findings(&scene.place.call(&["doctor", "--yes", "--json"]));
    assert!(
        found["server"]["what"]
            .as_str()
            .unwrap()
            .contains("no Stile server")
    );
    let away = scene.server.away();
    let found = findings(&scene.place.call(&["doctor", "--yes", "--json"]));
    assert_eq!(grade(&found, "server"), "fail");
    drop(away);
}

#[test]
fn beside_a_controller_it_says_what_it_leaves_out() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    eventually("the controller has written", || {
        scene.place.data().join("status.json").exists()
    });
    let output = scene.place.call(&["doctor", "--yes", "--json"]);
    let found = findings(&output);
    for check in ["scanner", "relay"] {
        assert_eq!(grade(&found, check), "left_out");
    }
    assert_eq!(grade(&found, "server"), "ok");
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    gate.terminate();
}

#[test]
fn a_folder_of_no_device_is_sent_to_setup() {
    let place = Place::default();
    fs::create_dir(place.data()).unwrap();
    let output = place.call(&["doctor", "--yes", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let found = findings(&output);
    assert!(
        found["enrolment"]["todo"]
            .as_str()
            .unwrap()
            .contains("setup")
    );
}
