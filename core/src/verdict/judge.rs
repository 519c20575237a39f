//! The rows, in their order, each a small function.

use super::saw::saw;
use super::{Admission, Asked, Detail, Judged, Listed, Question, Refusal, Tried, Verdict};
use crate::clock::Trust;
use crate::codes::{Code, Format, TagVerdict, Window};
use crate::ids::{LastFour, Zone};
use crate::key_manifest::CodeKey;
use crate::policy::{GatePolicy, Isolation, Leave, V1Key, V1SharedOffline};
use crate::reason::Reason;
use crate::record::Flag;
use crate::ticket::{Direction, SessionStatus, Standing, Ticket, TicketStatus};
use crate::time::{EpochMillis, EpochSeconds};

/// The last of the rows that verify a code.
const WRONG_VENUE_ROW: u8 = 5;
/// The rows that speak of a code alone: a look-up has none. Row 6 speaks of the time.
const CODE_ROWS: [u8; 6] = [1, 2, 3, 4, 5, 7];

type Row<'a> = fn(&mut Judge<'a>) -> Result<(), Refusal>;

/// Decides.
pub fn verdict(question: &Question<'_>) -> Judged {
    judge(question, |_, _, _| ())
}

/// Decides, and names the rows that were tried, in their order, each with what it looked at: all
/// but the last let the ticket pass. What `explain` prints.
pub fn explain(question: &Question<'_>) -> (Judged, Vec<Tried>) {
    let mut tried = Vec::with_capacity(Judge::ROWS.len());
    let judged = judge(question, |judge, row, refusal| {
        tried.push(Tried {
            row,
            saw: saw(judge, row),
            refusal: refusal.cloned(),
        });
    });
    (judged, tried)
}

fn judge<'a>(
    question: &'a Question<'a>,
    tried: impl FnMut(&Judge<'a>, u8, Option<&Refusal>),
) -> Judged {
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
        waived: judge.waived,
    }
}

