//! What the gate takes for the time, through the device's public door: bad wall clocks, bad
//! servers, reboots, and the supervisor's word.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::sync::atomic::Ordering;

use common::at_gate::{AtGate, exported, reason};
use common::{NINE, Venue, id};
use stile_core::clock::{Heard, Trust};
use stile_core::device::{ClockError, Device, OperatorError};
use stile_core::pin::hash_pin;
use stile_core::protocol::{Lists, Operator, OperatorRole};
use stile_core::reason::Reason;
use stile_core::time::{EpochMillis, EpochSeconds};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
const YEAR_2099: EpochMillis = EpochMillis(4_070_908_800_000);

fn at_gate() -> AtGate {
    let mut gate = AtGate::new();
    gate.venue.operators = vec![Operator {
        operator_id: id("wang"),
        name: String::new(),
        role: OperatorRole::Supervisor,
        pin_hash: hash_pin("135790", b"sixteen bytes ok").unwrap(),
        badge_hash: None,
    }];
    gate
}

fn wall(gate: &AtGate, ms: i64) {
    gate.platform.wall_ms.fetch_add(ms, Ordering::SeqCst);
}

fn hear(gate: &AtGate, device: &Device, server: EpochMillis) -> Heard {
    let sent = gate.platform.boot_ms.load(Ordering::SeqCst);
    device.hear_server(server, sent).unwrap()
}

fn trust(device: &Device) -> Trust {
    device.live_status().clock.trust
}

/// The answer of `GET /v1/gate/lists` with the same list, signed anew at a time.
fn signed_anew(gate: &AtGate, at: i64) -> Vec<u8> {
    let rows = Venue::rows(&gate.tickets);
    let mut manifest = gate.venue.manifest(1, &rows);
    manifest.issued_at = EpochMillis(at);
    let lists = Lists {
        key_manifest: gate.venue.signed_key_manifest(1),
        manifests: vec![gate.venue.sign_list(&manifest)],
    };
    serde_json::to_vec(&lists).unwrap()
}

#[test]
fn situation_11_a_wall_clock_two_months_back_admits_no_expired_code_and_only_warns() {
    let gate = at_gate();
    let device = gate.ready();
    let old = gate
        .venue
        .g2(&gate.tickets[0], NINE - 3 * 3600)
        .into_bytes();
    wall(&gate, -60 * DAY);
    let refused = device.scan(&old);
    assert_eq!(reason(&refused.verdict), Some(Reason::CodeExpired));
    let fresh = gate.venue.g2(&gate.tickets[1], NINE).into_bytes();
    assert!(device.scan(&fresh).opens, "the warning locks nobody out");
    let clock = device.live_status().clock;
    assert_eq!(
        (clock.wall_off_ms, clock.now),
        (Some(-60 * DAY), EpochMillis(NINE * 1000))
    );
    drop(device);
    gate.reboot(60_000); // without network, and the wall clock still two months back
    let device = gate.open();
    let refused = device.scan(
        &gate
            .venue
            .g2(&gate.tickets[2], NINE - 3 * 3600)
            .into_bytes(),
    );
    assert_eq!(reason(&refused.verdict), Some(Reason::CodeExpired));
    assert_eq!(trust(&device), Trust::Unanchored);
}

#[test]
fn situation_12_the_warning_goes_away_by_itself() {
    let gate = at_gate();
    let device = gate.ready();
    wall(&gate, 45_000);
    assert_eq!(device.live_status().clock.wall_off_ms, Some(45_000));
    wall(&gate, -45_000);
    assert_eq!(device.live_status().clock.wall_off_ms, None);
}

#[test]
fn situation_35_a_time_source_that_jumps_to_2099_is_disputed_and_the_gate_goes_on() {
    let gate = at_gate();
    let device = gate.ready();
    assert_eq!(hear(&gate, &device, YEAR_2099), Heard::Disputed);
    let clock = device.live_status().clock;
    assert_eq!(
        (clock.trust, clock.disputed),
        (Trust::Disputed, Some(YEAR_2099))
    );
    assert!(device.scan(&gate.g2(0)).opens, "by its own clock");
    drop(device);
    let device = gate.open();
    assert!(device.scan(&gate.g2(1)).opens, "also after a restart");
    gate.anchor(&device);
    let clock = device.live_status().clock;
    assert_eq!(
        (clock.trust, clock.disputed),
        (Trust::Anchored, None),
        "repaired"
    );
}

