//! What the other gates did, as the feed tells it.

use stile_core::protocol::FeedItem;
use stile_core::reason::Reason;
use stile_core::verdict::{Detail, Verdict};

use crate::common::NINE;
use crate::common::at_gate::AtGate;
use crate::scene::{at, entry, feed, own_entry, records, refused, reopened, scene, undo_of};

fn is_used(scene: &AtGate, device: &stile_core::device::Device) -> bool {
    let explained = device.explain(&scene.g2(0), None).unwrap();
    crate::common::at_gate::reason(&explained.verdict) == Some(Reason::AlreadyUsed)
}

#[test]
fn a_ticket_used_at_another_gate_is_used_here_and_says_where() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let answer = feed(vec![entry(&scene.tickets[0], 1, -60)], "c1");
    device.take_feed(&answer).unwrap();
    let outcome = device.scan(&scene.g2(0));
    let Verdict::Refuse(refusal) = &outcome.verdict else {
        panic!("used at the west gate");
    };
    let Some(Detail::Used {
        last: Some(last), ..
    }) = &refusal.detail
    else {
        panic!("does not say where");
    };
    assert_eq!(
        (last.gate_id.as_str(), last.at.0),
        ("west", (NINE - 60) * 1000)
    );
}

#[test]
fn the_feed_goes_on_over_a_restart_where_it_stopped() {
    let scene = scene(1);
    let device = at(&scene, "east");
    assert_eq!(device.feed_cursor().unwrap(), None);
    let answer = feed(vec![entry(&scene.tickets[0], 1, -60)], "c1");
    device.take_feed(&answer).unwrap();
    drop(device);
    let device = reopened(&scene, "east");
    assert_eq!(device.feed_cursor().unwrap().as_deref(), Some("c1"));
    assert!(is_used(&scene, &device));
}

#[test]
fn an_undo_may_come_before_what_it_takes_back() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let entered = entry(&scene.tickets[0], 1, -60);
    let undone = feed(vec![undo_of(&entered, 9)], "c1");
    device.take_feed(&undone).unwrap();
    device.take_feed(&feed(vec![entered], "c2")).unwrap();
    assert!(!is_used(&scene, &device));
}

#[test]
fn the_same_piece_again_changes_nothing() {
    let scene = scene(2);
    let device = at(&scene, "east");
    let answer = feed(vec![entry(&scene.tickets[0], 1, -60)], "c1");
    for _ in 0..3 {
        device.take_feed(&answer).unwrap();
    }
    assert!(!is_used(&scene, &device), "one of two is in");
}

#[test]
fn more_items_than_go_in_at_once_all_arrive() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let mut items: Vec<_> = (2..1_300)
        .map(|n| entry(&scene.tickets[1], n, -60))
        .collect();
    items.push(entry(&scene.tickets[0], 1, -60));
    device.take_feed(&feed(items, "c9")).unwrap();
    assert!(is_used(&scene, &device));
    assert_eq!(device.feed_cursor().unwrap().as_deref(), Some("c9"));
}

#[test]
fn own_admissions_that_come_back_are_not_counted_twice() {
    let scene = scene(2);
    let device = at(&scene, "east");
    assert!(device.scan(&scene.g2(0)).opens);
    let own = own_entry(&device, &records(&device, "scan")[0]);
    device.take_feed(&feed(vec![own], "c1")).unwrap();
    scene.platform.pass_ms(60_000);
    assert!(device.scan(&scene.g2(0)).opens, "the second of two");
}

