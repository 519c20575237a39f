//! A small display: one line of text per change, so that a microcontroller with a few LEDs or
//! characters can show how the gate is. docs/gate.md describes the line. A display that takes
//! nothing, or is not there, delays nobody.

mod line;
mod out;
mod spec;

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use stile_core::device::{LiveStatus, ScanOutcome};
use stile_core::reason::Language;

pub use line::{Board, MAX_LINE_BYTES};
pub use spec::{DisplaySpec, DisplaySpecError};

use crate::threads;
use crate::words::Words;
use out::Out;

/// News that may wait; what does not fit is dropped, since the next line says it all again.
const QUEUE: usize = 32;
/// How long a verdict is shown.
const SHOW_VERDICT: Duration = Duration::from_secs(3);
/// A line at least this often, so that a display knows that its gate lives, and one that was
/// switched on late knows how it is.
const REPEAT: Duration = Duration::from_secs(10);
/// Time for the last line.
const LAST_LINE: Duration = Duration::from_secs(2);

enum News {
    Outcome(Box<ScanOutcome>),
    Status(Box<LiveStatus>, Option<u64>),
    Stopped,
}

/// The display's thread.
#[derive(Debug)]
pub struct Display {
    panel: Panel,
    ended: Receiver<()>,
}

/// Puts news on a display; never waits.
#[derive(Debug, Clone)]
pub struct Panel(SyncSender<News>);

impl Display {
    /// Starts to show.
    pub fn start(spec: DisplaySpec, words: Words, language: Option<Language>) -> io::Result<Self> {
        let (queue, news) = sync_channel(QUEUE);
        let (end, ended) = sync_channel(1);
        threads::spawn("display", move || {
            show(&news, Board::new(words, language), Out::new(spec));
            // Whoever waited may have given up.
            let _ = end.send(());
        })?;
        Ok(Self {
            panel: Panel(queue),
            ended,
        })
    }

    /// Where news are put.
    pub fn panel(&self) -> &Panel {
        &self.panel
    }

    /// Shows that the gate has stopped, and ends.
    pub fn finish(self) {
        self.panel.put(News::Stopped);
        let _ = self.ended.recv_timeout(LAST_LINE);
    }
}

impl Panel {
    /// What came of a reading.
    pub fn outcome(&self, outcome: &ScanOutcome) {
        self.put(News::Outcome(Box::new(outcome.clone())));
    }

    /// How the device is, and how many records wait, if that was counted anew.
    pub fn status(&self, live: &LiveStatus, waiting: Option<u64>) {
        self.put(News::Status(Box::new(live.clone()), waiting));
    }

    fn put(&self, news: News) {
        let _ = self.0.try_send(news);
    }
}

fn show(news: &Receiver<News>, mut board: Board, mut out: Out) {
    let mut shown = String::new();
    let mut repeat_at = Instant::now();
    let mut clear_at: Option<Instant> = None;
    loop {
        let due = clear_at.map_or(repeat_at, |at| at.min(repeat_at));
        let wait = due.saturating_duration_since(Instant::now());
        match news.recv_timeout(wait) {
            Ok(News::Outcome(outcome)) => {
                board.outcome(&outcome);
                clear_at = Some(Instant::now() + SHOW_VERDICT);
            }
            Ok(News::Status(live, waiting)) => board.status(&live, waiting),
            Ok(News::Stopped) | Err(RecvTimeoutError::Disconnected) => {
                board.stopped();
                out.send(&board.line());
                return;
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = Instant::now();
        if clear_at.is_some_and(|at| at <= now) {
            clear_at = None;
            board.idle();
        }
        let line = board.line();
        if line != shown || repeat_at <= now {
            out.send(&line);
            shown = line;
            repeat_at = Instant::now() + REPEAT;
        }
    }
}
