//! A pulse: open, hold, close always. A thread of its own moves the gate's relays, one pulse
//! after the other, so that the scan loop goes on; they are closed at start, after each pulse, on
//! error and at the end. It also holds the gate open in an emergency, whatever the scan loop does.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stile_core::fault::point;
use stile_core::ids::RecordId;

use super::{Connection, Relay, RelayError};
use crate::heartbeats::BEAT_EVERY;
use crate::threads;

/// How often what failed is tried again: closing, and opening for an emergency.
const RETRY: Duration = Duration::from_secs(1);
/// How often a relay at rest is looked after: an unplugged one is told before most visitors
/// come to it.
const CHECK: Duration = Duration::from_secs(2);

/// What came of an opening.
#[derive(Debug)]
pub struct Opened {
    /// When the relay's open command returned.
    pub at: Instant,
    /// Whether it did what it was told.
    pub result: Result<(), RelayError>,
}

/// What happens to the relay beside openings.
#[derive(Debug)]
pub enum PulseEvent {
    /// A pulse has opened the gate for one person, by an admission if it was one; it will be
    /// closed after the hold.
    Pulsed(Option<RecordId>),
    /// An opening failed; whoever asked for it is told why.
    OpenFailed,
    /// The gate is closed: at start, behind a pulse, or at last after failures.
    Closed,
    /// It could not be closed. That is tried again every second, and told once.
    CloseFailed(RelayError),
    /// So many openings that were promised will not follow: they were taken back, or the gate
    /// stops.
    Cancelled(u32),
    /// The gate stands open until it is let go.
    HeldOpen,
    /// It should stand open and does not. That is tried again every second, and told once.
    HoldFailed(RelayError),
    /// The relay was found away while at rest.
    Lost(RelayError),
    /// It is there again, and closed.
    Back,
}

/// Why the gate is held open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The emergency input. The gate stays open even when the program ends.
    Emergency,
    /// Free passage by command or schedule.
    FreePassage,
}

/// A pulse that is wanted.
#[derive(Debug)]
struct Asked {
    admission: Option<RecordId>,
    opened: Sender<Opened>,
}

#[derive(Debug, Default)]
struct State {
    asked: VecDeque<Asked>,
    at_rest: bool,
    emergency: bool,
    free_passage: bool,
    ending: bool,
    /// No pulse begins any more.
    stopping: bool,
    /// The gate is shut at once, whatever but an emergency holds it open.
    shutting: bool,
    /// Openings that will not follow, and are to be told.
    cancelled: u32,
    /// The relay is known to be closed.
    closed: bool,
    gone: bool,
    /// The thread has turned since it was last asked.
    turned: bool,
}

impl State {
    fn is_held(&self) -> bool {
        self.emergency || (self.free_passage && !self.shutting)
    }

    /// Nothing more of what waits opens the gate, as far as it is meant.
    fn cancel(&mut self, is_meant: impl Fn(&Asked) -> bool) {
        let before = self.asked.len();
        self.asked.retain(|asked| !is_meant(asked));
        let cancelled = u32::try_from(before - self.asked.len()).unwrap_or(u32::MAX);
        self.cancelled = self.cancelled.saturating_add(cancelled);
    }

    fn stop(&mut self) {
        self.stopping = true;
        self.cancel(|_| true);
    }
}

#[derive(Debug, Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits until something holds, or so long; says whether it holds.
    fn wait(&self, at_most: Duration, holds: impl Fn(&State) -> bool) -> bool {
        let wait = |state: &mut State| !holds(state);
        let waited = self.changed.wait_timeout_while(self.state(), at_most, wait);
        holds(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }
}

/// The pulses' thread.
#[derive(Debug)]
pub struct Pulses {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

/// Holds the gate open; may be used from any thread, and never waits for the relay.
#[derive(Debug, Clone)]
pub struct Holder(Arc<Desk>);

impl Holder {
    /// Opens the gate until it is let go by each that holds it.
    pub fn hold(&self, hold: Hold, on: bool) {
        self.0.change(|state| {
            match hold {
                Hold::Emergency => state.emergency = on,
                Hold::FreePassage => state.free_passage = on,
            }
            state.at_rest = false; // until the relay's thread has seen to it
        });
    }
}

/// Tells whether the pulses' thread turns; never waits for the relay.
#[derive(Debug, Clone)]
pub struct Turns(Arc<Desk>);

/// The openings that were promised and wait for their turn; may be used from any thread, and never
/// waits for the relay. The one that is under way is left to the person whom it let in.
#[derive(Debug, Clone, Default)]
pub struct Promised(Arc<Desk>);

impl Promised {
    /// Nobody more passes by an admission that was taken back.
    pub fn take_back(&self, admission: RecordId) {
        self.0
            .change(|state| state.cancel(|asked| asked.admission == Some(admission)));
    }

