//! Claims: asking server or hub before the gate opens.

use stile_core::device::Network;
use stile_core::policy::{Isolation, V1Key, V1SharedOffline};
use stile_core::reason::Reason;
use stile_core::record::{ClaimOutcome, Mode};
use stile_core::verdict::{Detail, Verdict};

use crate::common::NINE;
use crate::scene::{at, records, refused, scene, with_asker};

#[test]
fn a_granted_claim_names_the_record_that_follows_it() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let told = with_asker(&device, Some(true));
    let admitted = device.scan(&scene.g2(0));
    assert!(admitted.opens);
    assert_eq!(
        (admitted.mode, admitted.claim),
        (Mode::Online, Some(ClaimOutcome::Granted))
    );
    let record = records(&device, "scan").remove(0);
    let claim = told.claims.lock().unwrap().remove(0);
    assert_eq!(Some(claim.scan_id), admitted.record_id);
    assert_eq!(record["sequence"], claim.sequence);
    assert_eq!(record["log_id"], serde_json::json!(claim.log_id));
    assert_eq!(record["claim"], "granted");
}

#[test]
fn denied_in_time_refuses_and_names_the_winner() {
    let scene = scene(1);
    let device = at(&scene, "east");
    with_asker(&device, Some(false));
    let outcome = device.scan(&scene.g2(0));
    let Verdict::Refuse(refusal) = &outcome.verdict else {
        panic!("another gate has it");
    };
    assert_eq!(refusal.reason, Reason::AlreadyUsed);
    let Some(Detail::Used {
        last: Some(last), ..
    }) = &refusal.detail
    else {
        panic!("no winner");
    };
    assert_eq!(
        (last.gate_id.as_str(), last.at.0),
        ("west", NINE * 1000 - 5_000)
    );
    assert_eq!(records(&device, "scan")[0]["claim"], "denied");
}

#[test]
fn without_an_answer_a_lenient_gate_admits_as_isolated_and_a_strict_one_refuses() {
    let mut scene = scene(1);
    let device = at(&scene, "east");
    with_asker(&device, None);
    let lenient = device.scan(&scene.g2(0));
    assert!(lenient.opens);
    assert_eq!(
        (lenient.mode, lenient.claim),
        (Mode::Isolated, Some(ClaimOutcome::NoAnswer))
    );
    scene.venue.policy.staffed.isolation = Isolation::Strict;
    crate::common::at_gate::give(&device, &scene.venue.list(2, &scene.tickets)).unwrap();
    let strict = device.scan(&scene.g2(1));
    assert_eq!(refused(&strict), Some(Reason::Isolated));
    assert_eq!(records(&device, "scan")[1]["claim"], "no_answer");
}

#[test]
fn nobody_is_asked_offline_nor_at_an_exit_nor_for_whom_the_gate_refuses_anyway() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let told = with_asker(&device, Some(true));
    device.set_reachable(false);
    assert_eq!(device.scan(&scene.g2(0)).mode, Mode::Isolated);
    device.set_reachable(true);
    scene.platform.pass_ms(60_000);
    assert_eq!(
        refused(&device.scan(&scene.g2(0))),
        Some(Reason::AlreadyUsed)
    );
    drop(device);
    let device = crate::scene::reopened(&scene, "exit");
    device.set_asker(told.clone());
    device.set_reachable(true);
    assert!(device.scan(&scene.g2(1)).opens);
    assert!(told.claims.lock().unwrap().is_empty());
}

#[test]
fn status_says_for_a_minute_that_the_last_question_was_left_without_an_answer() {
    let scene = scene(1);
    let device = at(&scene, "east");
    let told = with_asker(&device, None);
    let network = || device.live_status().network();
    assert_eq!(network(), Network::Online, "nothing was asked yet");
    device.scan(&scene.g2(0));
    assert_eq!(network(), Network::NoAnswer);
    *told.grants.lock().unwrap() = Some(true);
    device.scan(&scene.g2(1));
    assert_eq!(network(), Network::Online);
    *told.grants.lock().unwrap() = None;
    device.scan(&scene.g2(2));
    scene.platform.pass_ms(59_999);
    assert_eq!(network(), Network::NoAnswer);
    scene.platform.pass_ms(1);
    assert_eq!(network(), Network::Online, "that was long ago");
    device.set_reachable(false);
    assert_eq!(network(), Network::Offline);
}

#[test]
fn the_wait_grows_while_no_answer_comes_up_to_the_policys_most() {
    let mut scene = scene(1);
    scene.venue.policy.staffed.claim_deadline_ms = (150, 800);
    let device = at(&scene, "east");
    let told = with_asker(&device, Some(true));
    for ticket in 0..2 {
        device.scan(&scene.g2(ticket));
    }
    *told.grants.lock().unwrap() = None;
    for ticket in 2..5 {
        device.scan(&scene.g2(ticket));
    }
    assert_eq!(*told.deadlines.lock().unwrap(), [800, 150, 150, 150, 300]);
}

#[test]
fn a_deadline_of_nothing_makes_no_claims() {
    let mut scene = scene(1);
    scene.venue.policy.staffed.claim_deadline_ms = (0, 0);
    let device = at(&scene, "east");
    let told = with_asker(&device, Some(false));
    let admitted = device.scan(&scene.g2(0));
    assert!(admitted.opens);
    assert_eq!((admitted.mode, admitted.claim), (Mode::Online, None));
    assert!(told.claims.lock().unwrap().is_empty());
}

#[test]
fn a_code_of_the_shared_key_is_asked_about_first_and_the_policy_decides_without_an_answer() {
    let mut scene = scene(1);
    scene.venue.policy.v1_key = V1Key::Shared;
    scene.venue.policy.staffed.v1_shared_offline = V1SharedOffline::ListedMatch;
    let device = at(&scene, "east");
    let told = with_asker(&device, Some(true));
    let code = |ticket: usize| {
        scene
            .venue
            .v1(&scene.tickets[ticket], NINE + 600)
            .into_bytes()
    };
    *told.genuine.lock().unwrap() = Some(false);
    assert_eq!(refused(&device.scan(&code(0))), Some(Reason::BadSignature));
    *told.genuine.lock().unwrap() = Some(true);
    assert!(device.scan(&code(1)).opens);
    *told.genuine.lock().unwrap() = None;
    assert!(device.scan(&code(2)).opens);
    let flags: Vec<_> = records(&device, "scan")
        .into_iter()
        .map(|record| record.get("flags").cloned())
        .collect();
    let unverified = Some(serde_json::json!(["unverified"]));
    assert_eq!(flags, [None, None, unverified]);
}
