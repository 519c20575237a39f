//! Where codes come from. A scanner runs on its own thread and hands over what it reads; the
//! scan loop takes all scanners' readings from one queue.

mod framer;
mod line;
mod stdin;
mod tcp;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

pub use framer::{Framer, MAX_CODE_BYTES};
pub use stdin::Stdin;
pub use tcp::{MAX_CONNECTIONS, Tcp};

/// Readings that may wait for the scan loop; a scanner that reads faster is made to wait.
const QUEUE: usize = 64;

/// One code as a scanner read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Its bytes, without the line end.
    pub bytes: Vec<u8>,
    /// When its line end was read.
    pub read_at: Instant,
}

/// What reaches the scan loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A code.
    Reading(Reading),
    /// A scanner sent a line that is longer than any code.
    Overlong(String),
    /// A scanner has ended and sends nothing more.
    Ended(String),
    /// The program is to end.
    Stop,
}

/// Puts into the queue of the scan loop.
#[derive(Debug, Clone)]
pub struct Inputs(SyncSender<Input>);

/// The scan loop's queue.
pub fn queue() -> (Inputs, Receiver<Input>) {
    let (sender, receiver) = sync_channel(QUEUE);
    (Inputs(sender), receiver)
}

impl Inputs {
    /// Puts one in, and waits while the queue is full. False once the scan loop has ended.
    pub fn put(&self, input: Input) -> bool {
        self.0.send(input).is_ok()
    }
}

/// A source of codes.
pub trait Scanner: Send {
    /// What it is called in messages: how it is configured, with what was found out since (the
    /// port that was bound).
    fn name(&self) -> String;

    /// Reads until it ends or the scan loop does. Runs on a thread of its own; says
    /// [`Input::Ended`] by itself.
    fn run(self: Box<Self>, inputs: Inputs);
}

/// A scanner as configured: `stdin` or `tcp:ADDRESS:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScannerSpec {
    /// Lines on standard input.
    Stdin,
    /// Lines over TCP, on an address of this machine; port 0 takes a free one.
    Tcp(SocketAddr),
}

/// A text that names no scanner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a scanner is `stdin` or `tcp:ADDRESS:PORT`, such as `tcp:127.0.0.1:7001`")]
pub struct ScannerSpecError;

impl FromStr for ScannerSpec {
    type Err = ScannerSpecError;

    fn from_str(text: &str) -> Result<Self, ScannerSpecError> {
        match text.split_once(':') {
            None if text == "stdin" => Ok(Self::Stdin),
            Some(("tcp", address)) => {
                let address = address.parse().map_err(|_| ScannerSpecError)?;
                Ok(Self::Tcp(address))
            }
            _ => Err(ScannerSpecError),
        }
    }
}

impl fmt::Display for ScannerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("stdin"),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

impl ScannerSpec {
    /// Opens the scanner: what can fail fails here, not on its thread.
    pub fn open(&self, idle_gap: Option<std::time::Duration>) -> io::Result<Box<dyn Scanner>> {
        Ok(match self {
            Self::Stdin => Box::new(Stdin::new(idle_gap)),
            Self::Tcp(address) => Box::new(Tcp::bind(*address, idle_gap)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scanner_is_written_as_it_is_read() {
        for text in ["stdin", "tcp:127.0.0.1:7001", "tcp:[::1]:0"] {
            assert_eq!(text.parse::<ScannerSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_no_scanner() {
        for text in ["", "stdin:", "tcp", "tcp:7001", "tcp:localhost:7001", "usb"] {
            assert_eq!(text.parse::<ScannerSpec>(), Err(ScannerSpecError), "{text}");
        }
    }
}
