//! LCUS relay boards (CH340 behind USB, or RS-232): four bytes per command, and no answer.

use std::sync::Arc;

use super::{Connection, Relay, RelayError};
use crate::ports::SerialWire;

/// First byte of each command.
const START: u8 = 0xA0;

/// One channel of a board.
#[derive(Debug)]
pub struct LcusRelay {
    name: String,
    wire: Arc<SerialWire>,
    channel: u8,
    /// The opening of the port that the last command went through.
    through: u64,
}

/// The command that switches a channel: start, channel, state, and their sum.
pub fn lcus_command(channel: u8, on: bool) -> [u8; 4] {
    let state = u8::from(on);
    let sum = START.wrapping_add(channel).wrapping_add(state);
    [START, channel, state, sum]
}

impl LcusRelay {
    /// A channel of the board on a wire, counted from 1.
    pub fn new(name: String, wire: Arc<SerialWire>, channel: u8) -> Self {
        Self {
            name,
            wire,
            channel,
            through: 0,
        }
    }

    fn switch(&mut self, on: bool) -> Result<(), RelayError> {
        let written = self.wire.write(&lcus_command(self.channel, on));
        self.through = written.map_err(|source| self.error(source))?;
        Ok(())
    }

    fn error(&self, source: std::io::Error) -> RelayError {
        RelayError::Io {
            relay: self.name.clone(),
            source,
        }
    }
}

impl Relay for LcusRelay {
    fn open(&mut self) -> Result<(), RelayError> {
        self.switch(true)
    }

    fn close(&mut self) -> Result<(), RelayError> {
        self.switch(false)
    }

    fn check(&mut self) -> Result<Connection, RelayError> {
        let through = self.wire.check().map_err(|source| self.error(source))?;
        Ok(match through == self.through {
            true => Connection::Same,
            false => Connection::Anew,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_the_bytes_of_the_boards_manual() {
        assert_eq!(lcus_command(1, true), [0xA0, 0x01, 0x01, 0xA2]);
        assert_eq!(lcus_command(1, false), [0xA0, 0x01, 0x00, 0xA1]);
        assert_eq!(lcus_command(4, true), [0xA0, 0x04, 0x01, 0xA5]);
        assert_eq!(lcus_command(255, true), [0xA0, 0xFF, 0x01, 0xA0]);
    }
}
