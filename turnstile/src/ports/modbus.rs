//! A Modbus bus, RTU on a serial port or TCP, that several drivers share. One exchange at a
//! time, each answered in time and checked, or the connection is made anew.

use std::fmt;
use std::io;
use std::net::ToSocketAddrs;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::net::unix::pipe;
use tokio::runtime::{Builder, Runtime};
use tokio_modbus::client::{Client, Context, rtu, tcp};
use tokio_modbus::slave::{Slave, SlaveContext};
use tokio_modbus::{ExceptionCode, Request, Response};

use super::turn::Turn;
use super::{Options, Ports, SerialSpec, SpecError, Urgency};

/// How long an answer may take. A board answers in a tenth of it; a visitor who waits longer
/// walks on.
const ANSWER_DEADLINE: Duration = Duration::from_millis(500);
/// Modbus TCP's own port.
const TCP_PORT: u16 = 502;

/// Where a bus is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum BusPlace {
    /// RTU on a serial port.
    Rtu(SerialSpec),
    /// TCP, as `HOST:PORT`.
    Tcp(String),
}

/// One coil or input of one unit on a bus.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModbusAddress {
    /// The bus.
    pub bus: BusPlace,
    /// The unit's address on it.
    pub unit: u8,
    /// The coil's or input's number, from 0.
    pub number: u16,
}

impl ModbusAddress {
    /// Takes one out of the options of `modbus-rtu:` or `modbus-tcp:`; `what` is the key of its
    /// number, `coil` or `input`.
    pub(crate) fn take(
        kind: &str,
        what: &str,
        options: &mut Options<'_>,
    ) -> Result<Self, SpecError> {
        let bus = match (kind, options.place) {
            ("modbus-rtu", _) => BusPlace::Rtu(SerialSpec::take(options)?),
            (_, None) => {
                let problem = "say where it is: `modbus-tcp:192.168.1.20:502`";
                return Err(SpecError(problem.into()));
            }
            (_, Some(host)) => {
                let port = host.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
                BusPlace::Tcp(match port {
                    Some(Ok(_)) => host.to_owned(),
                    Some(Err(_)) => return Err(SpecError(format!("`{host}` has no port number"))),
                    None => format!("{host}:{TCP_PORT}"),
                })
            }
        };
        Ok(Self {
            bus,
            unit: options.number("unit", Some(1), 1..=247)?,
            number: options.number(what, Some(0), 0..=u16::MAX)?,
        })
    }

    /// As it is written in configuration.
    pub(crate) fn text(&self, what: &str) -> String {
        format!("{},unit={},{what}={}", self.bus, self.unit, self.number)
    }
}

impl fmt::Display for BusPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rtu(serial) => write!(f, "modbus-rtu:{serial}"),
            Self::Tcp(host) => write!(f, "modbus-tcp:{host}"),
        }
    }
}

/// Why an exchange failed.
#[derive(Debug, thiserror::Error)]
pub enum ModbusError {
    /// The port, or the connection.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Nothing that makes sense came in time.
    #[error("no answer from unit {unit} within {} ms", after.as_millis())]
    Silent {
        /// Which unit.
        unit: u8,
        /// How long it was waited for.
        after: Duration,
    },
    /// An answer to another question.
    #[error("unit {unit} answers something else: {what}")]
    Wrong {
        /// Which unit.
        unit: u8,
        /// What it answers.
        what: String,
    },
    /// The unit says that it will not.
    #[error("unit {unit} refuses: {what}")]
    Refused {
        /// Which unit.
        unit: u8,
        /// The exception that it answers.
        what: ExceptionCode,
    },
}

/// A bus. Connected when it is first used, and again after an exchange that failed.
pub struct ModbusBus {
    ports: Weak<Ports>,
    place: BusPlace,
    line: Turn<Line>,
}

struct Line {
    runtime: Runtime,
    context: Option<Context>,
    /// How often it was connected.
    connected: u64,
}

impl ModbusBus {
    pub(super) fn new(ports: &Arc<Ports>, place: BusPlace) -> io::Result<Self> {
        Ok(Self {
            ports: Arc::downgrade(ports),
            place,
            line: Turn::new(Line {
                runtime: Builder::new_current_thread().enable_all().build()?,
                context: None,
                connected: 0,
            }),
        })
    }

