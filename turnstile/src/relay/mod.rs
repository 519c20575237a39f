//! What opens the gate: drivers behind one trait, and the pulse that moves them.

mod command;
mod log;
mod pulse;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::str::FromStr;
use std::time::Duration;

pub use command::CommandRelay;
pub use log::LogRelay;
pub use pulse::{Opened, PulseEvent, Pulses};

/// Why a relay did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The system.
    #[error("relay {relay}: {source}")]
    Io {
        /// Which relay.
        relay: String,
        /// What is wrong.
        source: io::Error,
    },
    /// The program says that it failed.
    #[error("relay {relay} {action}: {status}")]
    Status {
        /// Which relay.
        relay: String,
        /// `open` or `close`.
        action: &'static str,
        /// How it ended.
        status: ExitStatus,
    },
    /// The program did not end, and was ended.
    #[error("relay {relay} {action}: no answer within {} ms", after.as_millis())]
    TimedOut {
        /// Which relay.
        relay: String,
        /// `open` or `close`.
        action: &'static str,
        /// How long it was waited for.
        after: Duration,
    },
    /// The thread that moves the relay is gone.
    #[error("nothing moves the relay any more; start the controller again")]
    Gone,
}

/// A switch that opens a gate. `open` is never repeated blindly, since two openings can let two
/// persons in; `close` may be repeated at any time. Neither waits longer than a few seconds.
pub trait Relay: Send {
    /// Opens the gate.
    fn open(&mut self) -> Result<(), RelayError>;

    /// Closes it; harmless if it is closed.
    fn close(&mut self) -> Result<(), RelayError>;
}

/// A relay as configured: `log`, `log:FILE` or `command:PROGRAM`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelaySpec {
    /// Writes what it would do to the program's log, or to the end of a file.
    Log(Option<PathBuf>),
    /// Calls `PROGRAM open` and `PROGRAM close`.
    Command(PathBuf),
}

/// A text that names no relay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a relay is `log`, `log:FILE` or `command:PROGRAM`")]
pub struct RelaySpecError;

impl FromStr for RelaySpec {
    type Err = RelaySpecError;

    fn from_str(text: &str) -> Result<Self, RelaySpecError> {
        match text.split_once(':') {
            None if text == "log" => Ok(Self::Log(None)),
            Some((_, "")) => Err(RelaySpecError),
            Some(("log", path)) => Ok(Self::Log(Some(path.into()))),
            Some(("command", path)) => Ok(Self::Command(path.into())),
            _ => Err(RelaySpecError),
        }
    }
}

impl fmt::Display for RelaySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(None) => f.write_str("log"),
            Self::Log(Some(path)) => write!(f, "log:{}", path.display()),
            Self::Command(path) => write!(f, "command:{}", path.display()),
        }
    }
}

impl RelaySpec {
    /// Opens the driver; the gate is not touched.
    pub fn open(&self) -> Result<Box<dyn Relay>, RelayError> {
        let io = |source| RelayError::Io {
            relay: self.to_string(),
            source,
        };
        Ok(match self {
            Self::Log(path) => Box::new(LogRelay::new(path.as_deref()).map_err(io)?),
            Self::Command(program) => Box::new(CommandRelay::new(program).map_err(io)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_is_written_as_it_is_read() {
        for text in ["log", "log:/var/log/relay", "command:/usr/bin/relay"] {
            assert_eq!(text.parse::<RelaySpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_no_relay() {
        for text in ["", "log:", "command", "command:", "gpio:4"] {
            assert_eq!(text.parse::<RelaySpec>(), Err(RelaySpecError), "{text}");
        }
    }
}
