//! A real `stile-gate`: enrolled by the text of a QR, fed over its TCP scanner, heard by its
//! lines of JSON; stopped, killed and started again on the same data.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use stile_core::codes::Format;
use stile_core::ids::RecordId;
use stile_core::reason::Reason;
use stile_core::record::Answer;
use stile_core::time::EpochMillis;

use crate::programs::{Running, program, run};

/// The program.
pub const GATE: &str = "stile-gate";
/// How long a gate may take to answer a reading: a hundred slow disk writes.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// How long it may take to be ready: opening checks its journal and lists.
const START_TIME: Duration = Duration::from_secs(30);

/// What a gate said of one reading.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Said {
    /// When it was decided, by the gate's trusted clock.
    pub at: EpochMillis,
    /// `admit` or `refuse`.
    pub verdict: Answer,
    /// Why it refused.
    pub reason: Option<Reason>,
    /// The code's format; none for what is no code.
    pub format: Option<Format>,
    /// Whether the relay was told to open.
    pub opens: bool,
    /// Whether it is the same reading once more.
    pub repeat: bool,
    /// Persons admitted.
    pub persons: u8,
    /// How many more may enter with the ticket.
    pub remaining: u32,
    /// Its record, if it made one.
    pub record_id: Option<RecordId>,
    /// The same for people.
    pub sentence: Sentence,
    /// Decision time in µs.
    pub decision_us: u32,
    /// From the line's end to the return of the relay's open command, in µs, if it opened.
    pub line_to_relay_us: Option<u64>,
}

/// One sentence in both languages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Sentence {
    /// Chinese.
    #[serde(rename = "zh-CN")]
    pub zh_cn: String,
    /// English.
    pub en: String,
}

impl Said {
    /// `admit`, or the reason of the refusal.
    pub fn outcome(&self) -> &'static str {
        match (self.verdict, self.reason) {
            (Answer::Admit, _) => "admit",
            (Answer::Refuse, Some(reason)) => reason.name(),
            (Answer::Refuse, None) => "refuse",
        }
    }
}

/// How a gate is, as `stile-gate status --json` says.
#[derive(Debug, Clone, Deserialize)]
pub struct Status {
    /// Lists that it holds.
    pub lists: Vec<HeldList>,
    /// All records of its journal.
    pub records: u64,
    /// Those that wait to go up.
    pub unsent: u64,
    /// Those that the server set aside.
    pub quarantined: u64,
    /// Those that the server refused alone.
    pub stuck: u64,
}

/// A list that a gate holds.
#[derive(Debug, Clone, Deserialize)]
pub struct HeldList {
    /// The day.
    pub service_day: String,
    /// Tickets, tombstones included.
    pub tickets: u64,
    /// When the server signed it.
    pub issued_at: EpochMillis,
}

/// What a gate does while it runs.
struct AtWork {
    running: Running,
    scanner: TcpStream,
    address: SocketAddr,
    said: Receiver<Said>,
    events: Receiver<Value>,
}

/// A gate with its data, at work or not.
pub struct Gate {
    name: String,
    data: PathBuf,
    log: PathBuf,
    at_work: Option<AtWork>,
    /// Everything that it said since it was enrolled, in order.
    pub heard: Vec<Said>,
}

impl Gate {
    /// Enrols a device by the text of an enrolment QR, to serve a gate. Its data lies in `data`.
    pub fn enrol(data: &Path, text: &str, gate_id: &str) -> Result<Self> {
        let folder = data.to_string_lossy();
        run(GATE, &["--data", &folder, "enrol", text, "--gate", gate_id])?;
        Ok(Self {
            name: gate_id.to_owned(),
            data: data.to_owned(),
            log: data.with_extension("log"),
            at_work: None,
            heard: Vec::new(),
        })
    }

    /// The gate's id.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder of its data.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Starts it and connects a scanner.
    pub fn start(&mut self) -> Result<()> {
        self.start_as(Command::new(program(GATE)?))
    }

    /// Starts it by a command that runs the program with the arguments appended.
    pub fn start_as(&mut self, mut command: Command) -> Result<()> {
        self.arguments(&mut command);
        let (mut running, out) = Running::start(GATE, command, &self.log)?;
        let (said_here, said) = channel();
        let (events_here, events) = channel();
        std::thread::spawn(move || listen(BufReader::new(out), &said_here, &events_here));
        let address = match wait_for_event(&events, "ready", START_TIME) {
            Ok(ready) => scanner_address(&ready)?,
            Err(error) => {
                let _ = running.ended(Duration::from_secs(1));
                bail!("{GATE} is not ready: {error}\n{}", running.last_words());
            }
        };
        let scanner = TcpStream::connect(address)?;
        scanner.set_nodelay(true)?;
        self.at_work = Some(AtWork {
            running,
            scanner,
            address,
            said,
            events,
        });
        Ok(())
    }

