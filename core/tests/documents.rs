//! Visitors who enter with the document that they booked with, through the device's public door.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::at_gate::{AtGate, exported, reason};
use common::{NINE, Venue};
use stile_core::codes::{Document, Format, OpaqueShape};
use stile_core::keys::DocumentKey;
use stile_core::reason::Reason;
use stile_core::ticket::Ticket;
use stile_core::time::EpochSeconds;

const KEY: [u8; 32] = [42; 32];
const CARD: &str = "11010519491231002X";

fn hashed(text: &str) -> [u8; 5] {
    Document::new(text)
        .unwrap()
        .hash(&DocumentKey::from_bytes(&KEY))
}

fn takes_documents() -> Venue {
    let mut venue = Venue::new();
    venue.policy.formats.push(Format::Document);
    venue.policy.passport_prefix = Some("PASS:".into());
    venue.document_key = Some(KEY);
    venue
}

fn with_document(venue: &Venue, ticket_id: &str, document: &str) -> Ticket {
    Ticket {
        document_hashes: vec![hashed(document)],
        ..venue.ticket(ticket_id)
    }
}

fn at_gate() -> AtGate {
    let venue = takes_documents();
    let tickets = vec![
        with_document(&venue, "T1", CARD),
        with_document(&venue, "T2", "E12345678"),
    ];
    AtGate::of(venue, tickets)
}

#[test]
fn a_card_or_a_passport_behind_the_venues_prefix_enters_by_its_ticket() {
    let gate = at_gate();
    let device = gate.ready();
    let card = device.scan(b"11010519491231002x\r\n");
    assert!(card.opens);
    assert_eq!(card.format, Some(Format::Document));
    assert_eq!(card.ticket.unwrap().number, gate.tickets[0].number);
    let passport = device.scan(b"PASS:e12345678\n");
    assert_eq!(passport.ticket.unwrap().number, gate.tickets[1].number);
    gate.platform.pass_ms(60_000);
    let again = device.scan(CARD.as_bytes());
    assert_eq!(reason(&again.verdict), Some(Reason::AlreadyUsed));
}

#[test]
fn the_record_says_document_and_holds_neither_its_number_nor_a_hash_of_it() {
    let gate = at_gate();
    let device = gate.ready();
    device.scan(CARD.as_bytes());
    device.scan(b"440524188001010014");
    let records = exported(&device);
    assert_eq!(records[0]["via"], "document");
    assert_eq!(records[0]["format"], "document");
    assert_eq!(records[0]["ticket_id"], "T1");
    assert_eq!(records[1]["reason"], "not_listed");
    for record in &records {
        assert!(record.get("text_hash").is_none());
        let text = record.to_string();
        assert!(!text.contains("1101051949") && !text.contains("4405241880"));
    }
    drop(device);
    for file in std::fs::read_dir(gate.folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for number in [CARD, "440524188001010014"] {
            let held = bytes.windows(18).any(|part| part == number.as_bytes());
            assert!(!held, "a document's number is on the disk");
        }
    }
}

#[test]
fn a_wrong_check_digit_is_no_document_and_a_passport_needs_its_prefix() {
    let gate = at_gate();
    let device = gate.ready();
    for text in [
        "110105194912310021",
        "E12345678",
        "PASS:E123",
        "PASS:E1234-5678",
    ] {
        let outcome = device.scan(text.as_bytes());
        assert_eq!(reason(&outcome.verdict), Some(Reason::Malformed), "{text}");
    }
}

#[test]
fn where_the_venue_takes_no_documents_they_are_no_codes() {
    let mut gate = at_gate();
    gate.venue
        .policy
        .formats
        .retain(|format| *format != Format::Document);
    let device = gate.ready();
    for text in [CARD, "PASS:E12345678"] {
        let outcome = device.scan(text.as_bytes());
        assert_eq!(reason(&outcome.verdict), Some(Reason::Malformed), "{text}");
    }
}

#[test]
fn without_the_days_key_no_document_is_listed() {
    let mut gate = at_gate();
    gate.venue.document_key = None;
    let device = gate.ready();
    let outcome = device.scan(CARD.as_bytes());
    assert_eq!(reason(&outcome.verdict), Some(Reason::NotListed));
}

#[test]
fn of_several_tickets_behind_one_document_the_one_that_admits_now_is_taken() {
    let mut gate = at_gate();
    let window = |ticket: &mut Ticket, from: i64, until: i64| {
        ticket.admit_from = Some(EpochSeconds(NINE + from));
        ticket.admit_until = Some(EpochSeconds(NINE + until));
    };
    gate.tickets = ["later", "now", "over"]
        .map(|name| with_document(&gate.venue, name, CARD))
        .to_vec();
    window(&mut gate.tickets[0], 3600, 7200);
    window(&mut gate.tickets[1], -600, 600);
    window(&mut gate.tickets[2], -7200, -3600);
    let device = gate.ready();
    device.scan(CARD.as_bytes());
    gate.platform.pass_ms(3_900_000);
    device.scan(CARD.as_bytes());
    let taken: Vec<_> = exported(&device)
        .iter()
        .map(|record| record["ticket_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(taken, ["now", "later"]);
}

#[test]
fn an_opaque_shape_that_could_be_a_passport_is_known_as_such() {
    let shape = OpaqueShape::new("PASS:", "0123456789", [11, 14]).unwrap();
    assert!(shape.could_be_passport("PASS:"));
    assert!(!shape.could_be_passport("P/"));
    assert!(
        !OpaqueShape::new("T", "0123456789", [30, 30])
            .unwrap()
            .could_be_passport("T")
    );
}
