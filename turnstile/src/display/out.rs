//! The way to a display, opened when there is something to say and again after it failed. What
//! could not be said is dropped: the next line says it all.

use std::fs;
use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};

use serial2::SerialPort;

use super::DisplaySpec;

/// A display that takes nothing for so long is away.
const DEADLINE: Duration = Duration::from_secs(2);
/// Pause before one that is away is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// The way to one display.
pub(super) struct Out {
    spec: DisplaySpec,
    line: Option<Box<dyn Write>>,
    retry_at: Option<Instant>,
    is_away: bool,
}

impl Out {
    pub(super) fn new(spec: DisplaySpec) -> Self {
        Self {
            spec,
            line: None,
            retry_at: None,
            is_away: false,
        }
    }

    /// Says one line. That a display is away is said once in the log.
    pub(super) fn send(&mut self, line: &str) {
        let now = Instant::now();
        if self.retry_at.is_some_and(|at| now < at) {
            return;
        }
        match self.try_send(line) {
            Ok(()) => {
                self.retry_at = None;
                if std::mem::take(&mut self.is_away) {
                    tracing::info!("display {}: it is there again", self.spec);
                }
            }
            Err(error) => {
                self.line = None;
                self.retry_at = Some(Instant::now() + RETRY);
                if !std::mem::replace(&mut self.is_away, true) {
                    tracing::warn!("display {}: {error}; it is tried again", self.spec);
                }
            }
        }
    }

    fn try_send(&mut self, text: &str) -> io::Result<()> {
        let line: &mut dyn Write = match (&self.spec, &mut self.line) {
            (DisplaySpec::File(path), _) => return replace(path, text),
            (_, Some(line)) => line,
            (DisplaySpec::Serial { path, baud }, line) => line.insert(open_serial(path, *baud)?),
            (DisplaySpec::Tcp(address), line) => line.insert(open_tcp(address)?),
        };
        line.write_all(text.as_bytes()).and_then(|()| line.flush())
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".new");
    fs::write(&aside, text)?;
    fs::rename(&aside, path)
}

fn open_serial(path: &Path, baud: u32) -> io::Result<Box<dyn Write>> {
    let mut port = SerialPort::open(path, baud)?;
    port.set_write_timeout(DEADLINE)?;
    Ok(Box::new(port))
}

fn open_tcp(address: &str) -> io::Result<Box<dyn Write>> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, DEADLINE) {
            Ok(stream) => {
                stream.set_write_timeout(Some(DEADLINE))?;
                stream.set_nodelay(true)?;
                return Ok(Box::new(stream));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
