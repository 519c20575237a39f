//! Admission without a code: look-ups and orders.

use stile_core::device::{OrderTicket, Say, ScanOutcome};
use stile_core::ids::LastFour;
use stile_core::reason::Reason;

use crate::common::at_gate::AtGate;
use crate::common::id;
use crate::scene::{at, records, refused, scene, with_asker};

fn group() -> AtGate {
    let mut scene = scene(1);
    for ticket in &mut scene.tickets[..3] {
        ticket.order_number = id("GROUP");
    }
    scene
}

fn admit(device: &stile_core::device::Device, tickets: &[&str]) -> Vec<ScanOutcome> {
    let tickets: Vec<_> = tickets
        .iter()
        .map(|ticket| OrderTicket {
            ticket_id: id(ticket),
            persons: None,
        })
        .collect();
    device.admit_order(&id("GROUP"), &tickets)
}

#[test]
fn an_order_is_admitted_at_once_and_each_ticket_has_its_own_verdict() {
    let scene = group();
    let device = at(&scene, "east");
    let first = admit(&device, &["A1", "A3"]);
    assert!(first.iter().all(|outcome| outcome.opens));
    scene.platform.pass_ms(60_000);
    let second = admit(&device, &["A1", "A2", "A3"]);
    let reasons: Vec<_> = second.iter().map(refused).collect();
    let used = Some(Reason::AlreadyUsed);
    assert_eq!(reasons, [used, None, used]);
    let written = records(&device, "scan");
    assert_eq!(written.len(), 5);
    assert!(written.iter().all(|record| record["via"] == "order"));
    let sequences: Vec<_> = written.iter().map(|one| one["sequence"].as_u64()).collect();
    assert_eq!(sequences, [1, 2, 3, 4, 5].map(Some));
}

#[test]
fn a_ticket_of_another_order_or_of_none_is_not_admitted_with_it() {
    let scene = group();
    let device = at(&scene, "east");
    let outcomes = admit(&device, &["A4", "NOPE", "A1"]);
    let reasons: Vec<_> = outcomes.iter().map(refused).collect();
    let unknown = Some(Reason::NotListed);
    assert_eq!(reasons, [unknown, unknown, None]);
    assert_eq!(records(&device, "scan")[0].get("ticket_id"), None);
}

#[test]
fn a_ticket_named_twice_enters_once() {
    let scene = group();
    let device = at(&scene, "east");
    let outcomes = admit(&device, &["A1", "A1"]);
    assert!(outcomes[0].opens && !outcomes[1].opens && outcomes[1].repeat);
    assert_eq!(records(&device, "scan").len(), 1);
    let pressed_again = admit(&device, &["A1"]).remove(0);
    assert!(pressed_again.repeat, "a second press is a repeat");
}

#[test]
fn claims_of_an_order_name_their_own_places_and_stop_when_nobody_answers() {
    let scene = group();
    let device = at(&scene, "east");
    let told = with_asker(&device, Some(true));
    admit(&device, &["A1", "A2"]);
    let sequences: Vec<_> = told
        .claims
        .lock()
        .unwrap()
        .iter()
        .map(|c| c.sequence)
        .collect();
    assert_eq!(sequences, [1, 2]);
    *told.grants.lock().unwrap() = None;
    scene.platform.pass_ms(60_000);
    let scene_tickets = ["A3", "A1", "A2"];
    assert!(admit(&device, &scene_tickets)[0].opens);
    assert_eq!(told.claims.lock().unwrap().len(), 3);
}

#[test]
fn a_looked_up_ticket_enters_without_a_code() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let admitted = device.admit_ticket(&id("A1"), LastFour::new(5678), Say::default());
    assert!(admitted.opens);
    assert_eq!(admitted.format, None);
    let record = records(&device, "scan").remove(0);
    assert_eq!(
        (&record["via"], &record["ticket_id"]),
        (&"look_up".into(), &"A1".into())
    );
    scene.platform.pass_ms(60_000);
    assert_eq!(
        refused(&device.scan(&scene.g2(0))),
        Some(Reason::AlreadyUsed),
        "and its code is used"
    );
}

#[test]
fn a_looked_up_ticket_of_somebody_else_is_an_identity_mismatch() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let outcome = device.admit_ticket(&id("A1"), LastFour::new(1), Say::default());
    assert_eq!(refused(&outcome), Some(Reason::IdentityMismatch));
}

#[test]
fn an_order_is_found_whole_by_seat_and_what_does_not_fit_is_counted() {
    let mut scene = scene(1);
    scene.tickets = (0..60)
        .map(|n| {
            let mut ticket = scene.venue.ticket(&format!("G{n}"));
            ticket.order_number = id("77");
            ticket.label = format!("row {:02}", 59 - n);
            ticket
        })
        .collect();
    // Its number ends with the other's, and its digits are the same.
    let mut other = scene.venue.ticket("X1");
    other.order_number = id("O-77");
    scene.tickets.insert(0, other);
    let device = at(&scene, "east");
    let order = device.look_up_order(&id("77")).unwrap();
    assert_eq!((order.found.len(), order.more), (50, 10));
    let seats = order.found.iter().map(|one| one.shown.label.clone());
    assert!(seats.eq((0..50).map(|n| format!("row {n:02}"))));
    let own = device.look_up_order(&id("O-77")).unwrap();
    assert_eq!((own.found.len(), own.more), (1, 0));
    let none = device.look_up_order(&id("NOPE")).unwrap();
    assert_eq!((none.found.len(), none.more), (0, 0));
}
