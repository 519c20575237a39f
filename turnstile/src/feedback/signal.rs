//! Which signal an outcome gives. Pure: what a device makes of it is the device's.

use stile_core::reason::Reason;
use stile_core::verdict::{Refusal, Verdict};

use crate::words::Sentence;

/// What a visitor is told without words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cue {
    /// Pass.
    Admit,
    /// Do not pass; the visitor can see why.
    Refuse,
    /// Do not pass; somebody of the staff can help, or must look.
    SeeStaff,
    /// The gate stands open.
    FreePassage,
    /// Nothing is going on.
    Rest,
}

impl Cue {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Admit,
        Self::Refuse,
        Self::SeeStaff,
        Self::FreePassage,
        Self::Rest,
    ];

    /// The cue of a verdict.
    pub fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Admit(_) => Self::Admit,
            Verdict::Refuse(refusal) => refused(refusal.reason),
        }
    }

    /// Its name in configuration and of recorded clips.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Refuse => "refuse",
            Self::SeeStaff => "see_staff",
            Self::FreePassage => "free_passage",
            Self::Rest => "rest",
        }
    }
}

/// What the visitor cannot put right alone, or what is no fault of the visitor's, is for staff.
fn refused(reason: Reason) -> Cue {
    match reason {
        Reason::ClockUntrusted
        | Reason::UnverifiableOffline
        | Reason::WhitelistStale
        | Reason::Blocked
        | Reason::IdentityMismatch
        | Reason::SeeStaff
        | Reason::Isolated
        | Reason::StoreUnavailable => Cue::SeeStaff,
        _ => Cue::Refuse,
    }
}

/// One signal to all devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// What it means.
    pub cue: Cue,
    /// The same ticket was read just before: the first answer again, with another sound.
    pub repeat: bool,
    /// Why, of a refusal.
    pub reason: Option<Reason>,
    /// The verdict in words, if it is one.
    pub sentence: Option<Sentence>,
    /// How many more the ticket admits.
    pub remaining: u32,
}

impl Signal {
    /// The signal of a verdict.
    pub fn of(verdict: &Verdict, repeat: bool, sentence: Sentence) -> Self {
        let (reason, remaining) = match verdict {
            Verdict::Admit(admission) => (None, admission.remaining),
            Verdict::Refuse(Refusal { reason, .. }) => (Some(*reason), 0),
        };
        Self {
            cue: Cue::of(verdict),
            repeat,
            reason,
            sentence: Some(sentence),
            remaining,
        }
    }

    /// A signal that is no verdict's.
    pub fn plain(cue: Cue) -> Self {
        Self {
            cue,
            repeat: false,
            reason: None,
            sentence: None,
            remaining: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use stile_core::verdict::Admission;

    use super::*;

    #[test]
    fn an_admission_is_green() {
        let admitted = Verdict::Admit(Admission {
            persons: 1,
            remaining: 2,
            flags: Vec::new(),
        });
        assert_eq!(Cue::of(&admitted), Cue::Admit);
    }

    #[test]
    fn staff_are_called_where_the_visitor_cannot_help_it() {
        let staff = [
            "clock_untrusted",
            "unverifiable_offline",
            "whitelist_stale",
            "blocked",
            "identity_mismatch",
            "see_staff",
            "isolated",
            "store_unavailable",
        ];
        for reason in Reason::ALL {
            let cue = Cue::of(&Verdict::Refuse(Refusal::from(*reason)));
            let expected = match staff.contains(&reason.name()) {
                true => Cue::SeeStaff,
                false => Cue::Refuse,
            };
            assert_eq!(cue, expected, "{reason}");
        }
    }
}
