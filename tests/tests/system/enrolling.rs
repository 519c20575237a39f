//! Two programs and two people: the gate shows six digits, the operator types them at the server,
//! and only then is the gate one of the venue's.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use stile_tests::gate::GATE;
use stile_tests::museum::{TIME_ZONE, VENUE};
use stile_tests::programs::program;
use stile_tests::server::Server;
use tempfile::TempDir;

fn site() -> (Server, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::new(&folder.path().join("server"));
    server.add_venue(VENUE, "M", TIME_ZONE, &[]).unwrap();
    server.command(&["gate", "add", "north"]).unwrap();
    server.start().unwrap();
    (server, folder)
}

/// A gate that enrols, and the command that its screen asks for.
fn waiting(server: &Server, data: &Path) -> (Child, Vec<String>) {
    let invite = ["enrol", "--gate", "north", "--server", &server.url()];
    let text = server.command(&invite).unwrap();
    let mut child = Command::new(program(GATE).unwrap())
        .args(["--data", &data.to_string_lossy(), "enrol", &text])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let mut lines = lines.map(|line| line.unwrap());
    let asked = lines.find(|line| line.contains("device confirm")).unwrap();
    let words = asked.split_whitespace().skip(1).map(str::to_owned);
    (child, words.collect())
}

fn say(server: &Server, words: &[String]) -> anyhow::Result<String> {
    server.command(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_gate_is_enrolled_once_the_operator_has_typed_what_it_shows() {
    let (server, folder) = site();
    let data = folder.path().join("gate");
    let (mut gate, asked) = waiting(&server, &data);
    let seen = server.command(&["device", "waiting"]).unwrap();
    assert!(seen.contains(r#""state":"waiting""#), "{seen}");
    // Of another device, or misread.
    let mut wrong = asked.clone();
    let last = wrong.last_mut().unwrap();
    *last = if last == "999" { "998" } else { "999" }.to_owned();
    let refused = say(&server, &wrong).unwrap_err().to_string();
    assert!(refused.contains("tries left: 4"), "{refused}");
    assert!(gate.try_wait().unwrap().is_none(), "it still waits");
    say(&server, &asked).unwrap();
    assert!(gate.wait().unwrap().success());
    assert!(data.join("identity.json").exists());
    assert_eq!(server.command(&["device", "waiting"]).unwrap(), "");
    let devices = server.command(&["device", "list"]).unwrap();
    assert_eq!(devices.lines().count(), 1, "{devices}");
}

#[test]
fn a_gate_that_the_operator_refuses_says_so_and_is_none() {
    let (server, folder) = site();
    let data = folder.path().join("gate");
    let (mut gate, asked) = waiting(&server, &data);
    server.command(&["device", "refuse", &asked[2]]).unwrap();
    assert!(!gate.wait().unwrap().success());
    let mut said = String::new();
    gate.stderr.unwrap().read_to_string(&mut said).unwrap();
    assert!(
        said.contains("an operator has refused this device"),
        "{said}"
    );
    assert!(!data.join("identity.json").exists());
    assert_eq!(server.command(&["device", "list"]).unwrap(), "");
}
