//! Tickets for several persons, exits and re-entry.

use stile_core::device::Say;
use stile_core::policy::Party;
use stile_core::reason::Reason;
use stile_core::ticket::Reentry;
use stile_core::verdict::{Detail, Verdict};

use crate::scene::{at, refused, reopened, scene};

fn persons(persons: u8) -> Say {
    Say {
        persons: Some(persons),
        ..Say::default()
    }
}

#[test]
fn staff_admit_as_many_as_they_say_and_never_more_than_remain() {
    let scene = scene(4);
    let device = at(&scene, "east");
    assert!(device.scan(&scene.g2(0)).opens);
    scene.platform.pass_ms(60_000);
    let two = device.scan_as(&scene.g2(0), persons(2));
    assert_eq!((two.opens, two.passages), (true, 2));
    scene.platform.pass_ms(60_000);
    let too_many = device.scan_as(&scene.g2(0), persons(2));
    let Verdict::Refuse(refusal) = &too_many.verdict else {
        panic!("four of four are in already");
    };
    assert_eq!(refusal.reason, Reason::AlreadyUsed);
    assert!(matches!(
        refusal.detail,
        Some(Detail::Used { remaining: 1, .. })
    ));
    scene.platform.pass_ms(60_000);
    assert!(device.scan_as(&scene.g2(0), persons(1)).opens);
    scene.platform.pass_ms(60_000);
    assert_eq!(
        refused(&device.scan_as(&scene.g2(0), persons(1))),
        Some(Reason::AlreadyUsed)
    );
}

#[test]
fn a_turnstile_that_takes_parties_at_once_opens_for_all_who_remain() {
    let mut scene = scene(3);
    scene.venue.policy.unattended.party = Party::All;
    let device = at(&scene, "arm-1");
    let all = device.scan(&scene.g2(0));
    assert_eq!((all.opens, all.passages), (true, 3));
    device.gate_closed();
    scene.platform.pass_ms(1_000);
    assert!(device.scan(&scene.g2(0)).repeat, "nobody remains");
    scene.platform.pass_ms(3_000);
    assert_eq!(
        refused(&device.scan(&scene.g2(0))),
        Some(Reason::AlreadyUsed)
    );
}

#[test]
fn an_exit_gives_the_admission_back_where_the_session_says_so() {
    let mut scene = scene(1);
    scene.venue.sessions[0].reentry = Reentry::AfterExit;
    let device = at(&scene, "east");
    assert!(device.scan(&scene.g2(0)).opens);
    scene.platform.pass_ms(60_000);
    assert_eq!(
        refused(&device.scan(&scene.g2(0))),
        Some(Reason::AlreadyUsed)
    );
    drop(device);
    let device = reopened(&scene, "exit");
    assert!(device.scan(&scene.g2(0)).opens);
    drop(device);
    scene.platform.pass_ms(60_000);
    let device = reopened(&scene, "east");
    assert!(device.scan(&scene.g2(0)).opens, "and in again");
}

#[test]
fn free_re_entry_asks_only_for_no_more_persons_than_the_ticket_has() {
    let mut scene = scene(1);
    scene.venue.sessions[0].reentry = Reentry::Free;
    let device = at(&scene, "east");
    for _ in 0..3 {
        assert!(device.scan(&scene.g2(0)).opens);
        scene.platform.pass_ms(60_000);
    }
    assert_eq!(
        refused(&device.scan_as(&scene.g2(0), persons(2))),
        Some(Reason::AlreadyUsed)
    );
}

#[test]
fn another_checkpoint_is_another_admission() {
    let mut scene = scene(1);
    let mut special = crate::common::gate("dunhuang", false);
    special.checkpoint = crate::common::id("special");
    scene.venue.gates.push(special);
    let scene = crate::scene::enrolled_anew(scene);
    assert!(at(&scene, "east").scan(&scene.g2(0)).opens);
    scene.platform.pass_ms(60_000);
    let device = reopened(&scene, "dunhuang");
    assert!(device.scan(&scene.g2(0)).opens);
    scene.platform.pass_ms(60_000);
    assert_eq!(
        refused(&device.scan(&scene.g2(0))),
        Some(Reason::AlreadyUsed)
    );
}

#[test]
fn a_second_ticket_behind_the_same_code_is_taken_when_the_first_is_used() {
    let mut scene = scene(1);
    let code = "9f86d081884c7d659a2feaa0c55ad015";
    let hash = stile_core::codes::opaque::hash(&scene.venue.venue_id, code);
    scene.tickets[0].opaque_hashes = vec![hash];
    scene.tickets[1].opaque_hashes = vec![hash];
    let device = at(&scene, "east");
    let first = device.scan(code.as_bytes());
    scene.platform.pass_ms(1_000);
    assert!(
        device.scan(code.as_bytes()).repeat,
        "the same text just before"
    );
    scene.platform.pass_ms(60_000);
    let second = device.scan(code.as_bytes());
    assert!(first.opens && second.opens);
    assert_ne!(first.ticket.unwrap().number, second.ticket.unwrap().number);
    scene.platform.pass_ms(60_000);
    assert_eq!(
        refused(&device.scan(code.as_bytes())),
        Some(Reason::AlreadyUsed)
    );
}

#[test]
fn a_ticket_booked_since_meets_its_own_admission_when_its_list_comes() {
    let mut scene = scene(1);
    let unlisted = scene.tickets.remove(0);
    let device = at(&scene, "east");
    let code = scene.venue.g2(&unlisted, scene.now_s());
    assert!(device.scan(code.as_bytes()).opens);
    let record = crate::scene::records(&device, "scan").remove(0);
    assert_eq!(
        record.get("service_day"),
        None,
        "only the server knows its day"
    );
    scene.platform.pass_ms(60_000);
    assert_eq!(
        refused(&device.scan(code.as_bytes())),
        Some(Reason::AlreadyUsed),
        "unlisted still"
    );
    scene.tickets.insert(0, unlisted);
    let list = scene.venue.list(2, &scene.tickets);
    crate::common::at_gate::give(&device, &list).unwrap();
    scene.platform.pass_ms(60_000);
    assert_eq!(
        refused(&device.scan(code.as_bytes())),
        Some(Reason::AlreadyUsed),
        "and listed"
    );
}
