//! The decision: a pure function of reading, ticket, admissions, gate, policy and time. The rows
//! are tried in their order, and the first that applies is the answer, on every platform.

use crate::admissions::{Fold, LastEntry};
use crate::clock::{Now, Trust};
use crate::codes::{Code, Format, TagVerdict, Window};
use crate::ids::{SessionId, Zone};
use crate::key_manifest::{CodeKey, KeyRing};
use crate::policy::{GatePolicy, Isolation, Leave, Policy, V1Key, V1SharedOffline};
use crate::reason::Reason;
use crate::record::Flag;
use crate::ticket::{
    CancelCause, Direction, Gate, Session, SessionStatus, Standing, Ticket, TicketStatus,
};
use crate::time::{EpochMillis, EpochSeconds, ServiceDay};

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

/// Everything that a verdict may look at.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What was read; `None` if it has none of the shapes.
    pub code: Option<&'a Code>,
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
    /// Persons who may still enter by the ticket afterwards.
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

/// The last of the rows that verify a code.
const WRONG_VENUE_ROW: u8 = 5;

type Row<'a> = fn(&mut Judge<'a>) -> Result<(), Refusal>;

/// A verdict, and whether the code is genuine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the code is a verified one of this venue, or a look-up that was found: only then
    /// does anything that it says count, in records, at exits and on screens.
    pub genuine: bool,
}

/// Decides.
pub fn verdict(question: &Question<'_>) -> Judged {
    judge(question, |_| ())
}

/// Decides, and names the rows that were tried, in their order, each with its number in the table
/// and its refusal: all but the last let the ticket pass. What `explain` prints.
pub fn explain(question: &Question<'_>) -> (Judged, Vec<(u8, Option<Refusal>)>) {
    let mut tried = Vec::with_capacity(Judge::ROWS.len());
    let judged = judge(question, |row| tried.push((row, None)));
    if let (Verdict::Refuse(refusal), Some((_, last))) = (&judged.verdict, tried.last_mut()) {
        *last = Some(refusal.clone());
    }
    (judged, tried)
}

fn judge(question: &Question<'_>, tried: impl FnMut(u8)) -> Judged {
    let mut judge = Judge::new(question);
    let judged = judge.run(tried);
    let verified = match (question.gate.direction, &judged) {
        (_, Err((row, _))) => *row > WRONG_VENUE_ROW,
        (Direction::In, Ok(())) => true,
        (Direction::Out, Ok(())) => judge.verified().is_ok(),
    };
    let verdict = match judged {
        Ok(()) => Verdict::Admit(judge.admission()),
        Err((_, refusal)) => Verdict::Refuse(refusal),
    };
    Judged {
        verdict,
        genuine: verified && judge.is_known(),
    }
}

struct Judge<'a> {
    question: &'a Question<'a>,
    policy: &'a GatePolicy,
    key: Option<CodeKey<'a>>,
    tag: Option<TagVerdict>,
    flags: Vec<Flag>,
}

impl<'a> Judge<'a> {
    /// The rows, each with its number in the table. Row 8 is decided with row 4, row 22 when the
    /// record is written.
    const ROWS: [(u8, Row<'a>); 20] = [
        (1, Self::malformed),
        (2, Self::format_not_accepted),
        (3, Self::unknown_key),
        (4, Self::bad_signature),
        (5, Self::wrong_venue),
        (6, Self::clock_untrusted),
        (7, Self::own_window),
        (9, Self::not_listed),
        (10, Self::whitelist_stale),
        (11, Self::superseded),
        (12, Self::blocked),
        (13, Self::cancelled),
        (14, Self::not_confirmed),
        (15, Self::wrong_day),
        (16, Self::wrong_gate),
        (17, Self::admission_window),
        (18, Self::identity_mismatch),
        (19, Self::see_staff),
        (20, Self::already_used),
        (21, Self::isolated),
    ];

    fn new(question: &'a Question<'a>) -> Self {
        Self {
            question,
            policy: question.policy.at(question.gate),
            key: None,
            tag: None,
            flags: Vec::new(),
        }
    }

    /// Tries the rows; names each before.
    fn run(&mut self, mut tried: impl FnMut(u8)) -> Result<(), (u8, Refusal)> {
        for (number, row) in Self::ROWS {
            // An exit locks nobody in: only what is no code at all does not open it.
            if self.question.gate.direction == Direction::Out && number > 1 {
                return Ok(());
            }
            tried(number);
            row(self).map_err(|refusal| (number, refusal))?;
        }
        Ok(())
    }

    /// The rows that verify a code, for an exit that has not tried them.
    fn verified(&mut self) -> Result<(), Refusal> {
        self.unknown_key()?;
        self.bad_signature()?;
        self.wrong_venue()
    }

    /// Whether there is anything that a verified code could speak of: codes without a signature
    /// of their own say nothing unless they are listed.
    fn is_known(&self) -> bool {
        let signed = matches!(self.question.code, Some(Code::G2(_) | Code::G3(_)));
        signed || self.question.listed.is_some()
    }

    fn admission(&self) -> Admission {
        let persons = self.question.persons;
        let remaining = match self.admits() {
            Some(_) => self.remaining().saturating_sub(u32::from(persons)),
            None => 0,
        };
        Admission {
            persons,
            remaining,
            flags: self.flags.clone(),
        }
    }

    fn now(&self) -> EpochMillis {
        self.question.now.at
    }

    fn u_ms(&self) -> i64 {
        self.question.now.u_ms
    }

    fn ticket(&self) -> Option<&'a Ticket> {
        self.question.listed.map(|listed| listed.ticket)
    }

