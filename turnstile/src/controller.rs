//! The scan loop: a code comes in, core decides and makes it durable, the relay moves, and only
//! then is anything said.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use stile_core::device::Device;

use crate::event::Event;
use crate::printer::{Lines, Read};
use crate::relay::Pulses;
use crate::scanner::{Input, Reading};

/// What stands between scanners and relay.
pub struct Controller {
    /// Decides and keeps.
    pub device: Arc<Device>,
    /// Moves the relay.
    pub pulses: Pulses,
    /// Takes what is to be said.
    pub lines: Lines,
    /// Called for each new record.
    pub on_record: Box<dyn Fn() + Send>,
}

impl Controller {
    /// Takes readings until the last of `scanners` has ended or the program is to. Leaves the
    /// gate shut: pulses that were promised are carried out first.
    pub fn run(self, inputs: &Receiver<Input>, mut scanners: usize) {
        while scanners > 0 {
            match inputs.recv() {
                Ok(Input::Reading(reading)) => self.read(&reading),
                Ok(Input::Overlong(scanner)) => self.lines.event(Event::CodeOverlong { scanner }),
                Ok(Input::Ended(scanner)) => {
                    scanners -= 1;
                    self.lines.event(Event::ScannerEnded { scanner });
                }
                Ok(Input::Stop) | Err(_) => break,
            }
        }
    }

    fn read(&self, reading: &Reading) {
        self.pulses.wait_until_at_rest();
        let outcome = self.device.scan(&reading.bytes);
        let opened = outcome.opens.then(|| self.pulses.pulse());
        if outcome.record_id.is_some() {
            (self.on_record)();
        }
        self.lines.read(Read {
            outcome,
            read_at: reading.read_at,
            opened,
        });
    }
}
