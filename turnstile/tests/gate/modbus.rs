//! Modbus relays and inputs: RTU to the byte against a unit that answers, answers wrongly, or not
//! at all; TCP against a real server.

use std::collections::HashMap;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use stile_turnstile::ports::{BusPlace, ModbusError, Ports, Urgency};
use stile_turnstile::relay::{Connection, Relay, RelayError, RelaySpec};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_modbus::server::Service;
use tokio_modbus::server::tcp::{Server, accept_tcp_connection};
use tokio_modbus::{ExceptionCode, Request, Response};

use crate::common::process::{Place, Running, Scene};
use crate::common::pty::{Device, Pty};

const OPEN: [u8; 8] = [0x01, 0x05, 0x00, 0x00, 0xFF, 0x00, 0x8C, 0x3A];
const CLOSE: [u8; 8] = [0x01, 0x05, 0x00, 0x00, 0x00, 0x00, 0xCD, 0xCA];

/// How a unit on a serial line behaves.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// It does as it is told, and cannot tell its coils.
    Right,
    /// It answers that the coil is off, whatever it was told.
    SaysOff,
    /// Its answers are damaged on the way.
    Damaged,
    /// Another unit answers.
    OtherUnit,
    Silent,
}

fn with_crc(mut frame: Vec<u8>) -> Vec<u8> {
    let mut crc = 0xFFFF_u16;
    for byte in &frame {
        crc ^= u16::from(*byte);
        for _ in 0..8 {
            let carry = crc & 1 == 1;
            crc >>= 1;
            if carry {
                crc ^= 0xA001;
            }
        }
    }
    frame.extend(crc.to_le_bytes());
    frame
}

/// A unit that notes the switching requests that it is given.
fn unit(manner: Arc<Mutex<Manner>>) -> Device {
    let mut waiting = Vec::new();
    Box::new(move |bytes| {
        waiting.extend_from_slice(bytes);
        let mut answers = Vec::new();
        while waiting.len() >= 8 {
            let request: Vec<u8> = waiting.drain(..8).collect();
            let right = match request[1] {
                5 => request.clone(),
                function => with_crc(vec![request[0], function | 0x80, 1]),
            };
            answers.extend(match *manner.lock().unwrap() {
                Manner::Right => right,
                Manner::SaysOff => CLOSE.to_vec(),
                Manner::Damaged => [&right[..7], &[!right[7]]].concat(),
                Manner::OtherUnit => with_crc([&[9], &right[1..6]].concat()),
                Manner::Silent => Vec::new(),
            });
        }
        answers
    })
}

struct Line {
    _place: Place,
    unit: Pty,
    manner: Arc<Mutex<Manner>>,
    relay: Box<dyn Relay>,
    _ports: Arc<Ports>,
}

fn line(manner: Manner) -> Line {
    let place = Place::default();
    let path = place.beside("ttyS0");
    let manner = Arc::new(Mutex::new(manner));
    let unit = Pty::plug_device(&path, unit(Arc::clone(&manner)));
    let ports = Arc::new(Ports::default());
    let relay = spec(&path).open(&ports, Urgency::First).unwrap();
    Line {
        _place: place,
        unit,
        manner,
        relay,
        _ports: ports,
    }
}

fn spec(path: &Path) -> RelaySpec {
    let text = format!("modbus-rtu:{},unit=1,coil=0", path.display());
    text.parse().unwrap()
}

