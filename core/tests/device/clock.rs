//! The trusted clock under a device: wall clocks that jump, reboots, disputes.

use std::sync::atomic::Ordering;

use stile_core::clock::Trust;
use stile_core::reason::Reason;
use stile_core::time::EpochSeconds;

use crate::bed::{at_gate, exported};
use crate::common::NINE;
use crate::common::at_gate::reason;

#[test]
fn a_wall_clock_set_back_by_two_months_changes_nothing_at_an_anchored_gate() {
    let gate = at_gate();
    let device = gate.ready();
    gate.platform
        .wall_ms
        .fetch_sub(60 * 86_400_000, Ordering::SeqCst);
    let code = gate.venue.g2(&gate.tickets[0], NINE).into_bytes();
    assert!(device.scan(&code).opens);
    let expired = gate.venue.g2(&gate.tickets[1], NINE - 7200).into_bytes();
    assert_eq!(
        reason(&device.scan(&expired).verdict),
        Some(Reason::CodeExpired)
    );
    assert!(device.status().unwrap().live.clock.wall_off_ms.is_some());
}

#[test]
fn after_a_reboot_without_network_records_are_marked_unanchored() {
    let gate = at_gate();
    drop(gate.ready());
    gate.platform.boot.store(2, Ordering::SeqCst);
    gate.platform.boot_ms.store(5_000, Ordering::SeqCst);
    gate.platform.wall_ms.fetch_add(60_000, Ordering::SeqCst);
    let device = gate.open();
    assert!(device.scan(&gate.g2(0)).opens);
    assert_eq!(exported(&device)[0].trust, Trust::Unanchored);
}

#[test]
fn time_never_runs_below_the_newest_record_after_a_reboot_with_a_dead_clock() {
    let gate = at_gate();
    let device = gate.ready();
    gate.platform.pass_ms(3_000_000);
    device.scan(&gate.g2(0));
    drop(device);
    gate.platform.boot.store(2, Ordering::SeqCst);
    gate.platform.wall_ms.store(0, Ordering::SeqCst);
    let device = gate.open();
    assert_eq!(
        device.status().unwrap().live.clock.now,
        EpochSeconds(NINE + 3_000).millis()
    );
}

#[test]
fn an_old_manifest_shown_again_settles_no_dispute() {
    let gate = at_gate();
    let device = gate.ready();
    // The server's time jumps back by an hour and a half, to when the held manifest was signed.
    let sent = gate.platform.boot_ms.load(Ordering::SeqCst);
    let past = EpochSeconds(NINE - 5_400).millis();
    device.hear_server(past, sent).unwrap();
    device.lists_answered(&gate.lists(1)).unwrap();
    let clock = device.status().unwrap().live.clock;
    assert_eq!(
        (clock.trust, clock.now),
        (Trust::Disputed, EpochSeconds(NINE).millis())
    );
}
