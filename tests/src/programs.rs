//! Stile's programs as processes: found beside the running executable, started with their output
//! kept, ended by their own process id.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// How long a program may take to stop after SIGTERM: the server waits for requests in flight,
/// the gate for a last upload.
const STOP_TIME: Duration = Duration::from_secs(40);
/// How often a condition is looked at while it is waited for.
const LOOK: Duration = Duration::from_millis(50);

/// Where a program of this workspace was built.
pub fn program(name: &str) -> Result<PathBuf> {
    let mut folder = std::env::current_exe()?;
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop(); // a test lies one deeper than the programs
    }
    let path = folder.join(name);
    ensure!(
        path.is_file(),
        "{name} is not built: there is no {}. Build it with: cargo build --workspace --bins{}",
        path.display(),
        if folder.ends_with("release") {
            " --release"
        } else {
            ""
        }
    );
    Ok(path)
}

/// Runs a command of a program to its end, and returns what it printed.
pub fn run<S: AsRef<std::ffi::OsStr>>(name: &str, arguments: &[S]) -> Result<String> {
    let mut command = Command::new(program(name)?);
    command.args(arguments);
    run_command(name, command)
}

/// The same of a command that is made already.
pub fn run_command(name: &str, mut command: Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{name} does not run"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "{name} ended with {}: {}{}",
        output.status,
        said,
        String::from_utf8_lossy(&output.stderr).trim_end()
    );
    Ok(said.trim_end().to_owned())
}

/// A program at work. Dropped, it is ended at once, as by a power cut.
#[derive(Debug)]
pub struct Running {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Running {
    /// Starts a command whose standard output is a pipe, and whose standard error goes to the end
    /// of the log.
    pub fn start(name: &str, mut command: Command, log: &Path) -> Result<(Self, ChildStdout)> {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut running = Self::spawn(name, command, log)?;
        let out = running.child.stdout.take().context("no pipe was made")?;
        Ok((running, out))
    }

    /// Starts a command that goes on when this process ends: its output goes to files.
    pub fn start_detached(
        name: &str,
        mut command: Command,
        log: &Path,
        out: &Path,
    ) -> Result<Self> {
        use std::os::unix::process::CommandExt;
        command.stdin(Stdio::null());
        command.stdout(File::create(out)?).process_group(0);
        Self::spawn(name, command, log)
    }

    /// Starts a command with a terminal for its keyboard and screen.
    pub fn start_on_terminal(
        name: &str,
        mut command: Command,
        log: &Path,
        terminal: File,
    ) -> Result<Self> {
        command.stdin(terminal.try_clone()?).stdout(terminal);
        Self::spawn(name, command, log)
    }

    fn spawn(name: &str, mut command: Command, log: &Path) -> Result<Self> {
        let errors = OpenOptions::new().create(true).append(true).open(log);
        let errors = errors.with_context(|| format!("cannot write {}", log.display()))?;
        command.stderr(errors);
        Ok(Self {
            name: name.to_owned(),
            child: command
                .spawn()
                .with_context(|| format!("{name} does not start"))?,
            log: log.to_owned(),
        })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Asks it to stop by SIGTERM and waits for its clean end.
    pub fn stop(mut self) -> Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // One that has ended already says how by its status.
        let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
        let status = self.ended(STOP_TIME)?;
        ensure!(
            status.success(),
            "{} ended with {status}\n{}",
            self.name,
            self.last_words()
        );
        Ok(())
    }

    /// Ends it by SIGKILL, wherever it is.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits for its end.
    pub fn ended(&mut self, within: Duration) -> Result<ExitStatus> {
        let until = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > until {
                bail!("{} has not ended after {} s", self.name, within.as_secs());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The end of its log, for messages.
    pub fn last_words(&self) -> String {
        let mut text = String::new();
        let read = File::open(&self.log).and_then(|mut file| file.read_to_string(&mut text));
        match read {
            Ok(_) => {
                let lines: Vec<_> = text.lines().rev().take(15).collect();
                lines.into_iter().rev().collect::<Vec<_>>().join("\n")
            }
            Err(error) => format!("({}: {error})", self.log.display()),
        }
    }

    /// Lets it run on without this process. Returns its process id.
    pub fn leave(self) -> u32 {
        let pid = self.pid();
        std::mem::forget(self); // or else dropping would end it
        pid
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended already is all the same.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a condition holds; `what` says in the error what was waited for.
pub fn wait_until(
    what: &str,
    within: Duration,
    mut holds: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let until = Instant::now() + within;
    while !holds()? {
        ensure!(
            Instant::now() < until,
            "after {} s still not: {what}",
            within.as_secs()
        );
        std::thread::sleep(LOOK);
    }
    Ok(())
}
