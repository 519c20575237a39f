//! Persons without a ticket.

use stile_core::device::WalkInError;
use stile_core::ticket::Direction;

use crate::scene::{at, records, scene};

#[test]
fn children_walk_in_and_are_counted_with_their_day() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let walked = device.walk_in(2, "child", None).unwrap();
    assert_eq!((walked.opens, walked.passages), (true, 2));
    let record = records(&device, "walk_in").remove(0);
    assert_eq!(record["persons"], 2);
    assert_eq!(record["direction"], "in");
    assert_eq!(record["service_day"], "2026-10-01");
    device.walk_in(1, "child", Some(Direction::Out)).unwrap();
    assert_eq!(records(&device, "walk_in")[1]["direction"], "out");
}

#[test]
fn nobody_and_a_category_that_the_venue_does_not_have_are_refused() {
    let scene = scene(1);
    let device = at(&scene, "east");
    assert!(matches!(
        device.walk_in(0, "child", None),
        Err(WalkInError::Nobody)
    ));
    let error = device.walk_in(1, "pet", None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the venue knows no category \"pet\"; it has child, guest, staff"
    );
    assert!(records(&device, "walk_in").is_empty());
}

#[test]
fn a_walk_in_is_taken_back_like_an_admission() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let walked = device.walk_in(1, "guest", None).unwrap();
    let undone = device
        .undo(walked.record_id.unwrap(), "turned round")
        .unwrap();
    assert_eq!(undone.denied, None);
    assert_eq!(records(&device, "undo")[0]["service_day"], "2026-10-01");
}

#[test]
fn in_practice_nobody_walks_in() {
    let scene = scene(1);
    let device = at(&scene, "east");
    device.set_practice(true).unwrap();
    assert!(!device.walk_in(1, "guest", None).unwrap().opens);
    assert!(!device.scan(&scene.g2(0)).opens);
    device.set_practice(false).unwrap();
    assert!(device.scan(&scene.g2(0)).opens, "practice counted nowhere");
}
