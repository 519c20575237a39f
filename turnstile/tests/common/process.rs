//! A running `stile-gate` with its scanner line in the test's hand, and the folder it works in.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stile_core::ticket::Ticket;

use super::fake_server::FakeServer;
use super::venue::Venue;

/// What a busy machine may take for anything; no test measures time.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder for a gate, with what stands beside it.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }
}

impl Place {
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Calls the program to its end.
    pub fn call(&self, arguments: &[&str]) -> Output {
        call(&self.data(), arguments)
    }

    /// Calls the program with a file on its standard input.
    pub fn call_with_input(&self, arguments: &[&str], input: &Path) -> Output {
        let mut command = program(&self.data(), arguments);
        command.stdin(File::open(input).unwrap()).output().unwrap()
    }

    /// Runs a gate over a file of codes while nobody takes its output.
    pub fn run_deaf(&self, input: &Path) -> ExitStatus {
        let relay = self.relay_flag();
        let arguments = ["run", "--json", "--relay", &relay, "--hold-ms", "1"];
        let mut child = program(&self.data(), &arguments)
            .stdin(File::open(input).unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        child.wait().unwrap()
    }

    pub fn enrol(&self, server: &FakeServer) {
        let output = self.call(&["enrol", &server.enrolment_text(), "--name", "test"]);
        assert!(output.status.success(), "{}", error_of(&output));
    }

    /// The flags of a relay that writes to a file here.
    pub fn relay_flag(&self) -> String {
        format!("log:{}", self.beside("relay.log").display())
    }

    /// What that relay did, in order.
    pub fn relay_moves(&self) -> Vec<String> {
        let text = fs::read_to_string(self.beside("relay.log")).unwrap_or_default();
        let moves = text.lines().filter_map(|line| line.split_once(' '));
        moves.map(|(_, action)| action.to_owned()).collect()
    }

    pub fn opens(&self) -> usize {
        self.relay_moves()
            .iter()
            .filter(|action| *action == "open")
            .count()
    }

    /// A gate at work on standard input, with the relay above and short pulses.
    pub fn run(&self, more: &[&str]) -> Running {
        let relay = self.relay_flag();
        let mut arguments = vec!["run", "--json", "--relay", &relay];
        if !more.contains(&"--hold-ms") {
            arguments.extend(["--hold-ms", "5"]);
        }
        arguments.extend(more);
        Running::start(&self.data(), &arguments)
    }

    /// The journal's records that are not known to be on the server.
    pub fn unsent(&self) -> Vec<String> {
        self.records("sync_status IN (0, 3)")
    }

    /// The kinds of all records, oldest first.
    pub fn record_kinds(&self) -> Vec<String> {
        let kind = |record: String| {
            let record: Value = serde_json::from_str(&record).unwrap();
            record["kind"].as_str().unwrap().to_owned()
        };
        self.all_records().into_iter().map(kind).collect()
    }

    /// All the journal's records.
    pub fn all_records(&self) -> Vec<String> {
        self.records("1")
    }

    fn records(&self, condition: &str) -> Vec<String> {
        let journal = rusqlite::Connection::open(self.data().join("journal.db")).unwrap();
        let sql = format!("SELECT record FROM sync_log WHERE {condition} ORDER BY position");
        let mut statement = journal.prepare(&sql).unwrap();
        let records = statement.query_map([], |row| row.get(0)).unwrap();
        records.collect::<Result<_, _>>().unwrap()
    }
}

/// A program to test in place of the one that was built with the tests.
const GATE: &str = "STILE_TEST_GATE";
/// What runs a program of another processor, with its flags, where the machine itself does not.
const RUNNER: &str = "STILE_TEST_RUNNER";

/// The words that start the program, by itself or by an emulator.
fn program_words() -> Vec<String> {
    let gate = std::env::var(GATE);
    let gate = gate.unwrap_or_else(|_| env!("CARGO_BIN_EXE_stile-gate").to_owned());
    let runner = std::env::var(RUNNER).unwrap_or_default();
    let mut words: Vec<_> = runner.split_whitespace().map(str::to_owned).collect();
    words.push(gate);
    words
}

/// A call of the program.
pub fn program(data: &Path, arguments: &[&str]) -> Command {
    let words = program_words();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command.args(["--data", data.to_str().unwrap()]);
    command.args(arguments);
    command
}

/// The program in a session of its own, for which the terminal on its standard input is the one
/// that it looks for at `/dev/tty`.
pub fn program_on_terminal(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("setsid");
    command.arg("--ctty").args(program_words());
    command.args(["--data", data.to_str().unwrap()]);
    command.args(arguments);
    command
}

/// Calls the program to its end.
pub fn call(data: &Path, arguments: &[&str]) -> Output {
    program(data, arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

pub fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn text_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A venue's server and an enrolled gate with a list of a few tickets, A0 to A9.
pub struct Scene {
    pub server: FakeServer,
    pub place: Place,
    pub tickets: Vec<Ticket>,
}

impl Scene {
    pub fn new() -> Self {
        Self::of(Venue::new())
    }

    pub fn of(venue: Venue) -> Self {
        let tickets: Vec<_> = (0..10).map(|n| venue.ticket(&format!("A{n}"))).collect();
        let server = FakeServer::start(venue);
        server.put_list(1, &tickets);
        let place = Place::default();
        place.enrol(&server);
        Self {
            server,
            place,
            tickets,
        }
    }

    /// A fresh code of a ticket.
    pub fn code(&self, ticket: usize) -> String {
        let venue = &self.server.books.venue;
        venue.g2(&self.tickets[ticket], self.server.now_s())
    }
}

/// A gate at work.
pub struct Running {
    child: Child,
    scanner: Option<ChildStdin>,
    lines: Receiver<Value>,
    seen: Vec<Value>,
}

impl Running {
    pub fn start(data: &Path, arguments: &[&str]) -> Self {
        Self::start_and_see(data, arguments).0
    }

    /// Starts it, and gives its ready line.
    pub fn start_and_see(data: &Path, arguments: &[&str]) -> (Self, Value) {
        Self::spawn(program(data, arguments))
    }

    /// Starts a call that [`program`] has made.
    pub fn spawn(mut command: Command) -> (Self, Value) {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let scanner = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    break;
                }
            }
        });
        let mut running = Self {
            child,
            scanner,
            lines,
            seen: Vec::new(),
        };
        let ready = running.event("ready");
        (running, ready)
    }

    /// The next line of output that fits, of those not asked for before.
    pub fn next(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.seen.iter().position(&fits) {
            return self.seen.remove(at);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if fits(&line) => return line,
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Timeout) => panic!("waited in vain; saw {:#?}", self.seen),
                Err(RecvTimeoutError::Disconnected) => panic!("ended; saw {:#?}", self.seen),
            }
        }
    }

    pub fn event(&mut self, name: &str) -> Value {
        self.next(|line| line["event"] == name)
    }

    /// Puts a line on the scanner and waits for its verdict.
    pub fn scan(&mut self, code: &str) -> Value {
        self.type_line(code);
        self.verdict()
    }

    pub fn verdict(&mut self) -> Value {
        self.next(|line| line["verdict"].is_string())
    }

    pub fn type_line(&mut self, code: &str) {
        self.type_text(&format!("{code}\n"));
    }

    pub fn type_text(&mut self, text: &str) {
        let scanner = self.scanner.as_mut().unwrap();
        scanner.write_all(text.as_bytes()).unwrap();
    }

    pub fn end_of_input(&mut self) {
        self.scanner = None;
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn terminate(self) -> ExitStatus {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        self.wait()
    }

    /// Waits for its end.
    pub fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something holds.
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
