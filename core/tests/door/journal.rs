//! The journal's schema, and that a damaged one is rebuilt from every kind of record.

use std::fs;

use rusqlite::Connection;
use stile_core::record::{FreePassageCause, PassageOutcome};

use crate::common::at_gate::{AtGate, exported};
use crate::scene::{at, refused, reopened, scene};

const V1: &str = include_str!("../../../migrations/device/journal/V1__journal.sql");

fn schema(journal: &Connection) -> Vec<String> {
    let mut statement = journal
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        .unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

fn journal(scene: &AtGate) -> Connection {
    Connection::open(scene.folder.path().join("journal.db")).unwrap()
}

/// Takes the journal back to what the first version wrote.
fn downgrade(scene: &AtGate) {
    let new = journal(scene);
    let old_path = scene.folder.path().join("old.db");
    let old = Connection::open(&old_path).unwrap();
    old.execute_batch(V1).unwrap();
    old.execute_batch(&format!(
        "ATTACH '{}' AS new;
         CREATE TABLE refinery_schema_history AS
            SELECT * FROM new.refinery_schema_history WHERE version = 1;
         INSERT INTO fact SELECT * FROM new.fact;
         INSERT INTO log SELECT * FROM new.log;
         INSERT INTO sync_log
            SELECT position, log, sequence, record_id, sync_status, record FROM new.sync_log;
         INSERT INTO admission
            SELECT service_day, ticket_number, checkpoint, record_id, gate_id, is_exit, persons,
                   at, anchored, log, sequence FROM new.admission;",
        scene.folder.path().join("journal.db").display()
    ))
    .unwrap();
    drop((new, old));
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(scene.folder.path().join(format!("journal.db{suffix}")));
    }
    fs::rename(old_path, scene.folder.path().join("journal.db")).unwrap();
}

#[test]
fn an_upgraded_journal_is_as_a_fresh_one_and_forgets_nothing() {
    let scene = scene(1);
    let device = at(&scene, "east");
    assert!(device.scan(&scene.g2(0)).opens);
    drop(device);
    let fresh = schema(&journal(&scene));
    downgrade(&scene);
    let older =
        stile_core::device::Device::open_to_look(scene.folder.path(), None, scene.platform.clone());
    let why = older.err().unwrap().to_string();
    assert!(why.contains("start `stile-gate run` once"), "{why}");
    scene.platform.pass_ms(5_000);
    let device = reopened(&scene, "east");
    let again = device.scan(&scene.g2(0));
    assert_eq!(
        refused(&again),
        Some(stile_core::reason::Reason::AlreadyUsed),
        "and what was before it does not resume"
    );
    drop(device);
    let without_history = |schema: Vec<String>| -> Vec<String> {
        let is_ours = |sql: &String| !sql.contains("refinery_schema_history");
        schema.into_iter().filter(is_ours).collect()
    };
    assert_eq!(
        without_history(schema(&journal(&scene))),
        without_history(fresh)
    );
}

/// The tables that follow from the records.
fn derived(scene: &AtGate) -> Vec<String> {
    let journal = journal(scene);
    let mut rows = Vec::new();
    for sql in [
        "SELECT 'admission', hex(record_id), service_day, persons FROM admission",
        "SELECT 'taken', hex(record_id), coalesce(ticket_number, ''), by_passage FROM taken_back",
        "SELECT 'open', hex(record_id), cause, '' FROM free_passage",
    ] {
        let mut statement = journal.prepare(sql).unwrap();
        let found = statement.query_map([], |row| {
            let text = |at| {
                row.get::<_, rusqlite::types::Value>(at)
                    .map(|value| format!("{value:?}"))
            };
            Ok([text(0)?, text(1)?, text(2)?, text(3)?].join(" "))
        });
        rows.extend(found.unwrap().map(Result::unwrap));
    }
    rows.sort();
    rows
}

#[test]
fn a_damaged_journal_is_rebuilt_from_every_kind_of_record() {
    let scene = scene(1);
    let device = at(&scene, "arm-1");
    let undone = device.scan(&scene.g2(0)).record_id.unwrap();
    device.undo(undone, "wrong person").unwrap();
    let freed = device.scan(&scene.g2(1)).record_id.unwrap();
    device
        .passage(Some(freed), PassageOutcome::NotPassed)
        .unwrap();
    device.scan(&scene.g2(2));
    device.walk_in(1, "guest", None).unwrap();
    device
        .begin_free_passage(FreePassageCause::Emergency, "")
        .unwrap();
    let before = exported(&device);
    drop(device);
    let tables = derived(&scene);
    assert_eq!(tables.len(), 6, "{tables:?}");
    break_an_index(&scene);
    let device = reopened(&scene, "arm-1");
    assert!(device.salvage().is_some(), "the damage was noticed");
    assert_eq!(exported(&device), before);
    assert_eq!(device.free_passage(), Some(FreePassageCause::Emergency));
    drop(device);
    assert_eq!(derived(&scene), tables);
}

/// Spoils a page that holds no record: the index that records are found by.
fn break_an_index(scene: &AtGate) {
    let path = scene.folder.path().join("journal.db");
    let journal = Connection::open(&path).unwrap();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'sync_log_by_record'";
    let page: usize = journal.query_row(root, [], |row| row.get(0)).unwrap();
    let size: usize = journal
        .pragma_query_value(None, "page_size", |row| row.get(0))
        .unwrap();
    journal
        .pragma_update(None, "journal_mode", "DELETE")
        .unwrap();
    drop(journal);
    let mut bytes = fs::read(&path).unwrap();
    bytes[(page - 1) * size..][..64].fill(0xA5);
    fs::write(&path, bytes).unwrap();
}
