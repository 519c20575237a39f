//! An outcome of core's as the screen shows it.

use stile_core::device::ScanOutcome;
use stile_core::reason::Reason;
use stile_core::verdict::{Detail, Verdict};

use super::acts::{Shown, Sort};
use crate::words::Words;

impl Shown {
    /// A verdict in the words of its venue.
    pub fn of(outcome: &ScanOutcome, words: &Words) -> Self {
        let (sort, reason, persons, remaining) = match &outcome.verdict {
            Verdict::Admit(admission) => {
                let sort = if outcome.repeat {
                    Sort::Repeat
                } else {
                    Sort::Admit
                };
                (sort, None, admission.persons, admission.remaining)
            }
            Verdict::Refuse(refusal) => {
                let sort = match (refusal.reason, &refusal.detail) {
                    // Nobody has entered by it: too many were asked for.
                    (
                        _,
                        Some(Detail::Used {
                            last: None,
                            remaining: 1..,
                            ..
                        }),
                    ) => Sort::Refuse,
                    (Reason::AlreadyUsed, _) => Sort::Used,
                    _ => Sort::Refuse,
                };
                let remaining = match &refusal.detail {
                    Some(Detail::Used { remaining, .. }) => *remaining,
                    _ => 0,
                };
                (sort, Some(refusal.reason), 0, remaining)
            }
        };
        Self {
            record_id: outcome.record_id.or(outcome.repeats),
            sort,
            reason,
            sentence: words.sentence(outcome),
            at: outcome.now.at,
            persons,
            remaining,
            ticket: outcome.ticket.clone(),
            walk_in: outcome.walk_in.is_some(),
            taken_back: false,
        }
    }
}
