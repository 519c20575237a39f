//! The scan loop: a code comes in, core decides and makes it durable, the relay moves, and only
//! then is anything said. What sensor, emergency input and staff do comes in by the same queue.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use stile_core::device::{Device, ScanOutcome};
use stile_core::fault::point;
use stile_core::record::{FreePassageCause, PassageOutcome};

use crate::event::Event;
use crate::fault;
use crate::heartbeats::{BEAT_EVERY, Heartbeats, Loop};
use crate::printer::{Lines, Read};
use crate::relay::{Hold, Opened, Pulses};
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
    /// Told that this loop turns.
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
    /// gate shut: pulses that were promised are carried out first, unless the gate is to stop.
    pub fn run(self, inputs: &Receiver<Input>, mut scanners: usize) {
        // One that was begun before a restart goes on.
        let mut stands_open = self.follow_free_passage(false);
        while scanners > 0 {
            fault::hang_point(Loop::Scan);
            let input = inputs.recv_timeout(BEAT_EVERY);
            self.beats.beat(Loop::Scan);
            match input {
                Ok(Input::Reading(reading)) => self.read(reading),
                Ok(Input::Decided(decided)) => {
                    let Decided { outcome, asked_at } = *decided;
                    self.wait_for_relay();
                    match self.pulses.is_stopping() {
                        true => self.not_opened(&outcome),
                        false => self.answer(outcome, asked_at),
                    }
                }
                Ok(Input::Passage(passage)) => self.passage(passage),
                Ok(Input::Emergency { on }) => self.emergency(on),
                Ok(Input::FreePassage) => {}
                Ok(Input::Trouble(event)) => self.lines.event(event),
                Ok(Input::Ended(scanner)) => {
                    scanners -= 1;
                    self.lines.event(Event::ScannerEnded { scanner });
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.device.keep_schedule();
                }
                Ok(Input::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            }
            stands_open = self.follow_free_passage(stands_open);
        }
        self.wait_for_relay();
    }

    /// Waits until the relay is at rest, or held open. A party keeps it at work for as many pulses
    /// as it has persons: this loop does not hang meanwhile. A relay that hangs is found by its own
    /// thread, which then turns no more.
    fn wait_for_relay(&self) {
        while !self.pulses.is_at_rest_within(BEAT_EVERY) {
            self.beats.beat(Loop::Scan);
        }
        self.beats.beat(Loop::Scan);
    }

    fn read(&self, reading: Reading) {
        let Reading {
            bytes,
            read_at,
            may_be_rest,
        } = reading;
        if let Some(scanner) = may_be_rest.filter(|_| !self.device.is_certain(&bytes)) {
            return self.lines.event(Event::CodeBroken { scanner });
        }
        let Some(guard) = &self.guard else {
            self.wait_for_relay();
            if self.pulses.is_stopping() {
                return; // nobody is admitted by a gate that will not open
            }
            let outcome = self.device.scan(&bytes);
            return self.answer(outcome, read_at);
        };
        if guard.takes(&bytes) {
            return;
        }
        self.wait_for_relay();
        if self.pulses.is_stopping() {
            return;
        }
        let outcome = self.device.scan_as(&bytes, guard.say());
        guard.saw(&outcome, Way::Reading(bytes));
        self.answer(outcome, read_at);
    }

    /// What was done by hand is on record, and the gate stops before it opens for it.
    fn not_opened(&self, outcome: &ScanOutcome) {
        (self.on_record)();
        if outcome.opens {
            let openings = outcome.passages;
            self.lines.event(Event::OpeningsCancelled {
                openings: openings.into(),
            });
        }
    }

    /// Moves the relay as the outcome says, and only then tells of it. While the gate stands open
    /// for everybody there are no verdicts to tell.
    fn answer(&self, outcome: ScanOutcome, read_at: Instant) {
        if outcome.free_passage {
            return;
        }
        point("gate: answered");
        let opened = outcome.opens.then(|| self.open(&outcome));
        point("gate: opened");
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
    /// The others of a party follow, each by a pulse of their own.
    fn open(&self, outcome: &ScanOutcome) -> Receiver<Opened> {
        let (sender, told) = channel();
        if let Ok(opened) = self.pulses.pulse(outcome.record_id).recv() {
            if opened.result.is_ok() {
                for _ in 1..outcome.passages {
                    // What comes of it the relay's thread tells by itself.
                    drop(self.pulses.pulse(outcome.record_id));
                }
                if let Some(record) = outcome.record_id
                    && let Err(error) = self.device.released(record)
                {
                    self.storage_trouble(&error);
                }
            }
            // The receiver is in hand.
            let _ = sender.send(opened);
        }
        told
    }

    fn passage(&self, passage: Passage) {
        let frees = match self.device.passage(passage.admission, passage.outcome) {
            Ok(noted) => {
                if noted.record_id.is_some() {
                    (self.on_record)();
                }
                noted.frees
            }
            Err(error) => {
                self.storage_trouble(&error);
                false
            }
        };
        self.lines.event(match passage.outcome {
            PassageOutcome::Passed => Event::Passed,
            PassageOutcome::NotPassed => Event::NotPassed { frees },
        });
    }

    /// The relay is held open or let go already; what remains is the record and the word.
    fn emergency(&self, on: bool) {
        let cause = FreePassageCause::Emergency;
        let changed = match on {
            true => self.device.begin_free_passage(cause, "").map(|()| true),
            false => self.device.end_free_passage(cause).map(|it| it.is_some()),
        };
        match changed {
            Ok(true) => (self.on_record)(),
            // Off at the start, and none had been on.
            Ok(false) => return,
            Err(error) => self.storage_trouble(&error),
        }
        self.lines.event(match on {
            true => Event::EmergencyOn,
            false => Event::EmergencyOff,
        });
    }

    /// The relay follows what the device says, whoever began it: input, schedule or staff. Says
    /// whether the gate stands open now; `stood` says whether it did before.
    fn follow_free_passage(&self, stood: bool) -> bool {
        let stands = self.device.free_passage().is_some();
        if stands != stood {
            self.pulses.holder().hold(Hold::FreePassage, stands);
            (self.on_record)();
        }
        stands
    }

    fn storage_trouble(&self, error: &dyn std::error::Error) {
        self.lines.event(Event::StorageTrouble {
            what: error.to_string(),
        });
    }
}