#[test]
fn situation_35_also_after_a_reboot_a_jumping_server_alone_is_not_believed() {
    let gate = at_gate();
    drop(gate.ready());
    gate.reboot(60_000);
    let device = gate.open();
    assert_eq!(hear(&gate, &device, YEAR_2099), Heard::Disputed);
    assert_eq!(trust(&device), Trust::Unanchored);
    assert_eq!(device.live_status().clock.disputed, Some(YEAR_2099));
    assert!(device.scan(&gate.g2(0)).opens);
}

#[test]
fn a_newer_signed_manifest_that_agrees_settles_a_dispute() {
    let gate = at_gate();
    let device = gate.ready();
    let three_later = NINE * 1000 + 3 * HOUR;
    assert_eq!(
        hear(&gate, &device, EpochMillis(three_later)),
        Heard::Disputed
    );
    device
        .lists_answered(&signed_anew(&gate, NINE * 1000 - HOUR))
        .unwrap();
    assert_eq!(trust(&device), Trust::Disputed, "an old one says nothing");
    device
        .lists_answered(&signed_anew(&gate, three_later - 60_000))
        .unwrap();
    let clock = device.live_status().clock;
    assert_eq!(
        (clock.trust, clock.now),
        (Trust::Anchored, EpochMillis(three_later))
    );
}

#[test]
fn time_goes_on_through_a_suspend_since_boot_time_counts_sleep() {
    let gate = at_gate();
    let device = gate.ready();
    gate.platform.boot_ms.fetch_add(HOUR, Ordering::SeqCst); // the wall clock slept
    let clock = device.live_status().clock;
    assert_eq!(clock.now, EpochMillis(NINE * 1000 + HOUR));
    assert_eq!(clock.u_ms, 360, "100 ppm of an hour");
}

#[test]
fn a_board_off_overnight_works_in_the_morning_night_after_night() {
    let gate = at_gate();
    let mut device = gate.ready();
    for _ in 0..3 {
        assert!(device.scan(&gate.g2(0)).record_id.is_some());
        drop(device);
        gate.reboot(23 * HOUR);
        device = gate.open();
        let refused = device.scan(b"no code at all");
        assert_eq!(refused.now.trust, Trust::Unanchored);
        assert_eq!(
            refused.now.at.0,
            gate.platform.wall_ms.load(Ordering::SeqCst)
        );
    }
    assert_eq!(exported(&device).last().unwrap()["trust"], "unanchored");
}

#[test]
fn a_wall_clock_more_than_a_day_ahead_is_not_believed() {
    let gate = at_gate();
    drop(gate.ready());
    gate.reboot(25 * HOUR);
    let device = gate.open();
    let refused = device.scan(&gate.g2(0));
    assert_eq!(reason(&refused.verdict), Some(Reason::ClockUntrusted));
    gate.anchor(&device);
    assert_ne!(
        trust(&device),
        Trust::Untrusted,
        "the server's word ends it"
    );
}

#[test]
fn a_guess_by_the_wall_clock_is_not_held_against_the_server() {
    let gate = at_gate();
    drop(gate.ready());
    gate.reboot(20 * HOUR); // in truth a minute
    let device = gate.open();
    device.scan(&gate.g2(0));
    drop(device);
    let device = gate.open();
    let truth = EpochMillis(NINE * 1000 + 60_000);
    assert_eq!(hear(&gate, &device, truth), Heard::Taken);
    assert_eq!(device.live_status().clock.now, truth);
}

