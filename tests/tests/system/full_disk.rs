//! Disks that are full, really: a small tmpfs under a gate's or the server's folder. Needs root;
//! elsewhere the tests say that they were skipped.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use stile_core::reason::Reason;
use stile_tests::gate::Gate;
use stile_tests::museum::{Museum, SPARE, wait_for_today};
use stile_tests::programs::wait_until;

use crate::house::House;

/// Readings after which a full disk must have been noticed.
const ENOUGH: usize = 400;
/// Readings that are no codes, few enough that each has a record.
const NOISE: u64 = 50;

/// A small file system of its own; unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one over a folder, or says loudly why it cannot.
    fn over(folder: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(folder).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder)
            .output();
        match mount {
            Ok(output) if output.status.success() => Some(Self(folder.to_owned())),
            other => {
                let why = match other {
                    Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                    Err(error) => error.to_string(),
                };
                // Not by eprintln!, which tests that pass keep to themselves.
                let _ = writeln!(
                    std::io::stderr(),
                    "\nSKIPPED: a full disk cannot be tested here, since no tmpfs can be mounted: {why}\n"
                );
                None
            }
        }
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let mut filler = File::create(self.filler()).unwrap();
        let page = [0; 4096];
        while filler.write_all(&page).is_ok() {}
        while filler.write_all(&[0]).is_ok() {}
    }

    /// Makes room again.
    fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            let _ = writeln!(std::io::stderr(), "{} is still mounted", self.0.display());
        }
    }
}

#[test]
fn a_gate_with_a_full_disk_stays_shut_and_comes_back_by_itself() {
    let mut house = House::open(2_500);
    let data = house.museum.folder.join(SPARE.id);
    let Some(disk) = SmallDisk::over(&data, "4m") else {
        return;
    };
    let invitation = house.museum.invite(SPARE).unwrap();
    let mut gate = Gate::enrol(&data, &invitation, SPARE.id).unwrap();
    gate.start().unwrap();
    wait_for_today(&gate, &house.day.timetable).unwrap();
    let mut codes = house.codes(ENOUGH).into_iter();
    assert!(gate.scan(&codes.next().unwrap()).unwrap().opens);

    disk.fill();
    let refused = codes.by_ref().find(|code| {
        let said = gate.scan(code).unwrap();
        // Either the check-in is on disk and the gate opens, or it is not and stays shut.
        assert_eq!(said.opens, said.record_id.is_some(), "{said:?}");
        assert!(
            said.opens || said.reason == Some(Reason::StoreUnavailable),
            "{said:?}"
        );
        !said.opens
    });
    let refused = refused.expect("the full disk was noticed");

    disk.free();
    wait_until("the gate admits again", Duration::from_secs(30), || {
        Ok(gate.scan(&refused)?.opens)
    })
    .unwrap();
    assert!(gate.scan(&codes.next().unwrap()).unwrap().opens);
    gate_has_arrived(&house.museum, &gate);
    gate.stop().unwrap();
}

#[test]
fn a_server_with_a_full_disk_says_so_and_gates_keep_what_they_have() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::over(&folder.path().join("museum"), "24m") else {
        return;
    };
    let (museum, day) = Museum::open(&folder.path().join("museum"), 300, 1).unwrap();
    // The gate's own disk has room.
    let text = museum.invite(SPARE).unwrap();
    let mut gate = Gate::enrol(&folder.path().join("gate"), &text, SPARE.id).unwrap();
    gate.start().unwrap();
    wait_for_today(&gate, &day.timetable).unwrap();
    gate.scan("before").unwrap();
    wait_until("it has gone up", Duration::from_secs(30), || {
        Ok(gate.status()?.unsent == 0)
    })
    .unwrap();

    disk.fill();
    let is_ready = || -> anyhow::Result<bool> {
        let answer = museum
            .api
            .http()
            .get(format!("{}/readyz", museum.server.url()))
            .send()?;
        Ok(answer.status().is_success())
    };
    wait_until(
        "the server says that it cannot store",
        Duration::from_secs(30),
        || Ok(!is_ready()?),
    )
    .unwrap();
    // Noise has a record each up to sixty a minute; more would only be counted.
    for reading in 0..NOISE {
        gate.scan(&format!("while full {reading}")).unwrap();
    }
    let status = gate.status().unwrap();
    assert_eq!(status.records, NOISE + 1);
    assert!(
        status.unsent > 0 && status.stuck == 0 && status.quarantined == 0,
        "{status:?}"
    );

    disk.free();
    wait_until(
        "the server can store again",
        Duration::from_secs(30),
        is_ready,
    )
    .unwrap();
    // Started anew, the gate does not sit out its wait.
    gate.stop().unwrap();
    gate.start().unwrap();
    gate_has_arrived(&museum, &gate);
    gate.stop().unwrap();
    drop(museum);
}

/// The gate's journal and the log are the same, record by record.
fn gate_has_arrived(museum: &Museum, gate: &Gate) {
    use stile_tests::api::Stream;
    use stile_tests::comparison::Comparison;
    stile_tests::museum::wait_until_drained(&[gate]).unwrap();
    let (log, _) = museum.api.pull_all(Stream::Records, 100).unwrap();
    let journal = stile_tests::journal::read(gate.data()).unwrap();
    let found = Comparison::of(&[journal], &[&gate.heard], &log).unwrap();
    assert!(found.is_whole(), "{found}");
}
