//! How other commands reach a running gate: a socket in its data folder that only its own user
//! may use. One line of JSON asks, one answers, and the connection ends. A PIN may be in a line, so
//! that lines are cleared from memory.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stile_core::device::Device;
use stile_core::record::FreePassageCause;
use stile_core::time::EpochMillis;
use zeroize::Zeroizing;

use crate::pin::Pin;
use crate::scanner::{Input, Inputs};
use crate::threads;
use crate::tui::clock_error;
use crate::words::Words;

/// The socket's name in the data folder.
const SOCKET: &str = "control.sock";
/// Longest request and answer, in bytes: a reason is a sentence.
const MAX_LINE_BYTES: usize = 4096;
/// How long either side waits for the other: a record on a slow disk, and no longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer is waited for that follows from a PIN: an old board checks one for a second,
/// against each supervisor of the list.
const PIN_PATIENCE: Duration = Duration::from_secs(60);
const OWNER_ONLY: u32 = 0o600;

/// What a running gate can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Stand open for everybody.
    Open {
        /// Why, for the record.
        reason: String,
    },
    /// Stand open no longer, as far as staff opened it.
    Shut,
    /// Go by the time that a supervisor says.
    SetClock {
        /// The supervisor's.
        pin: Pin,
        /// The time.
        to: EpochMillis,
        /// Why, for the record.
        reason: String,
    },
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// It is done. Something else may still hold the gate open.
    Done {
        /// Passages that were counted while the gate stood open, where a sensor counts them.
        passages: Option<u64>,
        /// Whether the gate stands open for everybody now.
        stands_open: bool,
    },
    /// The clock is set.
    ClockSet {
        /// The time by which the gate goes now.
        now: EpochMillis,
    },
    /// It is not done, and why.
    Failed(String),
}

/// Why a gate was not reached.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// None is at work.
    #[error("no gate is at work in {0}; start it with `stile-gate run`")]
    NotRunning(PathBuf),
    /// It does not answer.
    #[error("the gate does not answer: {0}; try again, and if that helps nothing, start it anew")]
    Io(#[from] io::Error),
    /// The request is none that a gate takes.
    #[error("the reason is too long; a sentence does")]
    TooLong,
    /// It answers what this version does not know.
    #[error("the gate's answer cannot be read: {0}")]
    Json(#[from] serde_json::Error),
}

/// Asks the gate at work in a data folder.
pub fn ask(data: &Path, request: &Request) -> Result<Response, ControlError> {
    let connected = at_socket(data, |path| UnixStream::connect(path));
    let mut stream = connected.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            ControlError::NotRunning(data.to_owned())
        }
        _ => ControlError::Io(error),
    })?;
    stream.set_read_timeout(Some(match request {
        Request::Open { .. } | Request::Shut => PATIENCE,
        Request::SetClock { .. } => PIN_PATIENCE,
    }))?;
    // There may be a PIN in it. Never grows, so that no copy stays behind.
    let mut line = Zeroizing::new(Vec::with_capacity(MAX_LINE_BYTES));
    serde_json::to_writer(&mut *line, request)?;
    if line.len() >= MAX_LINE_BYTES {
        return Err(ControlError::TooLong);
    }
    line.push(b'\n');
    stream.write_all(&line)?;
    Ok(serde_json::from_slice(&read_line(&mut stream)?)?)
}

/// Does something with the socket's path, by way of the opened folder: a socket's path has room
/// for about a hundred bytes, and a data folder's may be longer.
fn at_socket<T>(data: &Path, with: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let folder = File::open(data)?;
    let by_number = format!("/proc/self/fd/{}", folder.as_raw_fd());
    with(&Path::new(&by_number).join(SOCKET))
}

/// Reads up to the end of a line, of the stream, or of the longest line, into memory that is
/// cleared.
fn read_line(stream: &mut impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut line = Zeroizing::new(vec![0; MAX_LINE_BYTES]);
    let mut read = 0;
    loop {
        let count = stream.read(&mut line[read..])?;
        let came = &line[read..read + count];
        read += count;
        if count == 0 || came.contains(&b'\n') {
            line.truncate(read);
            return Ok(line);
        }
    }
}

/// The socket of a running gate; gone when this is dropped.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
}

impl Control {
    /// Opens the socket and answers on a thread of its own. One that a killed gate left behind is
    /// taken over: the folder's lock says that nobody else has it.
    pub fn start(data: &Path, device: Arc<Device>, inputs: Inputs) -> io::Result<Self> {
        let path = data.join(SOCKET);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = at_socket(data, |path| UnixListener::bind(path))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(OWNER_ONLY))?;
        threads::spawn_large("control", move || {
            for stream in listener.incoming().flatten() {
                // Whoever asked and went has no answer to read.
                let _ = answer(stream, &device, &inputs);
            }
        })?;
        Ok(Self { path })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // One that stays behind is taken over at the next start.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn answer(stream: UnixStream, device: &Device, inputs: &Inputs) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let line = read_line(&mut (&stream))?;
    let response = match serde_json::from_slice(&line) {
        Ok(request) => carry_out(&request, device),
        Err(error) => Response::Failed(format!("the request cannot be read: {error}")),
    };
    // The scan loop moves the relay to what the device says.
    inputs.put(Input::FreePassage);
    let mut line = serde_json::to_vec(&response)?;
    line.push(b'\n');
    (&stream).write_all(&line)
}

fn carry_out(request: &Request, device: &Device) -> Response {
    let cause = FreePassageCause::Staff;
    let done = match request {
        Request::Open { reason } => device.begin_free_passage(cause, reason).map(|()| None),
        Request::Shut => device.end_free_passage(cause).map(Option::flatten),
        Request::SetClock { pin, to, reason } => {
            return match device.set_clock(&pin.0, *to, reason) {
                Ok(now) => Response::ClockSet { now: now.at },
                Err(error) => {
                    Response::Failed(clock_error(&error, &Words::of(device.identity())).en)
                }
            };
        }
    };
    match done {
        Ok(passages) => Response::Done {
            passages,
            stands_open: device.free_passage().is_some(),
        },
        Err(error) => Response::Failed(error.to_string()),
    }
}
