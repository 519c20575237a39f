//! Rows 9 to 11: whether a list knows the ticket, how old that list is, and which issue of the
//! ticket it has.

use stile_core::reason::Reason;
use stile_core::record::Flag;
use stile_core::ticket::Ticket;
use stile_core::time::EpochSeconds;
use stile_core::verdict::{Detail, Refusal};

use crate::at::At;
use crate::common::{NINE, id};

#[test]
fn an_unlisted_g2_code_is_admitted_where_a_person_can_look_and_refused_at_a_turnstile() {
    let mut staffed = At::new();
    staffed.ticket = None;
    assert_eq!(staffed.flags(), [Flag::Unlisted]);
    staffed.venue.policy.staffed.unlisted_zones = vec![id("vip")];
    assert_eq!(staffed.reason(), Some(Reason::NotListed));
    let turnstile = At {
        ticket: None,
        ..At::at_turnstile()
    };
    assert_eq!(turnstile.reason(), Some(Reason::NotListed));
}

#[test]
fn an_unlisted_g2_code_is_judged_by_its_own_admission_window() {
    let mut at = At {
        ticket: None,
        ..At::new()
    };
    at.now.at = EpochSeconds(NINE - 1801).millis();
    at.code = at
        .venue
        .g2(&at.venue.ticket("A1"), NINE - 1801)
        .into_bytes();
    let early = Refusal {
        reason: Reason::TooEarly,
        detail: Some(Detail::Time(EpochSeconds(NINE - 1800))),
    };
    assert_eq!(at.refusal(), Some(early));
}

#[test]
fn an_unlisted_rotating_code_is_never_admitted() {
    let at = At {
        ticket: None,
        ..At::new().g3()
    };
    assert_eq!(at.reason(), Some(Reason::NotListed));
}

#[test]
fn without_any_list_of_today_every_format_hears_that_the_list_is_missing() {
    for mut at in [
        At::at_turnstile(),
        At::at_turnstile().v1(),
        At::at_turnstile().g3(),
    ] {
        (at.day, at.ticket) = (None, None);
        assert_eq!(at.reason(), Some(Reason::WhitelistStale));
    }
}

#[test]
fn a_stale_list_is_used_for_half_a_day_with_staff_and_not_at_all_without() {
    let mut at = At::new();
    at.day.as_mut().unwrap().not_after = EpochSeconds(NINE);
    assert_eq!(at.flags(), [Flag::StaleList]);
    at.day.as_mut().unwrap().not_after = EpochSeconds(NINE - 12 * 3600);
    assert_eq!(at.reason(), Some(Reason::WhitelistStale));
    let mut at = At::at_turnstile();
    at.day.as_mut().unwrap().not_after = EpochSeconds(NINE);
    assert_eq!(at.reason(), Some(Reason::WhitelistStale));
    at.day.as_mut().unwrap().not_after = EpochSeconds(NINE + 1);
    assert_eq!(at.reason(), None);
}

#[test]
fn an_older_print_of_a_reissued_ticket_is_superseded_and_a_newer_one_is_marked() {
    let mut at = At::new();
    at.ticket().revision = 2;
    assert_eq!(at.reason(), Some(Reason::Superseded));
    let mut at = At::new();
    let newer = Ticket {
        revision: 1,
        ..at.ticket.clone().unwrap()
    };
    at.code = at.venue.g2(&newer, NINE).into_bytes();
    assert_eq!(at.flags(), [Flag::NewerRevision]);
}

#[test]
fn a_rotating_code_of_another_issue_is_superseded_or_not_listed_without_a_look_at_its_tag() {
    let mut at = At::new().g3();
    at.ticket().revision = 2;
    assert_eq!(at.reason(), Some(Reason::Superseded));
    let mut at = At::new();
    let newer = Ticket {
        revision: 1,
        ..at.ticket.clone().unwrap()
    };
    at.code = at.venue.g3(&newer, NINE - 3600).into_bytes();
    assert_eq!(at.reason(), Some(Reason::NotListed));
}
