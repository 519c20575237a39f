//! Relays as configured. One word says the driver, the rest where it is.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use super::{CommandRelay, GpioRelay, LcusRelay, LogRelay, ModbusRelay, Relay, RelayError};
use crate::ports::{GpioLine, ModbusAddress, Options, Ports, SerialSpec, SpecError, Urgency};

/// Channels that a board may have.
const CHANNELS: std::ops::RangeInclusive<u8> = 1..=32;

/// A relay as configured; each can also switch a lamp or a buzzer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelaySpec {
    /// `log` or `log:FILE`: writes what it would do to the program's log, or to the end of a
    /// file.
    Log(Option<PathBuf>),
    /// `command:PROGRAM`: calls `PROGRAM open` and `PROGRAM close`.
    Command(PathBuf),
    /// `lcus:PORT[,channel=1]`: a channel of an LCUS board.
    Lcus {
        /// Its port.
        port: SerialSpec,
        /// Which channel, from 1.
        channel: u8,
    },
    /// `modbus-rtu:PORT[,unit=1][,coil=0]` or `modbus-tcp:HOST[:502][,unit=1][,coil=0]`.
    Modbus(ModbusAddress),
    /// `gpio:CHIP,line=N[,active=low]`.
    Gpio(GpioLine),
}

impl FromStr for RelaySpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let named = |error: SpecError| SpecError(format!("relay `{text}`: {error}"));
        let (kind, rest) = match text.split_once(':') {
            None if text == "log" => return Ok(Self::Log(None)),
            Some(("log", path)) if !path.is_empty() => return Ok(Self::Log(Some(path.into()))),
            Some(("command", path)) if !path.is_empty() => return Ok(Self::Command(path.into())),
            Some((kind @ ("lcus" | "modbus-rtu" | "modbus-tcp" | "gpio"), rest)) => (kind, rest),
            _ => {
                return Err(named(SpecError(
                    "a relay is `log`, `log:FILE`, `command:PROGRAM`, `lcus:PORT`, \
                     `modbus-rtu:PORT`, `modbus-tcp:HOST` or `gpio:CHIP,line=N`"
                        .into(),
                )));
            }
        };
        let mut options = Options::parse(rest).map_err(named)?;
        let spec = match kind {
            "lcus" => Self::Lcus {
                port: SerialSpec::take(&mut options).map_err(named)?,
                channel: options
                    .number("channel", Some(1), CHANNELS)
                    .map_err(named)?,
            },
            "gpio" => Self::Gpio(GpioLine::take(&mut options).map_err(named)?),
            _ => {
                let address = ModbusAddress::take(kind, "coil", &mut options);
                Self::Modbus(address.map_err(named)?)
            }
        };
        options.finish().map_err(named)?;
        Ok(spec)
    }
}

impl fmt::Display for RelaySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(None) => f.write_str("log"),
            Self::Log(Some(path)) => write!(f, "log:{}", path.display()),
            Self::Command(path) => write!(f, "command:{}", path.display()),
            Self::Lcus { port, channel } => write!(f, "lcus:{port},channel={channel}"),
            Self::Modbus(address) => f.write_str(&address.text("coil")),
            Self::Gpio(line) => write!(f, "{line}"),
        }
    }
}

impl RelaySpec {
    /// Makes the driver; neither the gate nor a device is touched. A program that is not there
    /// is refused now; a device may still come.
    pub fn open(&self, ports: &Arc<Ports>, urgency: Urgency) -> Result<Box<dyn Relay>, RelayError> {
        let io = |source| RelayError::Io {
            relay: self.to_string(),
            source,
        };
        Ok(match self {
            Self::Log(path) => Box::new(LogRelay::new(path.as_deref()).map_err(io)?),
            Self::Command(program) => Box::new(CommandRelay::new(program).map_err(io)?),
            Self::Lcus { port, channel } => {
                let wire = ports.serial_wire(port);
                Box::new(LcusRelay::new(self.to_string(), wire, *channel))
            }
            Self::Modbus(address) => {
                let bus = ports.modbus_bus(&address.bus).map_err(io)?;
                Box::new(ModbusRelay::new(bus, address.clone(), urgency))
            }
            Self::Gpio(line) => Box::new(GpioRelay::new(ports.gpio(), line.clone())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_is_written_as_it_is_read() {
        for text in [
            "log",
            "log:/var/log/relay",
            "command:/usr/bin/relay",
            "lcus:/dev/ttyUSB0:9600,channel=1",
            "lcus:usb=1a86:7523,serial=A1,baud=19200,channel=2",
            "modbus-rtu:/dev/ttyS1:19200,parity=even,unit=2,coil=3",
            "modbus-tcp:192.168.1.20:502,unit=1,coil=0",
            "gpio:gpiochip0,line=17,active=low",
        ] {
            assert_eq!(text.parse::<RelaySpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_not_said_has_the_factory_setting() {
        for (short, long) in [
            ("lcus:/dev/ttyUSB0", "lcus:/dev/ttyUSB0:9600,channel=1"),
            (
                "modbus-rtu:/dev/ttyUSB0",
                "modbus-rtu:/dev/ttyUSB0:9600,unit=1,coil=0",
            ),
            (
                "modbus-tcp:10.0.0.7",
                "modbus-tcp:10.0.0.7:502,unit=1,coil=0",
            ),
            ("gpio:/dev/gpiochip2,line=0", "gpio:gpiochip2,line=0"),
        ] {
            assert_eq!(short.parse::<RelaySpec>().unwrap().to_string(), long);
        }
    }

    #[test]
    fn anything_else_is_no_relay_and_the_error_says_what_is_wrong() {
        for (text, problem) in [
            ("", "a relay is"),
            ("log:", "a relay is"),
            ("command", "a relay is"),
            ("lcus:", "say where it is"),
            ("lcus:ttyUSB0", "say where it is"),
            (
                "lcus:/dev/ttyUSB0,channel=0",
                "channel is `0`; it must be 1 to 32",
            ),
            ("modbus-tcp:", "say where it is"),
            ("modbus-tcp:host:port", "no port number"),
            ("modbus-rtu:/dev/ttyS1,coils=1", "`coils` is not known here"),
            ("gpio:4", "`line=` is missing"),
        ] {
            let error = text.parse::<RelaySpec>().unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
