//! Rows 1 to 8: the text, its key, its signature, the clock and the code's own window.

use stile_core::clock::Trust;
use stile_core::codes::Format;
use stile_core::policy::{Leave, V1Key, V1SharedOffline};
use stile_core::reason::Reason;
use stile_core::record::Flag;
use stile_core::ticket::TicketStatus;
use stile_core::time::EpochSeconds;

use crate::at::At;
use crate::common::NINE;

#[test]
fn a_good_ticket_is_admitted_by_each_signed_format() {
    for at in [At::new(), At::new().v1(), At::new().g3()] {
        assert_eq!(at.reason(), None);
        assert!(at.judged().genuine);
    }
}

#[test]
fn a_text_of_no_shape_is_malformed() {
    let at = At {
        code: b"6901234567892".to_vec(),
        ..At::new()
    };
    assert_eq!(at.reason(), Some(Reason::Malformed));
    assert!(!at.judged().genuine);
}

#[test]
fn where_the_policy_says_g3_alone_other_formats_are_not_accepted() {
    let mut at = At::new().v1();
    at.venue.policy.formats = vec![Format::G3];
    assert_eq!(at.reason(), Some(Reason::FormatNotAccepted));
}

#[test]
fn a_code_of_an_unknown_key_says_so_before_its_signature_is_looked_at() {
    let mut at = At::new();
    let mut payload = at.venue.payload(at.ticket.as_ref().unwrap(), NINE);
    payload.kid = stile_core::ids::Kid(9);
    at.code = stile_core::codes::g2::mint(&at.venue.code_key, &payload)
        .unwrap()
        .into_bytes();
    assert_eq!(at.reason(), Some(Reason::UnknownKey));
}

#[test]
fn a_forged_code_is_refused_whatever_its_ticket_is() {
    let forger = stile_core::keys::CodeSigningKey::from_seed(&[99; 32]);
    let mut at = At::new();
    at.ticket().status = TicketStatus::Cancelled;
    let payload = at.venue.payload(at.ticket.as_ref().unwrap(), NINE);
    at.code = stile_core::codes::g2::mint(&forger, &payload)
        .unwrap()
        .into_bytes();
    assert_eq!(at.reason(), Some(Reason::BadSignature));
    assert!(!at.judged().genuine);
}

#[test]
fn a_v1_code_of_a_ticket_that_no_list_has_is_not_listed_and_nothing_it_says_counts() {
    let at = At {
        ticket: None,
        ..At::new().v1()
    };
    assert_eq!(at.reason(), Some(Reason::NotListed));
    assert!(!at.judged().genuine);
}

#[test]
fn a_shared_v1_code_offline_goes_by_policy() {
    let mut at = At::new().v1();
    at.venue.policy.v1_key = V1Key::Shared;
    assert_eq!(at.flags(), [Flag::Unverified]);
    at.venue.policy.staffed.v1_shared_offline = V1SharedOffline::UnverifiableOffline;
    assert_eq!(at.reason(), Some(Reason::UnverifiableOffline));
    let mut expired = At::new();
    expired.venue.policy.v1_key = V1Key::Shared;
    let ticket = expired.ticket.clone().unwrap();
    expired.code = expired.venue.v1(&ticket, NINE - 61).into_bytes();
    assert_eq!(expired.reason(), Some(Reason::CodeExpired));
}

#[test]
fn without_trusted_time_the_gate_says_so_and_a_plausible_clock_goes_by_policy() {
    let mut at = At::new();
    at.now.trust = Trust::Untrusted;
    assert_eq!(at.reason(), Some(Reason::ClockUntrusted));
    at.now.trust = Trust::Unanchored;
    assert_eq!(at.reason(), None);
    at.venue.policy.staffed.clock_unanchored = Leave::Refuse;
    assert_eq!(at.reason(), Some(Reason::ClockUntrusted));
}

#[test]
fn an_unanchored_gate_does_not_call_a_strange_tag_forged() {
    let mut at = At::new();
    let ticket = at.ticket.clone().unwrap();
    // A full turn of the counter's low byte away: the tag is genuine, of another time.
    at.code = at.venue.g3(&ticket, NINE - 256 * 30).into_bytes();
    assert_eq!(at.reason(), Some(Reason::BadSignature));
    at.now.trust = Trust::Unanchored;
    assert_eq!(at.reason(), Some(Reason::ClockUntrusted));
}

#[test]
fn a_screenshot_of_a_rotating_code_expires() {
    let mut at = At::new();
    let ticket = at.ticket.clone().unwrap();
    at.code = at.venue.g3(&ticket, NINE - 120).into_bytes();
    assert_eq!(at.reason(), Some(Reason::CodeExpired));
    at.code = at.venue.g3(&ticket, NINE + 90).into_bytes();
    assert_eq!(at.reason(), Some(Reason::CodeNotYetValid));
}

#[test]
fn a_code_is_judged_by_the_time_at_which_it_was_read() {
    let mut at = At::new().g3();
    at.read_at = Some(at.now);
    at.now.at = at.now.at.plus(119_000);
    assert_eq!(at.reason(), None);
    at.read_at = None;
    assert_eq!(at.reason(), Some(Reason::CodeExpired));
}

#[test]
fn a_v1_code_of_the_shared_key_is_as_good_as_the_server_says() {
    let mut at = At::new().v1();
    at.venue.policy.v1_key = V1Key::Shared;
    at.server_says_genuine = Some(true);
    assert_eq!(at.flags(), []);
    at.server_says_genuine = Some(false);
    assert_eq!(at.reason(), Some(Reason::BadSignature));
    at.server_says_genuine = None;
    assert_eq!(at.flags(), [Flag::Unverified]);
    at.now.at = EpochSeconds(NINE + 600 + 61).millis();
    assert_eq!(at.reason(), Some(Reason::CodeExpired));
}
