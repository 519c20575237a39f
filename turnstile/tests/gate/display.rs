//! A small display, as its microcontroller sees it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;

use crate::common::fake_server::Behaviour;
use crate::common::process::{PATIENCE, Scene, eventually};
use stile_core::protocol::Code;

/// The fields of one line, as docs/gate.md names them.
fn fields(line: &str) -> Vec<String> {
    let fields: Vec<_> = line.trim_end().split('\t').map(str::to_owned).collect();
    assert_eq!(fields.len(), 9, "{line:?}");
    assert_eq!(fields[0], "STILE1");
    assert!(fields.iter().all(|field| !field.is_empty()), "{line:?}");
    fields
}

struct Screen(BufReader<TcpStream>);

impl Screen {
    fn of(listener: &TcpListener) -> Self {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    fn line(&mut self) -> Vec<String> {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "ended");
        fields(&line)
    }

    fn line_where(&mut self, fits: impl Fn(&[String]) -> bool) -> Vec<String> {
        loop {
            let line = self.line();
            if fits(&line) {
                return line;
            }
        }
    }
}

#[test]
fn a_display_follows_a_gate_from_its_start_to_its_end() {
    let scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let spec = format!("tcp:{}", listener.local_addr().unwrap());
    let mut gate = scene.place.run(&["--display", &spec, "--language", "en"]);
    let mut screen = Screen::of(&listener);
    assert_eq!(screen.line()[1], "starting");
    let idle = screen.line_where(|line| line[1] == "idle" && line[7] == "online");
    assert_eq!(
        (&*idle[5], &*idle[6], &*idle[8]),
        ("09:00", "anchored", "Please scan")
    );

    gate.scan(&scene.code(0));
    let admitted = screen.line_where(|line| line[1] == "admit");
    assert_eq!(admitted[2], "-");
    assert_ne!(admitted[8], "Please scan");
    gate.scan("no code");
    let refused = screen.line_where(|line| line[1] == "refuse");
    assert_eq!(
        (&*refused[2], &*refused[8]),
        ("malformed", "This is not a ticket code.")
    );
    let idle = screen.line_where(|line| line[1] == "idle");
    assert_eq!((&*idle[2], &*idle[8]), ("malformed", "Please scan"));

    assert!(gate.terminate().success());
    screen.line_where(|line| line[1] == "stopped");
}

#[test]
fn a_display_shows_how_many_records_wait() {
    let scene = Scene::new();
    scene
        .server
        .behave(Behaviour::Problem(Code::StoreUnavailable));
    let file = scene.place.beside("display");
    let mut gate = scene
        .place
        .run(&["--display", &format!("file:{}", file.display())]);
    for n in 0..3 {
        gate.scan(&scene.code(n));
    }
    eventually("three wait", || {
        let line = fs::read_to_string(&file).unwrap_or_default();
        !line.is_empty() && fields(&line)[4] == "3"
    });
    gate.terminate();
    assert_eq!(fields(&fs::read_to_string(&file).unwrap())[1], "stopped");
}

#[test]
fn a_display_that_is_away_or_takes_nothing_keeps_nobody_out() {
    let scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf = format!("tcp:{}", listener.local_addr().unwrap());
    let away = "tcp:127.0.0.1:1".to_owned();
    let nothing = "serial:/dev/nothing-here".to_owned();
    for (n, spec) in [deaf, away, nothing].iter().enumerate() {
        let mut gate = scene.place.run(&["--display", spec]);
        let verdict: Value = gate.scan(&scene.code(n));
        assert_eq!(verdict["verdict"], "admit");
        assert!(gate.terminate().success());
    }
}