    /// Starts it to run on when this process ends, its lines going to a file. Returns the process
    /// id, the scanner's address and the file.
    pub fn start_detached(&self) -> Result<(u32, SocketAddr, PathBuf)> {
        let mut command = Command::new(program(GATE)?);
        self.arguments(&mut command);
        let out = self.data.with_extension("verdicts.ndjson");
        let running = Running::start_detached(GATE, command, &self.log, &out)?;
        let until = Instant::now() + START_TIME;
        loop {
            let text = std::fs::read_to_string(&out)?;
            if let Some(line) = text.lines().next().filter(|_| text.contains('\n')) {
                let address = scanner_address(&serde_json::from_str(line)?)?;
                return Ok((running.leave(), address, out));
            }
            ensure!(
                Instant::now() < until,
                "{GATE} is not ready:\n{}",
                running.last_words()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn arguments(&self, command: &mut Command) {
        command.arg("--data").arg(&self.data).arg("run").args([
            "--gate",
            &self.name,
            "--scanner",
            "tcp:127.0.0.1:0",
            "--relay",
            "log",
            "--hold-ms",
            "1",
            "--json",
        ]);
    }

    /// Sends a line to the scanner without waiting for the answer.
    pub fn send(&mut self, text: &str) -> Result<()> {
        let at_work = self.at_work.as_mut().context("the gate is not at work")?;
        Ok(at_work
            .scanner
            .write_all(format!("{text}\r\n").as_bytes())?)
    }

    /// Waits for what the gate says of the next reading.
    pub fn hear(&mut self) -> Result<Said> {
        let at_work = self.at_work.as_mut().context("the gate is not at work")?;
        let said = at_work
            .said
            .recv_timeout(ANSWER_TIME)
            .map_err(|error| match error {
                RecvTimeoutError::Timeout => anyhow!("{} has not answered a reading", self.name),
                RecvTimeoutError::Disconnected => anyhow!("{} has ended", self.name),
            })?;
        self.heard.push(said.clone());
        Ok(said)
    }

    /// One reading: a line in, what the gate says of it out.
    pub fn scan(&mut self, text: &str) -> Result<Said> {
        self.send(text)?;
        self.hear()
    }

    /// Waits for an event of that name.
    pub fn wait_for_event(&mut self, name: &str, within: Duration) -> Result<Value> {
        let at_work = self.at_work.as_mut().context("the gate is not at work")?;
        wait_for_event(&at_work.events, name, within)
    }

    /// How it is, by its own command.
    pub fn status(&self) -> Result<Status> {
        let folder = self.data.to_string_lossy();
        let text = run(GATE, &["--data", &folder, "status", "--json"])?;
        serde_json::from_str(&text).with_context(|| format!("the status is {text}"))
    }

    /// Records that are not known to be on the server, as its own command exports them.
    pub fn export(&self) -> Result<Vec<String>> {
        let folder = self.data.to_string_lossy();
        let text = run(GATE, &["--data", &folder, "export"])?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Stops it as a service manager does.
    pub fn stop(&mut self) -> Result<()> {
        let Some(at_work) = self.at_work.take() else {
            return Ok(());
        };
        at_work.running.stop()?;
        self.heard.extend(at_work.said.iter());
        Ok(())
    }

    /// Ends it by SIGKILL, wherever it is. What it had said before is heard.
    pub fn kill(&mut self) -> Result<()> {
        let Some(at_work) = self.at_work.take() else {
            return Ok(());
        };
        at_work.running.kill()?;
        self.heard.extend(at_work.said.iter());
        Ok(())
    }

    /// Where its scanner line is, while it runs.
    pub fn scanner(&self) -> Option<SocketAddr> {
        self.at_work.as_ref().map(|at_work| at_work.address)
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.at_work.as_ref().map(|at_work| at_work.running.pid())
    }
}

/// Sorts a gate's lines into what it says of readings and events.
fn listen(lines: impl BufRead, said: &Sender<Said>, events: &Sender<Value>) {
    for line in lines.lines().map_while(|line| line.ok()) {
        // A line of any other form is met by whoever waits for it in vain.
        let Ok(value) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        if value.get("event").is_some() {
            let _ = events.send(value);
        } else if let Ok(one) = serde_json::from_value(value) {
            let _ = said.send(one);
        }
    }
}

fn wait_for_event(events: &Receiver<Value>, name: &str, within: Duration) -> Result<Value> {
    let until = Instant::now() + within;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let event = events
            .recv_timeout(left)
            .map_err(|_| anyhow!("no event `{name}` within {} s", within.as_secs()))?;
        if event.get("event").and_then(Value::as_str) == Some(name) {
            return Ok(event);
        }
    }
}

/// The address in `{"event":"ready","scanners":["tcp:127.0.0.1:7001"],…}`.
fn scanner_address(ready: &Value) -> Result<SocketAddr> {
    let scanners = ready.get("scanners").and_then(Value::as_array);
    let mut names = scanners.into_iter().flatten().filter_map(Value::as_str);
    names
        .find_map(|name| name.strip_prefix("tcp:")?.parse().ok())
        .with_context(|| format!("no scanner address in {ready}"))
}