    fn format(&self) -> Option<Format> {
        self.question.code.map(Code::format)
    }

    /// Whether a list of the current day is held.
    fn has_current_list(&self) -> bool {
        self.question.list.is_some_and(|day| day.holds(self.now()))
    }

    fn malformed(&mut self) -> Result<(), Refusal> {
        self.question
            .code
            .map(|_| ())
            .ok_or(Reason::Malformed.into())
    }

    fn format_not_accepted(&mut self) -> Result<(), Refusal> {
        let taken = self
            .format()
            .is_some_and(|format| self.question.policy.formats.contains(&format));
        refuse_unless(taken, Reason::FormatNotAccepted)
    }

    fn unknown_key(&mut self) -> Result<(), Refusal> {
        let Some(payload) = self.question.code.and_then(Code::payload) else {
            return Ok(());
        };
        self.key =
            self.question
                .keys
                .code_key(payload.venue_number, payload.kid, payload.issued_at);
        refuse_unless(self.key.is_some(), Reason::UnknownKey)
    }

    fn bad_signature(&mut self) -> Result<(), Refusal> {
        match self.question.code {
            Some(Code::V1(code)) => self.v1_signature(code),
            Some(Code::G2(code)) => {
                let genuine = self
                    .key
                    .is_some_and(|key| code.verify_signature(key.verifying_key));
                refuse_unless(genuine, Reason::BadSignature)
            }
            Some(Code::G3(code)) => {
                let genuine = self
                    .key
                    .is_some_and(|key| code.verify_signature(key.verifying_key));
                refuse_unless(genuine, Reason::BadSignature)?;
                // Of another issue than the list's, or unlisted: neither tag nor counter counts.
                let rotation_key = self
                    .ticket()
                    .filter(|ticket| ticket.revision == code.payload().revision)
                    .and_then(|ticket| ticket.rotation_key.as_ref());
                self.tag = rotation_key.map(|key| code.judge_tag(key, self.now(), self.u_ms()));
                match self.tag {
                    Some(TagVerdict::BadTag) if !self.question.now.trust.is_anchored() => {
                        Err(Reason::ClockUntrusted.into())
                    }
                    Some(TagVerdict::BadTag) => Err(Reason::BadSignature.into()),
                    _ => Ok(()),
                }
            }
            Some(Code::Opaque(_)) | None => Ok(()),
        }
    }

    fn v1_signature(&mut self, code: &crate::codes::V1Code) -> Result<(), Refusal> {
        let Some(ticket) = self.ticket() else {
            // Without any list of today the guard must hear that, not that the ticket is unknown.
            return refuse_unless(!self.has_current_list(), Reason::NotListed);
        };
        match (self.question.policy.v1_key, self.policy.v1_shared_offline) {
            (V1Key::Derived, _) => {
                let holder = ticket
                    .last_four
                    .map(|digits| digits.to_string())
                    .unwrap_or_default();
                match &ticket.ticket_key {
                    Some(key) => {
                        refuse_unless(code.verify(key.as_bytes(), &holder), Reason::BadSignature)
                    }
                    None => Err(Reason::NotListed.into()),
                }
            }
            (V1Key::Shared, V1SharedOffline::UnverifiableOffline) => {
                Err(Reason::UnverifiableOffline.into())
            }
            (V1Key::Shared, V1SharedOffline::ListedMatch) => {
                self.flags.push(Flag::Unverified);
                Ok(())
            }
        }
    }

    fn wrong_venue(&mut self) -> Result<(), Refusal> {
        refuse_unless(
            !self.key.is_some_and(|key| key.is_sister),
            Reason::WrongVenue,
        )
    }

