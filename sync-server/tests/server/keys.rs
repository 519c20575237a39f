//! Signing keys over a backup that was put back: no kid comes again, and none is lost unseen.

use std::path::Path;
use std::sync::Arc;

use stile_core::ids::Kid;
use stile_core::protocol::{SigningKeyState, SigningRole};
use stile_sync_server::key_backup::LastKeyBackup;
use stile_sync_server::server::{MasterKeySource, OpenError, Server};

use tempfile::TempDir;

use super::bed::{Bed, TestClock};

fn master_key(folder: &Path) -> MasterKeySource {
    MasterKeySource::File(folder.join("master.key"))
}

async fn open(folder: &Path, clock: &Arc<TestClock>) -> Result<Server, OpenError> {
    Server::open(folder, master_key(folder), clock.clone()).await
}

/// A venue with a device, and a copy of its data.
async fn copied() -> (Bed, TempDir) {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("data");
    let bed = Bed::in_folder(&folder).await;
    bed.enrol(1).await;
    Server::back_up(&folder, &around.path().join("copy")).unwrap();
    (bed, around)
}

/// Closes the server and puts a copy in place of its database.
async fn put_back(bed: Bed, folder: &Path, copy: &Path) -> Arc<TestClock> {
    let Bed { server, clock, .. } = bed;
    server.close().await;
    drop(server);
    clock.move_by(60_000);
    Server::restore(folder, copy, &master_key(folder), &*clock).unwrap();
    clock
}

#[tokio::test]
async fn kids_that_may_have_been_given_since_the_copy_are_left_out() {
    let (bed, around) = copied().await;
    let (folder, copy) = (around.path().join("data"), around.path().join("copy"));
    let venue = bed.venue.clone();
    let lost = bed.server.rotate_key(&venue, SigningRole::List).await;
    assert_eq!(lost.unwrap().kid.0, 2);
    let clock = put_back(bed, &folder, &copy).await;
    let server = open(&folder, &clock).await.unwrap();
    let first = server.rotate_key(&venue, SigningRole::List).await.unwrap();
    assert_eq!(first.kid.0, 10);
    clock.move_by(3_600_000);
    let second = server.rotate_key(&venue, SigningRole::List).await.unwrap();
    assert_eq!(second.kid.0, 11);
}

#[tokio::test]
async fn a_server_without_a_key_that_its_copy_lists_does_not_start_until_it_is_back() {
    let (bed, around) = copied().await;
    let (folder, copy) = (around.path().join("data"), around.path().join("copy"));
    let venue = bed.venue.clone();
    bed.server
        .rotate_key(&venue, SigningRole::Code)
        .await
        .unwrap();
    let keys = bed.server.key_backup(&master_key(&folder)).await.unwrap();
    LastKeyBackup::of(&keys, Path::new("/stick/keys"))
        .note(&folder)
        .unwrap();
    let clock = put_back(bed, &folder, &copy).await;
    let refused = open(&folder, &clock).await.err().unwrap().to_string();
    for said in ["code 2 of museum-01", "key restore /stick/keys"] {
        assert!(refused.contains(said), "{refused}");
    }
    let server = Server::open_for_commands(&folder, master_key(&folder), clock.clone());
    let server = server.await.unwrap();
    let done = server.put_secrets_back(&keys).await.unwrap();
    assert_eq!(done.added.len(), 1);
    server.close().await;
    drop(server);
    let server = open(&folder, &clock).await.unwrap();
    let keys = server.signing_keys(&venue).await.unwrap().keys;
    let codes = keys.iter().filter(|key| key.role == SigningRole::Code);
    let states: Vec<_> = codes.map(|key| (key.kid.0, key.state)).collect();
    // It comes next, as it did: gates that are away have not heard of it.
    let states_before = [(1, SigningKeyState::Signing), (2, SigningKeyState::Next)];
    assert_eq!(states, states_before);
}

#[tokio::test]
async fn a_key_that_was_revoked_stays_so_over_a_copy_from_before() {
    let (bed, around) = copied().await;
    let (folder, copy) = (around.path().join("data"), around.path().join("copy"));
    let venue = bed.venue.clone();
    let revoked = bed
        .server
        .revoke_signing_key(&venue, SigningRole::Code, Kid(1));
    assert_eq!(revoked.await.unwrap().signing.kid.0, 2);
    let keys = bed.server.key_backup(&master_key(&folder)).await.unwrap();
    let clock = put_back(bed, &folder, &copy).await;
    let server = open(&folder, &clock).await.unwrap();
    server.put_secrets_back(&keys).await.unwrap();
    let views = async || server.signing_keys(&venue).await.unwrap().keys;
    let codes = async || -> Vec<_> {
        let views = views().await.into_iter();
        let codes = views.filter(|key| key.role == SigningRole::Code);
        codes.map(|key| (key.kid.0, key.state)).collect()
    };
    let states = [(1, SigningKeyState::Revoked), (2, SigningKeyState::Signing)];
    assert_eq!(codes().await, states);
    // Again is as once.
    server.put_secrets_back(&keys).await.unwrap();
    assert_eq!(codes().await, states);
}

#[tokio::test]
async fn a_server_starts_after_the_key_that_came_next_was_revoked() {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("data");
    let bed = Bed::in_folder(&folder).await;
    bed.enrol(1).await;
    let venue = bed.venue.clone();
    for role in [SigningRole::Code, SigningRole::List] {
        bed.server.rotate_key(&venue, role).await.unwrap();
    }
    let keys = bed.server.key_backup(&master_key(&folder)).await.unwrap();
    LastKeyBackup::of(&keys, Path::new("/stick/keys"))
        .note(&folder)
        .unwrap();
    for role in [SigningRole::Code, SigningRole::List] {
        let revoked = bed.server.revoke_signing_key(&venue, role, Kid(2)).await;
        assert_eq!(revoked.unwrap().signing.kid.0, 1);
    }
    let Bed { server, clock, .. } = bed;
    server.close().await;
    drop(server);
    let server = open(&folder, &clock).await.unwrap();
    // What was destroyed with intent does not come back with the copy.
    let done = server.put_secrets_back(&keys).await.unwrap();
    assert_eq!(done.added, []);
    let keys = server.signing_keys(&venue).await.unwrap().keys;
    let second = keys.iter().filter(|key| key.kid.0 == 2);
    assert!(
        second
            .clone()
            .all(|key| key.state == SigningKeyState::Revoked)
    );
    assert_eq!(second.count(), 2);
}
