//! Where hardware hangs: serial ports, Modbus buses, GPIO lines, and how they are named. Several
//! drivers may share one port. Knows no gate and no code.

mod gpio;
mod modbus;
mod options;
mod serial;
mod turn;
mod usb;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use gpio::{Chardev, Gpio, GpioInput, GpioLine, GpioOutput};
pub use modbus::{BusPlace, ModbusAddress, ModbusBus, ModbusError};
pub(crate) use options::Options;
pub use options::SpecError;
pub use serial::{Parity, SerialSpec, SerialWire};
pub use turn::Urgency;
pub use usb::{Kind, Place, UsbId};

/// First wait before a device that went away is looked for again.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Longest wait: whoever plugs a device in again looks at it for a few seconds.
const LONGEST_WAIT: Duration = Duration::from_secs(4);

/// The ports of a machine. Each is opened once, however many drivers use it.
pub struct Ports {
    /// Where the kernel describes devices.
    sys: PathBuf,
    /// Where device files are.
    dev: PathBuf,
    gpio: Arc<dyn Gpio>,
    serial: Mutex<HashMap<SerialSpec, Arc<SerialWire>>>,
    buses: Mutex<HashMap<BusPlace, Arc<ModbusBus>>>,
}

impl Default for Ports {
    fn default() -> Self {
        Self::of(
            PathBuf::from("/sys"),
            PathBuf::from("/dev"),
            Arc::new(Chardev),
        )
    }
}

impl Ports {
    /// Ports under other roots than `/sys` and `/dev`, and with other GPIO lines than the
    /// kernel's: for tests, and for containers that see a part of the machine.
    pub fn of(sys: PathBuf, dev: PathBuf, gpio: Arc<dyn Gpio>) -> Self {
        Self {
            sys,
            dev,
            gpio,
            serial: Mutex::default(),
            buses: Mutex::default(),
        }
    }

    /// Where a device is now: its path, or the path that its USB id has at present.
    pub fn find(&self, place: &Place, kind: Kind) -> io::Result<PathBuf> {
        match place {
            Place::Path(path) => Ok(path.clone()),
            Place::Usb(id) => usb::find(&self.sys, id, kind).map(|name| self.dev.join(name)),
        }
    }

    /// Opens a serial port for one reader alone.
    pub fn open_serial(&self, spec: &SerialSpec) -> io::Result<serial2::SerialPort> {
        serial::open(&self.find(&spec.place, Kind::Serial)?, spec)
    }

    /// A serial port that several drivers may write to; opened when first written to.
    pub fn serial_wire(self: &Arc<Self>, spec: &SerialSpec) -> Arc<SerialWire> {
        let mut wires = self.serial.lock().unwrap_or_else(PoisonError::into_inner);
        let wire = wires.entry(spec.clone());
        Arc::clone(wire.or_insert_with(|| Arc::new(SerialWire::new(self, spec.clone()))))
    }

    /// A Modbus bus that several drivers may use; connected when first used.
    pub fn modbus_bus(self: &Arc<Self>, place: &BusPlace) -> io::Result<Arc<ModbusBus>> {
        let mut buses = self.buses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bus) = buses.get(place) {
            return Ok(Arc::clone(bus));
        }
        let bus = Arc::new(ModbusBus::new(self, place.clone())?);
        buses.insert(place.clone(), Arc::clone(&bus));
        Ok(bus)
    }

    /// The GPIO lines.
    pub fn gpio(&self) -> Arc<dyn Gpio> {
        Arc::clone(&self.gpio)
    }
}

/// How long to wait before a device that is away is looked for again: twice as long each time,
/// up to a few seconds.
#[derive(Debug, Clone)]
pub(crate) struct BackOff(Duration);

impl Default for BackOff {
    fn default() -> Self {
        Self(FIRST_WAIT)
    }
}

impl BackOff {
    /// The next wait.
    pub fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = LONGEST_WAIT.min(wait * 2);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_few_seconds_and_no_further() {
        let mut waits = BackOff::default();
        let waits: Vec<_> = (0..6).map(|_| waits.next().as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 4000]);
    }
}
