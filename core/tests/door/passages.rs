//! Released, passed, not passed, and what a crash left half done.

use stile_core::reason::Reason;
use stile_core::record::PassageOutcome::{NotPassed, Passed};
use stile_core::ticket::TicketStatus;

use crate::common::at_gate::give;
use crate::scene::{at, records, refused, reopened, scene};

#[test]
fn when_the_arm_closed_and_nobody_passed_the_admission_is_free_once() {
    let scene = scene(1);
    let device = at(&scene, "arm-1");
    let first = device.scan(&scene.g2(0)).record_id.unwrap();
    device.released(first).unwrap();
    scene.platform.pass_ms(10_000);
    assert!(device.passage(Some(first), NotPassed).unwrap().frees);
    scene.platform.pass_ms(1_000);
    let second = device.scan(&scene.g2(0));
    assert!(second.opens);
    scene.platform.pass_ms(9_000);
    let again = device.passage(second.record_id, NotPassed).unwrap();
    assert!(!again.frees, "once per ticket");
    scene.platform.pass_ms(1_000);
    assert_eq!(
        refused(&device.scan(&scene.g2(0))),
        Some(Reason::AlreadyUsed)
    );
    let freed: Vec<_> = records(&device, "passage")
        .into_iter()
        .map(|record| record["frees"].clone())
        .collect();
    assert_eq!(freed, [true, false]);
}

#[test]
fn who_has_passed_is_not_freed_afterwards() {
    let scene = scene(1);
    let device = at(&scene, "arm-1");
    let admitted = device.scan(&scene.g2(0)).record_id.unwrap();
    device.passage(Some(admitted), Passed).unwrap();
    assert!(!device.passage(Some(admitted), NotPassed).unwrap().frees);
}

#[test]
fn situation_13_a_check_in_that_the_gate_did_not_open_for_resumes_once_after_a_crash() {
    let scene = scene(1);
    let device = at(&scene, "arm-1");
    let admitted = device.scan(&scene.g2(0)).record_id.unwrap();
    drop(device);
    scene.reboot(20_000);
    let device = reopened(&scene, "arm-1");
    let resumed = device.scan(&scene.g2(0));
    assert!(resumed.opens && resumed.resumed);
    let record = records(&device, "resume").remove(0);
    assert_eq!(record["refers_to"], serde_json::json!(admitted));
    assert_eq!(record["persons"], 0);
    drop(device);
    scene.reboot(5_000);
    let device = reopened(&scene, "arm-1");
    assert_eq!(
        refused(&device.scan(&scene.g2(0))),
        Some(Reason::AlreadyUsed),
        "once"
    );
}

#[test]
fn situation_13_what_was_resumed_is_taken_back_and_freed_as_the_admission_that_it_is() {
    for by_sensor in [false, true] {
        let scene = scene(1);
        let device = at(&scene, "arm-1");
        let admitted = device.scan(&scene.g2(0)).record_id.unwrap();
        drop(device);
        scene.reboot(5_000);
        let device = reopened(&scene, "arm-1");
        let resumed = device.scan(&scene.g2(0));
        assert!(resumed.resumed);
        let (kind, of) = match by_sensor {
            true => {
                assert!(device.passage(resumed.record_id, NotPassed).unwrap().frees);
                ("passage", resumed.record_id)
            }
            false => {
                let undone = device.does_not_match(resumed.record_id.unwrap());
                assert_eq!(undone.unwrap().denied, None);
                ("undo", resumed.record_id)
            }
        };
        assert!(of.is_some());
        let record = records(&device, kind).remove(0);
        assert_eq!(record["refers_to"], serde_json::json!(admitted));
        let again = device.scan(&scene.g2(0));
        assert!(again.opens && !again.resumed, "free for another visitor");
    }
}

#[test]
fn situation_13_one_that_was_released_does_not_resume() {
    let scene = scene(1);
    let device = at(&scene, "arm-1");
    let admitted = device.scan(&scene.g2(0)).record_id.unwrap();
    device.released(admitted).unwrap();
    drop(device);
    scene.reboot(5_000);
    let device = reopened(&scene, "arm-1");
    assert_eq!(
        refused(&device.scan(&scene.g2(0))),
        Some(Reason::AlreadyUsed)
    );
}

#[test]
fn half_a_minute_later_or_with_another_ticket_nothing_resumes() {
    let scene = scene(1);
    let device = at(&scene, "arm-1");
    device.scan(&scene.g2(0));
    drop(device);
    scene.reboot(10_000);
    let device = reopened(&scene, "arm-1");
    let other = device.scan(&scene.g2(1));
    assert!(other.opens && !other.resumed);
    drop(device);
    scene.reboot(20_001);
    let device = reopened(&scene, "arm-1");
    assert_eq!(
        refused(&device.scan(&scene.g2(0))),
        Some(Reason::AlreadyUsed)
    );
}

#[test]
fn without_a_restart_nothing_resumes() {
    let scene = scene(1);
    let device = at(&scene, "arm-1");
    device.scan(&scene.g2(0));
    scene.platform.pass_ms(4_000);
    assert_eq!(
        refused(&device.scan(&scene.g2(0))),
        Some(Reason::AlreadyUsed)
    );
}

#[test]
fn a_ticket_that_was_cancelled_meanwhile_does_not_resume() {
    let mut scene = scene(1);
    let device = at(&scene, "arm-1");
    device.scan(&scene.g2(0));
    drop(device);
    scene.tickets[0].status = TicketStatus::Cancelled;
    let device = reopened(&scene, "arm-1");
    give(&device, &scene.venue.list(2, &scene.tickets)).unwrap();
    assert_eq!(refused(&device.scan(&scene.g2(0))), Some(Reason::Cancelled));
}
