//! A running `stile-gate` with a guard's screen, and all that it is connected to: a scanner, a
//! relay, a sensor where a day has one, a clock and a network of its own.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use stile_core::device::Identity;
use stile_core::ids::GateId;
use stile_core::protocol::{FeedAnswer, ListManifest, Lists};
use stile_core::record::Record;
use stile_core::time::EpochMillis;
use stile_tests::gate::GATE;
use stile_tests::journal;
use stile_tests::network::Network;
use stile_tests::programs::{Running, program, run_command, wait_until};
use stile_tests::server::CLOCK;

use super::clock::{SetClock, goes_by_it};
use super::guard::Guard;
use super::server::RunningServer;
use super::terminal::Terminal;

/// What a busy machine may take for anything.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the sensor waits for somebody to pass, in ms: short, since nobody does.
const PASSAGE_TIMEOUT_MS: u32 = 1_000;

/// A device; at work once it has been started.
pub struct RunningDevice {
    pub identity: Identity,
    pub network: Network,
    folder: PathBuf,
    clock: SetClock,
    at_work: Option<AtWork>,
}

/// What it is while it runs.
struct AtWork {
    gate: GateId,
    running: Running,
    scanner: TcpStream,
    guard: Guard,
}

impl RunningDevice {
    /// Enrols one by the text of an enrolment QR, which names its own network. It holds the
    /// server's lists then.
    pub fn enrol(
        folder: &Path,
        text: &str,
        network: Network,
        now: EpochMillis,
        has_sensor: bool,
    ) -> Result<Self> {
        fs::create_dir_all(folder.join("data"))?;
        let clock = SetClock::at(folder.join("clock"), now)?;
        if has_sensor {
            let sensor = folder.join("sensor");
            fs::write(&sensor, "0")?;
            let config = format!(
                "[inputs]\npassage = \"file:{}\"\npassage_timeout_ms = {PASSAGE_TIMEOUT_MS}\n",
                sensor.display()
            );
            fs::write(folder.join("data/stile-gate.toml"), config)?;
        }
        let mut command = Command::new(program(GATE)?);
        command.env(CLOCK, clock.path());
        command.arg("--data").arg(folder.join("data"));
        // Which of its gates it serves is said when it is started.
        command.args(["enrol", text]);
        run_command(GATE, command)?;
        Ok(Self {
            identity: Identity::load(&folder.join("data"))?,
            network,
            folder: folder.to_owned(),
            clock,
            at_work: None,
        })
    }

    /// Its clocks.
    pub fn clock(&mut self) -> &mut SetClock {
        &mut self.clock
    }

    /// Starts it at a gate, unless it is at work there. Says whether it was started.
    pub fn serve(&mut self, gate: &GateId, hold_ms: u64) -> Result<bool> {
        if self.gate().is_some_and(|served| served == gate) {
            return Ok(false);
        }
        self.stop()?;
        let (terminal, programs) = Terminal::new()?;
        // For the program this terminal is then the one that it looks for at `/dev/tty`.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program(GATE)?);
        command.env(CLOCK, self.clock.path());
        command.arg("--data").arg(self.data());
        command.args(["run", "--tui", "--language", "en", "--gate", gate.as_str()]);
        command.args(["--scanner", "tcp:127.0.0.1:0"]);
        command.arg("--relay");
        command.arg(format!("log:{}", self.folder.join("relay.log").display()));
        command.arg("--hold-ms").arg(hold_ms.to_string());
        let log = self.folder.join("gate.log");
        let mut running = Running::start_on_terminal(GATE, command, &log, programs)?;
        let mut scanner = None;
        wait_until("the gate says how it is", PATIENCE, || {
            ensure!(running.is_running()?, "it ended: {}", running.last_words());
            let status = status_of(&self.data()).filter(|status| status["pid"] == running.pid());
            scanner = status.and_then(|status| address_of(&status));
            Ok(scanner.is_some())
        })?;
        goes_by_it(&log)?;
        let address = scanner.context("a scanner's address was just there")?;
        let scanner = TcpStream::connect(address)?;
        scanner.set_nodelay(true)?;
        let mut guard = Guard::at(terminal);
        guard.rest()?;
        self.at_work = Some(AtWork {
            gate: gate.clone(),
            running,
            scanner,
            guard,
        });
        Ok(true)
    }

