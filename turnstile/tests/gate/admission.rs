//! From a line on the scanner to an answer.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;
use stile_turnstile::scanner::MAX_CONNECTIONS;

use crate::common::process::{Running, Scene};

#[test]
fn a_good_code_is_admitted_once_and_the_relay_moves_once() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&["--gate", "arm-1"]);
    let admitted = gate.scan(&scene.code(0));
    assert_eq!(admitted["verdict"], "admit");
    assert_eq!(admitted["opens"], true);
    assert_eq!(admitted["format"], "G2");
    assert_eq!(admitted["persons"], 1);
    assert_eq!(admitted["holder_mask"], "*三");
    assert_eq!(admitted["last_four"], "5678");
    assert_eq!(
        admitted["sentence"],
        json!({"zh-CN": "请通行。", "en": "Please pass."})
    );
    assert!(admitted["line_to_relay_us"].is_u64(), "{admitted}");
    assert!(admitted["decision_us"].is_u64(), "{admitted}");
    let repeated = gate.scan(&scene.code(0));
    assert_eq!(repeated["repeat"], true);
    assert_eq!(repeated["opens"], false);
    assert_eq!(repeated["record_id"], json!(null));
    gate.terminate();
    assert_eq!(scene.place.opens(), 1);
}

#[test]
fn a_refusal_says_why_in_both_languages_and_no_relay_moves() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    let refused = gate.scan("no ticket at all");
    assert_eq!(refused["verdict"], "refuse");
    assert_eq!(refused["reason"], "malformed");
    assert_eq!(refused["format"], json!(null));
    assert_eq!(refused["line_to_relay_us"], json!(null));
    assert!(refused["record_id"].is_string(), "{refused}");
    assert_eq!(refused["sentence"]["zh-CN"], "这不是门票码。");
    assert_eq!(refused["sentence"]["en"], "This is not a ticket code.");
    gate.terminate();
    assert_eq!(scene.place.opens(), 0);
}

#[test]
fn lines_cut_joined_and_overlong_are_read_as_what_they_are() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    let (first, second) = (scene.code(1), scene.code(2));
    gate.type_line(&"x".repeat(5_000));
    gate.type_line(&format!("{first}\r\n\r\n{second}"));
    assert_eq!(gate.verdict()["verdict"], "admit");
    assert_eq!(gate.verdict()["verdict"], "admit");
    assert_eq!(gate.event("code_overlong")["scanner"], "stdin");
    gate.end_of_input();
    assert!(gate.wait().success());
    assert_eq!(scene.place.all_records().len(), 2);
}

#[test]
fn a_last_line_without_its_end_is_still_a_code() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    gate.type_text(&scene.code(3));
    gate.end_of_input();
    assert_eq!(gate.verdict()["verdict"], "admit");
    assert!(gate.wait().success());
}

#[test]
fn several_tcp_scanners_serve_one_gate_and_the_ready_line_names_the_port() {
    let scene = Scene::new();
    let relay = scene.place.relay_flag();
    let arguments = [
        "run",
        "--json",
        "--relay",
        &relay,
        "--scanner",
        "tcp:127.0.0.1:0",
        "--scanner",
        "tcp:127.0.0.1:0",
        "--hold-ms",
        "5",
    ];
    let (mut gate, ready) = Running::start_and_see(&scene.place.data(), &arguments);
    assert_eq!(ready["gate_id"], "east");
    for (n, scanner) in ready["scanners"].as_array().unwrap().iter().enumerate() {
        let address = scanner.as_str().unwrap().strip_prefix("tcp:").unwrap();
        let mut line = TcpStream::connect(address).unwrap();
        for piece in scene.code(n).as_bytes().chunks(40) {
            line.write_all(piece).unwrap();
            line.flush().unwrap();
        }
        line.write_all(b"\r").unwrap();
        assert_eq!(gate.verdict()["verdict"], "admit");
    }
    assert!(gate.terminate().success());
}

