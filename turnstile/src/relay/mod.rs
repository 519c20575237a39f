//! What opens the gate: drivers behind one trait, and the pulse that moves them.

mod command;
mod gpio;
mod inverted;
mod lcus;
mod log;
mod modbus;
mod pulse;
mod spec;

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

pub use command::CommandRelay;
pub use gpio::GpioRelay;
pub use inverted::Inverted;
pub use lcus::{LcusRelay, lcus_command};
pub use log::LogRelay;
pub use modbus::ModbusRelay;
pub use pulse::{Hold, Holder, Opened, Promised, PulseEvent, Pulses, Shutter, Turns};
pub use spec::RelaySpec;

use crate::ports::ModbusError;

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
    /// A Modbus unit, or the way to it.
    #[error("relay {relay}: {source}")]
    Modbus {
        /// Which relay.
        relay: String,
        /// What is wrong.
        source: ModbusError,
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

/// How a relay was found at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// As it was left.
    Same,
    /// Its device was away, or was switched by another: it must be closed again.
    Anew,
}

/// A switch that opens a gate. `open` is never repeated blindly, since two openings can let two
/// persons in; `close` may be repeated at any time. Neither waits longer than a few seconds.
pub trait Relay: Send {
    /// Opens the gate.
    fn open(&mut self) -> Result<(), RelayError>;

    /// Closes it; harmless if it is closed.
    fn close(&mut self) -> Result<(), RelayError>;

    /// Looks after the relay while it is at rest, so that one that was unplugged is found before
    /// the next visitor comes. Moves nothing.
    fn check(&mut self) -> Result<Connection, RelayError> {
        Ok(Connection::Same)
    }
}
