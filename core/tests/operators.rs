//! Who is at the gate: sign-in, hand-over, the supervisor's PIN and practice mode, through the
//! device's public door.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::sync::atomic::Ordering;

use common::at_gate::{AtGate, exported, give, reason};
use common::id;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use stile_core::device::{Device, FreePassageError, OperatorError};
use stile_core::ids::OperatorId;
use stile_core::pin::hash_pin;
use stile_core::protocol::{Operator, OperatorRole};
use stile_core::reason::Reason;
use stile_core::record::FreePassageCause;

const BADGE: &str = "stile-staff-3f9a0c6e5b7d41288c1d2e3f4a5b6c7d";

fn operator(operator_id: &str, role: OperatorRole, pin: &str) -> Operator {
    let salt = Sha256::digest(operator_id)[..16].try_into().unwrap();
    Operator {
        operator_id: id(operator_id),
        name: format!("{operator_id} at the gate"),
        role,
        pin_hash: hash_pin(pin, &salt).unwrap(),
        badge_hash: None,
    }
}

/// A gate whose list names a guard with a staff QR, and two supervisors.
fn staffed() -> AtGate {
    let mut gate = AtGate::new();
    let mut guard = operator("lin", OperatorRole::Guard, "2468");
    guard.badge_hash = Some(HEXLOWER.encode(&Sha256::digest(BADGE)));
    gate.venue.operators = vec![
        guard,
        operator("wang", OperatorRole::Supervisor, "135790"),
        operator("zhao", OperatorRole::Supervisor, "999000"),
    ];
    gate
}

fn lin() -> OperatorId {
    id("lin")
}

fn locked_out(error: &OperatorError) -> Option<u64> {
    match error {
        OperatorError::LockedOut { seconds } => Some(*seconds),
        _ => None,
    }
}

fn guess_wrong(device: &Device, times: u32) {
    for _ in 0..times {
        let error = device.check_supervisor("000000").unwrap_err();
        assert!(
            matches!(error, OperatorError::WrongPin { .. }),
            "a try was due: {error}"
        );
    }
}

