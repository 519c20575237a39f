//! A supervisor lets in whom the gate refused.

use sha2::{Digest, Sha256};
use stile_core::device::{Device, OperatorError, Overridden, OverrideAsked};
use stile_core::ids::RecordId;
use stile_core::pin::hash_pin;
use stile_core::protocol::{Operator, OperatorRole};
use stile_core::reason::Reason;
use stile_core::record::Denied;
use stile_core::ticket::TicketStatus;

use crate::common::at_gate::{AtGate, give};
use crate::common::id;
use crate::scene::{at, records, refused, scene};

const PIN: &str = "135790";

fn supervised() -> AtGate {
    let mut scene = scene(1);
    let salt = Sha256::digest("wang")[..16].try_into().unwrap();
    scene.venue.operators = vec![Operator {
        operator_id: id("wang"),
        name: String::new(),
        role: OperatorRole::Supervisor,
        pin_hash: hash_pin(PIN, &salt).unwrap(),
        badge_hash: None,
    }];
    scene.tickets[0].status = TicketStatus::Cancelled;
    scene
}

/// Asks for the refusal that was read last.
fn ask(device: &Device, pin: &str, why: &str, waive: &[Reason]) -> Overridden {
    let read = records(device, "scan");
    let last = read.iter().rfind(|scan| scan["verdict"] == "refuse");
    let of = last.map(|scan| serde_json::from_value(scan["id"].clone()).unwrap());
    ask_of(device, of, pin, why, waive)
}

fn ask_of(
    device: &Device,
    of: Option<RecordId>,
    pin: &str,
    why: &str,
    waive: &[Reason],
) -> Overridden {
    device.override_refusal(&OverrideAsked {
        of,
        pin,
        why,
        waive,
        persons: None,
    })
}

#[test]
fn it_needs_the_supervisor_and_a_reason_and_opens_the_gate() {
    let scene = supervised();
    let device = at(&scene, "east");
    let scan = device.scan(&scene.g2(0));
    assert_eq!(refused(&scan), Some(Reason::Cancelled));
    let waive = [Reason::Cancelled];
    let wrong = ask(&device, "000000", "refund pending", &waive);
    assert_eq!(wrong.denied, Some(Denied::WrongPin));
    assert!(!wrong.outcome.opens);
    let blank = ask(&device, PIN, " ", &waive);
    assert_eq!(blank.denied, Some(Denied::NoReason));
    let right = ask(&device, PIN, "refund pending", &waive);
    assert_eq!(right.denied, None);
    assert!(right.outcome.opens);
    let said = records(&device, "override");
    assert_eq!(said.len(), 3, "those that were refused are on record too");
    let last = &said[2];
    assert_eq!(last["verdict"], "admit");
    assert_eq!(last["waived"], serde_json::json!(["cancelled"]));
    assert_eq!(last["supervisor"], "wang");
    assert_eq!(last["why"], "refund pending");
    assert_eq!(last["refers_to"], serde_json::json!(scan.record_id));
    assert_eq!(said[0]["verdict"], "refuse");
    let again = ask(&device, PIN, "refund pending", &waive);
    assert_eq!(again.denied, Some(Denied::NothingThere), "once");
}

#[test]
fn a_further_reason_is_shown_and_must_be_waived_by_name() {
    let mut scene = supervised();
    scene.tickets[0].status = TicketStatus::Valid;
    let device = at(&scene, "east");
    assert!(device.scan(&scene.g2(0)).opens);
    scene.tickets[0].status = TicketStatus::Cancelled;
    give(&device, &scene.venue.list(2, &scene.tickets)).unwrap();
    scene.platform.pass_ms(60_000);
    device.scan(&scene.g2(0));
    let further = ask(&device, PIN, "manager said so", &[Reason::Cancelled]);
    assert_eq!(further.denied, Some(Denied::FurtherReason));
    assert_eq!(refused(&further.outcome), Some(Reason::AlreadyUsed));
    let both = [Reason::Cancelled, Reason::AlreadyUsed];
    assert!(ask(&device, PIN, "manager said so", &both).outcome.opens);
}

#[test]
fn a_reading_can_be_overridden_for_two_minutes() {
    let scene = supervised();
    let device = at(&scene, "east");
    device.scan(&scene.g2(0));
    scene.platform.pass_ms(120_001);
    let late = ask(&device, PIN, "refund pending", &[Reason::Cancelled]);
    assert_eq!(late.denied, Some(Denied::TooLate));
    device.scan(&scene.g2(0));
    scene.platform.pass_ms(120_000);
    let in_time = ask(&device, PIN, "refund pending", &[Reason::Cancelled]);
    assert!(in_time.outcome.opens);
}

