//! What the controller says: verdicts and events, in the order of readings, on a thread of its
//! own. The relay moves first and words are made after; a screen that takes nothing delays
//! nobody.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use serde::Serialize;
use stile_core::codes::Format;
use stile_core::device::ScanOutcome;
use stile_core::ids::{LastFour, RecordId};
use stile_core::reason::{Language, Reason};
use stile_core::record::Answer;
use stile_core::time::EpochMillis;
use stile_core::verdict::Verdict;

use crate::event::{Event, Tell, Weight};
use crate::relay::{Opened, RelayError};
use crate::threads;
use crate::words::{Sentence, Words};

/// Lines that may wait; beyond that they are dropped and counted, since nothing may wait for a
/// screen.
const QUEUE: usize = 1024;

/// How long the last lines may take at the end.
const LAST_LINES: Duration = Duration::from_secs(2);

/// In which form lines come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// One JSON object per reading and event on standard output; else a readable line per
    /// reading there, and events in the log.
    pub json: bool,
    /// The language of readable lines; both if none.
    pub language: Option<Language>,
}

/// One reading, once its answer is durable.
#[derive(Debug)]
pub struct Read {
    /// What came of it.
    pub outcome: ScanOutcome,
    /// When its line end was read.
    pub read_at: Instant,
    /// What comes of the opening, if the relay was told to open.
    pub opened: Option<Receiver<Opened>>,
}

/// What there is to say.
#[derive(Debug)]
pub enum Said {
    /// A reading.
    Read(Box<Read>),
    /// An event.
    Event(Event),
}

#[derive(Debug)]
enum Item {
    Said(Said),
    End,
}

impl Read {
    /// Waits for what comes of the opening, if the relay was told to open.
    pub fn wait_for_opening(&mut self) -> Option<Opened> {
        let opened = self.opened.take()?;
        Some(opened.recv().unwrap_or_else(|_| Opened {
            at: Instant::now(),
            result: Err(RelayError::Gone),
        }))
    }
}

/// The printing thread.
#[derive(Debug)]
pub struct Printer {
    lines: Lines,
    ended: Receiver<()>,
}

/// Puts lines into a printer's queue; never waits.
#[derive(Debug, Clone)]
pub struct Lines {
    queue: SyncSender<Item>,
    dropped: Arc<AtomicU64>,
}

impl Printer {
    /// Starts to print to `out`.
    pub fn start(words: Words, style: Style, out: impl Write + Send + 'static) -> io::Result<Self> {
        let mut paper = Paper { words, style, out };
        Self::with(move |said| match said {
            Said::Read(read) => paper.read(read),
            Said::Event(event) => paper.event(&event),
        })
    }

    /// Starts to hand over what is said, one after the other, to a screen.
    pub fn with(mut take: impl FnMut(Said) + Send + 'static) -> io::Result<Self> {
        let (queue, items) = sync_channel(QUEUE);
        let (end, ended) = sync_channel(1);
        let dropped = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&dropped);
        threads::spawn("printer", move || {
            for item in items {
                match item {
                    Item::Said(said) => take(said),
                    Item::End => break,
                }
                let lines = counter.swap(0, Ordering::Relaxed);
                if lines > 0 {
                    take(Said::Event(Event::OutputDropped { lines }));
                }
            }
            // Whoever waited may have given up.
            let _ = end.send(());
        })?;
        Ok(Self {
            lines: Lines { queue, dropped },
            ended,
        })
    }

    /// Where lines are put.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Prints what waits and ends; gives up on an output that takes nothing.
    pub fn finish(self) {
        self.lines.put(Item::End);
        let _ = self.ended.recv_timeout(LAST_LINES);
    }
}

impl Lines {
    /// A reading.
    pub fn read(&self, read: Read) {
        self.put(Item::Said(Said::Read(Box::new(read))));
    }

    /// An event.
    pub fn event(&self, event: Event) {
        self.put(Item::Said(Said::Event(event)));
    }

    /// These lines as a place for events.
    pub fn tell(&self) -> Tell {
        let lines = self.clone();
        Arc::new(move |event| lines.event(event))
    }

