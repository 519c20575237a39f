//! The rows together: the first that applies is the answer, each can be explained, and some can be
//! waived. A look-up goes through the same rows.

use stile_core::ids::LastFour;
use stile_core::reason::Reason;
use stile_core::record::Flag;
use stile_core::ticket::{Standing, TicketStatus};
use stile_core::time::EpochSeconds;
use stile_core::verdict::explain;

use crate::at::At;
use crate::common::{NINE, id};

#[test]
fn the_first_row_that_applies_is_the_answer() {
    let mut at = At::at_turnstile();
    at.enter(NINE - 60);
    let used = at.reason();
    at.ticket().attention = "concession card".into();
    let attention = at.reason();
    at.ticket().last_four = stile_core::ids::LastFour::new(1);
    let mismatch = at.reason();
    at.ticket().admit_until = Some(EpochSeconds(NINE));
    let late = at.reason();
    at.ticket().zones = vec![id("vip")];
    let gate = at.reason();
    at.ticket_day.day_until = EpochSeconds(NINE);
    let day = at.reason();
    at.ticket().status = TicketStatus::Pending;
    let pending = at.reason();
    at.ticket().standing = Standing::Deleted;
    let cancelled = at.reason();
    at.ticket().status = TicketStatus::Blocked;
    let blocked = at.reason();
    at.ticket().revision = 1;
    let superseded = at.reason();
    at.day.as_mut().unwrap().not_after = EpochSeconds(NINE);
    let stale = at.reason();
    let order: Vec<_> = [
        stale, superseded, blocked, cancelled, pending, day, gate, late, mismatch, attention, used,
    ]
    .into_iter()
    .map(|reason| reason.unwrap().row())
    .collect();
    assert!(order.is_sorted() && order.first() == Some(&10), "{order:?}");
}

#[test]
fn explaining_names_every_row_up_to_the_one_that_refused() {
    let at = At::new();
    let tried = at.asked(|question| explain(question).1);
    assert_eq!(tried.len(), 20);
    assert!(tried.iter().all(|one| one.refusal.is_none()));
    assert!(
        tried.iter().all(|one| !one.saw.is_empty()),
        "each says what it compared"
    );
    let mut at = At::new();
    at.ticket().status = TicketStatus::Blocked;
    let tried = at.asked(|question| explain(question).1);
    let last = tried.last().unwrap();
    assert_eq!(
        (last.row, &last.refusal),
        (12, &Some(Reason::Blocked.into()))
    );
    assert_eq!(last.saw, [("status", "blocked".to_owned())]);
}

#[test]
fn explaining_says_what_the_window_was_compared_with() {
    let mut at = At::new();
    at.ticket().admit_until = Some(EpochSeconds(NINE));
    let tried = at.asked(|question| explain(question).1);
    let last = tried.last().unwrap();
    assert_eq!(last.row, 17);
    let expected = [
        ("now", (NINE * 1000).to_string()),
        ("admit from", (NINE - 1800).to_string()),
        ("admit until", NINE.to_string()),
    ];
    assert_eq!(last.saw, expected);
}

#[test]
fn what_is_waived_is_named_and_the_next_reason_stands() {
    let mut at = At::new();
    at.ticket().status = TicketStatus::Cancelled;
    at.enter(NINE - 60);
    at.waived = vec![Reason::Cancelled];
    assert_eq!(at.reason(), Some(Reason::AlreadyUsed));
    assert_eq!(at.judged().waived, [Reason::Cancelled]);
    at.waived = vec![Reason::AlreadyUsed, Reason::Cancelled, Reason::WrongDay];
    assert_eq!(at.reason(), None);
    assert_eq!(
        at.judged().waived,
        [Reason::Cancelled, Reason::AlreadyUsed],
        "only what stood against it"
    );
}

#[test]
fn what_nobody_may_waive_stands_although_it_is_named() {
    let mut at = At::new();
    at.ticket().status = TicketStatus::Blocked;
    at.waived = Reason::ALL.to_vec();
    assert_eq!(at.reason(), Some(Reason::Blocked));
    let mut at = At::new();
    at.waived = Reason::ALL.to_vec();
    at.venue.code_key = stile_core::keys::CodeSigningKey::from_seed(&[9; 32]);
    assert_eq!(at.reason(), Some(Reason::BadSignature));
}

#[test]
fn a_venue_may_shorten_the_list_of_what_is_waived() {
    let mut at = At::new();
    at.ticket().status = TicketStatus::Cancelled;
    at.waived = vec![Reason::Cancelled];
    at.venue.policy.waivable = Some(vec![Reason::TooLate]);
    assert_eq!(at.reason(), Some(Reason::Cancelled));
}

#[test]
fn not_listed_is_waived_for_a_verified_g2_code_alone() {
    let mut at = At::at_turnstile();
    at.ticket = None;
    assert_eq!(at.reason(), Some(Reason::NotListed));
    at.waived = vec![Reason::NotListed];
    assert_eq!(at.flags(), [Flag::Unlisted]);
    let mut v1 = At::at_turnstile().v1();
    v1.ticket = None;
    v1.waived = vec![Reason::NotListed];
    assert_eq!(v1.reason(), Some(Reason::NotListed));
}

#[test]
fn a_look_up_needs_no_code_and_is_judged_by_every_other_row() {
    let mut at = At::new();
    at.code = b"nothing was read".to_vec();
    at.look_up = Some(None);
    assert_eq!(at.reason(), None);
    at.ticket().status = TicketStatus::Pending;
    assert_eq!(at.reason(), Some(Reason::NotConfirmed));
    at.ticket = None;
    assert_eq!(at.reason(), Some(Reason::NotListed));
}

#[test]
fn a_look_up_of_another_person_is_an_identity_mismatch() {
    let mut at = At::new();
    at.look_up = Some(LastFour::new(5678));
    assert_eq!(at.reason(), None);
    at.look_up = Some(LastFour::new(8765));
    assert_eq!(at.reason(), Some(Reason::IdentityMismatch));
}

#[test]
fn every_reason_has_its_row_and_a_sentence_in_both_languages() {
    use stile_core::reason::Language::{En, ZhCn};
    let rows: Vec<_> = Reason::ALL.iter().map(|reason| reason.row()).collect();
    assert!(rows.is_sorted());
    let named: std::collections::BTreeSet<_> = rows.into_iter().collect();
    assert_eq!(named, (1..=22).collect());
    for reason in Reason::ALL {
        assert!(!reason.sentence(En).is_empty() && !reason.sentence(ZhCn).is_empty());
        assert_ne!(reason.sentence(En), reason.sentence(ZhCn));
        let json = serde_json::to_string(reason).unwrap();
        assert_eq!(json, format!("\"{}\"", reason.name()));
    }
}
