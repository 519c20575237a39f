//! Readings at a gate: what opens, what is recorded, what is shown.

use std::fs;

use stile_core::device::Device;
use stile_core::reason::Reason;
use stile_core::ticket::Standing;
use stile_core::time::EpochSeconds;

use crate::bed::{at_gate, exported};
use crate::common::at_gate::{give, reason};
use crate::common::{NINE, Venue, id};

#[test]
fn a_listed_ticket_is_admitted_once_and_its_record_is_in_the_journal() {
    let gate = at_gate();
    let device = gate.ready();
    let admitted = device.scan(&gate.g2(0));
    assert!(admitted.opens);
    assert_eq!(admitted.ticket.as_ref().unwrap().holder_mask, "*三");
    gate.platform.pass_ms(60_000);
    let again = device.scan(&gate.g2(0));
    assert_eq!(reason(&again.verdict), Some(Reason::AlreadyUsed));
    let records = exported(&device);
    assert_eq!(records.len(), 2);
    assert_eq!(Some(records[0].id), admitted.record_id);
    assert!(records[0].is_check_in() && !records[1].is_check_in());
    assert_eq!((records[0].sequence, records[1].sequence), (1, 2));
}

#[test]
fn situation_19_the_same_ticket_within_three_seconds_is_one_scan_and_they_do_not_slide() {
    let gate = at_gate();
    let device = gate.ready();
    let code = gate.g2(0);
    assert!(device.scan(&code).opens);
    gate.platform.pass_ms(2_000);
    let repeat = device.scan(&code);
    assert!(repeat.repeat && !repeat.opens);
    assert_eq!(
        reason(&repeat.verdict),
        None,
        "the first answer again, in green"
    );
    gate.platform.pass_ms(2_000);
    assert_eq!(
        reason(&device.scan(&code).verdict),
        Some(Reason::AlreadyUsed)
    );
    assert_eq!(exported(&device).len(), 2);
    assert_eq!(device.status().unwrap().live.repeats, 1);
}

#[test]
fn a_forged_code_of_the_ticket_just_admitted_is_no_repeat() {
    let gate = at_gate();
    let device = gate.ready();
    assert!(device.scan(&gate.g2(0)).opens);
    let forger = stile_core::keys::CodeSigningKey::from_seed(&[99; 32]);
    let payload = gate.venue.payload(&gate.tickets[0], NINE);
    let forged = stile_core::codes::g2::mint(&forger, &payload).unwrap();
    let outcome = device.scan(forged.as_bytes());
    assert!(!outcome.repeat);
    assert_eq!(reason(&outcome.verdict), Some(Reason::BadSignature));
    assert_eq!(
        outcome.ticket, None,
        "nothing of an unverified code is shown"
    );
}

#[test]
fn too_early_is_asked_again_at_once() {
    let gate = at_gate();
    gate.platform.pass_ms(-1_801_000);
    let device = gate.ready();
    assert_eq!(
        reason(&device.scan(&gate.g2(0)).verdict),
        Some(Reason::TooEarly)
    );
    gate.platform.pass_ms(1_000);
    assert!(device.scan(&gate.g2(0)).opens);
}

#[test]
fn a_party_at_a_turnstile_enters_one_by_one_as_the_gate_closes_behind_each() {
    let mut gate = at_gate();
    gate.tickets[0].admits = 3;
    let device = Device::open(
        gate.folder.path(),
        Some(&id("arm-1")),
        gate.platform.clone(),
    )
    .unwrap();
    gate.anchor(&device);
    give(&device, &gate.venue.list(1, &gate.tickets)).unwrap();
    let code = gate.g2(0);
    for _ in 0..3 {
        assert!(device.scan(&code).opens);
        device.gate_closed();
        gate.platform.pass_ms(1_000);
    }
    assert!(!device.scan(&code).opens);
    assert_eq!(
        exported(&device)
            .iter()
            .filter(|record| record.is_check_in())
            .count(),
        3
    );
}

#[test]
fn records_name_a_ticket_only_when_its_code_is_genuine() {
    let gate = at_gate();
    let device = gate.ready();
    let mut forged = gate.venue.v1(&gate.tickets[0], NINE + 600).into_bytes();
    let last = forged.len() - 2;
    forged[last] = if forged[last] == b'A' { b'B' } else { b'A' };
    device.scan(&forged);
    device.scan(b"6901234567892");
    let records = exported(&device);
    assert!(records.iter().all(|record| record.ticket_id.is_none()));
    assert_eq!(records[0].reason.as_deref(), Some("bad_signature"));
    assert_eq!(records[1].reason.as_deref(), Some("malformed"));
}