    fn put(&self, item: Item) {
        if self.queue.try_send(item).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// One reading for programs.
#[derive(Debug, Serialize)]
struct VerdictLine<'a> {
    at: EpochMillis,
    verdict: Answer,
    reason: Option<Reason>,
    format: Option<Format>,
    opens: bool,
    repeat: bool,
    persons: u8,
    remaining: u32,
    record_id: Option<RecordId>,
    label: &'a str,
    holder_mask: &'a str,
    last_four: Option<LastFour>,
    sentence: &'a Sentence,
    decision_us: u32,
    line_to_relay_us: Option<u64>,
}

struct Paper<W: Write> {
    words: Words,
    style: Style,
    out: W,
}

impl<W: Write> Paper<W> {
    fn read(&mut self, mut read: Box<Read>) {
        let opened = read.wait_for_opening();
        let sentence = self.words.sentence(&read.outcome);
        let line_to_relay_us = opened
            .as_ref()
            .filter(|opened| opened.result.is_ok())
            .map(|opened| opened.at.saturating_duration_since(read.read_at))
            .map(|span| u64::try_from(span.as_micros()).unwrap_or(u64::MAX));
        let line = match self.style.json {
            true => json_line(&read.outcome, &sentence, line_to_relay_us),
            false => self.readable_line(&read.outcome, &sentence),
        };
        self.write(&line);
        if let Some(Err(error)) = opened.map(|opened| opened.result) {
            self.event(&Event::RelayFailed {
                what: error.to_string(),
            });
        }
    }

    fn readable_line(&self, outcome: &ScanOutcome, sentence: &Sentence) -> String {
        let sign = match &outcome.verdict {
            Verdict::Admit(_) => "+",
            Verdict::Refuse(_) => "-",
        };
        let mut line = format!(
            "{} {sign} {}",
            self.words.clock(outcome.now.at),
            sentence.text(self.style.language)
        );
        if let Some(ticket) = &outcome.ticket {
            let digits = ticket.last_four.map(|digits| digits.to_string());
            let parts = [
                ticket.label.as_str(),
                &ticket.holder_mask,
                digits.as_deref().unwrap_or_default(),
            ];
            for part in parts.into_iter().filter(|part| !part.is_empty()) {
                line.push_str("  ");
                line.push_str(part);
            }
        }
        if let Verdict::Refuse(refusal) = &outcome.verdict {
            line.push_str(&format!("  [{}]", refusal.reason));
        }
        line
    }

    fn event(&mut self, event: &Event) {
        log(event);
        if self.style.json
            && let Ok(line) = serde_json::to_string(event)
        {
            self.write(&line);
        }
    }

    fn write(&mut self, line: &str) {
        // Nobody at the other end is no reason to stop a gate.
        let _ = self
            .out
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.out.flush());
    }
}

/// Puts an event into the log.
pub fn log(event: &Event) {
    match event.weight() {
        Weight::Normal => tracing::info!("{event}"),
        Weight::Warning => tracing::warn!("{event}"),
        Weight::Alarm => tracing::error!("{event}"),
    }
}

fn json_line(outcome: &ScanOutcome, sentence: &Sentence, line_to_relay_us: Option<u64>) -> String {
    let (verdict, reason, persons, remaining) = match &outcome.verdict {
        Verdict::Admit(admission) => (Answer::Admit, None, admission.persons, admission.remaining),
        Verdict::Refuse(refusal) => (Answer::Refuse, Some(refusal.reason), 0, 0),
    };
    let ticket = outcome.ticket.as_ref();
    let line = VerdictLine {
        at: outcome.now.at,
        verdict,
        reason,
        format: outcome.format,
        opens: outcome.opens,
        repeat: outcome.repeat,
        persons,
        remaining,
        record_id: outcome.record_id,
        label: ticket.map_or("", |ticket| &ticket.label),
        holder_mask: ticket.map_or("", |ticket| &ticket.holder_mask),
        last_four: ticket.and_then(|ticket| ticket.last_four),
        sentence,
        decision_us: outcome.decision_us,
        line_to_relay_us,
    };
    serde_json::to_string(&line).expect("numbers, names and texts are always JSON")
}
