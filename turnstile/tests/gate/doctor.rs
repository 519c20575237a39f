//! What the doctor says of a gate that is well, and of one that is not.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};

use serde_json::Value;
use stile_core::protocol::Code;

use crate::common::fake_server::Behaviour;
use crate::common::process::{Place, Scene, error_of, eventually, program, text_of};
use crate::common::pty::Pty;

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

/// What was said of each of several devices, and its grade, in order.
fn said_of(output: &Output, check: &str) -> Vec<(String, String)> {
    let lines = text_of(output);
    let findings = lines.lines().map(|line| {
        let finding: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| finding[name].as_str().unwrap().to_owned();
        (text("check"), (text("grade"), text("what")))
    });
    let of_check = findings.filter(|(name, _)| name == check);
    of_check.map(|(_, said)| said).collect()
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
        server["todo"].as_str().unwrap().contains("device list"),
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
    for check in ["scanner", "relay", "feedback", "input"] {
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

#[test]
fn each_lamp_the_panel_and_the_voice_are_given_both_signals_and_each_input_is_said() {
    let scene = Scene::new();
    let beside = |name: &str| scene.place.beside(name).display().to_string();
    let board = Pty::plug(&scene.place.beside("board"));
    let panel = Pty::plug(&scene.place.beside("panel"));
    fs::write(beside("sensor"), "0").unwrap();
    fs::write(beside("contact"), "1").unwrap();
    fs::create_dir_all(scene.place.beside("voice").join("en")).unwrap();
    let config = format!(
        "[feedback]\ngreen = \"lcus:{0},channel=3\"\nred = \"lcus:{0},channel=4\"\n\
         [feedback.text]\nport = \"{1}\"\nshown_ms = 500\n\
         [feedback.voice]\nplayer = [\"/bin/true\"]\nfolder = \"{2}\"\n\
         [inputs]\npassage = \"file:{3}\"\nemergency = \"file:{4}\"\n",
        beside("board"),
        beside("panel"),
        beside("voice"),
        beside("sensor"),
        beside("contact"),
    );
    configure(&scene.place, &config);
    let output = scene.place.call(&["doctor", "--yes", "--json"]);
    let said = said_of(&output, "feedback");
    let grades: Vec<_> = said.iter().map(|(grade, _)| grade.as_str()).collect();
    assert_eq!(grades, ["ok", "ok", "ok", "warn"], "{said:?}");
    assert!(said[0].1.starts_with("green lcus:"), "{said:?}");
    assert!(
        said[3].1.contains("has nothing to show"),
        "it has no clips: {said:?}"
    );
    let lamp = |channel: u8, level: u8| [0xA0, channel, level, 0xA0 + channel + level];
    // A lamp that has nothing to say of a signal is dark, as at the end.
    let green = [lamp(3, 1), lamp(3, 0), lamp(3, 0), lamp(3, 0)];
    let red = [lamp(4, 0), lamp(4, 1), lamp(4, 0), lamp(4, 0)];
    board.receives(&[green.concat(), red.concat()].concat());
    panel.receives("测试\r\n请出示门票码\r\n测试\r\n请出示门票码\r\n请出示门票码\r\n".as_bytes());
    let said = said_of(&output, "input");
    assert_eq!(said[0].0, "ok");
    assert!(said[0].1.contains(" is off;"), "{said:?}");
    assert_eq!(said[1].0, "warn");
    assert!(said[1].1.contains("the gate stands open"), "{said:?}");
}

#[test]
fn lamps_and_inputs_that_are_not_there_fail_with_what_to_do() {
    let scene = Scene::new();
    let nowhere = scene.place.beside("nowhere");
    configure(
        &scene.place,
        &format!(
            "[feedback]\nbuzzer = \"lcus:{0}\"\ngreen = \"command:{0}\"\n\
             [inputs]\npassage = \"file:{0}\"\n",
            nowhere.display()
        ),
    );
    let output = scene.place.call(&["doctor", "--yes", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    for (check, count) in [("feedback", 2), ("input", 1)] {
        let said = said_of(&output, check);
        assert_eq!(said.len(), count);
        for (grade, what) in said {
            assert_eq!(grade, "fail", "{what}");
            assert!(what.contains("/nowhere"), "{what}");
        }
    }
}

#[test]
fn somebody_who_walks_through_the_sensor_is_seen_and_no_lamp_is_lit_without_consent() {
    let scene = Scene::new();
    let (sensor, lamp) = (scene.place.beside("sensor"), scene.place.beside("lamp.log"));
    fs::write(&sensor, "0").unwrap();
    configure(
        &scene.place,
        &format!(
            "[feedback]\ngreen = \"log:{}\"\n[inputs]\npassage = \"file:{}\"\n",
            lamp.display(),
            sensor.display()
        ),
    );
    let mut doctor = program(&scene.place.data(), &["doctor"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    doctor.stdin.take().unwrap().write_all(b"no\n").unwrap();
    let mut text = String::new();
    for line in BufReader::new(doctor.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.contains("walk through its sensor") {
            assert!(line.contains(" is off; within 20 s"), "{line}");
            let aside = scene.place.beside("aside");
            fs::write(&aside, "1").unwrap();
            fs::rename(aside, &sensor).unwrap();
        }
        text.push_str(&line);
        text.push('\n');
    }
    assert!(doctor.wait().unwrap().success(), "{text}");
    assert!(text.contains("was off, and went on"), "{text}");
    assert!(text.contains("was given no signal"), "{text}");
    assert_eq!(fs::read_to_string(lamp).unwrap_or_default(), "");
}