    /// The gate is to stop: nobody more passes.
    pub fn stop(&self) {
        self.0.change(State::stop);
    }
}

/// Shuts the gate whatever was promised, for a program that must end now.
#[derive(Debug, Clone)]
pub struct Shutter(Arc<Desk>);

impl Shutter {
    /// Has the relay closed at once; no pulse begins any more. Waits at most so long, and says
    /// whether it is known to be closed. In an emergency the gate is left open.
    pub fn shut(&self, at_most: Duration) -> bool {
        self.0.change(|state| {
            state.shutting = true;
            state.stop();
        });
        self.0.wait(at_most, |state| state.closed)
    }

    /// Whether the relay is known to be closed.
    pub fn is_closed(&self) -> bool {
        self.0.state().closed
    }

    /// Whether an emergency holds the gate open.
    pub fn is_emergency(&self) -> bool {
        self.0.state().emergency
    }
}

impl Turns {
    /// Whether it has turned since this was last asked. At rest, it does every two seconds.
    pub fn has_turned(&self) -> bool {
        std::mem::take(&mut self.0.state().turned)
    }
}

impl Pulses {
    /// Closes the relays, then waits for pulses. A pulse moves the first relay; the others, as
    /// the one for the other direction, are opened only to hold the gate open. `on` is told of
    /// what happens, on the pulses' own thread.
    pub fn start(
        relays: Vec<Box<dyn Relay>>,
        hold: Duration,
        on: impl FnMut(PulseEvent) + Send + 'static,
    ) -> io::Result<Self> {
        let desk = Arc::new(Desk::default());
        let mover_desk = Arc::clone(&desk);
        let thread = threads::spawn("relay", move || {
            let mut mover = Mover {
                relays,
                hold,
                desk: mover_desk,
                is_closed: false,
                is_held: false,
                is_failing: false,
                is_lost: false,
                on,
            };
            mover.close();
            mover.run();
        })?;
        let pulses = Self {
            desk,
            thread: Some(thread),
        };
        // The relays have been closed once before anything is scanned.
        pulses.wait_until_at_rest();
        Ok(pulses)
    }

    /// Waits until the relay is at rest, or held open. A visitor is admitted only when the gate
    /// can open for them: a check-in made while it still stands open for another would be used
    /// up if the power went.
    pub fn wait_until_at_rest(&self) {
        let busy = |state: &mut State| !state.at_rest && !state.gone;
        drop(self.desk.changed.wait_while(self.desk.state(), busy));
    }

    /// The same, for at most so long; says whether it is at rest.
    pub fn is_at_rest_within(&self, at_most: Duration) -> bool {
        let at_rest = |state: &State| state.at_rest || state.gone;
        self.desk.wait(at_most, at_rest)
    }

    /// Asks for a pulse, by an admission if it is one. What comes of the opening arrives at the
    /// receiver; nothing does if the relay's thread is gone or the gate is being shut. While the
    /// gate is held open nothing moves.
    pub fn pulse(&self, admission: Option<RecordId>) -> Receiver<Opened> {
        let (sender, opened) = channel();
        self.desk.change(|state| {
            // A dead thread shows as a receiver without a sender.
            if state.stopping {
                state.cancelled = state.cancelled.saturating_add(1);
            } else if !state.gone {
                state.at_rest = false;
                let opened = sender;
                state.asked.push_back(Asked { admission, opened });
            }
        });
        opened
    }

    /// What tells whether the relay's thread turns.
    pub fn turns(&self) -> Turns {
        Turns(Arc::clone(&self.desk))
    }

    /// Whether the gate is to stop, and opens for nobody more.
    pub fn is_stopping(&self) -> bool {
        self.desk.state().stopping
    }

    /// What cancels openings that wait.
    pub fn promised(&self) -> Promised {
        Promised(Arc::clone(&self.desk))
    }

    /// What shuts the gate before the program is ended.
    pub fn shutter(&self) -> Shutter {
        Shutter(Arc::clone(&self.desk))
    }

    /// What holds the gate open.
    pub fn holder(&self) -> Holder {
        Holder(Arc::clone(&self.desk))
    }
}

/// Carries out the pulses that were asked for, and leaves the relay closed.
impl Drop for Pulses {
    fn drop(&mut self) {
        self.desk.change(|state| state.ending = true);
        if let Some(thread) = self.thread.take() {
            // A panic there has closed the relay on its way.
            let _ = thread.join();
        }
    }
}

struct Mover<F: FnMut(PulseEvent)> {
    /// The first is the gate's own.
    relays: Vec<Box<dyn Relay>>,
    hold: Duration,
    desk: Arc<Desk>,
    is_closed: bool,
    is_held: bool,
    is_failing: bool,
    is_lost: bool,
    on: F,
}

impl<F: FnMut(PulseEvent)> Mover<F> {
    fn run(&mut self) {
        loop {
            let (asked, held, ending, cancelled) = {
                let mut state = self.desk.state();
                state.turned = true;
                let (asked, held) = (state.asked.pop_front(), state.is_held());
                if asked.is_some() || held {
                    state.closed = false; // before anybody is told that it is
                }
                let cancelled = std::mem::take(&mut state.cancelled);
                (asked, held, state.ending, cancelled)
            };
            if cancelled > 0 {
                (self.on)(PulseEvent::Cancelled(cancelled));
            }
            if held && !self.is_held {
                self.hold_open();
            } else if !held && std::mem::take(&mut self.is_held) {
                self.close();
            }
            match asked {
                Some(asked) => self.pulse(&asked),
                None if ending => return,
                None => self.rest(held),
            }
        }
    }

