//! Normally-closed wiring: the gate is shut while the relay draws current, and opens without.

use super::{Connection, Relay, RelayError};

/// A relay that is switched off to open.
pub struct Inverted(pub Box<dyn Relay>);

impl Relay for Inverted {
    fn open(&mut self) -> Result<(), RelayError> {
        self.0.close()
    }

    fn close(&mut self) -> Result<(), RelayError> {
        self.0.open()
    }

    fn check(&mut self) -> Result<Connection, RelayError> {
        self.0.check()
    }
}
