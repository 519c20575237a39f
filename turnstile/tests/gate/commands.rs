//! The commands beside `run`, and how each fails.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;
use stile_core::policy::Isolation;
use stile_core::protocol::Code;

use crate::common::fake_server::{Behaviour, FakeServer, Word};
use crate::common::process::{Place, Scene, call, error_of, eventually, program, text_of};
use crate::common::venue::{NINE, Venue};

fn code_of(output: &std::process::Output) -> i32 {
    output.status.code().unwrap()
}

#[test]
fn enrolment_makes_a_private_folder_and_says_what_it_holds() {
    use std::os::unix::fs::PermissionsExt;
    let server = FakeServer::start(Venue::new());
    server.put_list(1, &[server.books.venue.ticket("A1")]);
    let place = Place::default();
    let output = place.call(&["enrol", &server.enrolment_text(), "--gate", "arm-1"]);
    assert!(output.status.success(), "{}", error_of(&output));
    let text = text_of(&output);
    assert!(
        text.contains("device pda-1 of venue museum-01, gate arm-1"),
        "{text}"
    );
    assert!(text.contains("list of 2026-10-01: 1 tickets"), "{text}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.data()), 0o700);
    assert_eq!(mode(&place.data().join("identity.json")), 0o600);
    let (gate, ready) = crate::common::process::Running::start_and_see(
        &place.data(),
        &["run", "--json", "--relay", &place.relay_flag()],
    );
    assert_eq!(ready["gate_id"], "arm-1", "the gate chosen at enrolment");
    gate.terminate();
}

#[test]
fn situation_29_a_second_enrolment_of_a_folder_is_refused_before_it_costs_a_token() {
    let scene = Scene::new();
    let before = scene.server.requests();
    let output = scene.place.call(&["enrol", &scene.server.enrolment_text()]);
    assert_eq!(code_of(&output), 1);
    assert!(error_of(&output).contains("enrolled already"));
    assert_eq!(scene.server.requests(), before);
}

#[test]
fn enrolment_says_what_is_wrong() {
    let server = FakeServer::start(Venue::new());
    let good = server.enrolment_text();
    let cases = [
        ("ORD-77", "east", 2, "not an enrolment text"),
        (&good[..40], "east", 2, "lacks a good"),
        (
            &good.replace("token-of", "other"),
            "east",
            1,
            "make a new enrolment text",
        ),
    ];
    for (text, gate, code, message) in cases {
        let place = Place::default();
        let output = place.call(&["enrol", text, "--gate", gate]);
        assert_eq!(code_of(&output), code, "{}", error_of(&output));
        assert!(error_of(&output).contains(message), "{}", error_of(&output));
        assert!(!place.data().join("identity.json").exists());
    }
}

#[test]
fn a_gate_that_the_enrolment_is_not_for_is_said_with_the_device_that_is_there_now() {
    let server = FakeServer::start(Venue::new());
    let place = Place::default();
    let text = server.enrolment_text();
    let output = place.call(&["enrol", &text, "--gate", "north"]);
    assert_eq!(code_of(&output), 2);
    for said in ["pda-1", "east, arm-1", "device revoke pda-1"] {
        assert!(error_of(&output).contains(said), "{}", error_of(&output));
    }
    // The server has it: sessions would wait for a device that nobody kept.
    assert!(place.data().join("identity.json").exists());
}

#[test]
fn enrolment_at_the_wrong_server_or_behind_a_captive_portal_saves_nothing() {
    let server = FakeServer::start(Venue::new());
    let place = Place::default();
    let fingerprint = server.books.venue.enrolment_text().root_fingerprint;
    let foreign = server
        .enrolment_text()
        .replace(&fingerprint, &"ab".repeat(32));
    let output = place.call(&["enrol", &foreign]);
    assert!(
        error_of(&output).contains("wrong server?"),
        "{}",
        error_of(&output)
    );
    server.behave(Behaviour::Page(200));
    let output = place.call(&["enrol", &server.enrolment_text()]);
    assert!(
        error_of(&output).contains("no Stile server"),
        "{}",
        error_of(&output)
    );
    let away = server.away();
    let output = place.call(&["enrol", &foreign]);
    assert!(
        error_of(&output).contains("reachable from here?"),
        "{}",
        error_of(&output)
    );
    assert!(!place.data().join("identity.json").exists());
    drop(away);
}

/// An enrolment that waits for the operator, whose digits are on its screen.
fn waiting(server: &FakeServer, place: &Place) -> Child {
    server.say(Word::Awaited);
    let mut command = program(&place.data(), &["enrol", &server.enrolment_text()]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let told = lines.find_map(|line| {
        line.unwrap()
            .split_once("device confirm abcdefg7 ")
            .map(|(_, digits)| digits.to_owned())
    });
    assert_eq!(told, Some(server.digits().to_string()));
    child
}

#[test]
fn a_device_shows_its_digits_and_goes_on_once_they_are_confirmed() {
    let server = FakeServer::start(Venue::new());
    let place = Place::default();
    let mut child = waiting(&server, &place);
    assert!(child.try_wait().unwrap().is_none());
    assert!(!place.data().join("identity.json").exists());
    // A server that is away or busy meanwhile, and a proxy that says so, change nothing.
    for behaviour in [
        Behaviour::Problem(Code::StoreUnavailable),
        Behaviour::Page(502),
    ] {
        let before = server.requests();
        server.behave(behaviour);
        eventually("it asks again", || server.requests() > before);
    }
    server.behave(Behaviour::Right);
    server.say(Word::NotWanted);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", error_of(&output));
    assert!(place.data().join("identity.json").exists());
}

#[test]
fn a_device_that_the_operator_refuses_says_so_and_keeps_nothing() {
    let server = FakeServer::start(Venue::new());
    for why in [
        "an operator has refused this device",
        "this enrolment code is over",
    ] {
        let place = Place::default();
        server.forget_device();
        let child = waiting(&server, &place);
        server.say(Word::Refused(why));
        let output = child.wait_with_output().unwrap();
        assert_eq!(code_of(&output), 1);
        assert!(error_of(&output).contains(why), "{}", error_of(&output));
        assert!(!place.data().join("identity.json").exists());
    }
}

#[test]
fn an_enrolment_without_lists_yet_is_an_enrolment() {
    let server = FakeServer::start(Venue::new());
    let place = Place::default();
    let output = place.call(&["enrol", &server.enrolment_text()]);
    assert!(output.status.success(), "{}", error_of(&output));
    assert!(text_of(&output).contains("no list yet"));
}

#[test]
fn commands_in_a_folder_that_is_not_enrolled_say_so_with_code_3() {
    let place = Place::default();
    for arguments in [&["run"][..], &["status"], &["explain", "X"]] {
        let output = place.call(arguments);
        assert_eq!(code_of(&output), 3, "{arguments:?}");
        assert!(error_of(&output).contains("run `stile-gate enrol`"));
    }
}

#[test]
fn wrong_usage_and_wrong_configuration_have_code_2_and_name_the_fault() {
    let scene = Scene::new();
    let output = scene.place.call(&["run", "--scanner", "usb"]);
    assert_eq!(code_of(&output), 2);
    assert!(
        error_of(&output).contains("tcp:ADDRESS:PORT"),
        "{}",
        error_of(&output)
    );
    let output = scene.place.call(&["run", "--gate", "north"]);
    assert_eq!(code_of(&output), 2);
    assert!(
        error_of(&output).contains(
            "gate north is none that this device was enrolled for; name one of east, arm-1"
        )
    );
    let config = scene.place.beside("my.toml");
    fs::write(&config, "gate = \"east\"\nholdms = 5\n").unwrap();
    let output = scene
        .place
        .call(&["run", "--config", config.to_str().unwrap()]);
    assert_eq!(code_of(&output), 2);
    let message = error_of(&output);
    assert!(
        message.contains("line 2") && message.contains("holdms"),
        "{message}"
    );
}

#[test]
fn situation_18_a_second_controller_is_refused_with_code_4_and_leaves_the_relay_alone() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    let output = scene
        .place
        .call(&["run", "--relay", &scene.place.relay_flag()]);
    assert_eq!(code_of(&output), 4);
    assert!(error_of(&output).contains("in use by another controller"));
    assert_eq!(scene.place.relay_moves(), ["close"]);
    assert_eq!(gate.scan(&scene.code(0))["verdict"], "admit");
    gate.terminate();
}

#[test]
fn a_port_in_use_is_named() {
    let scene = Scene::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let scanner = format!("tcp:{}", taken.local_addr().unwrap());
    let output = scene.place.call(&["run", "--scanner", &scanner]);
    assert_eq!(code_of(&output), 1);
    assert!(
        error_of(&output).contains(&scanner),
        "{}",
        error_of(&output)
    );
}

#[test]
fn status_counts_the_same_beside_a_controller_and_without_one() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    gate.scan(&scene.code(0));
    gate.scan("no code");
    eventually("uploaded", || scene.server.records().len() == 2);
    let status = |place: &Place| -> Value {
        let output = place.call(&["status", "--json"]);
        assert!(output.status.success(), "{}", error_of(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    eventually("the controller has written", || {
        let status = status(&scene.place);
        status["running"] == true && status["online"] == true && status["synced"] == 2
    });
    let beside = status(&scene.place);
    assert_eq!(beside["records"], 2);
    assert_eq!(beside["unsent"], 0);
    assert_eq!(beside["gate_id"], "east");
    assert_eq!(beside["lists"][0]["tickets"], 10);
    assert!(beside["age_ms"].is_i64());
    assert!(gate.terminate().success());
    let away = scene.server.away();
    assert_eq!(status(&scene.place)["running"], false);
    let alone = status(&scene.place);
    assert_eq!(
        (&alone["records"], &alone["synced"]),
        (&beside["records"], &beside["synced"])
    );
    assert_eq!(alone["lists"], beside["lists"]);
    let text = text_of(&scene.place.call(&["status"]));
    assert!(
        text.contains("records 2: 2 on the server, 0 wait"),
        "{text}"
    );
    assert!(text.contains("no controller running"), "{text}");
    drop(away);
}

#[test]
fn a_controller_that_was_killed_is_soon_not_called_running() {
    let scene = Scene::new();
    let gate = scene.place.run(&[]);
    let says = |words: &str| text_of(&scene.place.call(&["status"])).contains(words);
    eventually("it runs", || says("controller running"));
    gate.kill();
    eventually("its word grows old", || {
        says("the last one was ended or hangs")
    });
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let named = entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path()));
    // SQLite's own index over its log, and the controller's word of every second.
    // Its socket holds nothing.
    let kept = named.filter(|(name, path)| {
        path.is_file()
            && !name.ends_with("-shm")
            && !name.ends_with("-wal")
            && !name.starts_with("status.json")
    });
    kept.map(|(name, path)| (name, fs::read(path).unwrap()))
        .collect()
}

#[test]
fn explain_says_what_a_strict_gate_at_work_would_say_and_what_one_alone() {
    let mut venue = Venue::new();
    venue.policy.staffed.isolation = Isolation::Strict;
    let scene = Scene::of(venue);
    let mut gate = scene.place.run(&[]);
    gate.event("online");
    let explained = || text_of(&scene.place.call(&["explain", &scene.code(0)]));
    eventually("it is known beside the gate", || {
        explained().contains("verdict  admit 1")
    });
    gate.terminate();
    assert!(explained().contains("verdict  refuse: isolated"));
}

#[test]
fn explain_names_each_row_and_changes_nothing_beside_a_controller_or_alone() {
    let scene = Scene::new();
    let mut gate = scene.place.run(&[]);
    gate.scan(&scene.code(0));
    eventually("uploaded", || scene.server.records().len() == 1);
    let records = scene.place.all_records();
    let before = files(&scene.place.data());
    let used = text_of(&scene.place.call(&["explain", &scene.code(0)]));
    assert!(used.contains("refused: already_used"), "{used}");
    assert!(used.contains("Used at 09:00 at east."), "{used}");
    let good = text_of(&scene.place.call(&["explain", &scene.code(1)]));
    assert!(good.contains("verdict  admit 1"), "{good}");
    assert!(good.contains("row 17   too_early, too_late"), "{good}");
    let early = (NINE - 3600).to_string();
    let output = scene
        .place
        .call(&["explain", "--at", &early, &scene.code(1)]);
    assert!(
        text_of(&output).contains("code_not_yet_valid"),
        "{}",
        text_of(&output)
    );
    assert_eq!(files(&scene.place.data()), before);
    assert_eq!(scene.place.all_records(), records);
    // And the ticket that was asked about is still good.
    assert_eq!(gate.scan(&scene.code(1))["verdict"], "admit");
    gate.terminate();
    let before = files(&scene.place.data());
    let alone = text_of(&scene.place.call(&["explain", "-no-code-"]));
    assert!(alone.contains("verdict  refuse: malformed"), "{alone}");
    assert_eq!(files(&scene.place.data()), before);
}

#[test]
fn export_equals_the_journal_beside_a_controller_and_alone() {
    let scene = Scene::new();
    scene
        .server
        .behave(Behaviour::Problem(Code::StoreUnavailable));
    let mut gate = scene.place.run(&[]);
    for n in 0..4 {
        gate.scan(&scene.code(n));
    }
    gate.scan("no code");
    let lines = |output: &std::process::Output| -> Vec<String> {
        text_of(output).lines().map(str::to_owned).collect()
    };
    let beside = lines(&scene.place.call(&["export"]));
    assert_eq!(beside, scene.place.unsent());
    assert_eq!(beside.len(), 5);
    gate.kill();
    let file = scene.place.beside("unsent.ndjson");
    let output = scene
        .place
        .call(&["export", "--out", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", error_of(&output));
    assert!(
        error_of(&output).starts_with("5 records"),
        "{}",
        error_of(&output)
    );
    let written = fs::read_to_string(&file).unwrap();
    assert_eq!(written.lines().collect::<Vec<_>>(), beside);
    let again = scene
        .place
        .call(&["export", "--out", file.to_str().unwrap()]);
    assert_eq!(code_of(&again), 5, "never over another export");
    assert_eq!(fs::read_to_string(&file).unwrap(), written);
}

#[test]
fn a_folder_without_a_journal_exports_an_error_and_not_an_empty_file() {
    let place = Place::default();
    fs::create_dir(place.data()).unwrap();
    let out = place.beside("out");
    let output = call(&place.data(), &["export", "--out", out.to_str().unwrap()]);
    assert_eq!(code_of(&output), 5);
    assert!(!out.exists());
}
