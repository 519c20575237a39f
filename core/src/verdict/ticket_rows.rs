//! Rows 9 to 21: what the list knows of the ticket, its day, gate and time, its holder, and what it
//! has done already.

use super::judge::Judge;
use super::{Asked, Detail, Listed, Refusal};
use crate::codes::{Code, Format};
use crate::ids::{LastFour, Zone};
use crate::policy::{Isolation, Leave};
use crate::reason::Reason;
use crate::record::Flag;
use crate::ticket::{SessionStatus, Standing, TicketStatus};
use crate::time::EpochSeconds;

impl Judge<'_> {
    pub(super) fn not_listed(&mut self) -> Result<(), Refusal> {
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

    pub(super) fn whitelist_stale(&mut self) -> Result<(), Refusal> {
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

    pub(super) fn superseded(&mut self) -> Result<(), Refusal> {
        let (Some(ticket), Some(revision)) = (self.ticket(), self.code_revision()) else {
            return Ok(());
        };
        self.refuse_unless(revision >= ticket.revision, Reason::Superseded)?;
        if revision > ticket.revision {
            self.flags.push(Flag::NewerRevision);
        }
        Ok(())
    }

    pub(super) fn blocked(&mut self) -> Result<(), Refusal> {
        let blocked = self
            .ticket()
            .is_some_and(|ticket| ticket.status == TicketStatus::Blocked);
        self.refuse_unless(!blocked, Reason::Blocked)
    }

    pub(super) fn cancelled(&mut self) -> Result<(), Refusal> {
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

    pub(super) fn not_confirmed(&mut self) -> Result<(), Refusal> {
        let pending = self
            .ticket()
            .is_some_and(|ticket| ticket.status == TicketStatus::Pending);
        self.refuse_unless(!pending, Reason::NotConfirmed)
    }

    pub(super) fn wrong_day(&mut self) -> Result<(), Refusal> {
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

    pub(super) fn wrong_gate(&mut self) -> Result<(), Refusal> {
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

    pub(super) fn admission_window(&mut self) -> Result<(), Refusal> {
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

    pub(super) fn identity_mismatch(&mut self) -> Result<(), Refusal> {
        let known = self.ticket().and_then(|ticket| ticket.last_four);
        let differ =
            matches!((self.digits_said(), known), (Some(said), Some(known)) if said != known);
        self.refuse_unless(!differ, Reason::IdentityMismatch)
    }

    pub(super) fn see_staff(&mut self) -> Result<(), Refusal> {
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

    pub(super) fn already_used(&mut self) -> Result<(), Refusal> {
        let remaining = self.remaining();
        if u32::from(self.question.persons) <= remaining {
            return Ok(());
        }
        let last = self.question.admissions.last_entry.clone();
        self.refuse(Refusal {
            reason: Reason::AlreadyUsed,
            detail: Some(Detail::Used {
                last,
                remaining,
                asked: self.question.persons,
            }),
        })
    }

    pub(super) fn isolated(&mut self) -> Result<(), Refusal> {
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
