//! `stile-server salvage`: a damaged database is kept aside and read out.

use std::fs;

use crate::{add_venue, stile_server};

/// A server's folder with this many records in its log.
fn folder(records: i64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    add_venue(folder.path(), "museum-01");
    let database = rusqlite::Connection::open(folder.path().join("server.db")).unwrap();
    database.execute_batch("BEGIN").unwrap();
    for position in 1..=records {
        let record = format!(r#"{{"sequence":{position},"note":"{}"}}"#, "x".repeat(300));
        let sql = "INSERT INTO records (place, received_at, check_in, record)
                   VALUES ((1 << 47) + ?1, 1790816400000, 0, ?2)";
        database
            .execute(sql, rusqlite::params![position, record.as_bytes()])
            .unwrap();
    }
    database
        .execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    database.close().map_err(|(_, error)| error).unwrap();
    folder
}

#[test]
fn every_record_outside_the_damaged_pages_is_read_out_and_the_file_is_kept() {
    let folder = folder(3_000);
    let file = folder.path().join("server.db");
    let mut bytes = fs::read(&file).unwrap();
    let pages = bytes.len() / 4096;
    for page in [pages / 2, pages / 2 + 7, pages - 20] {
        bytes[page * 4096..][..200].fill(0xA5);
    }
    fs::write(&file, &bytes).unwrap();
    let out = folder.path().join("records.ndjson");
    let said = stile_server(folder.path(), &["salvage", "--out", out.to_str().unwrap()]);
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    let read: Vec<serde_json::Value> = fs::read_to_string(&out)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut sequences: Vec<_> = read
        .iter()
        .map(|line| line["record"]["sequence"].as_i64().unwrap())
        .collect();
    assert!(
        sequences.len() > 2_900,
        "only {} of 3,000 records were read",
        sequences.len()
    );
    assert!(sequences.len() < 3_000, "nothing was damaged");
    sequences.dedup();
    assert!(
        sequences.is_sorted() && sequences.len() == read.len(),
        "each once, in order"
    );
    assert!(!file.exists());
    let said = stile_server(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert!(!said.status.success(), "it went on as a new server");
    assert!(String::from_utf8_lossy(&said.stderr).contains("server.damaged-1.db"));
    assert!(fs::read(folder.path().join("server.damaged-1.db")).unwrap() == bytes);
}

#[test]
fn a_healthy_database_is_not_salvaged() {
    let folder = folder(10);
    let out = folder.path().join("records.ndjson");
    let said = stile_server(folder.path(), &["salvage", "--out", out.to_str().unwrap()]);
    assert!(!said.status.success());
    assert!(String::from_utf8_lossy(&said.stderr).contains("not damaged"));
    assert!(folder.path().join("server.db").exists() && !out.exists());
}
