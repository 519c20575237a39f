//! Inputs as configured, and how each is read.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use crate::ports::{
    GpioInput, GpioLine, ModbusAddress, ModbusBus, Options, Ports, SpecError, Urgency,
};

/// How often an input that cannot call is read: a person is in a sensor for several times as
/// long.
const POLL: Duration = Duration::from_millis(50);

/// An input as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputSpec {
    /// `gpio:CHIP,line=N[,active=low][,bias=pull-up]`.
    Gpio(GpioLine),
    /// `modbus-rtu:PORT[,unit=1][,input=0][,active=low]`, and the same with `modbus-tcp:HOST`.
    Modbus {
        /// The discrete input.
        address: ModbusAddress,
        /// On is 0.
        active_low: bool,
    },
    /// `file:PATH[,active=low]`: a file that holds 1 or 0, as the kernel's for boards without a
    /// GPIO character device.
    File {
        /// The file.
        path: PathBuf,
        /// On is 0.
        active_low: bool,
    },
}

impl FromStr for InputSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let named = |error: SpecError| SpecError(format!("input `{text}`: {error}"));
        let Some((kind @ ("gpio" | "modbus-rtu" | "modbus-tcp" | "file"), rest)) =
            text.split_once(':')
        else {
            return Err(named(SpecError(
                "an input is `gpio:CHIP,line=N`, `modbus-rtu:PORT`, `modbus-tcp:HOST` or \
                 `file:PATH`"
                    .into(),
            )));
        };
        let levels = [("high", false), ("low", true)];
        let mut options = Options::parse(rest).map_err(named)?;
        let spec = match (kind, options.place) {
            ("gpio", _) => Self::Gpio(GpioLine::take(&mut options).map_err(named)?),
            ("file", None) => return Err(named(SpecError("say which file".into()))),
            ("file", Some(path)) => Self::File {
                path: path.into(),
                active_low: options.choice("active", &levels).map_err(named)?,
            },
            _ => Self::Modbus {
                active_low: options.choice("active", &levels).map_err(named)?,
                address: ModbusAddress::take(kind, "input", &mut options).map_err(named)?,
            },
        };
        options.finish().map_err(named)?;
        Ok(spec)
    }
}

impl fmt::Display for InputSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let active_low = match self {
            Self::Gpio(line) => return write!(f, "{line}"),
            Self::Modbus {
                address,
                active_low,
            } => {
                f.write_str(&address.text("input"))?;
                active_low
            }
            Self::File { path, active_low } => {
                write!(f, "file:{}", path.display())?;
                active_low
            }
        };
        match active_low {
            true => f.write_str(",active=low"),
            false => Ok(()),
        }
    }
}

/// An input that is being read.
pub(super) trait Level {
    /// Whether it is on.
    fn is_on(&mut self) -> io::Result<bool>;

    /// Waits until it may have changed, or so long.
    fn wait(&mut self, at_most: Duration) -> io::Result<()> {
        sleep(POLL.min(at_most));
        Ok(())
    }
}

impl InputSpec {
    /// Begins to read it.
    pub(super) fn open(&self, ports: &Arc<Ports>, urgency: Urgency) -> io::Result<Box<dyn Level>> {
        Ok(match self {
            Self::Gpio(line) => Box::new(Line(ports.gpio().input(line)?)),
            Self::Modbus {
                address,
                active_low,
            } => Box::new(Discrete {
                bus: ports.modbus_bus(&address.bus)?,
                address: address.clone(),
                active_low: *active_low,
                urgency,
            }),
            Self::File { path, active_low } => Box::new(ValueFile {
                path: path.clone(),
                active_low: *active_low,
            }),
        })
    }
}

struct Line(Box<dyn GpioInput>);

impl Level for Line {
    fn is_on(&mut self) -> io::Result<bool> {
        self.0.is_on()
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<()> {
        self.0.wait(at_most)
    }
}

struct Discrete {
    bus: Arc<ModbusBus>,
    address: ModbusAddress,
    active_low: bool,
    urgency: Urgency,
}

impl Level for Discrete {
    fn is_on(&mut self) -> io::Result<bool> {
        let ModbusAddress { unit, number, .. } = self.address;
        let level = self.bus.read_input(self.urgency, unit, number);
        Ok(level.map_err(io::Error::other)? != self.active_low)
    }
}

struct ValueFile {
    path: PathBuf,
    active_low: bool,
}

impl Level for ValueFile {
    fn is_on(&mut self) -> io::Result<bool> {
        let level = match fs::read_to_string(&self.path)?.trim() {
            "1" => true,
            "0" => false,
            other => {
                let problem = format!("{} holds `{other}`, not 0 or 1", self.path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
        };
        Ok(level != self.active_low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_written_as_it_is_read() {
        for text in [
            "gpio:gpiochip0,line=22,active=low,bias=pull-up",
            "modbus-rtu:/dev/ttyUSB1:9600,unit=1,input=0,active=low",
            "modbus-tcp:10.0.0.7:502,unit=1,input=3",
            "file:/sys/class/gpio/gpio17/value,active=low",
        ] {
            assert_eq!(text.parse::<InputSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_no_input_and_the_error_says_what_is_wrong() {
        for (text, problem) in [
            ("", "an input is"),
            ("lcus:/dev/ttyUSB0", "an input is"),
            ("file:", "say which file"),
            ("gpio:gpiochip0", "`line=` is missing"),
            ("modbus-tcp:10.0.0.7,coil=1", "`coil` is not known here"),
            ("file:/x,active=on", "active is `on`; it is high or low"),
        ] {
            let error = text.parse::<InputSpec>().unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
