//! What a venue may decide, and what would only be a mistake.

use std::collections::HashSet;

use stile_core::policy::{GatePolicy, Policy};

use super::documents::takes_documents;
use super::venues::{check_text, check_zones};
use crate::error::ServerError;
use crate::import::CODE_BITS;

/// Categories of persons without a ticket at most: each is a button at the gate.
const CATEGORIES: usize = 24;
/// Longest name of one, in bytes: it stands on that button.
const CATEGORY_BYTES: usize = 64;
/// Times of free passage at most: a year of one a day.
const FREE_PASSAGES: usize = 400;
/// Longest silence of a booking system that an alarm may wait for, in hours: a month.
pub(super) const LONGEST_SILENCE_H: u16 = 720;
/// Longest that a visitor may be kept waiting for the answer to a claim, in ms.
const LONGEST_CLAIM_MS: u32 = 3_000;

/// Checks what the policy says of overrides, walk-ins, free passage and claims.
pub(super) fn check(policy: &Policy) -> Result<(), ServerError> {
    let waivable = policy.waivable.iter().flatten();
    if let Some(reason) = waivable.copied().find(|reason| !reason.can_be_overridden()) {
        let problem = format!("`{}` is waived by nobody", reason.name());
        return Err(ServerError::invalid("waivable", problem));
    }
    check_categories(&policy.walk_in_categories)?;
    if policy.vanish_percent > 100 {
        return Err(ServerError::invalid("vanish_percent", "is 0 to 100"));
    }
    for (field, hours) in [
        ("alarms.feed_silent_h", policy.alarms.feed_silent_h),
        (
            "alarms.reconciled_within_h",
            policy.alarms.reconciled_within_h,
        ),
    ] {
        if hours > LONGEST_SILENCE_H {
            let problem = format!("is 0 to {LONGEST_SILENCE_H}");
            return Err(ServerError::invalid(field, problem));
        }
    }
    if policy.free_passage.len() > FREE_PASSAGES {
        let problem = format!("more than {FREE_PASSAGES} times; leave out those that are over");
        return Err(ServerError::invalid("free_passage", problem));
    }
    for time in &policy.free_passage {
        check_text("free_passage", &time.why)?;
        if time.until <= time.from {
            return Err(ServerError::invalid(
                "free_passage",
                "until must lie after from",
            ));
        }
    }
    check_gates(&policy.staffed)?;
    check_gates(&policy.unattended)
}

/// What a venue should know of what it decided, and may decide all the same.
pub fn policy_warnings(policy: &Policy) -> Vec<String> {
    let mut warnings = Vec::new();
    let shapes = policy.opaque_shapes.iter().enumerate();
    let guessable = shapes.filter(|(_, shape)| shape.random_bits() < CODE_BITS);
    warnings.extend(guessable.map(|(at, shape)| {
        let bits = shape.random_bits();
        format!(
            "opaque_shapes[{at}]: codes of this shape can be guessed: the shortest differ in {bits} \
             bits at most, and {CODE_BITS} keep a code safe from whoever tries; use longer ones"
        )
    }));
    if takes_documents(policy) {
        warnings.push(
            "formats: the venue takes documents: gates hold their keyed hashes and the day's key. \
             Whoever steals a gate's disk can find out by trial which numbers are in the list; so \
             tell your visitors, and keep gates where nobody walks off with them"
                .into(),
        );
    }
    warnings
}

fn check_categories(categories: &[String]) -> Result<(), ServerError> {
    let field = "walk_in_categories";
    if !(1..=CATEGORIES).contains(&categories.len()) {
        let problem = format!("name 1 to {CATEGORIES} of them");
        return Err(ServerError::invalid(field, problem));
    }
    let mut seen = HashSet::new();
    for category in categories {
        check_text(field, category)?;
        if category.trim().is_empty() || category.len() > CATEGORY_BYTES {
            let problem = format!("each has 1 to {CATEGORY_BYTES} bytes");
            return Err(ServerError::invalid(field, problem));
        }
        if !seen.insert(category) {
            return Err(ServerError::invalid(field, "one is there twice"));
        }
    }
    Ok(())
}

fn check_gates(gates: &GatePolicy) -> Result<(), ServerError> {
    check_zones(gates.unlisted_zones.len())?;
    let (least, most) = gates.claim_deadline_ms;
    if least > most || most > LONGEST_CLAIM_MS {
        let problem = format!(
            "the least wait, then the most, in ms, up to {LONGEST_CLAIM_MS}; 0 and 0 for no claims"
        );
        return Err(ServerError::invalid("claim_deadline_ms", problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use stile_core::codes::{Format, OpaqueShape};
    use stile_core::ids::GateId;
    use stile_core::policy::FreePassageTime;
    use stile_core::reason::Reason;
    use stile_core::time::EpochSeconds;

    use super::*;

    fn said(change: impl FnOnce(&mut Policy)) -> String {
        let mut policy = Policy::default();
        change(&mut policy);
        check(&policy)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn the_defaults_and_what_is_within_bounds_pass() {
        assert_eq!(said(|_| ()), "");
        let wider = said(|policy| {
            policy.waivable = Some(vec![Reason::TooLate, Reason::AlreadyUsed]);
            policy.staffed.claim_deadline_ms = (0, 0);
        });
        assert_eq!(wider, "");
    }

    #[test]
    fn a_venue_is_warned_of_codes_that_can_be_guessed_and_of_documents() {
        let warned = |prefix: &str, alphabet: &str, length| {
            let shape = OpaqueShape::new(prefix, alphabet, length).unwrap();
            policy_warnings(&Policy {
                opaque_shapes: vec![shape],
                ..Policy::default()
            })
        };
        let digits = warned("MUS", "0123456789", [10, 12]).remove(0);
        assert!(digits.starts_with("opaque_shapes[0]: "), "{digits}");
        assert!(digits.contains("in 23 bits"), "{digits}");
        assert!(warned("", "0123456789abcdef", [32, 32]).is_empty());
        let documents = policy_warnings(&Policy {
            formats: vec![Format::G2, Format::Document],
            ..Policy::default()
        });
        assert!(documents[0].contains("tell your visitors"), "{documents:?}");
    }

    #[test]
    fn what_can_only_be_a_mistake_is_refused_by_its_name() {
        let stolen = said(|policy| policy.waivable = Some(vec![Reason::Blocked]));
        assert_eq!(stolen, "waivable: `blocked` is waived by nobody");
        for categories in [vec![], vec![" "], vec!["child", "child"], vec!["a\nb"]] {
            let of = |policy: &mut Policy| {
                policy.walk_in_categories = categories.iter().map(ToString::to_string).collect();
            };
            assert!(
                said(of).starts_with("walk_in_categories: "),
                "{categories:?}"
            );
        }
        for deadline in [(800, 150), (0, 60_000)] {
            let slow = said(|policy| policy.unattended.claim_deadline_ms = deadline);
            assert!(slow.starts_with("claim_deadline_ms: "), "{deadline:?}");
        }
        let all_and_more = said(|policy| policy.vanish_percent = 101);
        assert_eq!(all_and_more, "vanish_percent: is 0 to 100");
        let never = FreePassageTime {
            gate_id: GateId::new("north").unwrap(),
            from: EpochSeconds(2),
            until: EpochSeconds(2),
            why: String::new(),
        };
        let never = said(|policy| policy.free_passage = vec![never]);
        assert!(never.starts_with("free_passage: "), "{never}");
    }
}
