//! Scanners that can be unplugged: opened again by themselves when they are back, without a
//! restart, and it is said when they go and when they come.

use std::io;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use super::line::{CUT_OFF, Pauses, Plain, Source, Stopped, read_codes};
use super::{Input, Inputs, Scanner, hid};
use crate::event::Event;
use crate::ports::{BackOff, Place, Ports, SerialSpec};

/// A scan module on a serial port.
pub struct Serial {
    ports: Arc<Ports>,
    spec: SerialSpec,
    idle_gap: Option<Duration>,
}

impl Serial {
    /// `idle_gap`: how long the line is quiet behind a code that has no line end.
    pub fn new(ports: Arc<Ports>, spec: SerialSpec, idle_gap: Option<Duration>) -> Self {
        Self {
            ports,
            spec,
            idle_gap,
        }
    }
}

impl Scanner for Serial {
    fn name(&self) -> String {
        format!("serial:{}", self.spec)
    }

    fn run(self: Box<Self>, inputs: Inputs) {
        let open = || self.ports.open_serial(&self.spec).map(Plain);
        keep_reading(&self.name(), open, self.idle_gap, &inputs);
    }
}

/// A scanner that types as a keyboard does.
pub struct Hid {
    ports: Arc<Ports>,
    place: Place,
    idle_gap: Option<Duration>,
}

impl Hid {
    /// `idle_gap`: how long it is quiet behind a code that has neither Enter nor Tab.
    pub fn new(ports: Arc<Ports>, place: Place, idle_gap: Option<Duration>) -> Self {
        Self {
            ports,
            place,
            idle_gap,
        }
    }
}

impl Scanner for Hid {
    fn name(&self) -> String {
        format!("hid:{}", self.place)
    }

    fn run(self: Box<Self>, inputs: Inputs) {
        let open = || hid::Keyboard::open(&self.ports, &self.place);
        keep_reading(&self.name(), open, self.idle_gap, &inputs);
    }
}

/// Reads until nobody wants codes any more.
fn keep_reading<S: Source>(
    name: &str,
    open: impl Fn() -> io::Result<S>,
    idle_gap: Option<Duration>,
    inputs: &Inputs,
) {
    let pauses = Pauses {
        idle_gap,
        cut_off: Some(CUT_OFF),
    };
    let mut back_off = BackOff::default();
    let mut told_lost = false;
    loop {
        let why = match open() {
            Ok(mut line) => {
                let is_back = std::mem::take(&mut told_lost);
                let scanner = name.to_owned();
                if is_back && !inputs.put(Input::Trouble(Event::ScannerBack { scanner })) {
                    return;
                }
                back_off = BackOff::default();
                match read_codes(&mut line, name, pauses, inputs) {
                    Stopped::Unwanted => return,
                    Stopped::End(None) => "unplugged".to_owned(),
                    Stopped::End(Some(error)) => error.to_string(),
                }
            }
            Err(error) => error.to_string(),
        };
        if !std::mem::replace(&mut told_lost, true) {
            let scanner = name.to_owned();
            if !inputs.put(Input::Trouble(Event::ScannerLost { scanner, why })) {
                return;
            }
        }
        sleep(back_off.next());
    }
}