    /// Waits for something to do, and tries again what failed.
    fn rest(&mut self, held: bool) {
        let settled = if held { self.is_held } else { self.is_closed };
        let at_most = if settled { CHECK } else { RETRY };
        self.desk.change(|state| {
            state.at_rest = state.asked.is_empty() && state.is_held() == held;
        });
        let started = Instant::now();
        self.desk.wait(at_most, |state| {
            !state.asked.is_empty() || state.ending || state.is_held() != held
        });
        if started.elapsed() < at_most || held {
            return;
        }
        match self.is_closed {
            true => self.check(),
            false => self.close(),
        }
    }

    fn pulse(&mut self, asked: &Asked) {
        let result = match self.is_held {
            true => Ok(()), // it stands open
            false => {
                self.set_closed(false);
                point("relay: asked");
                let first = self.relays.first_mut();
                first.map_or(Err(RelayError::Gone), |relay| relay.open())
            }
        };
        let opened = Opened {
            at: Instant::now(),
            result,
        };
        let is_open = opened.result.is_ok();
        point("relay: open");
        // Whoever asked may have gone.
        let _ = asked.opened.send(opened);
        (self.on)(match is_open {
            true => PulseEvent::Pulsed(asked.admission),
            false => PulseEvent::OpenFailed,
        });
        if self.is_held {
            return;
        }
        if is_open {
            self.hold();
        }
        // In an emergency it is not closed in between.
        if !(is_open && self.desk.state().is_held()) {
            point("relay: held");
            self.close();
            point("relay: closed");
        }
    }

    /// Leaves it open for the time of a pulse, and turns meanwhile.
    fn hold(&self) {
        let until = Instant::now() + self.hold;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let is_over = |state: &State| state.is_held() || state.shutting;
            if left.is_zero() || self.desk.wait(left.min(BEAT_EVERY), is_over) {
                return;
            }
            self.desk.state().turned = true;
        }
    }

    fn set_closed(&mut self, is_closed: bool) {
        self.is_closed = is_closed;
        self.desk.change(|state| state.closed = is_closed);
    }

    /// Opens all relays. Unlike a pulse this may be tried again: nobody counts who passes.
    fn hold_open(&mut self) {
        self.set_closed(false);
        let opened = self.relays.iter_mut().map(|relay| relay.open());
        match all_done(opened) {
            Ok(()) => {
                self.is_held = true;
                self.is_failing = false;
                (self.on)(PulseEvent::HeldOpen);
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    (self.on)(PulseEvent::HoldFailed(error));
                }
            }
        }
    }

    fn close(&mut self) {
        let closed = self.relays.iter_mut().map(|relay| relay.close());
        match all_done(closed) {
            Ok(()) => {
                self.is_failing = false;
                let was_closed = self.is_closed;
                self.set_closed(true);
                if !was_closed {
                    (self.on)(PulseEvent::Closed);
                }
            }
            Err(error) => {
                self.set_closed(false);
                if !std::mem::replace(&mut self.is_failing, true) {
                    (self.on)(PulseEvent::CloseFailed(error));
                }
            }
        }
    }

    fn check(&mut self) {
        let mut anew = false;
        let checked = self.relays.iter_mut().map(|relay| {
            anew |= relay.check()? == Connection::Anew;
            Ok(())
        });
        match all_done(checked) {
            Ok(()) if anew || self.is_lost => {
                // What came back may stand open.
                self.close();
                if self.is_closed {
                    self.is_lost = false;
                    (self.on)(PulseEvent::Back);
                }
            }
            Ok(()) => {}
            Err(error) => {
                if !std::mem::replace(&mut self.is_lost, true) {
                    (self.on)(PulseEvent::Lost(error));
                }
            }
        }
    }
}

/// Does all of them, also behind one that failed; gives the first failure.
fn all_done(results: impl Iterator<Item = Result<(), RelayError>>) -> Result<(), RelayError> {
    results.fold(Ok(()), Result::and)
}

impl<F: FnMut(PulseEvent)> Drop for Mover<F> {
    fn drop(&mut self) {
        // People first: an emergency outlasts the program.
        if !self.desk.state().emergency {
            self.close();
        }
        self.desk.change(|state| {
            state.gone = true;
            state.asked.clear();
        });
    }
}
