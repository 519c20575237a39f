//! The decision: a pure function of reading, ticket, admissions, gate, policy and time. The rows
//! are tried in their order, and the first that applies is the answer, on every platform. Here is
//! what is asked and answered; the rows stand in [`judge`], what each looks at in [`saw`].

mod code_rows;
mod judge;
mod saw;
mod ticket_rows;

use crate::admissions::{Fold, LastEntry};
use crate::clock::Now;
use crate::codes::{Code, Format};
use crate::ids::{LastFour, SessionId, Zone};
use crate::key_manifest::KeyRing;
use crate::policy::Policy;
use crate::reason::Reason;
use crate::record::Flag;
use crate::ticket::{CancelCause, Gate, Session, Ticket};
use crate::time::{EpochMillis, EpochSeconds, ServiceDay};

pub use judge::{explain, verdict};

/// A service day's borders, as its list states them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Day {
    /// Its name.
    pub service_day: ServiceDay,
    /// Its first moment.
    pub day_from: EpochSeconds,
    /// The first moment that is no longer the day's.
    pub day_until: EpochSeconds,
    /// When its list is too old.
    pub not_after: EpochSeconds,
}

impl Day {
    /// Whether a moment belongs to the day.
    pub fn holds(&self, at: EpochMillis) -> bool {
        self.day_from.millis() <= at && at < self.day_until.millis()
    }
}

/// A ticket as a held list has it.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// The row.
    pub ticket: &'a Ticket,
    /// Its session, from the list's settings.
    pub session: Option<&'a Session>,
    /// The day of the list.
    pub day: &'a Day,
}

/// What a verdict is asked about.
#[derive(Debug, Clone, Copy)]
pub enum Asked<'a> {
    /// A text that has none of the shapes.
    NoCode,
    /// A code.
    Code(&'a Code),
    /// A ticket that staff looked up or took with its order. There is no code, so that rows 2 to
    /// 8 do not apply.
    LookUp {
        /// Digits of the person who stands at the gate, where staff said them.
        last_four: Option<LastFour>,
    },
}

/// Everything that a verdict may look at.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What is asked about.
    pub asked: Asked<'a>,
    /// What the server said of a v1 code of the shared key; `None` if nobody could be asked.
    pub server_says_genuine: Option<bool>,
    /// The venue's and its sisters' keys.
    pub keys: &'a KeyRing,
    /// The venue's policy.
    pub policy: &'a Policy,
    /// The gate.
    pub gate: &'a Gate,
    /// The newest held list of the current day, or else the newest held list of all.
    pub list: Option<&'a Day>,
    /// The ticket, if a held list has it.
    pub listed: Option<Listed<'a>>,
    /// What the ticket did at this checkpoint today.
    pub admissions: &'a Fold,
    /// Persons who ask to enter, at least 1.
    pub persons: u8,
    /// Whether server or hub can be asked.
    pub reachable: bool,
    /// The time.
    pub now: Now,
    /// When the code was read: its own window and tag are judged by this. Differs from `now` only
    /// where a supervisor waives the refusal of a reading that is some seconds old.
    pub read_at: Now,
    /// Reasons that a supervisor waived. Those that cannot be waived are not.
    pub waived: &'a [Reason],
}

impl Question<'_> {
    /// Whether a supervisor may waive this refusal here: at all, by the venue's policy, and
    /// `not_listed` only for a G2 code (which row 9 sees verified).
    pub fn can_be_waived(&self, reason: Reason) -> bool {
        let listed_by_venue = self.policy.waivable.as_ref();
        let allowed = listed_by_venue.is_none_or(|some| some.contains(&reason));
        let at_all = match reason {
            Reason::NotListed => {
                matches!(self.asked, Asked::Code(code) if code.format() == Format::G2)
            }
            _ => reason.can_be_overridden(),
        };
        allowed && at_all
    }
}

/// `admit` or `refuse(reason)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The gate opens.
    Admit(Admission),
    /// It stays shut.
    Refuse(Refusal),
}

/// What goes with an admission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// Persons admitted.
    pub persons: u8,
    /// Persons who may still enter by the ticket afterwards; 0 at exits, where nobody enters.
    pub remaining: u32,
    /// What the record notes.
    pub flags: Vec<Flag>,
}

/// What goes with a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// What the guard is told beside it.
    pub detail: Option<Detail>,
}

/// The particulars of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    /// Why the ticket was cancelled.
    Cause(CancelCause),
    /// Its session is cancelled; the session's note, empty if none.
    SessionCancelled(String),
    /// The right day.
    Day {
        /// The day that the ticket is for.
        service_day: ServiceDay,
        /// The session.
        session_id: SessionId,
        /// When admission to it begins.
        admit_from: Option<EpochSeconds>,
    },
    /// The zones that the ticket opens.
    Zones(Vec<Zone>),
    /// When admission begins (`too_early`) or ended (`too_late`).
    Time(EpochSeconds),
    /// When and where it was used, and how many may still enter.
    Used {
        /// The last entry.
        last: Option<LastEntry>,
        /// Persons who may still enter.
        remaining: u32,
        /// Persons who were to enter.
        asked: u8,
    },
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Refusal {
            reason,
            detail: None,
        }
    }
}

/// A verdict, and what else the judging found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the code is a verified one of this venue, or a look-up that was found: only then
    /// does anything that it says count, in records, at exits and on screens.
    pub genuine: bool,
    /// The reasons that stood against it and were waived, in the order of the rows.
    pub waived: Vec<Reason>,
}

/// One row of the table, as it was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// Its number in the table.
    pub row: u8,
    /// What it looked at, each with its name: what it compared with what.
    pub saw: Vec<(&'static str, String)>,
    /// Its refusal, if it refused: then it is the last.
    pub refusal: Option<Refusal>,
}