    fn clock_untrusted(&mut self) -> Result<(), Refusal> {
        let trusted = match self.question.now.trust {
            Trust::Anchored | Trust::Disputed => true,
            Trust::Unanchored => self.policy.clock_unanchored == Leave::Admit,
            Trust::Untrusted => false,
        };
        refuse_unless(trusted, Reason::ClockUntrusted)
    }

    fn own_window(&mut self) -> Result<(), Refusal> {
        let (now, u_ms, rules) = (self.now(), self.u_ms(), &self.question.policy.codes);
        let window = match self.question.code {
            Some(Code::V1(code)) => code.window(now, u_ms, rules),
            Some(Code::G2(code)) => code.window(now, u_ms, rules),
            Some(Code::G3(_)) => match self.tag {
                Some(TagVerdict::NotYet) => Window::NotYet,
                Some(TagVerdict::Expired) => Window::Expired,
                _ => Window::Good,
            },
            Some(Code::Opaque(_)) | None => Window::Good,
        };
        match window {
            Window::Good => Ok(()),
            Window::NotYet => Err(Reason::CodeNotYetValid.into()),
            Window::Expired => Err(Reason::CodeExpired.into()),
        }
    }

    fn not_listed(&mut self) -> Result<(), Refusal> {
        if self.has_current_list() {
            self.listed_or_allowed()
        } else {
            Ok(())
        }
    }

    /// Whether the ticket is listed, or may enter although it is not.
    fn listed_or_allowed(&mut self) -> Result<(), Refusal> {
        if let Some(ticket) = self.ticket() {
            // K_r of a newer issue is not here, so its tag cannot be judged.
            let newer_rotating = self.format() == Some(Format::G3)
                && self
                    .code_revision()
                    .is_some_and(|revision| revision > ticket.revision);
            return refuse_unless(!newer_rotating, Reason::NotListed);
        }
        let zones = &self.policy.unlisted_zones;
        let allowed = self.format() == Some(Format::G2)
            && self.policy.unlisted == Leave::Admit
            && (zones.is_empty() || shares_a_zone(zones, &self.question.gate.zones));
        refuse_unless(allowed, Reason::NotListed)?;
        self.flags.push(Flag::Unlisted);
        Ok(())
    }

    fn whitelist_stale(&mut self) -> Result<(), Refusal> {
        let not_after = self.question.list.map(|day| day.not_after.millis());
        let fresh = self.has_current_list() && not_after.is_some_and(|end| self.now() < end);
        if fresh {
            return Ok(());
        }
        let grace_ms = i64::from(self.policy.whitelist_stale_admit_s).saturating_mul(1000);
        let tolerated = not_after.is_some_and(|end| self.now() < end.plus(grace_ms));
        refuse_unless(tolerated, Reason::WhitelistStale)?;
        self.flags.push(Flag::StaleList);
        if self.has_current_list() {
            Ok(())
        } else {
            self.listed_or_allowed()
        }
    }

    fn code_revision(&self) -> Option<u8> {
        self.question
            .code
            .and_then(Code::payload)
            .map(|payload| payload.revision)
    }

    fn superseded(&mut self) -> Result<(), Refusal> {
        let (Some(ticket), Some(revision)) = (self.ticket(), self.code_revision()) else {
            return Ok(());
        };
        refuse_unless(revision >= ticket.revision, Reason::Superseded)?;
        if revision > ticket.revision {
            self.flags.push(Flag::NewerRevision);
        }
        Ok(())
    }

    fn blocked(&mut self) -> Result<(), Refusal> {
        let blocked = self
            .ticket()
            .is_some_and(|ticket| ticket.status == TicketStatus::Blocked);
        refuse_unless(!blocked, Reason::Blocked)
    }

    fn cancelled(&mut self) -> Result<(), Refusal> {
        let Some(listed) = self.question.listed else {
            return Ok(());
        };
        let ticket = listed.ticket;
        if ticket.status == TicketStatus::Cancelled || ticket.standing == Standing::Deleted {
            let detail = ticket.cancel_cause.map(Detail::Cause);
            return Err(Refusal {
                reason: Reason::Cancelled,
                detail,
            });
        }
        match listed.session {
            // A moved ticket's old session says nothing about it.
            Some(session)
                if session.status == SessionStatus::Cancelled
                    && ticket.standing == Standing::Live =>
            {
                let detail = Some(Detail::SessionCancelled(session.note.clone()));
                Err(Refusal {
                    reason: Reason::Cancelled,
                    detail,
                })
            }
            _ => Ok(()),
        }
    }

    fn not_confirmed(&mut self) -> Result<(), Refusal> {
        let pending = self
            .ticket()
            .is_some_and(|ticket| ticket.status == TicketStatus::Pending);
        refuse_unless(!pending, Reason::NotConfirmed)
    }

