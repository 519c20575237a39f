//! A pulse: open, hold, close always. Pulses run on a thread of their own, one after the other,
//! so that the scan loop goes on; the relay is closed at start, after each pulse, on error and at
//! the end.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Relay, RelayError};
use crate::threads;

/// How often a close that failed is tried again.
const CLOSE_RETRY: Duration = Duration::from_secs(1);

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
    /// The gate is closed: at start, behind a pulse, or at last after failures.
    Closed,
    /// It could not be closed. That is tried again every second, and told once.
    CloseFailed(RelayError),
}

enum Job {
    /// Open, hold, close; the opening's outcome is told.
    Pulse(Sender<Opened>),
    /// Taken when the relay is at rest, which is all that the sender wants to know.
    Nothing,
}

/// The pulses' thread.
#[derive(Debug)]
pub struct Pulses {
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Pulses {
    /// Closes the relay, then waits for pulses. `on` is told of each close, on the pulses' own
    /// thread.
    pub fn start(
        relay: Box<dyn Relay>,
        hold: Duration,
        on: impl FnMut(PulseEvent) + Send + 'static,
    ) -> io::Result<Self> {
        // Nothing waits in it: whoever hands a job over knows that the relay is at rest.
        let (queue, waiting) = sync_channel(0);
        let (closed, first_close) = channel();
        let thread = threads::spawn("relay", move || {
            let mut mover = Mover {
                relay,
                is_closed: false,
                is_failing: false,
                on,
            };
            mover.close();
            // Nobody waits any more if the start was given up.
            let _ = closed.send(());
            mover.run(hold, &waiting);
        })?;
        // The relay has been closed once before anything is scanned.
        let _ = first_close.recv();
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Waits until the relay is at rest. A visitor is admitted only when the gate can open for
    /// them: a check-in made while it still stands open for another would be used up if the
    /// power went. False if nothing moves the relay any more.
    pub fn wait_until_at_rest(&self) -> bool {
        let queue = self.queue.as_ref();
        queue.is_some_and(|queue| queue.send(Job::Nothing).is_ok())
    }

    /// Asks for a pulse. What comes of the opening arrives at the
    /// receiver; nothing does if the relay's thread is gone.
    pub fn pulse(&self) -> Receiver<Opened> {
        let (sender, opened) = channel();
        if let Some(queue) = &self.queue {
            // A dead thread shows as a receiver without a sender.
            let _ = queue.send(Job::Pulse(sender));
        }
        opened
    }
}

/// Carries out the pulses that were asked for, and leaves the relay closed.
impl Drop for Pulses {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has closed the relay on its way.
            let _ = thread.join();
        }
    }
}

struct Mover<F: FnMut(PulseEvent)> {
    relay: Box<dyn Relay>,
    is_closed: bool,
    is_failing: bool,
    on: F,
}

impl<F: FnMut(PulseEvent)> Mover<F> {
    fn run(&mut self, hold: Duration, waiting: &Receiver<Job>) {
        loop {
            let next = match self.is_closed {
                true => waiting.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => waiting.recv_timeout(CLOSE_RETRY),
            };
            match next {
                Ok(Job::Pulse(asked)) => self.pulse(hold, &asked),
                Ok(Job::Nothing) => {}
                Err(RecvTimeoutError::Timeout) => self.close(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn pulse(&mut self, hold: Duration, asked: &Sender<Opened>) {
        self.is_closed = false;
        let result = self.relay.open();
        let at = Instant::now();
        let is_open = result.is_ok();
        // Whoever asked may have gone.
        let _ = asked.send(Opened { at, result });
        if is_open {
            std::thread::sleep(hold);
        }
        self.close();
    }

    fn close(&mut self) {
        match self.relay.close() {
            Ok(()) => {
                self.is_failing = false;
                if !std::mem::replace(&mut self.is_closed, true) {
                    (self.on)(PulseEvent::Closed);
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    (self.on)(PulseEvent::CloseFailed(error));
                }
            }
        }
    }
}

impl<F: FnMut(PulseEvent)> Drop for Mover<F> {
    fn drop(&mut self) {
        self.close();
    }
}
