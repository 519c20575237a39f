//! The scan loop: a code comes in, core decides and makes it durable, the relay moves, and only
//! then is anything said.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use stile_core::device::{Device, ScanOutcome};

use crate::event::Event;
use crate::fault;
use crate::heartbeats::{BEAT_EVERY, Heartbeats, Loop};
use crate::printer::{Lines, Read};
use crate::relay::{Opened, Pulses};
use crate::scanner::{Decided, Input, Passage, Reading};
use crate::tui::guard::{Guard, Way};

/// What stands between scanners and relay.
pub struct Controller {
    /// Decides and keeps.
    pub device: Arc<Device>,
    /// Moves the relay.
    pub pulses: Pulses,
    /// Takes what is to be said.
    pub lines: Lines,
    /// Told that this loop turns, and that the relay does.
    pub beats: Arc<Heartbeats>,
    /// Who stands at the screen, if there is one.
    pub guard: Option<Arc<Guard>>,
    /// Told what came of each reading, behind the relay.
    pub on_outcome: Box<dyn Fn(&ScanOutcome) + Send>,
    /// Called for each new record.
    pub on_record: Box<dyn Fn() + Send>,
}

impl Controller {
    /// Takes readings until the last of `scanners` has ended or the program is to. Leaves the
    /// gate shut: pulses that were promised are carried out first.
    pub fn run(self, inputs: &Receiver<Input>, mut scanners: usize) {
        let mut emergency = false;
        while scanners > 0 {
            fault::hang_point(Loop::Scan);
            let input = inputs.recv_timeout(BEAT_EVERY);
            self.beats.beat(Loop::Scan);
            match input {
                // The gate stands open: there are no verdicts.
                Ok(Input::Reading(_)) if emergency => {}
                Ok(Input::Reading(reading)) => self.read(reading),
                Ok(Input::Emergency { on }) => {
                    emergency = on;
                    self.lines.event(match on {
                        true => Event::EmergencyOn,
                        false => Event::EmergencyOff,
                    });
                }
                Ok(Input::Passage(passage)) => self.lines.event(match passage {
                    Passage::Passed => Event::Passed,
                    Passage::NotPassed => Event::NotPassed,
                }),
                Ok(Input::Trouble(event)) => self.lines.event(event),
                Ok(Input::Decided(decided)) => {
                    let Decided { outcome, asked_at } = *decided;
                    self.wait_for_relay();
                    self.answer(outcome, asked_at);
                }
                Ok(Input::Ended(scanner)) => {
                    scanners -= 1;
                    self.lines.event(Event::ScannerEnded { scanner });
                }
                Err(RecvTimeoutError::Timeout) => self.wait_for_relay(),
                Ok(Input::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    /// Waits until the relay is at rest, and so finds out that it turns.
    fn wait_for_relay(&self) {
        if self.pulses.wait_until_at_rest() {
            self.beats.beat(Loop::Relay);
        }
    }

    fn read(&self, reading: Reading) {
        let Reading { bytes, read_at } = reading;
        let Some(guard) = &self.guard else {
            self.wait_for_relay();
            let outcome = self.device.scan(&bytes);
            return self.answer(outcome, read_at);
        };
        if guard.takes(&bytes) {
            return;
        }
        self.wait_for_relay();
        let outcome = self.device.scan_as(&bytes, guard.say());
        guard.saw(&outcome, Way::Reading(bytes));
        self.answer(outcome, read_at);
    }

    /// Moves the relay as the outcome says, and only then tells of it.
    fn answer(&self, outcome: ScanOutcome, read_at: Instant) {
        let opened = outcome.opens.then(|| self.open(&outcome));
        if outcome.record_id.is_some() {
            (self.on_record)();
        }
        (self.on_outcome)(&outcome);
        self.lines.read(Read {
            outcome,
            read_at,
            opened,
        });
    }

    /// Opens the gate, and notes that it did: after a crash the same check-in opens it no more.
    fn open(&self, outcome: &ScanOutcome) -> Receiver<Opened> {
        let (sender, told) = channel();
        if let Ok(opened) = self.pulses.pulse().recv() {
            if let (Ok(()), Some(record)) = (&opened.result, outcome.record_id)
                && let Err(error) = self.device.released(record)
            {
                self.lines.event(Event::StorageTrouble {
                    what: error.to_string(),
                });
            }
            // The receiver is in hand.
            let _ = sender.send(opened);
        }
        told
    }
}
