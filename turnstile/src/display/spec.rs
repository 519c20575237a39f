//! A display as configured.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// What displays are set to where nothing else is said.
const DEFAULT_BAUD: u32 = 9600;

/// A display as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DisplaySpec {
    /// `serial:PATH[:BAUD]`: a serial port, 8N1.
    Serial {
        /// The device.
        path: PathBuf,
        /// Bits per second.
        baud: u32,
    },
    /// `tcp:HOST:PORT`: a connection to the display.
    Tcp(String),
    /// `file:PATH`: a file that holds the latest line, put in place whole.
    File(PathBuf),
}

/// A text that names no display.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a display is `serial:PATH[:BAUD]`, `tcp:HOST:PORT` or `file:PATH`")]
pub struct DisplaySpecError;

impl FromStr for DisplaySpec {
    type Err = DisplaySpecError;

    fn from_str(text: &str) -> Result<Self, DisplaySpecError> {
        match text.split_once(':') {
            Some((_, "")) => Err(DisplaySpecError),
            Some(("serial", rest)) => {
                let (path, baud) = match rest.rsplit_once(':') {
                    Some((path, digits)) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                        (path, digits.parse().map_err(|_| DisplaySpecError)?)
                    }
                    _ => (rest, DEFAULT_BAUD),
                };
                match (path, baud) {
                    ("", _) | (_, 0) => Err(DisplaySpecError),
                    (path, baud) => Ok(Self::Serial {
                        path: path.into(),
                        baud,
                    }),
                }
            }
            Some(("tcp", address)) => match address.rsplit_once(':') {
                Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                    Ok(Self::Tcp(address.into()))
                }
                _ => Err(DisplaySpecError),
            },
            Some(("file", path)) => Ok(Self::File(path.into())),
            _ => Err(DisplaySpecError),
        }
    }
}

impl fmt::Display for DisplaySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial { path, baud } => write!(f, "serial:{}:{baud}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_is_written_as_it_is_read() {
        for text in [
            "serial:/dev/ttyS1:115200",
            "tcp:192.168.1.9:7010",
            "tcp:display.local:7010",
            "file:/run/stile-gate/display",
        ] {
            assert_eq!(text.parse::<DisplaySpec>().unwrap().to_string(), text);
        }
        let short = "serial:/dev/ttyS1".parse::<DisplaySpec>().unwrap();
        assert_eq!(short.to_string(), "serial:/dev/ttyS1:9600");
    }

    #[test]
    fn anything_else_is_no_display() {
        for text in [
            "",
            "serial",
            "serial:",
            "serial::9600",
            "serial:/dev/ttyS1:0",
            "tcp:7010",
            "tcp::7010",
            "tcp:host:port",
            "file:",
            "lcd",
        ] {
            assert_eq!(text.parse::<DisplaySpec>(), Err(DisplaySpecError), "{text}");
        }
    }
}
