//! Starting on a folder: what is refused is refused untouched.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use data_encoding::BASE64;
use stile_sync_server::clock::Clock;
use stile_sync_server::server::{MasterKeySource, OpenError, Server, VaultError};
use stile_sync_server::store::sqlite::{DatabaseError, SqliteStore};
use stile_sync_server::store::{LogStream, Store};

use super::bed::{Bed, TODAY, TestClock, pull_request};

async fn open(folder: &Path) -> Result<Server, OpenError> {
    let key = MasterKeySource::File(folder.join("master.key"));
    let clock: Arc<dyn Clock> = TestClock::new();
    Server::open(folder, key, clock).await
}

/// A folder with a venue and a record, whose server is closed.
async fn closed_folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let bed = Bed::in_folder(folder.path()).await;
    bed.put_many_tickets(300).await;
    let mut device = bed.device(1).await;
    let records: Vec<String> = (0..50).map(|n| device.check_in(&format!("t{n}"))).collect();
    bed.file(&device, &records).await;
    bed.server.close().await;
    (folder, records[0].clone())
}

fn database(folder: &Path) -> std::path::PathBuf {
    folder.join("server.db")
}

#[tokio::test]
async fn what_was_answered_is_there_after_a_restart() {
    let (folder, record) = closed_folder().await;
    assert!(
        !folder.path().join("server.db-wal").exists(),
        "one file is left behind"
    );
    let server = open(folder.path()).await.unwrap();
    let venue = "museum-01".parse().unwrap();
    let pulled = server
        .pull(&venue, &pull_request(LogStream::Records, None, 1))
        .await
        .unwrap();
    assert_eq!(pulled.records[0].record.get(), record);
    assert_eq!(server.sessions(&venue, None).await.unwrap().len(), 3);
    assert!(server.made_master_key().is_none());
}

#[tokio::test]
async fn a_second_server_on_the_folder_is_refused_and_commands_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path()).await.unwrap();
    assert!(matches!(
        open(folder.path()).await,
        Err(OpenError::InUse(_))
    ));
    let key = MasterKeySource::File(folder.path().join("master.key"));
    let command = Server::open_for_commands(folder.path(), key, TestClock::new())
        .await
        .unwrap();
    let venue = "museum-01".parse::<stile_core::ids::VenueId>().unwrap();
    let policy = Default::default();
    command
        .create_venue(venue.clone(), "", "Asia/Shanghai", policy)
        .await
        .unwrap();
    command.close().await;
    assert!(
        first.venue(&venue).await.is_ok(),
        "the server sees what the command wrote"
    );
    first.close().await;
    drop(first);
    assert!(open(folder.path()).await.is_ok());
}

#[tokio::test]
async fn a_newer_schema_is_refused_untouched() {
    let (folder, _) = closed_folder().await;
    let path = database(folder.path());
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer
        .execute(
            "INSERT INTO refinery_schema_history SELECT 99, name, applied_on, checksum
             FROM refinery_schema_history LIMIT 1",
            [],
        )
        .unwrap();
    drop(newer);
    let before = fs::read(&path).unwrap();
    let refused = open(folder.path()).await;
    let Err(OpenError::Database(DatabaseError::Newer { found: 99, .. })) = refused else {
        panic!("it must be refused as newer");
    };
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_damaged_file_is_refused_untouched_and_says_so() {
    let (folder, _) = closed_folder().await;
    let path = database(folder.path());
    let good = fs::read(&path).unwrap();
    let mut torn = good.clone();
    torn.truncate(good.len() / 2);
    let mut header = good.clone();
    header[..100].fill(0x5A);
    let mut middle = good.clone();
    let half = good.len() / 2;
    middle[half..half + 20_000].fill(0x5A);
    for damaged in [torn, header, middle, b"no database".to_vec()] {
        fs::write(&path, &damaged).unwrap();
        let refused = open(folder.path())
            .await
            .err()
            .map(|error| error.to_string());
        assert!(
            refused
                .as_ref()
                .is_some_and(|text| text.contains("is damaged")),
            "{refused:?}"
        );
        assert_eq!(fs::read(&path).unwrap(), damaged);
    }
    fs::write(&path, &good).unwrap();
    assert!(open(folder.path()).await.is_ok());
}

#[tokio::test]
async fn another_programs_database_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("CREATE TABLE notes (text TEXT)")
        .unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    let refused = open(folder.path()).await;
    assert!(matches!(
        refused,
        Err(OpenError::Database(DatabaseError::Foreign(_)))
    ));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_start_that_was_cut_off_before_it_made_the_schema_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(database(folder.path()), b"").unwrap();
    assert!(open(folder.path()).await.is_ok());
}

