//! Taking back, and "does not match".

use stile_core::ids::RecordId;
use stile_core::reason::Reason;
use stile_core::record::Denied;

use crate::scene::{at, records, refused, reopened, scene};

#[test]
fn an_admission_is_taken_back_until_a_quarter_of_an_hour_has_passed() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let first = device.scan(&scene.g2(0)).record_id.unwrap();
    let second = device.scan(&scene.g2(1)).record_id.unwrap();
    scene.platform.pass_ms(899_999);
    assert_eq!(device.undo(first, "wrong person").unwrap().denied, None);
    scene.platform.pass_ms(1);
    let late = device.undo(second, "wrong person").unwrap();
    assert_eq!(late.denied, Some(Denied::TooLate), "900 s is too late");
    assert!(device.scan(&scene.g2(0)).opens);
    scene.platform.pass_ms(10_000);
    assert_eq!(
        refused(&device.scan(&scene.g2(1))),
        Some(Reason::AlreadyUsed)
    );
}

#[test]
fn it_needs_a_reason_an_admission_of_this_device_and_is_done_once() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let admitted = device.scan(&scene.g2(0)).record_id.unwrap();
    let denied = |id, why| device.undo(id, why).unwrap().denied;
    assert_eq!(denied(admitted, " \t"), Some(Denied::NoReason));
    let elsewhere = RecordId(uuid::Uuid::from_u128(77));
    assert_eq!(denied(elsewhere, "wrong"), Some(Denied::NothingThere));
    assert_eq!(denied(admitted, "wrong"), None);
    assert_eq!(denied(admitted, "wrong"), Some(Denied::AlreadyUndone));
    let said: Vec<_> = records(&device, "undo")
        .into_iter()
        .map(|record| record["denied"].clone())
        .collect();
    let expected = serde_json::json!(["no_reason", "nothing_there", null, "already_undone"]);
    assert_eq!(serde_json::Value::from(said), expected, "each is on record");
}

#[test]
fn a_refused_reading_cannot_be_taken_back() {
    let scene = scene(1);
    let device = at(&scene, "east");
    device.scan(&scene.g2(0));
    scene.platform.pass_ms(60_000);
    let refused = device.scan(&scene.g2(0)).record_id.unwrap();
    let undone = device.undo(refused, "wrong").unwrap();
    assert_eq!(undone.denied, Some(Denied::NothingThere));
}

#[test]
fn does_not_match_is_an_undo_that_says_so() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let admitted = device.scan(&scene.g2(0)).record_id.unwrap();
    device.does_not_match(admitted).unwrap();
    let record = records(&device, "undo").remove(0);
    assert_eq!(record["mismatch"], true);
    assert_eq!(record["refers_to"], serde_json::json!(admitted));
    assert_eq!(record["service_day"], "2026-10-01");
}

#[test]
fn what_was_taken_back_stays_so_over_a_restart() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let admitted = device.scan(&scene.g2(0)).record_id.unwrap();
    device.undo(admitted, "wrong person").unwrap();
    drop(device);
    scene.platform.pass_ms(60_000);
    assert!(reopened(&scene, "east").scan(&scene.g2(0)).opens);
}

#[test]
fn an_exit_taken_back_is_inside_again() {
    let mut scene = scene(1);
    scene.venue.sessions[0].reentry = stile_core::ticket::Reentry::AfterExit;
    assert!(at(&scene, "east").scan(&scene.g2(0)).opens);
    let device = reopened(&scene, "exit");
    let left = device.scan(&scene.g2(0)).record_id.unwrap();
    device.undo(left, "turned round").unwrap();
    drop(device);
    scene.platform.pass_ms(60_000);
    let device = reopened(&scene, "east");
    assert_eq!(
        refused(&device.scan(&scene.g2(0))),
        Some(Reason::AlreadyUsed)
    );
}
