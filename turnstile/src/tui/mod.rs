//! The guard's screen: a pure state machine ([`screen::Screen`]), a pure renderer ([`draw::draw`]),
//! and a thin loop that joins them to a terminal ([`window`]) and to the gate ([`desk`]). Verdicts
//! come to it behind the relay, as lines do to the printer.

pub mod acts;
pub mod block;
pub mod desk;
pub mod draw;
pub mod form;
pub mod guard;
pub mod page;
pub mod phrases;
mod said;
pub mod screen;
mod shown;
pub mod state;
mod told;
pub mod window;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use stile_core::device::{Device, OperatorError};
use stile_core::reason::Language;

use crate::config::Config;
use crate::event::{Event as GateEvent, Weight};
use crate::printer::{Printer, Read, Said, log};
use crate::relay::Promised;
use crate::scanner::{Inputs, ScannerSpec};
use crate::threads;
use crate::words::Words;
use acts::{Act, Answer, Event, Shown};
use desk::Desk;
use guard::Guard;
pub(crate) use said::clock_error;
use screen::Screen;
use state::States;
use window::{Events, Showing, Window};

/// Why there can be no screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoScreen {
    /// The keyboard cannot be both.
    #[error(
        "with --tui the keyboard is the guard's, and stdin is no scanner: name the scanner, such \
         as --scanner tcp:127.0.0.1:7001"
    )]
    StdinIsScanner,
    /// Lines for programs go where the screen is.
    #[error("--tui and --json both want standard output: choose one")]
    Json,
    /// Nobody sees it.
    #[error("--tui needs a terminal: standard input or standard output is none")]
    NoTerminal,
}

/// A screen that is not shown yet.
pub struct Tui {
    window: Window,
    acts: Receiver<Act>,
    words: Words,
}

/// Whether there can be a screen.
pub fn check(config: &Config, json: bool) -> Result<(), NoScreen> {
    if config.scanners.contains(&ScannerSpec::Stdin) {
        return Err(NoScreen::StdinIsScanner);
    }
    if json {
        return Err(NoScreen::Json);
    }
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(NoScreen::NoTerminal);
    }
    Ok(())
}

impl Tui {
    /// A screen with the words of a venue.
    pub fn new(words: Words) -> Self {
        let (window, acts) = Window::new();
        Self {
            window,
            acts,
            words,
        }
    }

    /// A printer that prints on it.
    pub fn printer(&self) -> io::Result<Printer> {
        let (events, words) = (self.window.events().clone(), self.words.clone());
        Printer::with(move |said| match said {
            Said::Read(read) => show(&events, &words, *read),
            Said::Event(event) => tell(&events, &event),
        })
    }

    /// Takes the terminal, and begins to carry out what the guard asks for. The scan loop asks the
    /// guard about each reading.
    pub fn show(
        self,
        device: &Arc<Device>,
        language: Option<Language>,
        (inputs, promised): (Inputs, Promised),
        on_record: impl Fn() + Send + 'static,
    ) -> io::Result<(Arc<Guard>, Showing)> {
        let events = self.window.events().clone();
        let guard = Arc::new(guard_of(Arc::clone(device), events.clone()));
        let desk = Desk {
            device: Arc::clone(device),
            words: self.words.clone(),
            guard: Arc::clone(&guard),
            inputs,
            promised,
            tell: Arc::new(move |event| events.tell(event)),
            on_record: Box::new(on_record),
        };
        let state = States::default().of(device);
        let screen = Screen::new(self.words, language.unwrap_or(Language::ZhCn), state);
        let showing = self.window.show(screen)?;
        let acts = self.acts;
        // Ends when the screen does.
        threads::spawn_large("desk", move || desk.run(&acts))?;
        Ok((guard, showing))
    }
}

fn guard_of(device: Arc<Device>, events: Events) -> Guard {
    Guard::new(Box::new(move |reading| {
        let answer = match device.sign_in_by_badge(reading) {
            Ok(signed_in) => Answer::Done(said::signed_in(&signed_in)),
            // A visitor's ticket goes on to the gate.
            Err(OperatorError::WrongBadge) => return false,
            Err(error) => Answer::Failed(said::operator_error(&error)),
        };
        events.tell(Event::Answer(answer));
        true
    }))
}

/// Shows a verdict once the relay has opened, or has failed to.
fn show(events: &Events, words: &Words, mut read: Read) {
    let opened = read.wait_for_opening();
    events.tell(Event::Shown(Box::new(Shown::of(&read.outcome, words))));
    if let Some(Err(error)) = opened.map(|opened| opened.result) {
        let what = error.to_string();
        tell(events, &GateEvent::RelayFailed { what });
    }
}

fn tell(events: &Events, event: &GateEvent) {
    log(event);
    match event {
        GateEvent::EmergencyOn => events.tell(Event::Emergency(true)),
        GateEvent::EmergencyOff => events.tell(Event::Emergency(false)),
        _ => {}
    }
    if let Some(sentence) = told::told(event) {
        let weight: Weight = event.weight();
        events.tell(Event::Told(weight, sentence));
    }
}
