//! Scanners as configured. One word says the kind, the rest where it is.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::hid::Keyboard;
use super::{Hid, Scanner, Serial, Stdin, Tcp};
use crate::ports::{Options, Place, Ports, SerialSpec, SpecError};

/// A scanner as configured. A document reader that sends lines or types them is one like any
/// other: core tells documents by their shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScannerSpec {
    /// `stdin`: lines on standard input.
    Stdin,
    /// `tcp:ADDRESS:PORT`: lines over TCP, on an address of this machine; port 0 takes a free
    /// one.
    Tcp(SocketAddr),
    /// `serial:PATH[:BAUD]` or `serial:usb=VVVV:PPPP[,serial=…][,baud=9600][,parity=even]`.
    Serial(SerialSpec),
    /// `hid:PATH` or `hid:usb=VVVV:PPPP[,serial=…]`: types as a keyboard does.
    Hid(Place),
}

impl ScannerSpec {
    /// Whether two readers of it would be in each other's way. Port 0 is another one each time.
    pub fn is_one(&self) -> bool {
        !matches!(self, Self::Tcp(address) if address.port() == 0)
    }
}

impl FromStr for ScannerSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let named = |error: SpecError| SpecError(format!("scanner `{text}`: {error}"));
        let (kind, rest) = match text.split_once(':') {
            None if text == "stdin" => return Ok(Self::Stdin),
            Some(("tcp", address)) => {
                let problem = "it is an address of this machine, such as `tcp:127.0.0.1:7001`";
                let address = address.parse();
                return address
                    .map(Self::Tcp)
                    .map_err(|_| named(SpecError(problem.into())));
            }
            Some((kind @ ("serial" | "hid"), rest)) => (kind, rest),
            _ => {
                return Err(named(SpecError(
                    "a scanner is `stdin`, `tcp:ADDRESS:PORT`, `serial:PORT` or `hid:DEVICE`"
                        .into(),
                )));
            }
        };
        let mut options = Options::parse(rest).map_err(named)?;
        let spec = match kind {
            "serial" => Self::Serial(SerialSpec::take(&mut options).map_err(named)?),
            _ => Self::Hid(Place::take(&mut options).map_err(named)?),
        };
        options.finish().map_err(named)?;
        Ok(spec)
    }
}

impl fmt::Display for ScannerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("stdin"),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Serial(port) => write!(f, "serial:{port}"),
            Self::Hid(place) => write!(f, "hid:{place}"),
        }
    }
}

impl ScannerSpec {
    /// Whether its device is there and free now: opens it, and lets it go.
    pub fn probe(&self, ports: &Ports) -> io::Result<()> {
        match self {
            Self::Stdin | Self::Tcp(_) => Ok(()),
            Self::Serial(port) => ports.open_serial(port).map(drop),
            Self::Hid(place) => Keyboard::open(ports, place).map(drop),
        }
    }

    /// Opens the scanner: what can only be wrong fails here, and a device that may still be
    /// plugged in is waited for on its thread.
    pub fn open(
        &self,
        ports: &Arc<Ports>,
        idle_gap: Option<Duration>,
    ) -> io::Result<Box<dyn Scanner>> {
        let ports = Arc::clone(ports);
        Ok(match self {
            Self::Stdin => Box::new(Stdin::new(idle_gap)),
            Self::Tcp(address) => Box::new(Tcp::bind(*address, idle_gap)?),
            Self::Serial(port) => Box::new(Serial::new(ports, port.clone(), idle_gap)),
            Self::Hid(place) => Box::new(Hid::new(ports, place.clone(), idle_gap)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scanner_is_written_as_it_is_read() {
        for text in [
            "stdin",
            "tcp:127.0.0.1:7001",
            "tcp:[::1]:0",
            "serial:/dev/ttyUSB0:115200",
            "serial:usb=0c2e:0901,serial=1234,baud=9600,parity=odd",
            "hid:/dev/input/by-id/usb-Scanner-event-kbd",
            "hid:usb=0c2e:0901",
        ] {
            assert_eq!(text.parse::<ScannerSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_path_with_colons_of_its_own_stays_whole() {
        let path = "/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0";
        let spec = format!("serial:{path}").parse::<ScannerSpec>().unwrap();
        assert_eq!(spec.to_string(), format!("serial:{path}:9600"));
    }

    #[test]
    fn anything_else_is_no_scanner_and_the_error_says_what_is_wrong() {
        for (text, problem) in [
            ("", "a scanner is"),
            ("stdin:", "a scanner is"),
            ("tcp", "a scanner is"),
            ("tcp:7001", "an address of this machine"),
            ("tcp:localhost:7001", "an address of this machine"),
            ("usb", "a scanner is"),
            ("serial:ttyUSB0", "say where it is"),
            ("serial:/dev/ttyUSB0,baud=fast", "baud is `fast`"),
            ("serial:/dev/ttyUSB0,stop=2", "`stop` is not known here"),
            ("hid:usb=0c2e", "two hexadecimal numbers"),
        ] {
            let error = text.parse::<ScannerSpec>().unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
