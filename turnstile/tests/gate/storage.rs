//! What is announced is on disk: crashes, full disks, damaged and newer files.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::fake_server::{Behaviour, FakeServer};
use crate::common::process::{Running, Scene, call, error_of, text_of};
use crate::common::venue::Venue;
use stile_core::protocol::Code;

fn id_of(record: &str) -> String {
    let record: Value = serde_json::from_str(record).unwrap();
    record["id"].as_str().unwrap().to_owned()
}

#[test]
fn sigkill_between_scans_keeps_every_announced_admission_and_admits_nobody_twice() {
    let scene = Scene::new();
    scene.server.behave(Behaviour::Hangs);
    let mut announced = BTreeSet::new();
    for n in 0..5 {
        let mut gate = scene.place.run(&[]);
        let admitted = gate.scan(&scene.code(n));
        assert_eq!(admitted["verdict"], "admit", "{admitted}");
        announced.insert(admitted["record_id"].as_str().unwrap().to_owned());
        for used in 0..n {
            assert_eq!(gate.scan(&scene.code(used))["reason"], "already_used");
        }
        gate.kill();
        let kept: BTreeSet<_> = scene.place.all_records().iter().map(|r| id_of(r)).collect();
        assert!(announced.is_subset(&kept));
    }
    scene.server.behave(Behaviour::Right);
    let gate = scene.place.run(&[]);
    crate::common::process::eventually("the outbox is empty", || scene.place.unsent().is_empty());
    gate.terminate();
    let filed: BTreeSet<_> = scene.server.records().values().map(|r| id_of(r)).collect();
    let kept: BTreeSet<_> = scene.place.all_records().iter().map(|r| id_of(r)).collect();
    assert_eq!(filed, kept, "nothing lost, nothing doubled");
}

#[test]
fn a_sigkill_in_the_midst_of_a_rush_loses_nothing_that_was_said() {
    let scene = Scene::new();
    for _ in 0..3 {
        let mut gate = scene.place.run(&[]);
        for n in 0..10 {
            gate.type_line(&scene.code(n));
        }
        let said: Vec<_> = (0..4).map(|_| gate.verdict()).collect();
        gate.kill();
        let kept: BTreeSet<_> = scene.place.all_records().iter().map(|r| id_of(r)).collect();
        for verdict in said {
            let id = verdict["record_id"].as_str().unwrap();
            assert!(kept.contains(id), "{verdict}");
        }
    }
    let admissions = scene.place.all_records();
    let admitted: Vec<_> = admissions
        .iter()
        .map(|record| serde_json::from_str::<Value>(record).unwrap())
        .filter(|record| record["verdict"] == "admit")
        .map(|record| record["ticket_id"].as_str().unwrap().to_owned())
        .collect();
    let once: BTreeSet<_> = admitted.iter().collect();
    assert_eq!(once.len(), admitted.len(), "each ticket at most once");
}

