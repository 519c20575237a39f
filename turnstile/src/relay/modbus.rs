//! A coil of a Modbus unit, over RTU or TCP. An opening counts only once the unit has answered
//! that it switched.

use std::sync::Arc;

use super::{Connection, Relay, RelayError};
use crate::ports::{ModbusAddress, ModbusBus, ModbusError, Urgency};

/// One coil.
#[derive(Debug)]
pub struct ModbusRelay {
    name: String,
    bus: Arc<ModbusBus>,
    address: ModbusAddress,
    urgency: Urgency,
    /// What it was last switched to, and over which connection.
    last: Option<(bool, u64)>,
}

impl ModbusRelay {
    /// A coil on a bus.
    pub fn new(bus: Arc<ModbusBus>, address: ModbusAddress, urgency: Urgency) -> Self {
        Self {
            name: address.text("coil"),
            bus,
            address,
            urgency,
            last: None,
        }
    }

    fn switch(&mut self, on: bool) -> Result<(), RelayError> {
        let ModbusAddress { unit, number, .. } = self.address;
        let connection = self.bus.write_coil(self.urgency, unit, number, on);
        self.last = Some((on, connection.map_err(|source| self.error(source))?));
        Ok(())
    }

    fn error(&self, source: ModbusError) -> RelayError {
        RelayError::Modbus {
            relay: self.name.clone(),
            source,
        }
    }
}

impl Relay for ModbusRelay {
    fn open(&mut self) -> Result<(), RelayError> {
        self.switch(true)
    }

    fn close(&mut self) -> Result<(), RelayError> {
        self.switch(false)
    }

    fn check(&mut self) -> Result<Connection, RelayError> {
        let ModbusAddress { unit, number, .. } = self.address;
        match self.bus.read_coil(self.urgency, unit, number) {
            Ok(now) if Some(now) == self.last => Ok(Connection::Same),
            Ok(_) => Ok(Connection::Anew),
            // A unit that cannot tell its coils is there all the same.
            Err(ModbusError::Refused { .. }) => Ok(Connection::Same),
            Err(source) => Err(self.error(source)),
        }
    }
}
