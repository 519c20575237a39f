//! Lamps, buzzer, text and voice: what the visitor sees and hears. Each device has a thread and a
//! short queue of its own, so that none can hold up a verdict, the relay or another device.

mod blinker;
mod settings;
mod signal;
mod text;
mod voice;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use stile_core::device::ScanOutcome;

pub use blinker::{Blinker, Part, STEADY_MS, pattern};
pub use settings::{FeedbackSettings, TextSettings, VoiceSettings};
pub use signal::{Cue, Signal};
pub use text::{Encoding, Template, Templates, TextPanel};
pub use voice::Voice;

use crate::event::{Event, Tell};
use crate::ports::{Ports, Urgency};
use crate::relay::RelayError;
use crate::threads;
use crate::words::Words;

/// Signals that may wait for a device; only the newest is shown.
const QUEUE: usize = 4;
/// How long a device that failed is left alone, so that it takes no time from others on its bus.
const LEFT_ALONE: Duration = Duration::from_secs(5);
/// How long the devices may take at the end to go dark.
const LAST_SIGNAL: Duration = Duration::from_secs(1);

/// Why a device did not show something.
#[derive(Debug, thiserror::Error)]
pub enum FeedbackError {
    /// The relay behind a lamp or buzzer.
    #[error(transparent)]
    Relay(#[from] RelayError),
    /// The port of a text panel, or the voice's player.
    #[error("{device}: {source}")]
    Io {
        /// Which device.
        device: String,
        /// What is wrong.
        source: io::Error,
    },
    /// The player ended with an error.
    #[error("{player}: {status}")]
    Player {
        /// Its program.
        player: String,
        /// How it ended.
        status: std::process::ExitStatus,
    },
}

/// A device that shows signals. What takes time is done in steps: each call returns at once, with
/// how long until [`Feedback::go_on`] is due, or none if it is done.
pub trait Feedback: Send {
    /// What it is called in messages.
    fn name(&self) -> String;

    /// Begins to show a signal, in place of what it shows.
    fn begin(&mut self, signal: &Signal) -> Result<Option<Duration>, FeedbackError>;

    /// Does the next step.
    fn go_on(&mut self) -> Result<Option<Duration>, FeedbackError>;
}

/// All devices of a gate.
pub struct Feedbacks {
    signals: Signals,
    ended: Receiver<()>,
}

/// Gives signals to all devices; never waits.
#[derive(Clone)]
pub struct Signals {
    queues: Vec<SyncSender<Item>>,
    words: Arc<Words>,
}

enum Item {
    Show(Signal),
    End,
}

impl Feedbacks {
    /// Starts what is configured; each device begins at rest.
    pub fn start(
        settings: &FeedbackSettings,
        ports: &Arc<Ports>,
        words: Words,
        tell: &Tell,
    ) -> io::Result<Self> {
        let devices = devices(settings, ports)
            .into_iter()
            .collect::<Result<_, _>>();
        Self::of(devices.map_err(io::Error::other)?, words, tell)
    }

    /// Starts these devices.
    pub fn of(devices: Vec<Box<dyn Feedback>>, words: Words, tell: &Tell) -> io::Result<Self> {
        let mut queues = Vec::new();
        let (end, ended) = channel();
        for device in devices {
            let (queue, items) = sync_channel(QUEUE);
            let (tell, end) = (Arc::clone(tell), end.clone());
            threads::spawn("feedback", move || {
                let player = Player {
                    device,
                    tell,
                    due: None,
                    failed: false,
                    shown: Signal::plain(Cue::Rest),
                };
                player.run(&items);
                // Whoever waited may have given up.
                let _ = end.send(());
            })?;
            queues.push(queue);
        }
        let words = Arc::new(words);
        Ok(Self {
            signals: Signals { queues, words },
            ended,
        })
    }

