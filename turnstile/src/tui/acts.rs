//! What the screen hears and what it asks for, as plain values: keys, verdicts, states and answers
//! come in, acts go out. No terminal and no device stands in between.

use stile_core::device::{Network, TicketShown};
use stile_core::ids::{OperatorId, OrderNumber, RecordId, TicketId};
use stile_core::reason::Reason;
use stile_core::ticket::{Direction, Standing, TicketStatus};
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};

use crate::event::Weight;
pub use crate::pin::Pin;
use crate::words::Sentence;

/// A key, as far as the screen knows keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Takes the last character away.
    Backspace,
    /// Arrow up.
    Up,
    /// Arrow down, and Tab.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Control and C, which ends other programs.
    Interrupt,
}

/// What the screen hears.
#[derive(Debug, Clone)]
pub enum Event {
    /// A key was pressed.
    Key(Key),
    /// Keys came faster than a person types: a scanner that acts as a keyboard, or a paste.
    Burst(Vec<Key>),
    /// A reading has its answer, or an act of the guard moved somebody.
    Shown(Box<Shown>),
    /// About once a second: how the gate is.
    State(Box<GateState>),
    /// The emergency input holds the gate open, or no longer.
    Emergency(bool),
    /// Something happened beside verdicts.
    Told(Weight, Sentence),
    /// What came of an act.
    Answer(Answer),
}

/// A verdict in the words of the venue. What is not known is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The record, if one was written; a repeat's is that of its first reading.
    pub record_id: Option<RecordId>,
    /// What it is.
    pub sort: Sort,
    /// Why it was refused.
    pub reason: Option<Reason>,
    /// The sentence for the guard.
    pub sentence: Sentence,
    /// When, by the gate's clock.
    pub at: EpochMillis,
    /// Persons admitted by it.
    pub persons: u8,
    /// Persons who may still enter by the ticket.
    pub remaining: u32,
    /// The ticket, once the code is verified.
    pub ticket: Option<TicketShown>,
    /// Whether it is of persons without a ticket.
    pub walk_in: bool,
    /// Whether it has been taken back since.
    pub taken_back: bool,
}

/// The four answers that must not be taken for one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// The gate opens.
    Admit,
    /// It stays shut.
    Refuse,
    /// It stays shut: the ticket has been used.
    Used,
    /// The same ticket just before: the first answer again, and nothing moves.
    Repeat,
}

/// How the gate is, as the bar says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateState {
    /// What people call the gate.
    pub gate: String,
    /// Which way people pass.
    pub direction: Direction,
    /// Sessions that admit now, or the one that does next.
    pub sessions: Vec<SessionLine>,
    /// When the list of today was signed.
    pub list_issued_at: Option<EpochMillis>,
    /// Its tickets.
    pub list_tickets: u64,
    /// Trusted time.
    pub now: EpochMillis,
    /// What is wrong with the clock.
    pub clock: ClockWord,
    /// By how much the machine's clock is off, in ms, when that is worth a warning.
    pub wall_off_ms: Option<i64>,
    /// Whether the venue revoked the device.
    pub revoked: bool,
    /// Whether a newer key manifest must have come.
    pub keys_overdue: bool,
    /// How it stands to the server.
    pub network: Network,
    /// Who is signed in.
    pub operator: Option<String>,
    /// Whether the gate only practises.
    pub practice: bool,
    /// Whether the gate stands open for everybody.
    pub free_passage: bool,
    /// Records that wait to go up.
    pub unsent: u64,
    /// Records that the server set aside.
    pub quarantined: u64,
    /// Records that the server refused alone.
    pub stuck: u64,
    /// Admissions of this device that the server counts as the loser of a conflict.
    pub conflicts: u64,
    /// What persons without a ticket may be.
    pub categories: Vec<String>,
}

/// A session, as the bar names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLine {
    /// What people call it.
    pub name: String,
    /// Start of admission.
    pub admit_from: EpochSeconds,
    /// End of admission.
    pub admit_until: EpochSeconds,
    /// Whether it admits now; else it is the next one.
    pub admits_now: bool,
}

/// How far the clock can be trusted, in the screen's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockWord {
    /// The server's time.
    Right,
    /// The server says something else: this, if it is known.
    Disputed(Option<EpochMillis>),
    /// The machine's own clock.
    Own,
    /// Not known.
    Unknown,
}

