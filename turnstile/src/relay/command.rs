//! A relay behind a program: odd hardware, and tests.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::runtime::{Builder, Runtime};

use super::{Relay, RelayError};

/// How long the program may take. A visitor waits before a closed gate for as long, and no later
/// pulse may find this one still at work.
const DEADLINE: Duration = Duration::from_secs(2);

const ANYBODY_MAY_RUN_IT: u32 = 0o111;

/// Calls `PROGRAM open` and `PROGRAM close`; exit code 0 means that it is done.
#[derive(Debug)]
pub struct CommandRelay {
    program: PathBuf,
    runtime: Runtime,
}

impl CommandRelay {
    /// Takes the program's path, or its name on the search path. A path that leads to no program
    /// is refused now, and not when the first visitor has been admitted.
    pub fn new(program: &Path) -> io::Result<Self> {
        let is_path = program.components().count() > 1;
        if is_path && std::fs::metadata(program)?.permissions().mode() & ANYBODY_MAY_RUN_IT == 0 {
            let problem = "nobody may run it; make it executable";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
        }
        Ok(Self {
            program: program.to_owned(),
            runtime: Builder::new_current_thread().enable_all().build()?,
        })
    }

    fn call(&self, action: &'static str) -> Result<(), RelayError> {
        let relay = || format!("command:{}", self.program.display());
        let io = |source| RelayError::Io {
            relay: relay(),
            source,
        };
        self.runtime.block_on(async {
            let mut command = Command::new(&self.program);
            command.arg(action).kill_on_drop(true);
            command.stdin(Stdio::null()).stdout(Stdio::null());
            let mut child = command.spawn().map_err(io)?;
            match tokio::time::timeout(DEADLINE, child.wait()).await {
                Ok(Ok(status)) if status.success() => Ok(()),
                Ok(Ok(status)) => Err(RelayError::Status {
                    relay: relay(),
                    action,
                    status,
                }),
                Ok(Err(error)) => Err(io(error)),
                Err(_) => {
                    // Killed and waited for, so that it cannot open the gate later.
                    child.kill().await.map_err(io)?;
                    Err(RelayError::TimedOut {
                        relay: relay(),
                        action,
                        after: DEADLINE,
                    })
                }
            }
        })
    }
}

impl Relay for CommandRelay {
    fn open(&mut self) -> Result<(), RelayError> {
        self.call("open")
    }

    fn close(&mut self) -> Result<(), RelayError> {
        self.call("close")
    }
}