#[test]
fn neither_journal_nor_list_holds_a_scanned_text() {
    let gate = at_gate();
    let device = gate.ready();
    let code = gate.venue.v1(&gate.tickets[0], NINE + 600);
    device.scan(code.as_bytes());
    drop(device);
    let signature = &code.as_bytes()[code.len() - 43..];
    for entry in fs::read_dir(gate.folder.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(43).any(|window| window == signature));
    }
}

#[test]
fn a_folder_can_be_looked_at_beside_its_controller_and_nothing_changes() {
    let gate = at_gate();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    let look = Device::open_to_look(gate.folder.path(), None, gate.platform.clone()).unwrap();
    let explained = look.explain(&gate.g2(0), None).unwrap();
    assert_eq!(reason(&explained.verdict), Some(Reason::AlreadyUsed));
    assert_eq!(explained.rows.last().unwrap().row, 20);
    assert_eq!(exported(&look).len(), 1);
    assert!(!look.scan(&gate.g2(1)).opens, "looking opens nothing");
    gate.platform.pass_ms(1_000);
    assert!(device.scan(&gate.g2(1)).opens);
}

#[test]
fn without_a_list_the_gate_stays_shut_and_says_so() {
    let gate = at_gate();
    let device = gate.open();
    gate.anchor(&device);
    assert_eq!(
        reason(&device.scan(&gate.g2(0)).verdict),
        Some(Reason::WhitelistStale)
    );
}

#[test]
fn a_live_row_beats_a_tombstone_in_another_list() {
    let mut gate = at_gate();
    let live = gate.tickets.clone();
    gate.tickets[0].standing = Standing::Moved {
        session_id: id("pm"),
        service_day: id("2026-10-01"),
        admit_from: EpochSeconds(NINE),
    };
    let device = gate.ready();
    assert_eq!(
        reason(&device.scan(&gate.g2(0)).verdict),
        Some(Reason::WrongDay)
    );
    let rows = Venue::rows(&live[..1]);
    let mut manifest = gate.venue.manifest(1, &rows);
    manifest.service_day = id("2026-10-02");
    let mut list = device.begin_list(id("2026-10-02"));
    list.feed(&gate.venue.stream(&manifest, &rows)).unwrap();
    list.finish().unwrap();
    gate.platform.pass_ms(10_000);
    assert!(device.scan(&gate.g2(0)).opens);
}

#[test]
fn several_tickets_of_one_opaque_code_are_tried_by_the_one_that_admits_now() {
    let mut gate = at_gate();
    let code = "9f86d081884c7d659a2feaa0c55ad015";
    let hash = stile_core::codes::opaque::hash(&gate.venue.venue_id, code);
    for (at, (from, until)) in [(-7200, -3600), (-60, 600), (3600, 7200)]
        .into_iter()
        .enumerate()
    {
        gate.tickets[at].opaque_hashes = vec![hash];
        gate.tickets[at].admit_from = Some(EpochSeconds(NINE + from));
        gate.tickets[at].admit_until = Some(EpochSeconds(NINE + until));
    }
    let device = gate.ready();
    let outcome = device.scan(code.as_bytes());
    assert!(outcome.opens);
    assert_eq!(outcome.ticket.unwrap().number, gate.tickets[1].number);
    gate.platform.pass_ms(700_000);
    let next = device.scan(code.as_bytes());
    assert_eq!(reason(&next.verdict), Some(Reason::TooEarly));
    assert_eq!(next.ticket.unwrap().number, gate.tickets[2].number);
}

#[test]
fn an_exit_opens_for_every_reading_and_counts_a_repeat_once() {
    let mut gate = at_gate();
    gate.venue.gates[0].direction = stile_core::ticket::Direction::Out;
    let device = gate.ready();
    let code = gate.g2(0);
    assert!(device.scan(&code).opens);
    gate.platform.pass_ms(1_000);
    let again = device.scan(&code);
    assert!(again.opens && again.repeat);
    assert_eq!(exported(&device).len(), 1);
    assert!(
        device.scan(b"9f86d081884c7d659a2feaa0c55ad015").opens,
        "unlisted, and let out"
    );
    assert!(!device.scan(b"6901234567892").opens, "no code at all");
}
