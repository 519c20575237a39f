//! Lists on their way in: cut off, changed, forged, lower, rotten.

use std::fs;

use stile_core::device::ListsError;
use stile_core::reason::Reason;
use stile_core::ticket::TicketStatus;

use crate::bed::at_gate;
use crate::common::at_gate::{give, reason};
use crate::common::{Venue, id};

#[test]
fn situation_10_a_list_cut_off_anywhere_leaves_the_one_in_use() {
    let mut gate = at_gate();
    let device = gate.ready();
    gate.tickets[0].status = TicketStatus::Cancelled;
    let stream = gate.venue.list(2, &gate.tickets);
    for end in (0..stream.len()).step_by(211).chain([stream.len() - 1]) {
        assert!(give(&device, &stream[..end]).is_err(), "cut at {end}");
    }
    assert!(device.scan(&gate.g2(0)).opens, "version 1 is still in use");
    drop(device);
    let device = gate.open();
    assert!(device.scan(&gate.g2(1)).opens, "and after a restart");
    give(&device, &stream).unwrap();
    gate.platform.pass_ms(10_000);
    assert_eq!(
        reason(&device.scan(&gate.g2(0)).verdict),
        Some(Reason::Cancelled)
    );
}

#[test]
fn situation_10_a_list_with_a_changed_missing_or_doubled_row_is_not_taken() {
    let gate = at_gate();
    let device = gate.ready();
    let rows = Venue::rows(&gate.tickets);
    let manifest = gate.venue.manifest(2, &rows);
    let mut other = gate.tickets[2].clone();
    other.admits = 200;
    let mut changed = gate.tickets.clone();
    changed[2] = other;
    let mut doubled = rows.clone();
    doubled.insert(1, rows[0].clone());
    let mut reversed = rows.clone();
    reversed.reverse();
    for bad in [Venue::rows(&changed), rows[1..].to_vec(), doubled, reversed] {
        let refused = give(&device, &gate.venue.stream(&manifest, &bad));
        assert!(matches!(refused, Err(ListsError::List(_))), "{refused:?}");
    }
    assert_eq!(device.status().unwrap().live.lists[0].version, 1);
}

#[test]
fn a_list_signed_by_a_stranger_or_with_other_settings_is_not_taken() {
    let gate = at_gate();
    let device = gate.ready();
    let mut stranger = Venue::new();
    stranger.list_key = stile_core::keys::ListSigningKey::from_seed(&[66; 32]);
    let rows = Venue::rows(&gate.tickets);
    let mut lines = gate.venue.stream(&stranger.manifest(2, &rows), &rows);
    let forged = stranger.sign_list(&stranger.manifest(2, &rows));
    let mut head: stile_core::protocol::ListHead =
        serde_json::from_slice(lines.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    head.manifest = forged;
    let rest = lines.iter().position(|byte| *byte == b'\n').unwrap();
    let mut stream = serde_json::to_vec(&head).unwrap();
    stream.extend(lines.drain(rest..));
    assert!(matches!(give(&device, &stream), Err(ListsError::List(_))));
    let mut tampered = gate.venue.list(2, &gate.tickets);
    let text = String::from_utf8(std::mem::take(&mut tampered)).unwrap();
    let text = text.replacen("\\\"unattended\\\":true", "\\\"unattended\\\":false", 1);
    assert!(matches!(
        give(&device, text.as_bytes()),
        Err(ListsError::List(_))
    ));
}

#[test]
fn a_lower_version_and_an_equal_one_with_other_rows_are_refused() {
    let mut gate = at_gate();
    let device = gate.open();
    gate.anchor(&device);
    give(&device, &gate.venue.list(5, &gate.tickets)).unwrap();
    assert!(matches!(
        give(&device, &gate.venue.list(4, &gate.tickets)),
        Err(ListsError::Lower(_))
    ));
    let wanted = device.lists_answered(&gate.lists(5)).unwrap();
    assert!(wanted.fetch.is_empty() && wanted.refused.is_empty());
    gate.tickets.pop();
    let wanted = device.lists_answered(&gate.lists(5)).unwrap();
    assert!(matches!(
        wanted.refused.as_slice(),
        [ListsError::Contradicts(_)]
    ));
    let wanted = device.lists_answered(&gate.lists(6)).unwrap();
    assert_eq!(wanted.fetch, [id("2026-10-01")]);
}

#[test]
fn a_list_of_another_venue_or_day_is_refused() {
    let gate = at_gate();
    let device = gate.ready();
    let rows = Venue::rows(&gate.tickets);
    let mut manifest = gate.venue.manifest(2, &rows);
    manifest.venue_id = id("museum-02");
    assert!(matches!(
        give(&device, &gate.venue.stream(&manifest, &rows)),
        Err(ListsError::Foreign(_))
    ));
    manifest = gate.venue.manifest(2, &rows);
    manifest.service_day = id("2026-10-02");
    assert!(matches!(
        give(&device, &gate.venue.stream(&manifest, &rows)),
        Err(ListsError::Foreign(_))
    ));
}

#[test]
fn a_list_that_rotted_on_disk_is_dropped_and_fetched_again() {
    let gate = at_gate();
    drop(gate.ready());
    let path = stile_core::whitelist::list_path(gate.folder.path(), &id("2026-10-01"));
    let mut bytes = fs::read(&path).unwrap();
    // The masked name stands in the rows alone.
    let at = bytes
        .windows(4)
        .rposition(|window| window == "*三".as_bytes())
        .unwrap();
    bytes[at] = b'#';
    fs::write(&path, bytes).unwrap();
    let device = gate.open();
    assert_eq!(
        reason(&device.scan(&gate.g2(0)).verdict),
        Some(Reason::WhitelistStale)
    );
    assert_eq!(
        device.lists_answered(&gate.lists(1)).unwrap().fetch,
        [id("2026-10-01")]
    );
    give(&device, &gate.venue.list(1, &gate.tickets)).unwrap();
    gate.platform.pass_ms(10_000);
    assert!(device.scan(&gate.g2(0)).opens);
}

#[test]
fn other_settings_under_the_version_held_are_refused() {
    let mut gate = at_gate();
    let device = gate.ready();
    gate.venue.policy.formats.pop();
    let wanted = device.lists_answered(&gate.lists(1)).unwrap();
    assert!(matches!(
        wanted.refused.as_slice(),
        [ListsError::Contradicts(_)]
    ));
}