pub(super) struct Judge<'a> {
    pub(super) question: &'a Question<'a>,
    pub(super) policy: &'a GatePolicy,
    pub(super) key: Option<CodeKey<'a>>,
    pub(super) tag: Option<TagVerdict>,
    flags: Vec<Flag>,
    waived: Vec<Reason>,
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
            waived: Vec::new(),
        }
    }

    /// Tries the rows; shows each afterwards.
    fn run(
        &mut self,
        mut tried: impl FnMut(&Self, u8, Option<&Refusal>),
    ) -> Result<(), (u8, Refusal)> {
        for (number, row) in Self::ROWS {
            // An exit locks nobody in: only what is no code at all does not open it.
            if self.question.gate.direction == Direction::Out && number > 1 {
                return Ok(());
            }
            if self.is_look_up() && CODE_ROWS.contains(&number) {
                continue;
            }
            let refused = row(self).err();
            tried(self, number, refused.as_ref());
            if let Some(refusal) = refused {
                return Err((number, refusal));
            }
        }
        Ok(())
    }

    /// A refusal, unless a supervisor waived it.
    fn refuse(&mut self, refusal: impl Into<Refusal>) -> Result<(), Refusal> {
        let refusal = refusal.into();
        let reason = refusal.reason;
        if !(self.question.waived.contains(&reason) && self.question.can_be_waived(reason)) {
            return Err(refusal);
        }
        if !self.waived.contains(&reason) {
            self.waived.push(reason);
        }
        Ok(())
    }

    fn refuse_unless(&mut self, holds: bool, reason: Reason) -> Result<(), Refusal> {
        if holds { Ok(()) } else { self.refuse(reason) }
    }

    fn is_look_up(&self) -> bool {
        matches!(self.question.asked, Asked::LookUp { .. })
    }

    /// The code, if one was read.
    pub(super) fn code(&self) -> Option<&'a Code> {
        match self.question.asked {
            Asked::Code(code) => Some(code),
            Asked::NoCode | Asked::LookUp { .. } => None,
        }
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
        let signed = matches!(self.code(), Some(Code::G2(_) | Code::G3(_)));
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

    pub(super) fn now(&self) -> EpochMillis {
        self.question.now.at
    }

    pub(super) fn ticket(&self) -> Option<&'a Ticket> {
        self.question.listed.map(|listed| listed.ticket)
    }

    pub(super) fn format(&self) -> Option<Format> {
        self.code().map(Code::format)
    }

    /// Whether a list of the current day is held.
    pub(super) fn has_current_list(&self) -> bool {
        self.question.list.is_some_and(|day| day.holds(self.now()))
    }

    fn malformed(&mut self) -> Result<(), Refusal> {
        self.refuse_unless(self.code().is_some(), Reason::Malformed)
    }

    fn format_not_accepted(&mut self) -> Result<(), Refusal> {
        let taken = self
            .format()
            .is_some_and(|format| self.question.policy.formats.contains(&format));
        self.refuse_unless(taken, Reason::FormatNotAccepted)
    }

    fn unknown_key(&mut self) -> Result<(), Refusal> {
        let Some(payload) = self.code().and_then(Code::payload) else {
            return Ok(());
        };
        self.key =
            self.question
                .keys
                .code_key(payload.venue_number, payload.kid, payload.issued_at);
        self.refuse_unless(self.key.is_some(), Reason::UnknownKey)
    }

    fn bad_signature(&mut self) -> Result<(), Refusal> {
        match self.code() {
            Some(Code::V1(code)) => self.v1_signature(code),
            Some(Code::G2(code)) => {
                let genuine = self
                    .key
                    .is_some_and(|key| code.verify_signature(key.verifying_key));
                self.refuse_unless(genuine, Reason::BadSignature)
            }
            Some(Code::G3(code)) => {
                let genuine = self
                    .key
                    .is_some_and(|key| code.verify_signature(key.verifying_key));
                self.refuse_unless(genuine, Reason::BadSignature)?;
                // Of another issue than the list's, or unlisted: neither tag nor counter counts.
                let rotation_key = self
                    .ticket()
                    .filter(|ticket| ticket.revision == code.payload().revision)
                    .and_then(|ticket| ticket.rotation_key.as_ref());
                let read_at = self.question.read_at;
                self.tag = rotation_key.map(|key| code.judge_tag(key, read_at.at, read_at.u_ms));
                match self.tag {
                    Some(TagVerdict::BadTag) if !read_at.trust.is_anchored() => {
                        self.refuse(Reason::ClockUntrusted)
                    }
                    Some(TagVerdict::BadTag) => self.refuse(Reason::BadSignature),
                    _ => Ok(()),
                }
            }
            Some(Code::Opaque(_) | Code::Document(_)) | None => Ok(()),
        }
    }

    fn v1_signature(&mut self, code: &crate::codes::V1Code) -> Result<(), Refusal> {
        let Some(ticket) = self.ticket() else {
            // Without any list of today the guard must hear that, not that the ticket is unknown.
            return self.refuse_unless(!self.has_current_list(), Reason::NotListed);
        };
        match (
            self.question.policy.v1_key,
            self.question.server_says_genuine,
        ) {
            (V1Key::Derived, _) => {
                let holder = ticket
                    .last_four
                    .map(|digits| digits.to_string())
                    .unwrap_or_default();
                match &ticket.ticket_key {
                    Some(key) => {
                        let genuine = code.verify(key.as_bytes(), &holder);
                        self.refuse_unless(genuine, Reason::BadSignature)
                    }
                    None => self.refuse(Reason::NotListed),
                }
            }
            (V1Key::Shared, Some(genuine)) => self.refuse_unless(genuine, Reason::BadSignature),
            (V1Key::Shared, None) => match self.policy.v1_shared_offline {
                V1SharedOffline::UnverifiableOffline => self.refuse(Reason::UnverifiableOffline),
                V1SharedOffline::ListedMatch => {
                    self.flags.push(Flag::Unverified);
                    Ok(())
                }
            },
        }
    }

    fn wrong_venue(&mut self) -> Result<(), Refusal> {
        let is_sister = self.key.is_some_and(|key| key.is_sister);
        self.refuse_unless(!is_sister, Reason::WrongVenue)
    }

    fn clock_untrusted(&mut self) -> Result<(), Refusal> {
        let trusted = match self.question.now.trust {
            Trust::Anchored | Trust::Disputed => true,
            Trust::Unanchored => self.policy.clock_unanchored == Leave::Admit,
            Trust::Untrusted => false,
        };
        self.refuse_unless(trusted, Reason::ClockUntrusted)
    }

    fn own_window(&mut self) -> Result<(), Refusal> {
        let (read_at, rules) = (self.question.read_at, &self.question.policy.codes);
        let window = match self.code() {
            Some(Code::V1(code)) => code.window(read_at.at, read_at.u_ms, rules),
            Some(Code::G2(code)) => code.window(read_at.at, read_at.u_ms, rules),
            Some(Code::G3(_)) => match self.tag {
                Some(TagVerdict::NotYet) => Window::NotYet,
                Some(TagVerdict::Expired) => Window::Expired,
                _ => Window::Good,
            },
            Some(Code::Opaque(_) | Code::Document(_)) | None => Window::Good,
        };
        match window {
            Window::Good => Ok(()),
            Window::NotYet => self.refuse(Reason::CodeNotYetValid),
            Window::Expired => self.refuse(Reason::CodeExpired),
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
            return self.refuse_unless(!newer_rotating, Reason::NotListed);
        }
        let zones = &self.policy.unlisted_zones;
        let allowed = self.format() == Some(Format::G2)
            && self.policy.unlisted == Leave::Admit
            && (zones.is_empty() || shares_a_zone(zones, &self.question.gate.zones));
        self.refuse_unless(allowed, Reason::NotListed)?;
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
        self.refuse_unless(tolerated, Reason::WhitelistStale)?;
        self.flags.push(Flag::StaleList);
        if self.has_current_list() {
            Ok(())
        } else {
            self.listed_or_allowed()
        }
    }

    pub(super) fn code_revision(&self) -> Option<u8> {
        let payload = self.code().and_then(Code::payload);
        payload.map(|payload| payload.revision)
    }

    fn superseded(&mut self) -> Result<(), Refusal> {
        let (Some(ticket), Some(revision)) = (self.ticket(), self.code_revision()) else {
            return Ok(());
        };
        self.refuse_unless(revision >= ticket.revision, Reason::Superseded)?;
        if revision > ticket.revision {
            self.flags.push(Flag::NewerRevision);
        }
        Ok(())
    }

    fn blocked(&mut self) -> Result<(), Refusal> {
        let blocked = self
            .ticket()
            .is_some_and(|ticket| ticket.status == TicketStatus::Blocked);
        self.refuse_unless(!blocked, Reason::Blocked)
    }

    fn cancelled(&mut self) -> Result<(), Refusal> {
        let Some(listed) = self.question.listed else {
            return Ok(());
        };
        let ticket = listed.ticket;
        if ticket.status == TicketStatus::Cancelled || ticket.standing == Standing::Deleted {
            let detail = ticket.cancel_cause.map(Detail::Cause);
            return self.refuse(Refusal {
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
                self.refuse(Refusal {
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
        self.refuse_unless(!pending, Reason::NotConfirmed)
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
        self.refuse(Refusal {
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
        self.refuse(Refusal {
            reason: Reason::WrongGate,
            detail: Some(Detail::Zones(opens.to_vec())),
        })
    }

    fn admission_window(&mut self) -> Result<(), Refusal> {
        // A row without its session cannot be judged: in doubt the gate stays shut.
        let Some((from, until)) = self.admission_times() else {
            return self.refuse(Reason::WhitelistStale);
        };
        let (reason, at) = if self.now() < from.millis() {
            (Reason::TooEarly, from)
        } else if self.now() >= until.millis() {
            (Reason::TooLate, until)
        } else {
            return Ok(());
        };
        let detail = Some(Detail::Time(at));
        self.refuse(Refusal { reason, detail })
    }

    /// The window that admission is judged by.
    pub(super) fn admission_times(&self) -> Option<(EpochSeconds, EpochSeconds)> {
        match (&self.question.listed, self.code()) {
            (Some(listed), _) => window_of(listed),
            (None, Some(Code::G2(code))) => Some(code.payload().admission_window()),
            (None, _) => None,
        }
    }

    /// The last four digits that the code, or staff at a look-up, say.
    pub(super) fn digits_said(&self) -> Option<LastFour> {
        match self.question.asked {
            Asked::LookUp { last_four } => last_four,
            Asked::NoCode => None,
            Asked::Code(code) => code.payload().and_then(|payload| payload.last_four),
        }
    }

    fn identity_mismatch(&mut self) -> Result<(), Refusal> {
        let known = self.ticket().and_then(|ticket| ticket.last_four);
        let differ =
            matches!((self.digits_said(), known), (Some(said), Some(known)) if said != known);
        self.refuse_unless(!differ, Reason::IdentityMismatch)
    }

    fn see_staff(&mut self) -> Result<(), Refusal> {
        let marked = self
            .ticket()
            .is_some_and(|ticket| !ticket.attention.is_empty());
        self.refuse_unless(!(marked && self.question.gate.unattended), Reason::SeeStaff)
    }

    /// Persons that the ticket admits in all.
    pub(super) fn admits(&self) -> Option<u8> {
        match (self.ticket(), self.code()) {
            (Some(ticket), _) => Some(ticket.admits),
            (None, Some(Code::G2(code))) => Some(code.payload().admits),
            (None, _) => None,
        }
    }

    pub(super) fn remaining(&self) -> u32 {
        self.question.admissions.remaining
    }

    fn already_used(&mut self) -> Result<(), Refusal> {
        let remaining = self.remaining();
        if u32::from(self.question.persons) <= remaining {
            return Ok(());
        }
        let last = self.question.admissions.last_entry.clone();
        self.refuse(Refusal {
            reason: Reason::AlreadyUsed,
            detail: Some(Detail::Used { last, remaining }),
        })
    }

    fn isolated(&mut self) -> Result<(), Refusal> {
        let strict = self.policy.isolation == Isolation::Strict;
        self.refuse_unless(self.question.reachable || !strict, Reason::Isolated)
    }
}

fn shares_a_zone(some: &[Zone], others: &[Zone]) -> bool {
    some.iter().any(|zone| others.contains(zone))
}

/// The ticket's zones, else its session's.
pub(super) fn zones_of<'a>(listed: &Listed<'a>) -> &'a [Zone] {
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
