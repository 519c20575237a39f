//! The thin loop: keys of the terminal and events of the gate go into the screen, frames come out,
//! acts go to the desk. The terminal is given back however the program ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, KeyCode, KeyEventKind, KeyModifiers};

use super::acts::{Act, Event, Key};
use super::draw::draw;
use super::screen::Screen;
use crate::threads;

/// Events that may wait for the screen; beyond that they are dropped, since no gate waits for a
/// screen. The next state says again how things are.
const QUEUE: usize = 1024;
/// How often the keyboard is left to see whether the program ends.
const KEYS_FOR: Duration = Duration::from_millis(100);
/// So many keys at once are no person's.
const BURST: usize = 4;
/// Within so long of each other keys are at once: a scanner sends one in a millisecond or so, a
/// fast typist one in fifty.
const AT_ONCE: Duration = Duration::from_millis(4);

/// What wakes the loop.
enum Wake {
    Event(Event),
    Resized,
    End,
}

/// Puts events before the screen; cheap, and never waits.
#[derive(Clone)]
pub struct Events(SyncSender<Wake>);

/// The screen's end of its channels, before it is shown.
pub struct Window {
    events: Events,
    waiting: Receiver<Wake>,
    asked: Sender<Act>,
}

/// The screen at work.
pub struct Showing {
    events: Events,
    ending: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Events {
    /// Tells the screen.
    pub fn tell(&self, event: Event) {
        self.put(Wake::Event(event));
    }

    fn put(&self, wake: Wake) {
        // Full or gone: see QUEUE.
        let _ = self.0.try_send(wake);
    }
}

impl Window {
    /// A window, and where its acts arrive.
    pub fn new() -> (Self, Receiver<Act>) {
        let (sender, waiting) = sync_channel(QUEUE);
        let (asked, acts) = channel();
        let window = Self {
            events: Events(sender),
            waiting,
            asked,
        };
        (window, acts)
    }

    /// Where events are told.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Takes the terminal and shows the screen.
    pub fn show(self, screen: Screen) -> io::Result<Showing> {
        // Gives the terminal back on a panic, too.
        let terminal = ratatui::try_init()?;
        let ending = Arc::new(AtomicBool::new(false));
        let (events, ends) = (self.events.clone(), Arc::clone(&ending));
        let keys = threads::spawn("keys", move || read_keys(&events, &ends))?;
        let (waiting, asked) = (self.waiting, self.asked);
        let is_ending = Arc::clone(&ending);
        let drawing = threads::spawn_large("screen", move || {
            run(terminal, screen, &waiting, &asked, &is_ending);
        })?;
        Ok(Showing {
            events: self.events,
            ending,
            threads: vec![keys, drawing],
        })
    }
}

/// Gives the terminal back.
impl Drop for Showing {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        // A full queue has events enough to wake the loop.
        self.events.put(Wake::End);
        for thread in self.threads.drain(..) {
            // A panic there has given the terminal back on its way.
            let _ = thread.join();
        }
        ratatui::restore();
    }
}

fn run(
    mut terminal: DefaultTerminal,
    mut screen: Screen,
    waiting: &Receiver<Wake>,
    asked: &Sender<Act>,
    ending: &AtomicBool,
) {
    while !ending.load(Ordering::Relaxed) {
        if let Err(error) = terminal.draw(|frame| draw(&screen, frame)) {
            // The gate goes on without a screen, as it does without anybody who reads its lines.
            tracing::error!("the screen: {error}");
            return;
        }
        let Ok(mut wake) = waiting.recv() else {
            return;
        };
        // All that waits is one frame.
        loop {
            match wake {
                Wake::Event(event) => {
                    for act in screen.on(event) {
                        // The desk ends after the screen.
                        let _ = asked.send(act);
                    }
                }
                Wake::Resized => {}
                Wake::End => return,
            }
            match waiting.try_recv() {
                Ok(next) => wake = next,
                Err(_) => break,
            }
        }
    }
}

fn read_keys(events: &Events, ending: &AtomicBool) {
    while !ending.load(Ordering::Relaxed) {
        match event::poll(KEYS_FOR) {
            Ok(false) => {}
            Ok(true) => read_burst(events),
            // No keyboard any more: verdicts go on being shown, and a signal ends the gate.
            Err(error) => {
                tracing::error!("the keyboard: {error}");
                return;
            }
        }
    }
}

/// Reads what is there, and tells whether it came faster than a person types.
fn read_burst(events: &Events) {
    let mut keys = Vec::new();
    while let Ok(true) = event::poll(if keys.is_empty() {
        Duration::ZERO
    } else {
        AT_ONCE
    }) {
        match event::read() {
            Ok(event::Event::Key(pressed)) => keys.extend(key(pressed)),
            Ok(event::Event::Resize(..)) => events.put(Wake::Resized),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    if keys.len() >= BURST {
        events.tell(Event::Burst(keys));
    } else {
        keys.into_iter()
            .for_each(|key| events.tell(Event::Key(key)));
    }
}

fn key(pressed: event::KeyEvent) -> Option<Key> {
    if pressed.kind == KeyEventKind::Release {
        return None;
    }
    let control = pressed.modifiers.contains(KeyModifiers::CONTROL);
    Some(match pressed.code {
        KeyCode::Char('c') if control => Key::Interrupt,
        KeyCode::Char(_) if control => return None,
        KeyCode::Char(character) => Key::Char(character),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up | KeyCode::BackTab => Key::Up,
        KeyCode::Down | KeyCode::Tab => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        _ => return None,
    })
}
