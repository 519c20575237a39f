//! From an empty folder to a server that gates can be enrolled at: by flags, by questions, twice,
//! and after a failure.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::installed::{Installed, Said};

/// All that has no default, and no service: a test must not touch the machine.
const FLAGS: [&str; 11] = [
    "setup",
    "--yes",
    "--no-service",
    "--name",
    "localhost",
    "--address",
    "127.0.0.1",
    "--venue",
    "museum",
    "--time-zone",
    "Asia/Shanghai",
];

impl Installed {
    /// Sets up with a person who types these lines.
    fn told(&self, args: &[&str], lines: &str) -> Said {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Whoever needs no more answers closes its input.
        let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
        child.wait_with_output().unwrap().into()
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(args)).unwrap()
    }
}

#[tokio::test]
async fn by_flags_a_server_is_set_up_that_serves_and_enrols() {
    let installed = Installed::new();
    let said = installed.say(&FLAGS);
    assert!(said.succeeded, "{}", said.err);
    let key = said.out.trim_end();
    assert!(key.starts_with("stile_key_") && !said.err.contains(key));
    for told in [
        "master.key",
        "authority.pem",
        "Back it up",
        "TCP port 8470",
        "clock",
    ] {
        assert!(said.err.contains(told), "{told}: {}", said.err);
    }
    // The server starts as it was told to, and the enrolment as it was printed.
    assert!(
        said.err.contains("serve --listen 0.0.0.0:8470"),
        "{}",
        said.err
    );
    let line = said
        .err
        .lines()
        .find(|line| line.contains(" enrol "))
        .unwrap();
    let args: Vec<_> = line
        .split_whitespace()
        .skip_while(|word| *word != "enrol")
        .collect();
    let text = installed.run(&args);
    let pin = installed.json(&["tls", "show"])["ca_pin"].clone();
    assert!(text.starts_with("stile://enrol?server=https%3A%2F%2Flocalhost%3A8470&"));
    assert!(
        text.ends_with(&format!("&ca={}", pin.as_str().unwrap())),
        "{text}"
    );

    let serving = installed.serve(&[]);
    let request = installed.client().get(serving.url("/v1/gates"));
    let answer = request.bearer_auth(key).send().await.unwrap();
    let gates: Value = answer.json().await.unwrap();
    assert_eq!(gates["gates"][0]["gate_id"], "entrance");
    // Each thing that was made is in the audit log.
    let audit = installed.run(&["audit"]);
    for act in ["venue.add", "gate.put", "api_key.make"] {
        assert!(audit.contains(act), "{audit}");
    }
}

#[test]
fn run_again_it_changes_nothing_and_says_so_also_beside_the_running_server() {
    let installed = Installed::new();
    assert!(installed.say(&FLAGS).succeeded);
    let files = [
        "master.key",
        "tls/server.pem",
        "tls/ca.pem",
        "tls-ca/authority.pem",
    ];
    let state = || {
        let read = |file: &&str| fs::read(installed.data().join(file)).unwrap();
        let told = [&["venue", "show"][..], &["key", "list"], &["audit"]];
        let told = told.map(|args| installed.run(args));
        (files.iter().map(read).collect::<Vec<_>>(), told)
    };
    let before = state();
    let _serving = installed.serve(&[]);
    let again = installed.say(&FLAGS);
    assert!(again.succeeded, "{}", again.err);
    assert_eq!(again.out, "", "no second key");
    for stays in [
        "database",
        "certificate",
        "venue museum",
        "gate entrance",
        "API key",
    ] {
        let line = again.err.lines().find(|line| line.contains(stays)).unwrap();
        assert!(line.contains("stays"), "{line}");
    }
    assert!(!again.err.contains("was made"), "{}", again.err);
    assert_eq!(state(), before);
}