/// What the guard wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// More persons by the ticket that was admitted last.
    More {
        /// The admission that the guard sees.
        of: RecordId,
        /// How many more.
        persons: u8,
    },
    /// The next reading admits so many persons.
    NextPersons(u8),
    /// An admission is taken back: the ticket is somebody else's.
    DoesNotMatch(RecordId),
    /// An admission is taken back.
    Undo {
        /// Which.
        of: RecordId,
        /// The guard's words.
        why: String,
    },
    /// The refusal that the guard sees is waived.
    Override(Waiving),
    /// Tickets by the end of their order number or by four digits, narrowed by name.
    LookUp {
        /// Order number or digits.
        text: String,
        /// Name, if one was said.
        name: String,
    },
    /// All tickets of an order.
    Order(OrderNumber),
    /// Admits tickets that were looked up, each for so many persons.
    Admit {
        /// Which, and how many of each.
        tickets: Vec<(TicketId, u8)>,
        /// Whether they were ticked on their order.
        order: Option<OrderNumber>,
    },
    /// Persons without a ticket.
    WalkIn {
        /// Which way.
        direction: Direction,
        /// How many.
        persons: u8,
        /// What they are.
        category: String,
    },
    /// Signs in by PIN.
    SignIn {
        /// Who.
        operator: OperatorId,
        /// Their PIN.
        pin: Pin,
    },
    /// Whether the next reading may be a staff QR.
    AwaitBadge(bool),
    /// The counts since sign-in.
    HandOver,
    /// Signs out.
    SignOut,
    /// Practice mode on or off.
    Practice(bool),
    /// The gate opens for everybody, with the guard's words, or no longer.
    FreePassage(Option<String>),
    /// A supervisor sets the clock.
    SetClock {
        /// The supervisor's.
        pin: Pin,
        /// The time.
        to: EpochMillis,
        /// The supervisor's words.
        why: String,
    },
    /// Records that a person must look at.
    Troubles,
    /// The gate shuts and the program ends.
    Quit,
}

/// A refusal to be waived, by whom and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiving {
    /// Its record; none if it has none.
    pub of: Option<RecordId>,
    /// The supervisor's.
    pub pin: Pin,
    /// The supervisor's words.
    pub why: String,
    /// Reasons waived by name.
    pub waived: Vec<Reason>,
}

/// What came of an act.
#[derive(Debug, Clone)]
pub enum Answer {
    /// It is done, in a sentence.
    Done(Sentence),
    /// An admission is taken back.
    TakenBack {
        /// Which.
        of: RecordId,
        /// Whether the ticket was somebody else's.
        mismatch: bool,
    },
    /// It was not done, and why.
    Failed(Sentence),
    /// It moved somebody or refused to; the verdict comes beside it.
    Judged,
    /// A further reason stands against an override.
    Further(Reason, Sentence),
    /// Tickets that were looked up.
    Found {
        /// The tickets.
        rows: Vec<Row>,
        /// There are more than can be shown.
        more: bool,
    },
    /// The tickets of an order.
    Order {
        /// Its number.
        order: OrderNumber,
        /// Its tickets, as many as can be shown.
        rows: Vec<Row>,
        /// How many more it has.
        more: usize,
    },
    /// The counts since sign-in.
    HandOver(Box<Counts>),
    /// Signed out, with what is handed over.
    SignedOut(Box<Counts>),
    /// Records that a person must look at.
    Troubles(Vec<Trouble>),
}

/// What a guard hands over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Who.
    pub operator: String,
    /// Signed in since.
    pub since: EpochMillis,
    /// Persons admitted by tickets.
    pub admitted: u64,
    /// Persons let in without one.
    pub walk_ins: u64,
    /// Refused readings, by reason.
    pub refused: Vec<(String, u64)>,
    /// Admissions taken back.
    pub undone: u64,
    /// Refusals that were waived.
    pub overrides: u64,
}

/// A ticket in a list of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The ticket.
    pub ticket: TicketId,
    /// Its order.
    pub order: OrderNumber,
    /// What a guard reads of it.
    pub shown: TicketShown,
    /// The day of its session.
    pub service_day: ServiceDay,
    /// Where it stands.
    pub status: TicketStatus,
    /// The ticket itself, or a tombstone.
    pub standing: Standing,
    /// Persons who may still enter by it.
    pub remaining: u32,
}

/// Why a record wants a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroubleSort {
    /// The ticket was admitted more often than it has persons; this admission is the loser.
    Conflict,
    /// The server set the record aside.
    Quarantined,
    /// The server refused the record alone.
    Stuck,
}

/// A record that a person must look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Why.
    pub sort: TroubleSort,
    /// When it was made.
    pub at: EpochMillis,
    /// What kind of record, by its stable name.
    pub kind: String,
    /// The ticket's id, or the record's.
    pub of: String,
}
