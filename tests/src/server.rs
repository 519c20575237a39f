//! A real `stile-server`: its commands, and the server itself on a free loopback port, stopped,
//! killed and started again on the same data.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use crate::programs::{Running, program, run_command};

/// The program.
pub const SERVER: &str = "stile-server";
/// Names the file of a test's clock to programs that were built for tests.
pub const CLOCK: &str = "STILE_FAULT_CLOCK";
/// How long it may take to listen: opening checks the database.
const START_TIME: Duration = Duration::from_secs(30);

/// A server with its data, at work or not.
#[derive(Debug)]
pub struct Server {
    data: PathBuf,
    log: PathBuf,
    running: Option<Running>,
    scheme: &'static str,
    address: SocketAddr,
    clock: Option<PathBuf>,
}

impl Server {
    /// A server whose data lies in `data`, which it makes, and whose log lies beside it.
    pub fn new(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
            log: data.with_extension("log"),
            running: None,
            scheme: "http",
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            clock: None,
        }
    }

    /// Lets it go by a test's clock, which stands in a file. Only a server that was built for
    /// tests does.
    pub fn by_clock(self, clock: &Path) -> Self {
        Self {
            clock: Some(clock.to_owned()),
            ..self
        }
    }

    /// Runs one of its commands, such as `venue add`, and returns what it printed.
    pub fn command(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(program(SERVER)?);
        command.arg("--data").arg(&self.data).args(arguments);
        self.set_clock(&mut command);
        run_command(SERVER, command)
    }

    fn set_clock(&self, command: &mut Command) {
        if let Some(clock) = &self.clock {
            command.env(CLOCK, clock);
        }
    }

    /// Adds a venue, with more flags if need be.
    pub fn add_venue(&self, id: &str, name: &str, zone: &str, flags: &[&str]) -> Result<()> {
        let add = ["venue", "add", id, "--name", name, "--time-zone", zone];
        self.command(&[&add[..], flags].concat())?;
        Ok(())
    }

    /// Starts it: at first on a free port, later on the port that it had.
    pub fn start(&mut self) -> Result<()> {
        self.start_as(Command::new(program(SERVER)?))
    }

    /// Starts it by a command that runs the program with the arguments appended.
    pub fn start_as(&mut self, mut command: Command) -> Result<()> {
        command
            .args(["serve", "--listen", &self.address.to_string(), "--data"])
            .arg(&self.data);
        self.set_clock(&mut command);
        let (mut running, out) = Running::start(SERVER, command, &self.log)?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(|line| line.ok()) {
                let _ = sender.send(line); // only the first is waited for
            }
        });
        let line = lines.recv_timeout(START_TIME).map_err(|_| {
            let _ = running.ended(Duration::from_secs(1));
            anyhow!("{SERVER} does not listen:\n{}", running.last_words())
        })?;
        let says = || format!("{SERVER} says `{line}`");
        let url = line.strip_prefix("listening on ").with_context(says)?;
        let (scheme, address) = url.split_once("://").with_context(says)?;
        self.scheme = if scheme == "https" { "https" } else { "http" };
        self.address = address.parse().ok().with_context(says)?;
        self.running = Some(running);
        Ok(())
    }

    /// Starts it at an address, to run on when this process ends. Returns its process id.
    pub fn start_detached(&mut self, address: SocketAddr) -> Result<u32> {
        let mut command = Command::new(program(SERVER)?);
        command
            .args(["serve", "--listen", &address.to_string(), "--data"])
            .arg(&self.data);
        let out = self.data.with_extension("out");
        self.address = address;
        Ok(Running::start_detached(SERVER, command, &self.log, &out)?.leave())
    }

    /// Stops it as a service manager does.
    pub fn stop(&mut self) -> Result<()> {
        self.running.take().map_or(Ok(()), Running::stop)
    }

    /// Ends it by SIGKILL.
    pub fn kill(&mut self) -> Result<()> {
        self.running.take().map_or(Ok(()), Running::kill)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same as a URL.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// The folder of its data.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Its process id while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(Running::pid)
    }
}