    fn wrong_day(&mut self) -> Result<(), Refusal> {
        let Some(listed) = self.question.listed else {
            return Ok(());
        };
        let detail = match &listed.ticket.standing {
            Standing::Moved {
                session_id,
                service_day,
                admit_from,
            } => Detail::Day {
                service_day: service_day.clone(),
                session_id: session_id.clone(),
                admit_from: Some(*admit_from),
            },
            _ if listed.day.holds(self.now()) => return Ok(()),
            _ => Detail::Day {
                service_day: listed.day.service_day.clone(),
                session_id: listed.ticket.session_id.clone(),
                admit_from: window_of(&listed).map(|(from, _)| from),
            },
        };
        Err(Refusal {
            reason: Reason::WrongDay,
            detail: Some(detail),
        })
    }

    fn wrong_gate(&mut self) -> Result<(), Refusal> {
        let Some(listed) = self.question.listed else {
            return Ok(());
        };
        let opens = zones_of(&listed);
        // A gate, or a ticket and its session, without zones are not limited to any.
        let gate_zones = &self.question.gate.zones;
        if opens.is_empty() || gate_zones.is_empty() || shares_a_zone(opens, gate_zones) {
            return Ok(());
        }
        Err(Refusal {
            reason: Reason::WrongGate,
            detail: Some(Detail::Zones(opens.to_vec())),
        })
    }

    fn admission_window(&mut self) -> Result<(), Refusal> {
        let window = match (&self.question.listed, self.question.code) {
            (Some(listed), _) => window_of(listed),
            (None, Some(Code::G2(code))) => Some(code.payload().admission_window()),
            (None, _) => None,
        };
        // A row without its session cannot be judged: in doubt the gate stays shut.
        let (from, until) = window.ok_or(Refusal::from(Reason::WhitelistStale))?;
        let refuse = |reason, at| {
            Err(Refusal {
                reason,
                detail: Some(Detail::Time(at)),
            })
        };
        if self.now() < from.millis() {
            refuse(Reason::TooEarly, from)
        } else if self.now() >= until.millis() {
            refuse(Reason::TooLate, until)
        } else {
            Ok(())
        }
    }

    fn identity_mismatch(&mut self) -> Result<(), Refusal> {
        let said = self
            .question
            .code
            .and_then(Code::payload)
            .and_then(|payload| payload.last_four);
        let known = self.ticket().and_then(|ticket| ticket.last_four);
        let differ = matches!((said, known), (Some(said), Some(known)) if said != known);
        refuse_unless(!differ, Reason::IdentityMismatch)
    }

    fn see_staff(&mut self) -> Result<(), Refusal> {
        let marked = self
            .ticket()
            .is_some_and(|ticket| !ticket.attention.is_empty());
        refuse_unless(!(marked && self.question.gate.unattended), Reason::SeeStaff)
    }

    /// Persons that the ticket admits in all.
    fn admits(&self) -> Option<u8> {
        match (self.ticket(), self.question.code) {
            (Some(ticket), _) => Some(ticket.admits),
            (None, Some(Code::G2(code))) => Some(code.payload().admits),
            (None, _) => None,
        }
    }

    fn remaining(&self) -> u32 {
        self.question.admissions.remaining
    }

    fn already_used(&mut self) -> Result<(), Refusal> {
        let remaining = self.remaining();
        if u32::from(self.question.persons) <= remaining {
            return Ok(());
        }
        let last = self.question.admissions.last_entry.clone();
        Err(Refusal {
            reason: Reason::AlreadyUsed,
            detail: Some(Detail::Used { last, remaining }),
        })
    }

    fn isolated(&mut self) -> Result<(), Refusal> {
        let strict = self.policy.isolation == Isolation::Strict;
        refuse_unless(self.question.reachable || !strict, Reason::Isolated)
    }
}

fn refuse_unless(holds: bool, reason: Reason) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(reason.into()) }
}

fn shares_a_zone(some: &[Zone], others: &[Zone]) -> bool {
    some.iter().any(|zone| others.contains(zone))
}

/// The ticket's zones, else its session's.
fn zones_of<'a>(listed: &Listed<'a>) -> &'a [Zone] {
    match listed.session {
        Some(session) if listed.ticket.zones.is_empty() => &session.zones,
        _ => &listed.ticket.zones,
    }
}

/// The ticket's own admission window where it has one, else its session's.
fn window_of(listed: &Listed<'_>) -> Option<(EpochSeconds, EpochSeconds)> {
    let session = listed.session;
    let from = listed
        .ticket
        .admit_from
        .or(session.map(|session| session.admit_from))?;
    let until = listed
        .ticket
        .admit_until
        .or(session.map(|session| session.admit_until))?;
    Some((from, until))
}