    /// Where signals are given.
    pub fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Puts all devices to rest; gives up on one that hangs.
    pub fn finish(self) {
        let until = Instant::now() + LAST_SIGNAL;
        self.signals.put(|| Item::End);
        for _ in &self.signals.queues {
            let left = until.saturating_duration_since(Instant::now());
            let _ = self.ended.recv_timeout(left);
        }
    }
}

impl Signals {
    /// Shows what came of a reading. Never waits.
    pub fn outcome(&self, outcome: &ScanOutcome) {
        if !self.queues.is_empty() {
            let sentence = self.words.sentence(outcome);
            self.show(&Signal::of(&outcome.verdict, outcome.repeat, sentence));
        }
    }

    /// Shows a cue of its own. Never waits.
    pub fn cue(&self, cue: Cue) {
        self.show(&Signal::plain(cue));
    }

    fn show(&self, signal: &Signal) {
        self.put(|| Item::Show(signal.clone()));
    }

    fn put(&self, item: impl Fn() -> Item) {
        for queue in &self.queues {
            // A device that is this far behind shows the next one.
            let _ = queue.try_send(item());
        }
    }
}

/// The devices that are configured; an error for each that is not there to be used.
pub(crate) fn devices(
    settings: &FeedbackSettings,
    ports: &Arc<Ports>,
) -> Vec<Result<Box<dyn Feedback>, RelayError>> {
    let mut devices: Vec<Result<Box<dyn Feedback>, RelayError>> = Vec::new();
    let parts = [
        (Part::Green, &settings.green),
        (Part::Red, &settings.red),
        (Part::Buzzer, &settings.buzzer),
    ];
    for (part, spec) in parts {
        if let Some(spec) = spec {
            let relay = spec.open(ports, Urgency::After);
            devices.push(relay.map(|relay| {
                let blinker: Box<dyn Feedback> =
                    Box::new(Blinker::new(part, spec.to_string(), relay));
                blinker
            }));
        }
    }
    if let Some(text) = &settings.text {
        let wire = ports.serial_wire(&text.port);
        devices.push(Ok(Box::new(TextPanel::new(text, wire))));
    }
    if let Some(voice) = &settings.voice {
        devices.push(Ok(Box::new(Voice::new(voice))));
    }
    devices
}

/// One device's thread.
struct Player {
    device: Box<dyn Feedback>,
    tell: Tell,
    due: Option<Instant>,
    failed: bool,
    /// The last signal.
    shown: Signal,
}

impl Player {
    fn run(mut self, items: &Receiver<Item>) {
        self.begin(Signal::plain(Cue::Rest));
        loop {
            let next = match self.due {
                Some(due) => items.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => items.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                Ok(item) => match items.try_iter().last().unwrap_or(item) {
                    Item::Show(newest) if self.failed => self.shown = newest,
                    Item::Show(newest) => self.begin(newest),
                    Item::End => break,
                },
                Err(RecvTimeoutError::Timeout) if self.failed => {
                    // What was meant to last is shown; the rest is over.
                    let lasting = match self.shown.cue {
                        Cue::FreePassage => self.shown.clone(),
                        _ => Signal::plain(Cue::Rest),
                    };
                    self.begin(lasting);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let done = self.device.go_on();
                    self.note(done);
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.begin(Signal::plain(Cue::Rest));
    }

    fn begin(&mut self, signal: Signal) {
        let done = self.device.begin(&signal);
        self.shown = signal;
        self.note(done);
    }

    fn note(&mut self, done: Result<Option<Duration>, FeedbackError>) {
        let wait = match done {
            Ok(wait) => {
                if std::mem::take(&mut self.failed) {
                    let device = self.device.name();
                    (self.tell)(Event::FeedbackBack { device });
                }
                wait
            }
            Err(error) => {
                if !std::mem::replace(&mut self.failed, true) {
                    (self.tell)(Event::FeedbackFailed {
                        device: self.device.name(),
                        what: error.to_string(),
                    });
                }
                Some(LEFT_ALONE)
            }
        };
        self.due = wait.map(|wait| Instant::now() + wait);
    }
}
