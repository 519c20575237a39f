//! What leaves a device by itself, without a word of the server, and what never does.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::Path;

use common::at_gate::{AtGate, exported, give, give_day};
use common::{NINE, id};
use stile_core::device::{Device, Uploaded};
use stile_core::outbox::HttpAnswer;
use stile_core::protocol::{Filed, RecordHead, RecordResult, RecordsAnswer};
use stile_core::time::{EpochMillis, EpochSeconds};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// The day of the common list ends at 21:00, its list is good until 08:00 of the next day.
const DAY_UNTIL: i64 = (NINE + 12 * 3600) * 1000;

fn days(device: &Device) -> Vec<String> {
    let lists = device.live_status().lists;
    lists
        .iter()
        .map(|list| list.service_day.to_string())
        .collect()
}

fn list_files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().starts_with("whitelist-")
        })
        .count()
}

/// Uploads everything; the server takes it.
fn upload(device: &Device) {
    while let Some(upload) = device.next_upload().unwrap() {
        let body: serde_json::Value = serde_json::from_slice(&upload.body).unwrap();
        let payload = data_encoding::BASE64
            .decode(body["payload"].as_str().unwrap().as_bytes())
            .unwrap();
        let batch: serde_json::Value = serde_json::from_slice(&payload).unwrap();
        let results = batch["records"]
            .as_array()
            .unwrap()
            .iter()
            .map(|record| RecordResult {
                id: serde_json::from_value::<RecordHead>(record.clone())
                    .unwrap()
                    .id,
                result: Filed::Accepted,
                standing: None,
                why: None,
            })
            .collect();
        let logs = Vec::new();
        let body = serde_json::to_vec(&RecordsAnswer { results, logs }).unwrap();
        let answer = HttpAnswer {
            status: 200,
            retry_after_s: None,
            body,
        };
        let uploaded = device.upload_answered(&upload, Some(&answer)).unwrap();
        assert!(matches!(uploaded, Uploaded::Delivered { .. }));
    }
}

#[test]
fn a_list_stays_while_it_is_the_previous_days_and_goes_afterwards_without_a_server() {
    let gate = AtGate::new();
    let device = gate.ready();
    gate.platform.pass_ms(DAY_UNTIL - NINE * 1000 + 23 * HOUR);
    device.maintain().unwrap();
    assert_eq!(days(&device), ["2026-10-01"], "still the previous day's");
    gate.platform.pass_ms(2 * HOUR);
    device.maintain().unwrap();
    assert_eq!(days(&device), [""; 0]);
    assert_eq!(list_files(gate.folder.path()), 0, "personal data with it");
}

#[test]
fn a_list_that_the_server_still_names_stays_72_hours_past_its_day_and_no_longer() {
    let gate = AtGate::new();
    let device = gate.ready();
    device.lists_answered(&gate.lists(1)).unwrap();
    gate.platform.pass_ms(DAY_UNTIL - NINE * 1000 + 72 * HOUR);
    device.maintain().unwrap();
    assert_eq!(days(&device), ["2026-10-01"]);
    gate.platform.pass_ms(60_000);
    device.maintain().unwrap();
    assert_eq!(days(&device), [""; 0]);
}

#[test]
fn a_list_that_is_over_goes_at_the_next_start() {
    let gate = AtGate::new();
    drop(gate.ready());
    gate.platform.pass_ms(5 * DAY);
    drop(gate.open());
    assert_eq!(list_files(gate.folder.path()), 0);
}

#[test]
fn a_wall_clock_alone_throws_nothing_away() {
    let gate = AtGate::new();
    drop(gate.ready());
    gate.reboot(20 * DAY);
    let device = gate.open();
    device.maintain().unwrap();
    assert_eq!(
        days(&device),
        ["2026-10-01"],
        "nobody vouches for that time"
    );
}

#[test]
fn tomorrows_list_outlives_todays() {
    let gate = AtGate::new();
    let device = gate.ready();
    let rows = common::Venue::rows(&gate.tickets);
    let mut tomorrow = gate.venue.manifest(1, &rows);
    tomorrow.service_day = id("2026-10-02");
    for at in [
        &mut tomorrow.day_from,
        &mut tomorrow.day_until,
        &mut tomorrow.not_after,
    ] {
        *at = EpochSeconds(at.0 + 86_400);
    }
    give_day(&device, "2026-10-02", &gate.venue.stream(&tomorrow, &rows)).unwrap();
    gate.platform.pass_ms(DAY_UNTIL - NINE * 1000 + 25 * HOUR);
    device.maintain().unwrap();
    assert_eq!(days(&device), ["2026-10-02"]);
}

