//! `stile-server backup` and `restore`: a copy of a working server, and the way back.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::{add_venue, stile_server};

fn venues(data: &Path) -> String {
    String::from_utf8(stile_server(data, &["venue", "show"]).stdout).unwrap()
}

fn stderr(said: &Output) -> String {
    String::from_utf8_lossy(&said.stderr).into_owned()
}

/// A server's folder with one venue, a copy of its database, and a second venue since.
struct Site {
    folder: tempfile::TempDir,
    data: PathBuf,
    copy: PathBuf,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (data, copy) = (folder.path().join("data"), folder.path().join("copy.db"));
        add_venue(&data, "museum-01");
        let said = stile_server(&data, &["backup", copy.to_str().unwrap()]);
        assert!(said.status.success(), "{}", stderr(&said));
        add_venue(&data, "museum-02");
        Self { folder, data, copy }
    }

    fn restore(&self, data: &Path) -> Output {
        stile_server(data, &["restore", self.copy.to_str().unwrap()])
    }
}

fn generation(said: &Output) -> u64 {
    let text = String::from_utf8_lossy(&said.stdout);
    text.trim()
        .strip_prefix("generation ")
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_copy_is_its_owners_alone_and_takes_no_other_files_place() {
    let site = Site::new();
    let mode = fs::metadata(&site.copy).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = fs::read(&site.copy).unwrap();
    let again = stile_server(&site.data, &["backup", site.copy.to_str().unwrap()]);
    assert!(!again.status.success());
    assert!(
        stderr(&again).contains("is there already"),
        "{}",
        stderr(&again)
    );
    assert!(fs::read(&site.copy).unwrap() == before);
}

#[test]
fn what_was_put_back_is_what_was_copied_and_what_was_there_is_kept() {
    let site = Site::new();
    let said = site.restore(&site.data);
    assert!(said.status.success(), "{}", stderr(&said));
    assert!(venues(&site.data).contains("museum-01"));
    assert!(!venues(&site.data).contains("museum-02"));
    assert!(site.data.join("server.replaced-1.db").exists());

    let again = site.restore(&site.data);
    assert!(
        generation(&again) > generation(&said),
        "each time under a generation that was never there"
    );
    assert!(site.data.join("server.replaced-2.db").exists());
}

#[test]
fn a_copy_goes_back_into_an_empty_folder_with_its_key_and_not_without() {
    let site = Site::new();
    let new = site.folder.path().join("new");
    let said = site.restore(&new);
    assert!(!said.status.success());
    assert!(stderr(&said).contains("master"), "{}", stderr(&said));
    assert!(!new.join("server.db").exists());
    fs::copy(site.data.join("master.key"), new.join("master.key")).unwrap();
    assert!(site.restore(&new).status.success());
    assert!(venues(&new).contains("museum-01"));

    let other = site.folder.path().join("other");
    add_venue(&other, "zoo");
    let said = site.restore(&other);
    assert!(!said.status.success(), "another server's key opens it");
    assert!(venues(&other).contains("zoo"));
}

#[test]
fn a_copy_that_is_none_or_is_cut_off_changes_nothing() {
    let site = Site::new();
    let whole = fs::read(&site.copy).unwrap();
    for bad in [
        &b"not a database at all, but long enough to be looked at"[..],
        &whole[..whole.len() / 2],
    ] {
        fs::write(&site.copy, bad).unwrap();
        let said = site.restore(&site.data);
        assert!(!said.status.success());
        assert!(stderr(&said).contains("copy.db"), "{}", stderr(&said));
        assert!(venues(&site.data).contains("museum-02"));
        assert!(!site.data.join("server.replaced-1.db").exists());
    }
    fs::remove_file(&site.copy).unwrap();
    assert!(!site.restore(&site.data).status.success());
}

#[test]
fn where_there_is_no_server_there_is_nothing_to_copy() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("copy.db");
    let said = stile_server(
        &folder.path().join("data"),
        &["backup", out.to_str().unwrap()],
    );
    assert!(!said.status.success());
    assert!(!out.exists());
}
