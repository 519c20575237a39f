//! Where codes come from. A scanner runs on its own thread and hands over what it reads; the
//! scan loop takes all scanners' readings from one queue.

mod framer;
mod hid;
mod keys;
mod line;
mod plugged;
mod spec;
mod stdin;
mod tcp;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use stile_core::device::ScanOutcome;
use stile_core::ids::RecordId;
use stile_core::record::PassageOutcome;

pub use framer::{Dropped, Frame, Framer, MAX_CODE_BYTES};
pub use plugged::{Hid, Serial};
pub use spec::ScannerSpec;
pub use stdin::Stdin;
pub use tcp::{MAX_CONNECTIONS, Tcp};

use crate::event::Event;

/// Readings that may wait for the scan loop; a scanner that reads faster is made to wait.
const QUEUE: usize = 64;

/// One code as a scanner read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Its bytes, without the line end.
    pub bytes: Vec<u8>,
    /// When its line end was read.
    pub read_at: Instant,
    /// The scanner, if the code before was cut off there: this may be the rest of that one.
    pub may_be_rest: Option<String>,
}

/// What the passage sensor says: somebody passed, or the gate was opened for one person, has
/// closed, and nobody did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// The admission that the gate was opened by, if one is known.
    pub admission: Option<RecordId>,
    /// What the sensor saw.
    pub outcome: PassageOutcome,
}

/// What a guard did by hand: its record is on disk, and the gate is to open for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// What came of it.
    pub outcome: ScanOutcome,
    /// When it was asked for.
    pub asked_at: Instant,
}

/// What reaches the scan loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A code.
    Reading(Reading),
    /// A scanner or an input went, came, or sent what is no code: only to be told, in its order.
    Trouble(Event),
    /// What the passage sensor says.
    Passage(Passage),
    /// The emergency input changed. The gate is already held open, or let go.
    Emergency {
        /// Whether it is on.
        on: bool,
    },
    /// What a guard did by hand.
    Decided(Box<Decided>),
    /// Free passage began or ended elsewhere: the relay is to follow.
    FreePassage,
    /// A scanner has ended and sends nothing more.
    Ended(String),
    /// The program is to end.
    Stop,
}

/// Puts into the queue of the scan loop.
#[derive(Debug, Clone)]
pub struct Inputs(SyncSender<Input>);

/// The scan loop's queue.
pub fn queue() -> (Inputs, Receiver<Input>) {
    let (sender, receiver) = sync_channel(QUEUE);
    (Inputs(sender), receiver)
}

impl Inputs {
    /// Puts one in, and waits while the queue is full. False once the scan loop has ended.
    pub fn put(&self, input: Input) -> bool {
        self.0.send(input).is_ok()
    }
}

/// A source of codes.
pub trait Scanner: Send {
    /// What it is called in messages: how it is configured, with what was found out since (the
    /// port that was bound).
    fn name(&self) -> String;

    /// Reads until it ends or the scan loop does. Runs on a thread of its own; says
    /// [`Input::Ended`] by itself.
    fn run(self: Box<Self>, inputs: Inputs);
}
