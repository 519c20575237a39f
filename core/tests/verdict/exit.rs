//! Exits, which lock nobody in.

use stile_core::clock::Trust;
use stile_core::reason::Reason;
use stile_core::ticket::{Direction, TicketStatus};

use crate::at::At;
use crate::common::NINE;

#[test]
fn an_exit_opens_for_whatever_an_entrance_refuses_but_not_for_a_souvenir() {
    let mut at = At::new();
    at.gate.direction = Direction::Out;
    at.ticket().status = TicketStatus::Blocked;
    at.now.trust = Trust::Untrusted;
    assert_eq!(at.reason(), None);
    assert!(
        at.judged().genuine,
        "a verified, listed ticket counts as an exit"
    );
    at.code = b"6901234567892".to_vec();
    assert_eq!(at.reason(), Some(Reason::Malformed));
}

#[test]
fn a_forged_code_opens_an_exit_and_counts_for_nobody() {
    let mut at = At::new();
    at.gate.direction = Direction::Out;
    let forger = stile_core::keys::CodeSigningKey::from_seed(&[99; 32]);
    let payload = at.venue.payload(at.ticket.as_ref().unwrap(), NINE);
    at.code = stile_core::codes::g2::mint(&forger, &payload)
        .unwrap()
        .into_bytes();
    assert_eq!(at.reason(), None);
    assert!(!at.judged().genuine);
}

#[test]
fn an_exit_does_not_say_how_many_may_enter() {
    let mut at = At::new();
    at.gate.direction = Direction::Out;
    at.ticket().admits = 3;
    let stile_core::verdict::Verdict::Admit(admission) = at.judged().verdict else {
        panic!("an exit opens");
    };
    assert_eq!(admission.remaining, 0);
}