    /// The gate that it serves.
    pub fn gate(&self) -> Option<&GateId> {
        self.at_work.as_ref().map(|at_work| &at_work.gate)
    }

    fn stop(&mut self) -> Result<()> {
        let stopped = self.at_work.take();
        stopped.map_or(Ok(()), |at_work| at_work.running.stop())
    }

    /// Who stands before its screen.
    pub fn guard(&mut self) -> Result<&mut Guard> {
        let at_work = self.at_work.as_mut().context("it is not at work")?;
        Ok(&mut at_work.guard)
    }

    /// The same, only to look.
    pub fn screen(&self) -> Result<&Guard> {
        let at_work = self.at_work.as_ref().context("it is not at work")?;
        Ok(&at_work.guard)
    }

    /// Its scanner reads a code.
    pub fn read(&mut self, code: &str) -> Result<()> {
        let at_work = self.at_work.as_mut().context("it is not at work")?;
        Ok(at_work
            .scanner
            .write_all(format!("{code}\r\n").as_bytes())?)
    }

    /// Somebody stands in its sensor, or no longer.
    pub fn sensor(&self, is_on: bool) -> Result<()> {
        Ok(fs::write(
            self.folder.join("sensor"),
            if is_on { "1" } else { "0" },
        )?)
    }

    /// Every record of its journal, in the order made.
    pub fn records(&self) -> Result<Vec<Record>> {
        let kept = journal::read(&self.data())?;
        let records = kept.iter().map(|kept| serde_json::from_str(&kept.record));
        Ok(records.collect::<Result<_, _>>()?)
    }

    /// How often its relay has opened.
    pub fn pulses(&self) -> u32 {
        let log = fs::read_to_string(self.folder.join("relay.log"));
        let log = log.unwrap_or_default();
        let opened = log.lines().filter(|line| line.ends_with(" open"));
        u32::try_from(opened.count()).unwrap_or(u32::MAX)
    }

    /// How it says that it is, at the time that it is now.
    pub fn status(&self) -> Result<Value> {
        let mut status = None;
        let now = self.clock.wall().0;
        wait_until("the gate says how it is now", PATIENCE, || {
            status = status_of(&self.data()).filter(|status| status["written_at"] == now);
            Ok(status.is_some())
        })?;
        status.context("a status was just there")
    }

    /// Waits until it knows that it reaches the server.
    pub fn is_online(&self) -> Result<()> {
        wait_until("the gate is online", PATIENCE, || {
            Ok(self.status()?["live"]["online"] == true)
        })
    }

    /// Waits until the server has all that it wrote, and it has all that the server has for it.
    pub fn is_in_sync(&self, server: &RunningServer) -> Result<()> {
        wait_until("everything is on the server", PATIENCE, || {
            let kept = journal::read(&self.data())?;
            Ok(kept.iter().all(|kept| kept.is_synced))
        })?;
        wait_until("the newest lists are here", PATIENCE, || {
            let held = &self.status()?["live"]["lists"];
            let lists: Lists = server.answer_to(self.identity.bearer(), "/v1/gate/lists")?;
            let mut newest = lists.manifests.iter().map(|signed| {
                let payload = data_encoding::BASE64.decode(signed.payload.as_bytes())?;
                anyhow::Ok(serde_json::from_slice::<ListManifest>(&payload)?)
            });
            newest.try_fold(true, |is_held, manifest| {
                let manifest = manifest?;
                let mut held = held.as_array().into_iter().flatten();
                let is_it = |list: &Value| {
                    list["service_day"] == manifest.service_day.as_str()
                        && list["version"] == manifest.version
                };
                anyhow::Ok(is_held && held.any(is_it))
            })
        })?;
        wait_until("the whole admissions feed is here", PATIENCE, || {
            let after = match journal::feed_cursor(&self.data())? {
                Some(cursor) => format!("?after={cursor}"),
                None => String::new(),
            };
            let path = format!("/v1/gate/admissions{after}");
            let rest: FeedAnswer = server.answer_to(self.identity.bearer(), &path)?;
            Ok(rest.items.is_empty() && !rest.more)
        })
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }
}

fn status_of(data: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(data.join("status.json")).ok()?).ok()
}

fn address_of(status: &Value) -> Option<SocketAddr> {
    let name = status["scanners"][0].as_str()?;
    name.strip_prefix("tcp:")?.parse().ok()
}
