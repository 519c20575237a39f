//! What `stile-gate` does, one module per command. Each prints for people, and fails with an
//! error that says what to do and an exit code that programs can tell apart.

mod ask;
mod ask_pin;
mod doctor;
mod enrol;
mod explain;
mod export;
mod open;
mod present;
mod run;
mod set_clock;
mod setup;
mod status;

use std::io;

use serde::Serialize;
use stile_core::device::{DeviceError, IdentityError};
use stile_core::journal::{JournalError, OpenError};

pub use doctor::{DoctorOptions, doctor};
pub use enrol::{EnrolOptions, enrol};
pub use explain::{explain, parse_time};
pub use export::export;
pub use open::{open, shut};
pub use run::{RunOptions, run};
pub use set_clock::set_clock;
pub use setup::{DEFAULT_DATA, SetupOptions, setup};
pub use status::status;

use crate::client::ClientError;
use crate::config::ConfigError;
use crate::sync_loop::SyncError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Flags or configuration.
    #[error("{0}")]
    Usage(String),
    /// The folder is of no device yet.
    #[error("{0}")]
    NotEnrolled(String),
    /// A controller is at work in the folder.
    #[error("{0}")]
    Locked(String),
    /// The disk.
    #[error("{0}")]
    Storage(String),
    /// A newer version wrote the folder.
    #[error("{0}")]
    Newer(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl CommandError {
    /// The program's exit code: 2 usage or configuration, 3 not enrolled, 4 in use, 5 storage,
    /// 6 of a newer version, 1 anything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::NotEnrolled(_) => 3,
            Self::Locked(_) => 4,
            Self::Storage(_) => 5,
            Self::Newer(_) => 6,
        }
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<ClientError> for CommandError {
    fn from(error: ClientError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<SyncError> for CommandError {
    fn from(error: SyncError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<JournalError> for CommandError {
    fn from(error: JournalError) -> Self {
        Self::Storage(error.to_string())
    }
}

impl From<OpenError> for CommandError {
    fn from(error: OpenError) -> Self {
        let message = error.to_string();
        match error {
            OpenError::Locked(_) => Self::Locked(message),
            OpenError::Newer { .. } => Self::Newer(message),
            OpenError::Older { .. }
            | OpenError::Io { .. }
            | OpenError::Schema(_)
            | OpenError::Journal(_) => Self::Storage(message),
        }
    }
}

impl From<IdentityError> for CommandError {
    fn from(error: IdentityError) -> Self {
        let message = error.to_string();
        match error {
            IdentityError::NotEnrolled(_) => Self::NotEnrolled(message),
            IdentityError::Json { .. } | IdentityError::NotOurs(_) | IdentityError::Io { .. } => {
                Self::Storage(message)
            }
            _ => Self::Failed(message),
        }
    }
}

impl From<DeviceError> for CommandError {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Identity(error) => error.into(),
            DeviceError::Open(error) => error.into(),
            error @ DeviceError::Gate { .. } => Self::Usage(error.to_string()),
        }
    }
}

fn machine(error: io::Error) -> CommandError {
    CommandError::Failed(format!("this machine: {error}"))
}

/// The stable name of a value that serialises to a text.
fn name_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}
