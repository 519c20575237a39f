//! A relay on a GPIO line of the board: on is open, off is closed. Which voltage on is, is the
//! line's `active=`.

use std::io;
use std::sync::Arc;

use super::{Relay, RelayError};
use crate::ports::{Gpio, GpioLine, GpioOutput};

/// One output line. Taken from the kernel when it is first switched, and in that state.
pub struct GpioRelay {
    gpio: Arc<dyn Gpio>,
    line: GpioLine,
    taken: Option<Box<dyn GpioOutput>>,
}

impl GpioRelay {
    /// A line of a chip.
    pub fn new(gpio: Arc<dyn Gpio>, line: GpioLine) -> Self {
        Self {
            gpio,
            line,
            taken: None,
        }
    }

    fn switch(&mut self, on: bool) -> Result<(), RelayError> {
        let done = self.try_to(on);
        if done.is_err() {
            self.taken = None;
        }
        done.map_err(|source| RelayError::Io {
            relay: self.line.to_string(),
            source,
        })
    }

    fn try_to(&mut self, on: bool) -> io::Result<()> {
        match &mut self.taken {
            Some(line) => line.set(on),
            None => {
                self.taken = Some(self.gpio.output(&self.line, on)?);
                Ok(())
            }
        }
    }
}

impl Relay for GpioRelay {
    fn open(&mut self) -> Result<(), RelayError> {
        self.switch(true)
    }

    fn close(&mut self) -> Result<(), RelayError> {
        self.switch(false)
    }
}