#[test]
fn after_a_failure_midway_it_goes_on_from_where_it_was() {
    let installed = Installed::new();
    fs::create_dir(installed.data()).unwrap();
    // Where the CA belongs something else is in the way.
    let in_the_way = installed.data().join("tls-ca");
    fs::write(&in_the_way, "").unwrap();
    let said = installed.refused(&FLAGS);
    assert!(said.contains("tls-ca"), "{said}");
    let master_key = fs::read(installed.data().join("master.key")).unwrap();
    fs::remove_file(&in_the_way).unwrap();
    // And then where the certificate belongs.
    fs::write(installed.data().join("tls"), "").unwrap();
    installed.refused(&FLAGS);
    let authority = fs::read(installed.authority()).unwrap();
    fs::remove_file(installed.data().join("tls")).unwrap();
    // And then the venue cannot have that name.
    let name = "x".repeat(2_000);
    let said = installed.refused(&[&FLAGS[..], &["--venue-name", &name]].concat());
    assert!(said.contains("name"), "{said}");
    let said = installed.say(&FLAGS);
    assert!(said.succeeded, "{}", said.err);
    assert!(said.out.starts_with("stile_key_"));
    assert_eq!(
        fs::read(installed.data().join("master.key")).unwrap(),
        master_key
    );
    assert_eq!(fs::read(installed.authority()).unwrap(), authority);
}

#[test]
fn what_is_there_by_other_commands_is_taken_and_completed() {
    let installed = Installed::new();
    installed.add_venue();
    let keys = installed.run(&["key", "list"]);
    let said = installed.say(&[&FLAGS[..], &["--gate", "south"]].concat());
    assert!(said.succeeded && said.out.is_empty(), "{}", said.err);
    assert!(said.err.contains("The venue museum stays."));
    assert!(said.err.contains("The gate south was made"));
    assert_eq!(installed.run(&["key", "list"]), keys);
    let id = installed.json(&["key", "list"])[0]["id"].to_string();
    installed.run(&["key", "revoke", &id]);
    let said = installed.say(&FLAGS);
    assert!(
        said.out.starts_with("stile_key_"),
        "a revoked key is none: {}",
        said.err
    );
}

#[test]
fn a_person_is_asked_and_asked_again_for_what_makes_no_sense() {
    let installed = Installed::new();
    let lines = "博物馆\nmuseum.lan, www.museum.lan\nsomewhere\n192.168.1.5\n0\n8443\nMuseum\n\
                 museum\nThe Museum\nMars/Olympus\nAsia/Shanghai\nnorth\n";
    let said = installed.told(&["setup", "--no-service"], lines);
    assert!(said.succeeded, "{}", said.err);
    for again in [
        "no DNS name",
        "no address",
        "1 to 65535",
        "a-z, 0-9 and -",
        "no IANA time zone",
    ] {
        assert!(said.err.contains(again), "{again}: {}", said.err);
    }
    let names = installed.json(&["tls", "show"])["names"].clone();
    let expected = ["museum.lan", "www.museum.lan", "192.168.1.5"];
    assert_eq!(names, serde_json::json!(expected));
    let venue = installed.json(&["venue", "show", "museum"]);
    assert_eq!(venue["name"], "The Museum");
    assert!(
        said.err
            .contains("--gate north --server https://museum.lan:8443"),
        "{}",
        said.err
    );
}

#[test]
fn what_nobody_answers_is_named_by_its_flag_and_nothing_is_made() {
    let installed = Installed::new();
    let address = ["setup", "--no-service", "--address", "10.0.0.5"];
    let without = |rest: &[&str]| installed.refused(&[&address[..], rest].concat());
    assert!(without(&["--yes"]).contains("--venue"));
    assert!(without(&[]).contains("--port"));
    let zone = ["--yes", "--venue", "museum", "--time-zone", "Mars/Olympus"];
    assert!(without(&zone).contains("--time-zone"));
    let name = [
        "setup",
        "--yes",
        "--no-service",
        "--venue",
        "museum",
        "--name",
        "a b",
    ];
    assert!(installed.refused(&name).contains("DNS name"));
    assert!(!installed.data().exists());
}