#[test]
fn situation_32_own_admissions_that_the_journal_lacks_are_told_once_and_count() {
    let scene = scene(1);
    let device = at(&scene, "east");
    assert!(device.scan(&scene.g2(1)).opens);
    let here = own_entry(&device, &records(&device, "scan")[0]);
    let lost = FeedItem {
        device_id: here.device_id.clone(),
        ..entry(&scene.tickets[0], 7, -60)
    };
    let other = entry(&scene.tickets[0], 8, -60);
    let piece = feed(vec![here, lost, other], "c1");
    assert_eq!(device.take_feed(&piece).unwrap(), 1);
    assert!(is_used(&scene, &device));
    assert_eq!(device.take_feed(&piece).unwrap(), 0, "known by now");
    let log = records(&device, "scan")[0]["log_id"].clone();
    device.scan(&scene.g2(0));
    assert_eq!(records(&device, "scan")[1]["log_id"], log);
}

#[test]
fn situation_32_a_log_that_somebody_else_goes_on_with_is_left_for_a_new_one() {
    let scene = scene(1);
    let device = at(&scene, "east");
    assert!(device.scan(&scene.g2(0)).opens);
    let here = own_entry(&device, &records(&device, "scan")[0]);
    let further = FeedItem {
        device_id: here.device_id,
        log_id: here.log_id,
        ..entry(&scene.tickets[1], 9, 0)
    };
    assert_eq!(device.take_feed(&feed(vec![further], "c1")).unwrap(), 1);
    device.scan(&scene.g2(1));
    let newest = records(&device, "scan").pop().unwrap();
    assert_eq!(newest["reason"], "already_used");
    assert_ne!(newest["log_id"], records(&device, "scan")[0]["log_id"]);
    assert_eq!(newest["sequence"], 1);
}

#[test]
fn a_conflict_is_shown_until_it_is_undone() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let admitted = device.scan(&scene.g2(0)).record_id.unwrap();
    let mut own = own_entry(&device, &records(&device, "scan")[0]);
    device.take_feed(&feed(vec![own.clone()], "c1")).unwrap();
    assert_eq!(device.status().unwrap().live.conflicts, 0);
    own.loses = true;
    let other = entry(&scene.tickets[0], 1, -60);
    device.take_feed(&feed(vec![own, other], "c2")).unwrap();
    assert_eq!(device.status().unwrap().live.conflicts, 1);
    let shown = device.conflicts().unwrap().remove(0);
    assert_eq!(shown.ticket_id.unwrap().as_str(), "A1");
    assert_eq!(shown.admission.gate_id.as_str(), "east");
    assert_eq!(shown.admission.at.0, NINE * 1000);
    device.undo(admitted, "wrong person").unwrap();
    assert!(device.conflicts().unwrap().is_empty());
    assert_eq!(device.status().unwrap().live.conflicts, 0);
}

#[test]
fn a_day_that_is_over_takes_its_feed_along() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let old = entry(&scene.tickets[0], 1, -60);
    let mut other_day = entry(&scene.tickets[0], 2, -60);
    other_day.service_day = crate::common::id("2026-09-28");
    device.take_feed(&feed(vec![old, other_day], "c1")).unwrap();
    device.lists_answered(&scene.lists(1)).unwrap();
    let days = fed_days(&scene);
    assert_eq!(days, ["2026-10-01"], "only the day that is held");
    assert!(is_used(&scene, &device));
}

fn fed_days(scene: &AtGate) -> Vec<String> {
    let journal = rusqlite::Connection::open(scene.folder.path().join("journal.db")).unwrap();
    let mut days = journal.prepare("SELECT service_day FROM feed").unwrap();
    let days = days.query_map([], |row| row.get(0)).unwrap();
    days.map(Result::unwrap).collect()
}

#[test]
fn a_ticket_of_no_list_that_entered_elsewhere_does_not_enter_again() {
    let mut scene = scene(1);
    let unlisted = scene.tickets.remove(0);
    let device = at(&scene, "east");
    device
        .take_feed(&feed(vec![entry(&unlisted, 1, -60)], "c1"))
        .unwrap();
    let code = scene.venue.g2(&unlisted, scene.now_s());
    assert_eq!(
        refused(&device.scan(code.as_bytes())),
        Some(Reason::AlreadyUsed)
    );
}