#[tokio::test]
async fn the_master_key_is_made_once_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("master.key");
    let server = open(folder.path()).await.unwrap();
    assert_eq!(server.made_master_key(), Some(key.as_path()));
    let text = fs::read_to_string(&key).unwrap();
    assert_eq!(BASE64.decode(text.trim().as_bytes()).unwrap().len(), 32);
    assert_eq!(
        fs::metadata(&key).unwrap().permissions().mode() & 0o777,
        0o600
    );
    server.close().await;
    drop(server);
    let server = open(folder.path()).await.unwrap();
    assert_eq!(server.made_master_key(), None);
    assert_eq!(fs::read_to_string(&key).unwrap(), text);
}

#[tokio::test]
async fn a_wrong_or_missing_master_key_is_refused_and_nothing_is_changed() {
    let (folder, _) = closed_folder().await;
    let (path, key) = (database(folder.path()), folder.path().join("master.key"));
    let (before, good) = (fs::read(&path).unwrap(), fs::read_to_string(&key).unwrap());
    let wrong = |text: &str| MasterKeySource::Text(text.to_owned().into());
    let other_key = BASE64.encode(&[1; 32]);
    for (source, expected) in [
        (wrong(&other_key), "not the master key"),
        (wrong("c2hvcnQ="), "32 bytes in base64"),
        (wrong(""), "32 bytes in base64"),
    ] {
        let refused = Server::open(folder.path(), source, TestClock::new())
            .await
            .err()
            .unwrap();
        assert!(matches!(refused, OpenError::MasterKey(_)));
        assert!(refused.to_string().contains(expected), "{refused}");
        assert!(!refused.to_string().contains(&other_key));
    }
    fs::remove_file(&key).unwrap();
    let refused = open(folder.path()).await;
    assert!(matches!(
        refused,
        Err(OpenError::MasterKey(VaultError::Missing(_)))
    ));
    assert!(!key.exists(), "no new key is made over old secrets");
    fs::write(&key, &good).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = open(folder.path()).await;
    assert!(matches!(
        refused,
        Err(OpenError::MasterKey(VaultError::Readable(_)))
    ));
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(open(folder.path()).await.is_ok());
}

#[tokio::test]
async fn a_folder_that_cannot_be_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let refused = open(&file.join("data")).await.err().unwrap().to_string();
    assert!(refused.contains("file/data"), "{refused}");
}

#[tokio::test]
async fn another_version_of_the_program_gives_all_lists_their_next_version() {
    let (folder, _) = closed_folder().await;
    let path = database(folder.path());
    let (venue, day) = (stile_core::ids::VenueNumber(1), TODAY.parse().unwrap());
    let mut versions = Vec::new();
    for software in ["8.0.0", "8.0.0", "8.0.1"] {
        let store = SqliteStore::open(&path, software).unwrap();
        versions.push(
            store
                .list(venue, &day)
                .await
                .unwrap()
                .unwrap()
                .state()
                .version,
        );
        store.close().await;
    }
    assert_eq!(versions, [versions[0], versions[0], versions[0] + 1]);
}