#[test]
fn neither_a_block_nor_a_forgery_is_waived() {
    let mut scene = supervised();
    scene.tickets[0].status = TicketStatus::Blocked;
    let device = at(&scene, "east");
    device.scan(&scene.g2(0));
    let blocked = ask(&device, PIN, "he insists", &[Reason::Blocked]);
    assert_eq!(blocked.denied, Some(Denied::NotWaivable));
    device.scan(b"A1-1790817300-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    let forged = ask(&device, PIN, "looks honest", &[Reason::BadSignature]);
    assert_eq!(forged.denied, Some(Denied::NotWaivable));
    assert!(!blocked.outcome.opens && !forged.outcome.opens);
}

#[test]
fn without_a_refusal_before_there_is_nothing_to_override() {
    let scene = supervised();
    let device = at(&scene, "east");
    let nothing = ask(&device, PIN, "let them in", &[Reason::Cancelled]);
    assert_eq!(nothing.denied, Some(Denied::NothingThere));
    assert_eq!(records(&device, "override").len(), 1);
}

#[test]
fn an_override_counts_like_any_admission_and_can_be_taken_back() {
    let scene = supervised();
    let device = at(&scene, "east");
    device.scan(&scene.g2(0));
    let waive = [Reason::Cancelled];
    let admitted = ask(&device, PIN, "refund pending", &waive);
    scene.platform.pass_ms(10_000);
    device.scan(&scene.g2(0));
    let second = ask(&device, PIN, "refund pending", &waive);
    assert_eq!(refused(&second.outcome), Some(Reason::AlreadyUsed));
    device
        .undo(admitted.outcome.record_id.unwrap(), "came back")
        .unwrap();
    device.scan(&scene.g2(0));
    assert!(ask(&device, PIN, "refund pending", &waive).outcome.opens);
}

#[test]
fn a_locked_out_pin_lets_nobody_in() {
    let scene = supervised();
    let device = at(&scene, "east");
    device.scan(&scene.g2(0));
    let waive = [Reason::Cancelled];
    for left in (0..5).rev() {
        let wrong = ask(&device, "000000", "guessing", &waive).pin_error;
        let Some(OperatorError::WrongPin { tries_left }) = wrong else {
            panic!("{wrong:?}");
        };
        assert_eq!(tries_left, left, "the supervisor is told");
    }
    let locked = ask(&device, PIN, "guessing", &waive);
    assert_eq!(locked.denied, Some(Denied::LockedOut));
    let wait = locked.pin_error;
    assert!(
        matches!(wait, Some(OperatorError::LockedOut { seconds: 30 })),
        "{wait:?}"
    );
}

#[test]
fn the_refusal_that_is_shown_is_overridden_though_another_was_refused_between() {
    let mut scene = supervised();
    scene.tickets[1].status = TicketStatus::Cancelled;
    let device = at(&scene, "east");
    let first = device.scan(&scene.g2(0)).record_id;
    let between = device.scan(&scene.g2(1)).record_id;
    let shown = device.scan(&scene.g2(0));
    assert_eq!((shown.repeat, shown.repeats), (true, first));
    let waive = [Reason::Cancelled];
    let other = ask_of(&device, between, PIN, "refund pending", &waive);
    assert_eq!(other.denied, Some(Denied::NothingThere), "it is not shown");
    let right = ask_of(&device, first, PIN, "refund pending", &waive);
    assert!(right.outcome.opens);
    let ticket = right.outcome.ticket.unwrap();
    assert_eq!(ticket.number, scene.tickets[0].number);
    let said = records(&device, "override");
    assert_eq!(said[1]["refers_to"], serde_json::json!(first));
}

#[test]
fn a_refusal_that_was_refused_before_the_last_one_is_overridden_no_more() {
    let mut scene = supervised();
    scene.tickets[1].status = TicketStatus::Cancelled;
    let device = at(&scene, "east");
    let first = device.scan(&scene.g2(0)).record_id;
    device.scan(&scene.g2(1));
    let late = ask_of(&device, first, PIN, "refund pending", &[Reason::Cancelled]);
    assert_eq!(late.denied, Some(Denied::NothingThere));
    assert!(!late.outcome.opens);
}
