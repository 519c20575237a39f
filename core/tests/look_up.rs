//! Manual look-up at a staffed gate, by order number, digits and name, through the device's
//! public door.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::at_gate::{AtGate, give};
use common::{Venue, id};
use stile_core::device::{Device, LookUpError, LookedUp, MAX_FOUND};
use stile_core::ids::LastFour;
use stile_core::ticket::{Standing, Ticket, TicketStatus};

fn ticket(venue: &Venue, ticket_id: &str, order: &str, digits: &str, mask: &str) -> Ticket {
    Ticket {
        order_number: id(order),
        last_four: LastFour::from_digits(digits),
        holder_mask: mask.into(),
        admits: 2,
        ..venue.ticket(ticket_id)
    }
}

fn at_gate() -> AtGate {
    let venue = Venue::new();
    let tickets = vec![
        ticket(&venue, "T1", "Ord-2026 0001", "5678", "*三"),
        ticket(&venue, "T2", "Ord-2026 0001", "1234", "*四"),
        ticket(&venue, "T3", "DÉPÔT-77", "5678", "****e"),
        ticket(&venue, "T4", "X-9", "0042", ""),
    ];
    AtGate::of(venue, tickets)
}

fn ids(answer: &LookedUp) -> Vec<&str> {
    let mut ids: Vec<_> = answer
        .found
        .iter()
        .map(|found| found.ticket_id.as_str())
        .collect();
    ids.sort_unstable();
    ids
}

fn found(device: &Device, text: &str, name: &str) -> Vec<String> {
    let answer = device.look_up(text, name).unwrap();
    ids(&answer).into_iter().map(str::to_owned).collect()
}

#[test]
fn situation_21_case_width_accents_and_spaces_hide_no_ticket() {
    let gate = at_gate();
    let device = gate.ready();
    for text in [
        "ORD-20260001",
        " ord-2026 0001 ",
        "ＯＲＤ－２０２６０００１",
        "0001",
    ] {
        assert_eq!(found(&device, text, ""), ["T1", "T2"], "{text}");
    }
    assert_eq!(found(&device, "depot-77", ""), ["T3"]);
    assert_eq!(found(&device, "De\u{301}pôt-77", ""), ["T3"]);
}

#[test]
fn digits_match_at_the_end_and_a_name_narrows() {
    let gate = at_gate();
    let device = gate.ready();
    assert_eq!(found(&device, "5678", ""), ["T1", "T3"]);
    assert_eq!(found(&device, "１３８１２３４５６７８", ""), ["T1", "T3"]);
    assert_eq!(found(&device, "5678", "张三"), ["T1"]);
    assert_eq!(found(&device, "5678", "RENÉ"), ["T3"]);
    assert_eq!(found(&device, "5678", "张四"), [""; 0]);
    assert_eq!(found(&device, "0042", ""), ["T4"], "leading zeroes count");
}

#[test]
fn fewer_than_four_characters_are_refused_with_a_word_on_what_to_type() {
    let gate = at_gate();
    let device = gate.ready();
    for text in ["", "567", " 5 6 7 ", "X-9"] {
        let error = device.look_up(text, "").unwrap_err();
        assert!(matches!(error, LookUpError::TooShort));
        assert!(error.to_string().contains("at least 4"));
    }
}

#[test]
fn nothing_is_looked_up_where_nobody_stands() {
    let mut gate = at_gate();
    gate.venue.gates[0].unattended = true;
    let device = gate.ready();
    let error = device.look_up("5678", "").unwrap_err();
    assert!(matches!(error, LookUpError::Unattended));
}

#[test]
fn the_guard_sees_what_the_ticket_is_where_it_stands_and_what_remains() {
    let mut gate = at_gate();
    gate.tickets[0].label = "A-12-5".into();
    gate.tickets[1].status = TicketStatus::Pending;
    let device = gate.ready();
    assert!(device.scan(&gate.g2(0)).opens);
    let answer = device.look_up("0001", "").unwrap();
    assert!(!answer.more);
    let one = |ticket_id: &str| {
        let of = |found: &&stile_core::device::TicketFound| found.ticket_id.as_str() == ticket_id;
        answer.found.iter().find(of).unwrap()
    };
    let (first, second) = (one("T1"), one("T2"));
    assert_eq!(first.shown.label, "A-12-5");
    assert_eq!(first.shown.holder_mask, "*三");
    assert_eq!(first.shown.last_four, LastFour::from_digits("5678"));
    assert_eq!(first.shown.session, "am");
    assert_eq!((first.shown.admits, first.remaining), (2, 1));
    assert_eq!(
        (second.status, second.remaining),
        (TicketStatus::Pending, 2)
    );
    assert_eq!(first.service_day, id("2026-10-01"));
}

#[test]
fn a_deleted_ticket_is_found_as_what_it_is() {
    let mut gate = at_gate();
    gate.tickets[3].standing = Standing::Deleted;
    let device = gate.ready();
    let answer = device.look_up("0042", "").unwrap();
    assert_eq!(answer.found[0].standing, Standing::Deleted);
}

#[test]
fn an_answer_is_bounded_and_says_that_there_is_more() {
    let venue = Venue::new();
    let tickets: Vec<_> = (0..200)
        .map(|n| {
            let mask = if n == 150 { "*五" } else { "*三" };
            ticket(&venue, &format!("T{n}"), &format!("O-{n:04}"), "5678", mask)
        })
        .collect();
    let gate = AtGate::of(venue, tickets);
    let device = gate.open();
    gate.anchor(&device);
    give(&device, &gate.venue.list(1, &gate.tickets)).unwrap();
    let answer = device.look_up("5678", "").unwrap();
    assert_eq!((answer.found.len(), answer.more), (MAX_FOUND, true));
    let narrowed = device.look_up("5678", "李五").unwrap();
    assert_eq!((ids(&narrowed), narrowed.more), (vec!["T150"], false));
}
