//! The rows in their order, and what is made of the first that refuses. What each of them asks
//! stands in `code_rows.rs` and `ticket_rows.rs`.

use super::saw::saw;
use super::{Admission, Asked, Judged, Question, Refusal, Tried, Verdict};
use crate::codes::{Code, Format, TagVerdict};
use crate::key_manifest::CodeKey;
use crate::policy::GatePolicy;
use crate::reason::Reason;
use crate::record::Flag;
use crate::ticket::{Direction, Ticket};
use crate::time::EpochMillis;

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
    pub(super) flags: Vec<Flag>,
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
    pub(super) fn refuse(&mut self, refusal: impl Into<Refusal>) -> Result<(), Refusal> {
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

    pub(super) fn refuse_unless(&mut self, holds: bool, reason: Reason) -> Result<(), Refusal> {
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
            _ if self.question.gate.direction == Direction::Out => 0,
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
}