#[test]
fn half_a_code_on_a_tcp_line_is_counted_and_the_next_visitor_is_read() {
    let scene = Scene::new();
    let relay = scene.place.relay_flag();
    let arguments = ["run", "--json", "--relay", &relay, "--hold-ms", "5"];
    let arguments = [&arguments[..], &["--scanner", "tcp:127.0.0.1:0"]].concat();
    let (mut gate, ready) = Running::start_and_see(&scene.place.data(), &arguments);
    let address = ready["scanners"][0].as_str().unwrap();
    let address = address.strip_prefix("tcp:").unwrap();
    let mut line = TcpStream::connect(address).unwrap();
    line.write_all(&scene.code(0).as_bytes()[..70]).unwrap();
    gate.event("code_broken");
    line.write_all(format!("{}\n", scene.code(1)).as_bytes())
        .unwrap();
    assert_eq!(gate.verdict()["verdict"], "admit");
    // One that hangs up in the middle of a code.
    line.write_all(&scene.code(2).as_bytes()[..70]).unwrap();
    drop(line);
    gate.event("code_broken");
    assert!(gate.terminate().success());
    assert_eq!(scene.place.all_records().len(), 1);
}

#[test]
fn one_scanner_more_than_may_connect_is_turned_away_and_that_is_told_once() {
    let scene = Scene::new();
    let arguments = ["run", "--json", "--scanner", "tcp:127.0.0.1:0"];
    let (mut gate, ready) = Running::start_and_see(&scene.place.data(), &arguments);
    let address = ready["scanners"][0].as_str().unwrap();
    let connect = || TcpStream::connect(address.strip_prefix("tcp:").unwrap()).unwrap();
    let mut lines: Vec<_> = (0..MAX_CONNECTIONS).map(|_| connect()).collect();
    let turned_away: Vec<_> = (0..3).map(|_| connect()).collect();
    assert_eq!(gate.event("scanners_too_many")["most"], MAX_CONNECTIONS);
    for mut away in turned_away {
        // Closed, whether in order or by a reset.
        assert_eq!(away.read(&mut [0; 1]).unwrap_or(0), 0);
    }
    lines[0]
        .write_all(format!("{}\r", scene.code(0)).as_bytes())
        .unwrap();
    assert_eq!(gate.verdict()["verdict"], "admit");
    assert!(gate.terminate().success());
}

#[test]
fn readable_lines_come_in_the_language_that_is_asked_for() {
    let scene = Scene::new();
    for (language, words) in [
        ("zh-CN", "这不是门票码。"),
        ("en", "This is not a ticket code."),
    ] {
        let codes = scene.place.beside("codes");
        fs::write(&codes, "no code\n").unwrap();
        let output = scene
            .place
            .call_with_input(&["run", "--language", language], &codes);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains(words) && text.contains("[malformed]"),
            "{text}"
        );
        let log = String::from_utf8(output.stderr).unwrap();
        assert!(log.contains("ready: gate east"), "{log}");
    }
}

#[test]
fn nobody_reading_the_output_does_not_stop_the_gate() {
    let scene = Scene::new();
    let codes = scene.place.beside("codes");
    let lines: Vec<_> = (0..10).map(|n| scene.code(n)).collect();
    fs::write(&codes, lines.join("\n")).unwrap();
    let status = scene.place.run_deaf(&codes);
    assert!(status.success());
    assert_eq!(scene.place.opens(), 10);
}

#[test]
fn a_party_passes_one_by_one_at_a_turnstile() {
    let mut venue = crate::common::venue::Venue::new();
    venue.sessions[0].name = "上午场".into();
    let scene = Scene::of(venue);
    let mut party = scene.tickets.clone();
    party[0].admits = 2;
    scene.server.put_list(2, &party);
    let mut gate = scene.place.run(&["--gate", "arm-1"]);
    gate.next(|line| line["event"] == "list_applied");
    let code = scene.server.books.venue.g2(&party[0], scene.server.now_s());
    let first = gate.scan(&code);
    assert_eq!(
        (&first["verdict"], &first["remaining"]),
        (&json!("admit"), &json!(1))
    );
    assert_eq!(first["sentence"]["en"], "Please pass; 1 more may enter.");
    // The next person's turn comes when the gate has closed behind the first.
    crate::common::process::eventually("the gate closes", || {
        scene
            .place
            .relay_moves()
            .ends_with(&["open".into(), "close".into()])
    });
    let second = gate.scan(&code);
    assert_eq!(
        (&second["verdict"], &second["repeat"]),
        (&json!("admit"), &json!(false))
    );
    gate.terminate();
    assert_eq!(scene.place.opens(), 2);
}