#[test]
fn a_guard_signs_in_by_pin_or_staff_qr_and_records_name_them() {
    let gate = staffed();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    device.sign_in_by_pin(&lin(), "2468").unwrap();
    device.scan(&gate.g2(1));
    device.sign_out().unwrap();
    let by_badge = device.sign_in_by_badge(format!("]Q1{BADGE}\r\n").as_bytes());
    assert_eq!(by_badge.unwrap().operator_id, lin());
    device.scan(&gate.g2(2));
    let operators: Vec<_> = exported(&device)
        .iter()
        .map(|record| record["operator"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(operators, [None, Some("lin".into()), Some("lin".into())]);
}

#[test]
fn a_wrong_pin_an_unknown_person_and_a_strange_badge_sign_nobody_in() {
    let gate = staffed();
    let device = gate.ready();
    let wrong = device.sign_in_by_pin(&lin(), "135790").unwrap_err();
    assert!(matches!(wrong, OperatorError::WrongPin { tries_left: 4 }));
    let nobody = device.sign_in_by_pin(&id("chen"), "2468").unwrap_err();
    assert!(matches!(nobody, OperatorError::Unknown(_)));
    let strange = device.sign_in_by_badge(b"stile-staff-of-elsewhere");
    assert!(matches!(strange, Err(OperatorError::WrongBadge)));
    assert_eq!(device.signed_in(), None);
}

#[test]
fn without_a_list_the_gate_knows_nobody_and_says_so() {
    let gate = staffed();
    let device = gate.open();
    let error = device.check_supervisor("135790").unwrap_err();
    assert!(matches!(error, OperatorError::Nobody("supervisor")));
}

#[test]
fn the_hand_over_counts_since_sign_in_and_survives_a_restart() {
    let gate = staffed();
    let device = gate.ready();
    device.scan(&gate.g2(0)); // before sign-in: another's
    device.sign_in_by_pin(&lin(), "2468").unwrap();
    gate.platform.pass_ms(10_000);
    device.scan(&gate.g2(1));
    device.scan(&gate.g2(0));
    drop(device);
    let device = gate.open();
    assert_eq!(device.signed_in().unwrap().operator_id, lin());
    device.scan(b"no code at all");
    device.scan(&gate.g2(2));
    let handed = device.sign_out().unwrap();
    assert_eq!(handed.tally.admitted, 2);
    assert_eq!(handed.tally.refused[Reason::AlreadyUsed.name()], 1);
    assert_eq!(handed.tally.refused[Reason::Malformed.name()], 1);
    assert_eq!(device.signed_in(), None);
    let error = device.hand_over().unwrap_err();
    assert!(matches!(error, OperatorError::NotSignedIn));
    drop(device);
    assert_eq!(gate.open().signed_in(), None, "signed out also on disk");
}

#[test]
fn any_supervisors_pin_does_for_an_override_and_no_guards() {
    let gate = staffed();
    let device = gate.ready();
    assert_eq!(device.check_supervisor("135790").unwrap(), id("wang"));
    assert_eq!(device.check_supervisor("999000").unwrap(), id("zhao"));
    let error = device.check_supervisor("2468").unwrap_err();
    assert!(matches!(error, OperatorError::WrongPin { tries_left: 4 }));
}

#[test]
fn after_five_wrong_pins_even_the_right_one_waits_and_each_further_one_doubles_the_wait() {
    let gate = staffed();
    let device = gate.ready();
    guess_wrong(&device, 5);
    for expected in [30, 60, 120] {
        let error = device.check_supervisor("135790").unwrap_err();
        assert_eq!(locked_out(&error), Some(expected));
        assert!(error.to_string().contains(&format!("{expected} seconds")));
        gate.platform.pass_ms(expected as i64 * 1000);
        guess_wrong(&device, 1);
    }
    gate.platform.pass_ms(240_000);
    assert_eq!(device.check_supervisor("135790").unwrap(), id("wang"));
    guess_wrong(&device, 4); // the right one has wiped the slate
}

#[test]
fn neither_a_restart_nor_a_reboot_nor_the_wall_clock_ends_a_lock_out() {
    let gate = staffed();
    let device = gate.ready();
    guess_wrong(&device, 5);
    gate.platform
        .wall_ms
        .fetch_add(86_400_000, Ordering::SeqCst);
    let error = device.check_supervisor("135790").unwrap_err();
    assert_eq!(locked_out(&error), Some(30));
    drop(device);
    let device = gate.open();
    gate.platform.pass_ms(10_000);
    let error = device.check_supervisor("135790").unwrap_err();
    assert_eq!(locked_out(&error), Some(20));
    drop(device);
    gate.platform
        .wall_ms
        .fetch_sub(86_400_000, Ordering::SeqCst);
    gate.reboot(3_600_000);
    let device = gate.open();
    let error = device.check_supervisor("135790").unwrap_err();
    assert_eq!(
        locked_out(&error),
        Some(25),
        "up for 5 s; the wall says an hour"
    );
    gate.anchor(&device);
    assert_eq!(
        device.check_supervisor("135790").unwrap(),
        id("wang"),
        "the server says an hour too"
    );
}

#[test]
fn guesses_at_the_supervisors_and_at_ones_own_sign_in_are_counted_apart() {
    let gate = staffed();
    let device = gate.ready();
    guess_wrong(&device, 4);
    device.sign_in_by_pin(&lin(), "2468").unwrap();
    guess_wrong(&device, 1);
    let error = device.check_supervisor("135790").unwrap_err();
    assert_eq!(
        locked_out(&error),
        Some(30),
        "a guard's own PIN wipes nothing"
    );
    device.sign_in_by_pin(&lin(), "2468").unwrap();
}

#[test]
fn a_hash_that_would_hang_the_board_is_named_and_not_computed() {
    let mut gate = staffed();
    for one in &mut gate.venue.operators {
        one.pin_hash = one.pin_hash.replace("m=19456", "m=4194304");
    }
    let device = gate.ready();
    let error = device.check_supervisor("135790").unwrap_err();
    assert!(
        matches!(error, OperatorError::UnusablePin { .. }),
        "{error}"
    );
}

#[test]
fn somebody_whom_a_newer_list_no_longer_names_cannot_sign_in() {
    let mut gate = staffed();
    let device = gate.ready();
    device.sign_in_by_pin(&lin(), "2468").unwrap();
    gate.venue.operators.remove(0);
    give(&device, &gate.venue.list(2, &gate.tickets)).unwrap();
    let error = device.sign_in_by_pin(&lin(), "2468").unwrap_err();
    assert!(matches!(error, OperatorError::Unknown(_)));
}

#[test]
fn practice_is_marked_counts_nowhere_opens_nothing_and_stays_over_a_restart() {
    let gate = staffed();
    let device = gate.ready();
    device.sign_in_by_pin(&lin(), "2468").unwrap();
    device.set_practice(true).unwrap();
    drop(device);
    let device = gate.open();
    assert!(device.is_practice() && device.live_status().practice);
    let opened = device.begin_free_passage(FreePassageCause::Staff, "to show it");
    assert!(
        matches!(opened, Err(FreePassageError::Practice)),
        "nobody is let in"
    );
    let practised = device.scan(&gate.g2(0));
    assert_eq!(reason(&practised.verdict), None, "shown as it would be");
    assert!(!practised.opens);
    assert_eq!(exported(&device)[0]["flags"][0], "practice");
    device.set_practice(false).unwrap();
    let in_earnest = device.scan(&gate.g2(0));
    assert!(in_earnest.opens, "practice used nothing up");
    assert_eq!(device.sign_out().unwrap().tally.admitted, 1);
}