fn modbus_error(result: Result<(), RelayError>) -> ModbusError {
    match result {
        Err(RelayError::Modbus { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_unit_is_switched_by_the_bytes_of_the_standard() {
    let mut line = line(Manner::Right);
    line.relay.open().unwrap();
    line.relay.close().unwrap();
    line.unit.receives(&[OPEN, CLOSE].concat());
    assert_eq!(line.relay.check().unwrap(), Connection::Same);
}

#[test]
fn an_opening_that_is_not_confirmed_has_failed_and_is_sent_once() {
    for manner in [Manner::SaysOff, Manner::OtherUnit] {
        let mut line = line(manner);
        let error = modbus_error(line.relay.open());
        assert!(
            matches!(error, ModbusError::Wrong { unit: 1, .. }),
            "{error}"
        );
        line.unit.receives(&OPEN);
    }
    for manner in [Manner::Damaged, Manner::Silent] {
        let mut line = line(manner);
        let error = modbus_error(line.relay.open());
        assert!(matches!(error, ModbusError::Silent { .. }), "{error}");
        line.unit.receives(&OPEN);
    }
}

#[test]
fn a_unit_that_answers_again_is_used_again() {
    let mut line = line(Manner::Silent);
    assert!(line.relay.close().is_err());
    *line.manner.lock().unwrap() = Manner::Right;
    line.relay.close().unwrap();
    line.unit.receives(&[CLOSE, CLOSE].concat());
}

#[test]
fn a_unit_that_is_unplugged_is_lost_and_comes_back_to_be_closed() {
    let mut line = line(Manner::Right);
    line.relay.close().unwrap();
    let path = line._place.beside("ttyS0");
    drop(line.unit);
    assert!(line.relay.check().is_err());
    let _unit = Pty::plug_device(&path, unit(line.manner));
    // It cannot tell its coils, but it is there.
    line.relay.check().unwrap();
    line.relay.close().unwrap();
}

#[test]
fn the_gate_opens_and_closes_a_unit_and_leaves_it_closed() {
    let scene = Scene::new();
    let path = scene.place.beside("ttyS0");
    let unit = Pty::plug_device(&path, unit(Arc::new(Mutex::new(Manner::Right))));
    let relay = spec(&path).to_string();
    let arguments = ["run", "--json", "--relay", &relay, "--hold-ms", "5"];
    let mut gate = Running::start(&scene.place.data(), &arguments);
    assert!(gate.scan(&scene.code(0))["line_to_relay_us"].is_u64());
    gate.terminate();
    let received = unit.received();
    let moves: Vec<_> = received.chunks(8).filter(|frame| frame[1] == 5).collect();
    assert_eq!(moves, [CLOSE, OPEN, CLOSE, CLOSE]);
}

/// What a TCP unit's coils and inputs are.
#[derive(Default)]
struct Unit {
    coils: Mutex<HashMap<u16, bool>>,
    inputs: Mutex<HashMap<u16, bool>>,
}

#[derive(Clone)]
struct Served(Arc<Unit>);

impl Service for Served {
    type Request = Request<'static>;
    type Response = Response;
    type Exception = ExceptionCode;
    type Future = Ready<Result<Response, ExceptionCode>>;

    fn call(&self, request: Self::Request) -> Self::Future {
        let read = |of: &Mutex<HashMap<u16, bool>>, at: u16| {
            of.lock().unwrap().get(&at).copied().unwrap_or_default()
        };
        ready(match request {
            Request::WriteSingleCoil(coil, on) => {
                self.0.coils.lock().unwrap().insert(coil, on);
                Ok(Response::WriteSingleCoil(coil, on))
            }
            Request::ReadCoils(coil, 1) => Ok(Response::ReadCoils(vec![read(&self.0.coils, coil)])),
            Request::ReadDiscreteInputs(input, 1) => Ok(Response::ReadDiscreteInputs(vec![read(
                &self.0.inputs,
                input,
            )])),
            _ => Err(ExceptionCode::IllegalFunction),
        })
    }
}

/// A Modbus TCP server. Gone, connections with it, when the runtime is dropped.
fn serve(address: &str, unit: &Arc<Unit>) -> (Runtime, SocketAddr) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let listener = runtime.block_on(TcpListener::bind(address)).unwrap();
    let address = listener.local_addr().unwrap();
    let served = Served(Arc::clone(unit));
    runtime.spawn(async move {
        let server = Server::new(listener);
        let connected = |stream, address| {
            let served = served.clone();
            async move { accept_tcp_connection(stream, address, move |_| Ok(Some(served.clone()))) }
        };
        server.serve(&connected, |_| ()).await.unwrap();
    });
    (runtime, address)
}

#[test]
fn a_coil_behind_tcp_is_switched_looked_after_and_found_again() {
    let unit = Arc::new(Unit::default());
    let (server, address) = serve("127.0.0.1:0", &unit);
    let ports = Arc::new(Ports::default());
    let spec: RelaySpec = format!("modbus-tcp:{address},unit=1,coil=5")
        .parse()
        .unwrap();
    let mut relay = spec.open(&ports, Urgency::First).unwrap();
    relay.open().unwrap();
    assert!(unit.coils.lock().unwrap()[&5]);
    relay.close().unwrap();
    assert!(!unit.coils.lock().unwrap()[&5]);
    assert_eq!(relay.check().unwrap(), Connection::Same);
    // Somebody else opens it.
    unit.coils.lock().unwrap().insert(5, true);
    assert_eq!(relay.check().unwrap(), Connection::Anew);
    relay.close().unwrap();

    drop(server);
    assert!(relay.open().is_err());
    assert!(relay.check().is_err());
    let (_server, _) = serve(&address.to_string(), &unit);
    assert_eq!(relay.check().unwrap(), Connection::Anew);
    relay.close().unwrap();
    assert_eq!(relay.check().unwrap(), Connection::Same);
}

#[test]
fn a_unit_that_refuses_is_told_apart_from_one_that_is_away() {
    struct Refusing;
    impl Service for Refusing {
        type Request = Request<'static>;
        type Response = Response;
        type Exception = ExceptionCode;
        type Future = Ready<Result<Response, ExceptionCode>>;
        fn call(&self, _: Self::Request) -> Self::Future {
            ready(Err(ExceptionCode::IllegalDataAddress))
        }
    }
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move {
        let connected = |stream, address| async move {
            accept_tcp_connection(stream, address, |_| Ok(Some(Refusing)))
        };
        Server::new(listener)
            .serve(&connected, |_| ())
            .await
            .unwrap();
    });
    let ports = Arc::new(Ports::default());
    let spec: RelaySpec = format!("modbus-tcp:{address},coil=99").parse().unwrap();
    let mut relay = spec.open(&ports, Urgency::First).unwrap();
    let error = modbus_error(relay.open());
    assert!(
        matches!(error, ModbusError::Refused { unit: 1, .. }),
        "{error}"
    );
}

#[test]
fn a_discrete_input_is_read() {
    let unit = Arc::new(Unit::default());
    let (_server, address) = serve("127.0.0.1:0", &unit);
    let ports = Arc::new(Ports::default());
    let bus = ports
        .modbus_bus(&BusPlace::Tcp(address.to_string()))
        .unwrap();
    assert!(!bus.read_input(Urgency::After, 1, 3).unwrap());
    unit.inputs.lock().unwrap().insert(3, true);
    assert!(bus.read_input(Urgency::After, 1, 3).unwrap());
}
