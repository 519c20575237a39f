//! From an empty board to a gate that admits, by questions or by flags.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Output, Stdio};

use crate::common::fake_server::FakeServer;
use crate::common::process::{Place, Running, error_of, eventually, program, text_of};
use crate::common::venue::Venue;

fn server() -> FakeServer {
    let server = FakeServer::start(Venue::new());
    let tickets: Vec<_> = (0..3)
        .map(|n| server.books.venue.ticket(&format!("A{n}")))
        .collect();
    server.put_list(1, &tickets);
    server
}

fn code(server: &FakeServer, ticket: usize) -> String {
    let venue = &server.books.venue;
    venue.g2(&venue.ticket(&format!("A{ticket}")), server.now_s())
}

fn begin(place: &Place, arguments: &[&str]) -> Child {
    let mut command = program(&place.data(), &[&["setup"], arguments].concat());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Answers the questions, one line each, and waits for the end.
fn answered(place: &Place, arguments: &[&str], answers: &str) -> Output {
    let mut child = begin(place, arguments);
    let mut questions = child.stdin.take().unwrap();
    // One that ends early leaves the rest unread.
    let _ = questions.write_all(answers.as_bytes());
    drop(questions);
    child.wait_with_output().unwrap()
}

fn configuration(place: &Place) -> String {
    fs::read_to_string(place.data().join("stile-gate.toml")).unwrap()
}

#[test]
fn a_few_questions_make_an_empty_board_a_gate_that_admits() {
    let (server, place) = (server(), Place::default());
    let relay = place.relay_flag();
    // Scanner, enrolment, gate, relay, hold, language. Two answers make no sense at first.
    let answers = format!(
        "laser\nstdin\nORD-77\n{}\narm-1\n{relay}\n5\nfrench\nen\n",
        server.enrolment_text()
    );
    let output = answered(&place, &["--no-service"], &answers);
    assert!(output.status.success(), "{}", error_of(&output));
    let text = text_of(&output);
    assert!(text.contains("this is no enrolment text"), "{text}");
    assert!(text.contains("zh-CN, en or both"), "{text}");
    assert!(text.contains("Start it: "), "{text}");
    let data = place.data();
    let (mut gate, ready) = Running::start_and_see(&data, &["run", "--json"]);
    assert_eq!(ready["gate_id"], "arm-1");
    assert_eq!(gate.scan(&code(&server, 0))["verdict"], "admit");
    gate.terminate();
    assert_eq!(place.opens(), 1, "{}", configuration(&place));
}

#[test]
fn flags_answer_everything_for_a_script() {
    let (server, place) = (server(), Place::default());
    let text = server.enrolment_text();
    let relay = place.relay_flag();
    let arguments = [
        "--yes",
        "--no-service",
        "--enrol",
        &text,
        "--scanner",
        "stdin",
        "--relay",
        &relay,
        "--gate",
        "arm-1",
        "--hold-ms",
        "7",
        "--language",
        "zh-CN",
    ];
    let output = answered(&place, &arguments, "");
    assert!(output.status.success(), "{}", error_of(&output));
    let written = configuration(&place);
    for line in [
        "gate = \"arm-1\"",
        "scanners = [\"stdin\"]",
        "language = \"zh-CN\"",
        "hold_ms = 7",
        &format!("driver = \"{relay}\""),
    ] {
        assert!(written.contains(line), "{line}: {written}");
    }
    // Again, with nothing new to say: no token is spent, and the file stays.
    let requests = server.requests();
    let again = answered(&place, &arguments, "");
    assert!(again.status.success(), "{}", error_of(&again));
    assert!(
        text_of(&again).contains("Enrolled already"),
        "{}",
        text_of(&again)
    );
    assert!(
        text_of(&again).contains("stays as it is"),
        "{}",
        text_of(&again)
    );
    assert_eq!(
        (configuration(&place), server.requests()),
        (written, requests)
    );
}

#[test]
fn a_configuration_is_replaced_only_by_consent_and_the_old_one_is_kept() {
    let (server, place) = (server(), Place::default());
    place.enrol(&server);
    let mine = "# mine\nscanners = [\"stdin\"]\nidle_gap_ms = 50\n";
    fs::write(place.data().join("stile-gate.toml"), mine).unwrap();
    let said = ["--no-service", "--relay", "log", "--gate", "east"];
    let yes = [&said[..], &["--yes"]].concat();
    let output = answered(&place, &yes, "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error_of(&output).contains("--overwrite"),
        "{}",
        error_of(&output)
    );
    let output = answered(&place, &said, "\n\n\nno\n");
    assert_eq!(output.status.code(), Some(2), "{}", text_of(&output));
    assert_eq!(configuration(&place), mine);
    let output = answered(&place, &said, "\n\n\nyes\n");
    assert!(output.status.success(), "{}", error_of(&output));
    let written = configuration(&place);
    assert!(
        written.contains("idle_gap_ms = 50") && written.contains("driver = \"log\""),
        "{written}"
    );
    let old = fs::read_to_string(place.data().join("stile-gate.toml.old")).unwrap();
    assert_eq!(old, mine);
}

#[test]
fn the_enrolment_qr_can_be_held_to_the_scanner_that_was_chosen() {
    let (server, place) = (server(), Place::default());
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let scanner = format!("tcp:{address}");
    let arguments = [
        "--no-service",
        "--scanner",
        &scanner,
        "--relay",
        "log",
        "--gate",
        "east",
        "--hold-ms",
        "5",
        "--language",
        "en",
    ];
    let mut child = begin(&place, &arguments);
    child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    eventually("the scanner is there", || {
        let Ok(mut line) = TcpStream::connect(address) else {
            return false;
        };
        let text = format!("a ticket code\n{}\n", server.enrolment_text());
        line.write_all(text.as_bytes()).is_ok()
    });
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", error_of(&output));
    let text = text_of(&output);
    assert!(text.contains("this is no enrolment QR"), "{text}");
    assert!(text.contains("enrolled: device pda-1"), "{text}");
}

#[test]
fn without_the_right_to_install_it_the_service_is_prepared_and_the_commands_are_printed() {
    let (server, place) = (server(), Place::default());
    let text = server.enrolment_text();
    let arguments = ["--yes", "--enrol", &text, "--scanner", "stdin"];
    // Where systemd is at work and the tests run as root, this would install a service.
    if std::path::Path::new("/run/systemd/system").exists() {
        eprintln!("SKIPPED: this machine runs systemd, and would be given a service");
        return;
    }
    let output = answered(&place, &arguments, "");
    assert!(output.status.success(), "{}", error_of(&output));
    let text = text_of(&output);
    assert!(text.contains("sudo systemctl enable stile-gate"), "{text}");
    let unit = fs::read_to_string(place.data().join("stile-gate.service")).unwrap();
    let data = place.data();
    assert!(
        unit.contains(&format!(" --data {} run\n", data.display())),
        "{unit}"
    );
    assert!(
        unit.contains(&format!("ReadWritePaths={}\n", data.display())),
        "{unit}"
    );
}

#[test]
fn what_is_missing_is_named_with_the_flag_that_says_it() {
    let place = Place::default();
    for (arguments, flag) in [
        (
            &["--yes", "--no-service", "--scanner", "stdin"][..],
            "--enrol",
        ),
        // Nor is a QR waited for that nobody holds there.
        (
            &["--yes", "--no-service", "--scanner", "tcp:127.0.0.1:0"][..],
            "--enrol",
        ),
        (&["--no-service"][..], "--scanner"),
    ] {
        let output = answered(&place, arguments, "");
        assert_eq!(output.status.code(), Some(2));
        assert!(error_of(&output).contains(flag), "{}", error_of(&output));
    }
}