/// A small disk of its own, unmounted when dropped; none unless this is root.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(options: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(folder.path())
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(folder)),
            _ => {
                eprintln!("SKIPPED: no right to mount a small disk; run the tests as root");
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        let mut command = Command::new("mount");
        command.args(["-o", &options]).arg(self.path());
        assert!(command.status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
}

#[test]
fn a_full_disk_keeps_the_gate_shut_and_space_opens_it_again() {
    let Some(disk) = SmallDisk::mount("size=6m") else {
        return;
    };
    let venue = Venue::new();
    let tickets: Vec<_> = (0..400).map(|n| venue.ticket(&format!("F{n}"))).collect();
    let server = FakeServer::start(venue);
    server.put_list(1, &tickets);
    let data = disk.path().join("data");
    let output = call(&data, &["enrol", &server.enrolment_text()]);
    assert!(output.status.success(), "{}", error_of(&output));
    let log = tempfile::NamedTempFile::new().unwrap();
    let relay = format!("log:{}", log.path().display());
    let arguments = ["run", "--json", "--relay", &relay, "--hold-ms", "1"];
    let mut gate = Running::start(&data, &arguments);
    let code = |n: usize| server.books.venue.g2(&tickets[n], server.now_s());

    assert_eq!(gate.scan(&code(0))["verdict"], "admit");
    let filler = disk.path().join("filler");
    fill(&filler);
    let mut said = vec![0];
    let mut next = 1;
    let refused = loop {
        let verdict = gate.scan(&code(next));
        if verdict["verdict"] == "refuse" {
            break verdict;
        }
        said.push(next);
        next += 1;
    };
    assert_eq!(refused["reason"], "store_unavailable");
    assert_eq!(refused["opens"], false);
    assert_eq!(
        refused["sentence"]["zh-CN"],
        "闸机无法保存记录，请联系工作人员。"
    );
    fs::remove_file(&filler).unwrap();
    let again = gate.scan(&code(next));
    assert_eq!(again["verdict"], "admit", "{again}");
    said.push(next);
    assert!(gate.terminate().success());
    let opens = fs::read_to_string(log.path()).unwrap();
    assert_eq!(opens.matches(" open").count(), said.len());
    let journal = rusqlite::Connection::open(data.join("journal.db")).unwrap();
    let admissions: usize = journal
        .query_row("SELECT count(*) FROM admission", [], |row| row.get(0))
        .unwrap();
    assert_eq!(
        admissions,
        said.len(),
        "every opening is on disk, and nothing else"
    );
}

#[test]
fn a_read_only_folder_is_a_clear_error_with_code_5() {
    let Some(disk) = SmallDisk::mount("size=4m") else {
        return;
    };
    let server = FakeServer::start(Venue::new());
    let data = disk.path().join("data");
    assert!(
        call(&data, &["enrol", &server.enrolment_text()])
            .status
            .success()
    );
    disk.remount("ro");
    let output = call(&data, &["run"]);
    assert_eq!(output.status.code(), Some(5));
    assert!(
        error_of(&output).contains("Read-only file system"),
        "{}",
        error_of(&output)
    );
    let other = disk.path().join("other");
    let output = call(&other, &["enrol", &server.enrolment_text()]);
    assert_eq!(output.status.code(), Some(5));
    assert!(error_of(&output).contains("Read-only file system"));
    disk.remount("rw");
}

#[test]
fn situation_17_a_journal_of_a_newer_version_is_refused_untouched_with_code_6() {
    let scene = Scene::new();
    let path = scene.place.data().join("journal.db");
    let journal = rusqlite::Connection::open(&path).unwrap();
    let newer = "INSERT INTO refinery_schema_history VALUES (999, 'later', '', '')";
    journal.execute(newer, []).unwrap();
    drop(journal);
    let before = fs::read(&path).unwrap();
    for arguments in [&["run"][..], &["status"], &["export"], &["explain", "X"]] {
        let output = scene.place.call(arguments);
        assert_eq!(output.status.code(), Some(6), "{arguments:?}");
        assert!(error_of(&output).contains("install the newer version again"));
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_damaged_journal_is_exported_kept_aside_and_told_at_the_start() {
    let scene = Scene::new();
    scene
        .server
        .behave(Behaviour::Problem(Code::StoreUnavailable));
    let mut gate = scene.place.run(&[]);
    for n in 0..10 {
        gate.scan(&scene.code(n));
    }
    gate.kill();
    // Fold the log into the file, then ruin one of its pages.
    let path = scene.place.data().join("journal.db");
    let journal = rusqlite::Connection::open(&path).unwrap();
    let fold = "PRAGMA wal_checkpoint(TRUNCATE)";
    journal.query_row(fold, [], |_| Ok(())).unwrap();
    let page: u64 = journal
        .query_row(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'admission'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    drop(journal);
    let whole = scene.place.unsent();
    let mut bytes = fs::read(&path).unwrap();
    let at = usize::try_from((page - 1) * 4096).unwrap();
    bytes[at..at + 4096].fill(0xA5);
    fs::write(&path, bytes).unwrap();

    let output = scene.place.call(&["export"]);
    assert!(output.status.success(), "{}", error_of(&output));
    assert_eq!(text_of(&output).lines().collect::<Vec<_>>(), whole);
    // Nobody tells the time now: the clock is one of the things saved.
    scene.server.behave(Behaviour::Hangs);
    let mut gate = scene.place.run(&[]);
    let salvaged = gate.event("journal_salvaged");
    assert_eq!(salvaged["records"], 10);
    let aside = salvaged["kept_aside"].as_str().unwrap();
    assert!(Path::new(aside).exists());
    assert_eq!(gate.scan(&scene.code(0))["reason"], "already_used");
    gate.terminate();
    let exported = text_of(&scene.place.call(&["export"]));
    assert_eq!(exported.lines().count(), whole.len() + 1);
}

#[test]
fn a_damaged_identity_is_named_and_the_records_are_read_out_without_it() {
    let scene = Scene::new();
    scene
        .server
        .behave(Behaviour::Problem(Code::StoreUnavailable));
    let mut gate = scene.place.run(&[]);
    gate.scan(&scene.code(0));
    gate.terminate();
    let records = scene.place.unsent();
    let identity = scene.place.data().join("identity.json");
    let whole = fs::read(&identity).unwrap();
    fs::write(&identity, &whole[..whole.len() / 2]).unwrap();
    let output = scene.place.call(&["run"]);
    assert_eq!(output.status.code(), Some(5));
    let said = error_of(&output);
    assert!(said.contains("identity.json is damaged"), "{said}");
    assert!(
        said.contains("`stile-gate export` reads the records out without it"),
        "{said}"
    );
    let exported = text_of(&scene.place.call(&["export"]));
    assert_eq!(exported.lines().collect::<Vec<_>>(), records);
}