    /// Switches a coil (FC05) and checks that the answer says so. Sent once. Gives the number of
    /// the connection.
    pub fn write_coil(
        &self,
        urgency: Urgency,
        unit: u8,
        coil: u16,
        on: bool,
    ) -> Result<u64, ModbusError> {
        let request = Request::WriteSingleCoil(coil, on);
        self.exchange(urgency, unit, request, |answer| match answer {
            Response::WriteSingleCoil(same, state) if (*same, *state) == (coil, on) => Some(()),
            _ => None,
        })
        .map(|((), connected)| connected)
    }

    /// Reads a coil (FC01), and the number of the connection.
    pub fn read_coil(
        &self,
        urgency: Urgency,
        unit: u8,
        coil: u16,
    ) -> Result<(bool, u64), ModbusError> {
        let request = Request::ReadCoils(coil, 1);
        self.exchange(urgency, unit, request, |answer| match answer {
            Response::ReadCoils(states) => states.first().copied(),
            _ => None,
        })
    }

    /// Reads a discrete input (FC02).
    pub fn read_input(&self, urgency: Urgency, unit: u8, input: u16) -> Result<bool, ModbusError> {
        let request = Request::ReadDiscreteInputs(input, 1);
        self.exchange(urgency, unit, request, |answer| match answer {
            Response::ReadDiscreteInputs(states) => states.first().copied(),
            _ => None,
        })
        .map(|(state, _)| state)
    }

    fn exchange<T>(
        &self,
        urgency: Urgency,
        unit: u8,
        request: Request<'static>,
        read: impl FnOnce(&Response) -> Option<T>,
    ) -> Result<(T, u64), ModbusError> {
        self.line.take(urgency, |line| {
            let context = line.context.take();
            let silent = ModbusError::Silent {
                unit,
                after: ANSWER_DEADLINE,
            };
            let is_new = context.is_none();
            let exchange = async {
                let mut context = match context {
                    Some(context) => context,
                    None => self.connect().await?,
                };
                context.set_slave(Slave(unit));
                let answer = context.call(request).await;
                Ok::<_, ModbusError>((context, answer))
            };
            let in_time = async { tokio::time::timeout(ANSWER_DEADLINE, exchange).await };
            let answered = line.runtime.block_on(in_time);
            let (context, answer) = answered.map_err(|_| silent)??;
            if is_new {
                line.connected += 1;
            }
            let wrong = |what: String| ModbusError::Wrong { unit, what };
            match answer {
                Ok(Ok(answer)) => {
                    let read = read(&answer).ok_or_else(|| wrong(format!("{answer:?}")))?;
                    line.context = Some(context);
                    Ok((read, line.connected))
                }
                Ok(Err(what)) => {
                    line.context = Some(context);
                    Err(ModbusError::Refused { unit, what })
                }
                Err(tokio_modbus::Error::Transport(error)) => Err(ModbusError::Io(error)),
                Err(tokio_modbus::Error::Protocol(error)) => Err(wrong(error.to_string())),
            }
        })
    }

    async fn connect(&self) -> io::Result<Context> {
        match &self.place {
            BusPlace::Rtu(spec) => {
                let ports = self.ports.upgrade();
                let ports = ports.ok_or_else(|| io::Error::other("the program ends"))?;
                let port = ports.open_serial(spec)?;
                // To tokio a serial port is two pipes: it polls, reads and writes alike.
                let listen = pipe::Receiver::from_owned_fd_unchecked(port.try_clone()?.into())?;
                let speak = pipe::Sender::from_owned_fd_unchecked(port.into())?;
                Ok(rtu::attach(tokio::io::join(listen, speak)))
            }
            BusPlace::Tcp(host) => {
                let named = |error| io::Error::other(format!("{host}: {error}"));
                // A board's address is a number; a name is looked up by the system.
                let mut addresses = host.to_socket_addrs().map_err(named)?;
                let address = addresses.next();
                let address = address.ok_or_else(|| named(io::ErrorKind::NotFound.into()))?;
                let connection = TcpStream::connect(address).await.map_err(named)?;
                connection.set_nodelay(true)?;
                Ok(tcp::attach(connection))
            }
        }
    }
}

impl fmt::Debug for ModbusBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ModbusBus").field(&self.place).finish()
    }
}