#[test]
fn a_supervisor_sets_the_clock_and_the_record_says_who_from_and_to() {
    let gate = at_gate();
    drop(gate.ready());
    gate.reboot(40 * DAY); // the wall clock is far ahead, and nobody can be asked
    let device = gate.open();
    let to = EpochMillis(NINE * 1000 + 600_000);
    let now = device.set_clock("135790", to, "wall clock broken").unwrap();
    assert_eq!((now.at, now.trust), (to, Trust::Unanchored));
    let code = gate.venue.g2(&gate.tickets[0], NINE + 600).into_bytes();
    assert!(device.scan(&code).opens);
    let record = &exported(&device)[0];
    assert_eq!(record["kind"], "clock_set");
    assert_eq!(
        (&record["supervisor"], &record["to"]),
        (&"wang".into(), &to.0.into())
    );
    assert_eq!(record["why"], "wall clock broken");
    gate.platform.pass_ms(60_000);
    drop(device);
    let device = gate.open();
    assert_eq!(
        device.live_status().clock.now,
        to.plus(60_000),
        "kept over a restart"
    );
    assert_eq!(hear(&gate, &device, to.plus(90_000)), Heard::Taken);
    assert_eq!(
        trust(&device),
        Trust::Anchored,
        "the server's word is better"
    );
}

#[test]
fn a_supervisor_is_the_second_source_in_a_dispute() {
    let gate = at_gate();
    let device = gate.ready();
    let server = EpochMillis(NINE * 1000 + 5 * HOUR);
    hear(&gate, &device, server);
    device
        .set_clock("135790", server.plus(120_000), "by the town clock")
        .unwrap();
    let clock = device.live_status().clock;
    assert_eq!((clock.trust, clock.now), (Trust::Anchored, server));
}

#[test]
fn the_clock_is_set_by_a_supervisor_alone_with_a_reason_and_within_a_year_of_what_was_signed() {
    let gate = at_gate();
    let device = gate.ready();
    let to = EpochMillis(NINE * 1000);
    let wrong = device.set_clock("000000", to, "why").unwrap_err();
    assert!(matches!(
        wrong,
        ClockError::Operator(OperatorError::WrongPin { .. })
    ));
    let silent = device.set_clock("135790", to, "  ").unwrap_err();
    assert!(matches!(silent, ClockError::NoReason));
    let early = device
        .set_clock("135790", to.plus(-DAY), "why")
        .unwrap_err();
    assert!(matches!(early, ClockError::BelowSigned(_)));
    let ms_for_seconds = EpochMillis(to.0 * 1000);
    for late in [to.plus(367 * DAY), ms_for_seconds, EpochMillis(i64::MAX)] {
        let refused = device.set_clock("135790", late, "why").unwrap_err();
        assert!(matches!(refused, ClockError::FarOverSigned(_)));
    }
    assert!(exported(&device).is_empty());
    device.maintain().unwrap();
    assert_eq!(device.live_status().lists.len(), 1, "nor did a list go");
}

#[test]
fn keys_past_their_time_still_verify_and_the_status_says_that_newer_ones_are_due() {
    let gate = at_gate();
    let device = gate.ready();
    assert!(!device.live_status().keys.overdue);
    let far = EpochSeconds(NINE + 366 * 86_400);
    gate.platform.pass_ms((far.0 - NINE) * 1000);
    hear(&gate, &device, far.millis());
    assert!(device.live_status().keys.overdue);
    let code = gate.venue.g2(&gate.tickets[0], far.0).into_bytes();
    let outcome = device.scan(&code);
    assert!(
        reason(&outcome.verdict) != Some(Reason::UnknownKey),
        "age alone locks no gate"
    );
}

#[test]
fn a_code_of_tomorrow_is_refused_and_uncertainty_stretches_a_window_by_a_minute_at_most() {
    let gate = at_gate();
    let device = gate.ready();
    let tomorrow = gate.venue.g2(&gate.tickets[0], NINE + 86_400).into_bytes();
    let refused = device.scan(&tomorrow);
    assert_eq!(reason(&refused.verdict), Some(Reason::CodeNotYetValid));
    // 20 days without the server: 100 ppm are 172.8 s by now, of which 60 count.
    gate.platform.pass_ms(20 * DAY);
    let now = NINE + 20 * 86_400;
    let expired = |since: i64| {
        // ttl 900 s and leeway 60 s on top of what is asked.
        let code = gate.venue.g2(&gate.tickets[0], now - 960 - since);
        let outcome = device.explain(code.as_bytes(), None).unwrap();
        reason(&outcome.verdict) == Some(Reason::CodeExpired)
    };
    assert!(!expired(59) && expired(61));
}