#[test]
fn a_synced_record_goes_seven_days_after_the_server_had_it_and_an_unsent_one_never() {
    let gate = AtGate::new();
    let device = gate.ready();
    assert!(device.scan(&gate.g2(0)).opens);
    gate.platform.pass_ms(10 * DAY); // offline all the time
    device.scan(b"noise");
    upload(&device);
    device.scan(b"noise of later");
    let records = || device.status().unwrap().records;
    gate.platform.pass_ms(7 * DAY - 60_000);
    device.maintain().unwrap();
    assert_eq!(
        records(),
        3,
        "seven days from the upload, not from the scan"
    );
    gate.platform.pass_ms(HOUR);
    device.maintain().unwrap();
    assert_eq!((records(), exported(&device).len()), (1, 1));
    gate.platform.pass_ms(30 * DAY);
    device.maintain().unwrap();
    assert_eq!(exported(&device).len(), 1, "unsent");
}

/// How many records are known to have been taken back.
fn taken_back(folder: &Path) -> i64 {
    let journal = rusqlite::Connection::open(folder.join("journal.db")).unwrap();
    let sql = "SELECT count(*) FROM taken_back";
    journal.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn what_was_taken_back_is_forgotten_with_the_record_that_it_speaks_of_and_no_sooner() {
    let gate = AtGate::new();
    let device = gate.ready();
    let undo = |ticket| {
        let admitted = device.scan(&gate.g2(ticket)).record_id.unwrap();
        assert_eq!(device.undo(admitted, "wrong person").unwrap().denied, None);
        admitted
    };
    let later = |ms| {
        gate.platform.pass_ms(ms);
        device.maintain().unwrap();
        taken_back(gate.folder.path())
    };
    undo(0);
    upload(&device);
    let unsent = undo(1);
    assert_eq!(later(7 * DAY - HOUR), 2);
    assert_eq!(later(2 * HOUR), 1, "the record of the first is gone");
    assert_eq!(
        later(30 * DAY),
        1,
        "that of the second is not on the server"
    );
    assert!(
        exported(&device)
            .iter()
            .any(|one| one["id"] == unsent.to_string())
    );
    upload(&device);
    device.scan(b"noise");
    assert_eq!(later(8 * DAY), 0);
}

#[test]
fn a_log_uses_no_number_twice_after_its_records_are_gone() {
    let gate = AtGate::new();
    let device = gate.ready();
    for _ in 0..3 {
        device.scan(b"noise");
        gate.platform.pass_ms(10_000);
    }
    upload(&device);
    gate.platform.pass_ms(8 * DAY);
    device.maintain().unwrap();
    assert_eq!(device.status().unwrap().records, 1, "the newest stays");
    device.scan(b"noise");
    let fourth = exported(&device).remove(0);
    assert_eq!(fourth["sequence"], 4);
    upload(&device);
    drop(device);
    let device = gate.open();
    device.scan(b"noise");
    assert_ne!(exported(&device)[0]["log_id"], fourth["log_id"]);
}

#[test]
fn what_tickets_did_stays_while_a_list_of_the_day_is_held() {
    let gate = AtGate::new();
    let device = gate.ready();
    assert!(device.scan(&gate.g2(0)).opens);
    upload(&device);
    gate.platform.pass_ms(HOUR);
    device.maintain().unwrap();
    let again = device.scan(&gate.g2(0));
    assert!(!again.opens, "used an hour ago, and known to be");
    let sent = gate
        .platform
        .boot_ms
        .load(std::sync::atomic::Ordering::SeqCst);
    device
        .hear_server(EpochMillis(NINE * 1000 + HOUR), sent)
        .unwrap();
    give(&device, &gate.venue.list(2, &gate.tickets)).unwrap();
    device.maintain().unwrap();
    assert!(!device.scan(&gate.g2(0)).opens);
}
