//! Serial ports: opened raw and for this program alone, and found again after they were
//! unplugged. What is written to them is each driver's.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::termios::ioctl_tiocexcl;
use serial2::{CharSize, FlowControl, SerialPort, Settings, StopBits};

use super::{Options, Place, Ports, SpecError};

/// What nearly every scanner and relay board is set to when it leaves the factory.
const DEFAULT_BAUD: u32 = 9600;
/// Baud rates that are taken: from the slowest displays to the fastest adaptors.
const BAUD_RATES: std::ops::RangeInclusive<u32> = 300..=4_000_000;
/// A port that takes nothing for so long is broken; a relay's command is four bytes.
const WRITE_DEADLINE: Duration = Duration::from_millis(500);

/// The check bit behind each character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Parity {
    /// None: 8N1.
    None,
    /// Even: 8E1, Modbus' own default.
    Even,
    /// Odd: 8O1.
    Odd,
}

/// A serial port as configured: where it is, and how fast.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SerialSpec {
    /// Where it is.
    pub place: Place,
    /// Bits per second.
    pub baud: u32,
    /// The check bit.
    pub parity: Parity,
}

impl SerialSpec {
    /// Takes `PATH[:BAUD]` or `usb=…` with `baud=` and `parity=` out of the options.
    pub(crate) fn take(options: &mut Options<'_>) -> Result<Self, SpecError> {
        let mut short_baud = None;
        if let Some((path, digits)) = options.place.and_then(|place| place.rsplit_once(':'))
            && let Some(baud) = digits.parse().ok().filter(|baud| BAUD_RATES.contains(baud))
        {
            // Not the last part of a path such as /dev/serial/by-path/…-usb-0:1.
            options.place = Some(path);
            short_baud = Some(baud);
        }
        let place = Place::take(options)?;
        let otherwise = short_baud.unwrap_or(DEFAULT_BAUD);
        let baud = options.number("baud", Some(otherwise), BAUD_RATES)?;
        let words = [
            ("none", Parity::None),
            ("even", Parity::Even),
            ("odd", Parity::Odd),
        ];
        let parity = options.choice("parity", &words)?;
        Ok(Self {
            place,
            baud,
            parity,
        })
    }

    fn settings(&self, mut settings: Settings) -> io::Result<Settings> {
        settings.set_raw();
        settings.set_baud_rate(self.baud)?;
        settings.set_char_size(CharSize::Bits8);
        settings.set_stop_bits(StopBits::One);
        settings.set_flow_control(FlowControl::None);
        settings.set_parity(match self.parity {
            Parity::None => serial2::Parity::None,
            Parity::Even => serial2::Parity::Even,
            Parity::Odd => serial2::Parity::Odd,
        });
        Ok(settings)
    }
}

impl FromStr for SerialSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut options = Options::parse(text)?;
        let spec = Self::take(&mut options)?;
        options.finish()?;
        Ok(spec)
    }
}

impl fmt::Display for SerialSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Path(path) => write!(f, "{}:{}", path.display(), self.baud)?,
            place => write!(f, "{place},baud={}", self.baud)?,
        }
        match self.parity {
            Parity::None => Ok(()),
            Parity::Even => f.write_str(",parity=even"),
            Parity::Odd => f.write_str(",parity=odd"),
        }
    }
}

/// Opens a port raw and for this program alone; what came in before is dropped.
pub(super) fn open(path: &Path, spec: &SerialSpec) -> io::Result<SerialPort> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if fs::metadata(path).is_err() {
        let problem = format!("{} is not plugged in", path.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, problem));
    }
    let port = SerialPort::open(path, |settings| spec.settings(settings));
    let mut port = port.map_err(named)?;
    // The kernel's mark keeps others out, but not those who run as root; the lock tells them.
    let alone =
        ioctl_tiocexcl(&port).and_then(|()| flock(&port, FlockOperation::NonBlockingLockExclusive));
    if alone.is_err() {
        let problem = format!("{}: another program uses it", path.display());
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, problem));
    }
    port.set_write_timeout(WRITE_DEADLINE)?;
    port.discard_buffers().map_err(named)?;
    Ok(port)
}

/// Whether a port's device has gone.
fn is_gone(port: &impl AsFd) -> bool {
    let mut ports = [PollFd::new(port, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    poll(&mut ports, Some(&now)).is_ok() && ports[0].revents().intersects(gone)
}

/// A serial port that several drivers write to. It is opened when it is needed, and again when
/// the device has come back.
#[derive(Debug)]
pub struct SerialWire {
    ports: Weak<Ports>,
    spec: SerialSpec,
    end: Mutex<End>,
}

#[derive(Debug, Default)]
struct End {
    port: Option<SerialPort>,
    /// How often it was opened: a board that was unplugged has forgotten what it was told.
    opened: u64,
}

impl SerialWire {
    pub(super) fn new(ports: &Arc<Ports>, spec: SerialSpec) -> Self {
        Self {
            ports: Arc::downgrade(ports),
            spec,
            end: Mutex::default(),
        }
    }

    /// Writes all of it. Gives the number of the opening that it went through. Nothing is sent
    /// again by itself.
    pub fn write(&self, bytes: &[u8]) -> io::Result<u64> {
        self.with_port(|port| port.write_all(bytes))
    }

    /// Makes sure that the device is there, and gives the number of the opening.
    pub fn check(&self) -> io::Result<u64> {
        self.with_port(|_| Ok(()))
    }

    fn with_port(&self, work: impl FnOnce(&SerialPort) -> io::Result<()>) -> io::Result<u64> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if end.port.as_ref().is_some_and(is_gone) {
            end.port = None;
        }
        let port = match end.port.take() {
            Some(port) => port,
            None => {
                let ports = self.ports.upgrade();
                let ports = ports.ok_or_else(|| io::Error::other("the program ends"))?;
                let port = ports.open_serial(&self.spec)?;
                end.opened += 1;
                port
            }
        };
        work(&port)?;
        // Kept only if it did what it was told: else it is opened anew.
        end.port = Some(port);
        Ok(end.opened)
    }
}
