//! The rule of three seconds, and what ends it.

use stile_core::device::Say;
use stile_core::reason::Reason;
use stile_core::ticket::TicketStatus;

use crate::common::at_gate::give;
use crate::scene::{at, records, refused, scene};

#[test]
fn one_second_after_it_was_paid_a_ticket_is_judged_anew() {
    let mut scene = scene(1);
    scene.tickets[0].status = TicketStatus::Pending;
    let device = at(&scene, "east");
    assert_eq!(
        refused(&device.scan(&scene.g2(0))),
        Some(Reason::NotConfirmed)
    );
    scene.tickets[0].status = TicketStatus::Valid;
    give(&device, &scene.venue.list(2, &scene.tickets)).unwrap();
    scene.platform.pass_ms(1_000);
    assert!(device.scan(&scene.g2(0)).opens);
}

#[test]
fn a_list_that_says_the_same_of_the_ticket_ends_no_repeat() {
    let mut scene = scene(1);
    let device = at(&scene, "east");
    let code = scene.g2(0);
    assert!(device.scan(&code).opens);
    scene.tickets[1].status = TicketStatus::Blocked;
    give(&device, &scene.venue.list(2, &scene.tickets)).unwrap();
    scene.platform.pass_ms(1_000);
    assert!(device.scan(&code).repeat, "one scan, green");
}

#[test]
fn another_visitor_in_between_ends_no_repeat() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let code = scene.g2(0);
    let first = device.scan(&code).record_id;
    assert!(device.scan(&scene.g2(1)).opens);
    scene.platform.pass_ms(1_000);
    let again = device.scan(&code);
    assert!(again.repeat && first.is_some());
    assert_eq!((again.record_id, again.repeats), (None, first));
    scene.platform.pass_ms(2_000);
    assert_eq!(refused(&device.scan(&code)), Some(Reason::AlreadyUsed));
}

#[test]
fn half_a_code_is_none_and_asking_that_leaves_no_trace() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let code = scene.g2(0);
    let (head, rest) = code.split_at(code.len() / 2);
    for part in [head, rest, b"6901234567892"] {
        assert!(!device.is_certain(part));
    }
    assert!(device.is_certain(&code));
    assert!(records(&device, "scan").is_empty());
    assert!(
        device.scan(&code).opens,
        "and it was no reading of the ticket"
    );
    assert!(
        device.is_certain(&code),
        "what is used is a code all the same"
    );
}

#[test]
fn a_text_without_a_ticket_is_a_repeat_as_well() {
    let scene = scene(1);
    let device = at(&scene, "east");
    assert_eq!(
        refused(&device.scan(b"6901234567892")),
        Some(Reason::Malformed)
    );
    scene.platform.pass_ms(2_999);
    let again = device.scan(b"6901234567892\r\n");
    assert!(again.repeat && !again.opens);
    assert!(!device.scan(b"6901234567893").repeat, "another text");
    scene.platform.pass_ms(1);
    assert!(!device.scan(b"6901234567892").repeat);
    assert_eq!(records(&device, "scan").len(), 3);
}

#[test]
fn staff_press_one_more_person_and_the_next_of_the_party_enters_at_once() {
    let scene = scene(2);
    let device = at(&scene, "east");
    let code = scene.g2(0);
    assert!(device.scan(&code).opens);
    scene.platform.pass_ms(500);
    assert!(device.scan(&code).repeat);
    let one_more = Say {
        one_more: true,
        ..Say::default()
    };
    assert!(device.scan_as(&code, one_more).opens);
    assert_eq!(
        refused(&device.scan_as(&code, one_more)),
        Some(Reason::AlreadyUsed)
    );
}

#[test]
fn a_repeat_at_a_turnstile_holds_until_the_arm_has_closed() {
    let scene = scene(2);
    let device = at(&scene, "arm-1");
    let code = scene.g2(0);
    assert!(device.scan(&code).opens);
    scene.platform.pass_ms(200);
    assert!(device.scan(&code).repeat);
    device.gate_closed();
    assert!(device.scan(&code).opens, "the next person");
    device.gate_closed();
    assert!(device.scan(&code).repeat, "nobody remains");
}

#[test]
fn an_undo_ends_it() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let code = scene.g2(0);
    let admitted = device.scan(&code).record_id.unwrap();
    device.undo(admitted, "wrong person").unwrap();
    assert!(device.scan(&code).opens);
}
