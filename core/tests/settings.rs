//! What a list changes beside its tickets, sister venues' codes, and tickets that no list has.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::at_gate::{AtGate, give, reason};
use common::{NINE, id};
use stile_core::codes::g2;
use stile_core::device::SettingsPart;
use stile_core::ids::{Kid, VenueNumber};
use stile_core::key_manifest::{Algorithm, KeyRole, ManifestKey, SisterVenue};
use stile_core::keys::CodeSigningKey;
use stile_core::protocol::Lists;
use stile_core::reason::Reason;
use stile_core::time::EpochSeconds;

#[test]
fn situation_24_a_change_of_hours_is_told_as_it_arrives_and_since_when_it_holds() {
    let mut gate = AtGate::new();
    let device = gate.ready();
    gate.venue.sessions[0].admit_from = EpochSeconds(NINE + 600);
    let mut list = device.begin_list(id("2026-10-01"));
    list.feed(&gate.venue.list(2, &gate.tickets)).unwrap();
    let taken = list.finish().unwrap();
    assert_eq!(taken.changed, [SettingsPart::Sessions]);
    assert_eq!(taken.since, EpochSeconds(NINE - 3600).millis());
    let status = device.live_status();
    assert_eq!(status.lists[0].settings_since, taken.since);
    let outcome = device.scan(&gate.g2(0));
    assert_eq!(reason(&outcome.verdict), Some(Reason::TooEarly), "at once");
}

#[test]
fn a_list_that_changes_tickets_alone_says_so() {
    let gate = AtGate::new();
    let device = gate.ready();
    let mut list = device.begin_list(id("2026-10-01"));
    list.feed(&gate.venue.list(2, &gate.tickets[1..])).unwrap();
    let taken = list.finish().unwrap();
    assert_eq!((taken.tickets, taken.changed), (4, vec![]));
}

#[test]
fn a_genuine_code_of_a_sister_venue_is_for_another_venue_and_a_forged_one_is_forged() {
    let gate = AtGate::new();
    let device = gate.ready();
    let sister_key = CodeSigningKey::from_seed(&[77; 32]);
    let mut manifest = gate.venue.key_manifest(2);
    manifest.sister_venues.push(SisterVenue {
        venue_id: id("museum-02"),
        number: VenueNumber(259),
        keys: vec![ManifestKey {
            role: KeyRole::Code,
            kid: Kid(1),
            algorithm: Algorithm::Ed25519,
            public_key: sister_key.verifying_key().to_base64(),
            valid_from: EpochSeconds(0),
            valid_until: None,
            revoked: false,
        }],
    });
    let lists = Lists {
        key_manifest: manifest.sign(Kid(1), &gate.venue.root).unwrap(),
        manifests: Vec::new(),
    };
    device
        .lists_answered(&serde_json::to_vec(&lists).unwrap())
        .unwrap();
    let mut payload = gate.venue.payload(&gate.tickets[0], NINE);
    payload.venue_number = VenueNumber(259);
    let judged = |key: &CodeSigningKey| {
        let outcome = device.scan(g2::mint(key, &payload).unwrap().as_bytes());
        reason(&outcome.verdict)
    };
    assert_eq!(judged(&sister_key), Some(Reason::WrongVenue));
    assert_eq!(judged(&gate.venue.code_key), Some(Reason::BadSignature));
}

#[test]
fn a_ticket_in_no_list_enters_at_a_staffed_gate_and_an_old_lists_age_is_shown() {
    let gate = AtGate::new();
    let device = gate.ready();
    let booked_since = |name: &str| {
        let ticket = gate.venue.ticket(name);
        gate.venue.g2(&ticket, gate.now_s()).into_bytes()
    };
    let outcome = device.scan(&booked_since("N1"));
    assert!(outcome.opens);
    assert_eq!(outcome.list_age_ms, Some(3_600_000), "signed an hour ago");
    // The server says that there is no newer one: the same, signed anew.
    let rows = common::Venue::rows(&gate.tickets);
    let mut manifest = gate.venue.manifest(1, &rows);
    manifest.issued_at = EpochSeconds(NINE - 60).millis();
    let lists = Lists {
        key_manifest: gate.venue.signed_key_manifest(1),
        manifests: vec![gate.venue.sign_list(&manifest)],
    };
    device
        .lists_answered(&serde_json::to_vec(&lists).unwrap())
        .unwrap();
    let outcome = device.scan(&booked_since("N2"));
    assert_eq!((outcome.opens, outcome.list_age_ms), (true, None));
    let listed = device.scan(&gate.g2(0));
    assert_eq!((listed.opens, listed.list_age_ms), (true, None));
}

#[test]
fn a_ticket_in_no_list_enters_through_the_policys_zones_alone() {
    let mut gate = AtGate::new();
    gate.venue.policy.staffed.unlisted_zones = vec![id("garden")];
    let device = gate.ready();
    let code = gate.venue.g2(&gate.venue.ticket("N1"), NINE).into_bytes();
    let outcome = device.scan(&code);
    assert_eq!(reason(&outcome.verdict), Some(Reason::NotListed));
    gate.venue.policy.staffed.unlisted_zones.push(id("main"));
    give(&device, &gate.venue.list(2, &gate.tickets)).unwrap();
    gate.platform.pass_ms(4_000);
    assert!(device.scan(&code).opens);
}
