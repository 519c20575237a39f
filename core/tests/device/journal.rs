//! The journal over restarts, damage, newer schemas and copied folders.

use std::fs;
use std::path::Path;

use stile_core::device::{Amiss, DeviceError};
use stile_core::journal::OpenError;
use stile_core::reason::Reason;

use crate::bed::{at_gate, exported};
use crate::common::at_gate::reason;

#[test]
fn a_restart_forgets_no_admission_and_begins_a_new_log() {
    let gate = at_gate();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    let log = exported(&device)[0].log_id;
    drop(device);
    let device = gate.open();
    gate.platform.pass_ms(60_000);
    assert_eq!(
        reason(&device.scan(&gate.g2(0)).verdict),
        Some(Reason::AlreadyUsed)
    );
    assert!(
        device.scan(&gate.g2(1)).opens,
        "the list and the anchor are still there"
    );
    let records = exported(&device);
    assert_eq!(
        records
            .iter()
            .map(|record| record.sequence)
            .collect::<Vec<_>>(),
        [1, 1, 2]
    );
    assert_eq!(records[1].log_id, records[2].log_id);
    assert_ne!(records[1].log_id, log);
}

#[test]
fn a_second_controller_on_the_folder_refuses_to_start() {
    let gate = at_gate();
    let _first = gate.open();
    let second = gate.try_open();
    assert!(matches!(
        second,
        Err(DeviceError::Open(OpenError::Locked(_)))
    ));
}

#[test]
fn situation_17_a_newer_schema_is_refused_and_not_a_byte_of_it_is_touched() {
    let gate = at_gate();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    drop(device);
    let path = gate.folder.path().join("journal.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "INSERT INTO refinery_schema_history (version, name, applied_on, checksum)
             VALUES (99, 'of_the_future', '2030-01-01T00:00:00Z', '1')",
        )
        .unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    let refused = gate.try_open();
    assert!(matches!(
        refused,
        Err(DeviceError::Open(OpenError::Newer { found: 99, .. }))
    ));
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// Writes over the middle of every page but the first few, as a dying card does.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let pages = bytes.len() / 4096;
    for page in (pages * 2 / 3)..(pages * 2 / 3 + 2) {
        bytes[page * 4096..][..64].fill(0xA5);
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_journal_is_kept_aside_and_what_can_be_read_of_it_goes_on() {
    let mut gate = at_gate();
    gate.tickets = (0..60)
        .map(|n| gate.venue.ticket(&format!("T{n}")))
        .collect();
    let device = gate.ready();
    for ticket in 0..60 {
        assert!(device.scan(&gate.g2(ticket)).opens);
    }
    let before = exported(&device);
    drop(device);
    damage(&gate.folder.path().join("journal.db"));
    let device = gate.open();
    let salvage = device.salvage().expect("the damage was noticed").clone();
    assert!(salvage.kept_aside.exists());
    let after = exported(&device);
    assert_eq!(after.len() as u64, salvage.records);
    assert!(
        after.len() >= 20,
        "only {} of 60 records were read",
        after.len()
    );
    assert!(
        after.iter().all(|record| before.contains(record)),
        "under their own names"
    );
    let first = gate
        .tickets
        .iter()
        .position(|t| Some(&t.ticket_id) == after[0].ticket_id.as_ref());
    gate.platform.pass_ms(60_000);
    let again = device.scan(&gate.g2(first.unwrap()));
    assert_eq!(
        reason(&again.verdict),
        Some(Reason::AlreadyUsed),
        "and nobody enters twice"
    );
    let newest = exported(&device).pop().unwrap();
    assert_ne!(
        newest.log_id, before[0].log_id,
        "new records go to a new log"
    );
}

#[test]
fn a_file_that_is_no_database_at_all_is_kept_aside_too() {
    let gate = at_gate();
    drop(gate.ready());
    fs::write(
        gate.folder.path().join("journal.db"),
        b"this was a journal once".repeat(500),
    )
    .unwrap();
    let device = gate.open();
    assert_eq!(device.salvage().unwrap().records, 0);
    assert!(device.scan(&gate.g2(0)).opens);
}

#[test]
fn situation_32_a_copied_folder_on_another_machine_starts_a_new_log() {
    let gate = at_gate();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    drop(device);
    *gate.platform.machine.lock().unwrap() = "another machine".into();
    let device = gate.open();
    assert!(device.amiss().is_copied, "and says so");
    device.scan(&gate.g2(1));
    let records = exported(&device);
    assert_ne!(records[0].log_id, records[1].log_id);
    assert_eq!((records[0].sequence, records[1].sequence), (1, 1));
    drop(device);
    assert!(!gate.open().amiss().is_copied, "once");
}

#[test]
fn situation_32_a_journal_that_was_put_back_uses_no_sequence_twice() {
    let gate = at_gate();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    drop(device);
    let journal = gate.folder.path().join("journal.db");
    let image = fs::read(&journal).unwrap();
    let device = gate.open();
    device.scan(&gate.g2(1));
    let lost = exported(&device).pop().unwrap();
    drop(device);
    fs::write(&journal, image).unwrap();

    let device = gate.open();
    assert_eq!(device.amiss(), Amiss::default());
    device.scan(&gate.g2(2));
    let kept = exported(&device);
    let places: std::collections::HashSet<_> = std::iter::once(&lost)
        .chain(&kept)
        .map(|record| (record.log_id, record.sequence))
        .collect();
    assert_eq!(places.len(), 3);
}

#[test]
fn scans_never_make_the_write_ahead_log_longer_as_long_as_it_is_looked_after() {
    let gate = at_gate();
    let device = gate.ready();
    let wal = gate.folder.path().join("journal.db-wal");
    let length = || fs::metadata(&wal).unwrap().len();
    let at_first = length();
    assert!(at_first >= 4 * 1024 * 1024, "{at_first}");
    for n in 0..1_000 {
        device.scan(format!("noise {n}").as_bytes());
        gate.platform.pass_ms(1_001);
        if n % 100 == 0 {
            device.maintain().unwrap();
        }
    }
    assert_eq!(length(), at_first);
    drop(device);
    assert_eq!(exported(&gate.open()).len(), 1_000);
}

#[test]
fn a_journal_that_is_gone_beside_lists_is_told() {
    let gate = at_gate();
    drop(gate.ready());
    assert_eq!(gate.open().amiss(), Amiss::default());
    let journal = gate.folder.path().join("journal.db");
    for leaves_a_file_of_no_bytes in [false, true] {
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(gate.folder.path().join(format!("journal.db{end}")));
        }
        if leaves_a_file_of_no_bytes {
            fs::write(&journal, "").unwrap();
        }
        assert!(gate.open().amiss().journal_gone);
        assert!(!gate.open().amiss().journal_gone, "once");
    }
}
