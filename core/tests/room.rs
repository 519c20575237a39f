//! Room on disk: refusals in masses, a disk that fills, and what somebody is told before.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use common::at_gate::{AtGate, exported, give_day, reason};
use common::{NINE, Venue, id};
use stile_core::device::Device;
use stile_core::journal::{LOW_BYTES, RESERVE_BYTES, RoomWarning};
use stile_core::reason::Reason;
use stile_core::time::EpochSeconds;

fn of_kind<'a>(
    records: &'a [serde_json::Value],
    kind: &'a str,
) -> impl Iterator<Item = &'a serde_json::Value> {
    records.iter().filter(move |record| record["kind"] == kind)
}

/// Shows `count` texts that are no codes, all within a second.
fn noise(device: &Device, count: u32) {
    for n in 0..count {
        let outcome = device.scan(format!("noise {n}").as_bytes());
        assert_eq!(reason(&outcome.verdict), Some(Reason::Malformed));
    }
}

#[test]
fn situation_31_refusals_above_sixty_a_minute_are_one_counted_record() {
    let gate = AtGate::new();
    let device = gate.ready();
    noise(&device, 1_000);
    assert!(device.scan(&gate.g2(0)).opens, "in between, as ever");
    gate.platform.pass_ms(60_000);
    device.maintain().unwrap();
    let records = exported(&device);
    assert_eq!(of_kind(&records, "scan").count(), 61);
    let counted: Vec<_> = of_kind(&records, "refusals").collect();
    assert_eq!(counted.len(), 1);
    assert_eq!(
        (&counted[0]["reason"], &counted[0]["count"]),
        (&"malformed".into(), &940.into())
    );
    assert_eq!(counted[0]["minute"], NINE * 1000);
    noise(&device, 1);
    assert_eq!(
        of_kind(&exported(&device), "scan").count(),
        62,
        "a new minute"
    );
}

#[test]
fn counts_are_per_reason_and_a_device_that_is_closed_loses_none() {
    let gate = AtGate::new();
    let device = gate.ready();
    noise(&device, 100);
    let code = gate.venue.g2(&gate.tickets[0], NINE);
    for place in 60..65 {
        let mut forged = code.clone().into_bytes();
        forged[place] = if forged[place] == b'A' { b'B' } else { b'A' };
        let outcome = device.scan(&forged);
        assert_eq!(reason(&outcome.verdict), Some(Reason::BadSignature));
    }
    drop(device);
    let device = gate.open();
    let records = exported(&device);
    let total = |reason: &str| {
        let counted = of_kind(&records, "refusals").filter(|one| one["reason"] == reason);
        counted
            .map(|one| one["count"].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(total("malformed"), 40);
    assert!(
        total("bad_signature") + total("malformed") > 40,
        "{records:?}"
    );
}

#[test]
fn refusals_that_name_a_listed_ticket_have_a_record_each() {
    let gate = AtGate::new();
    let device = gate.ready();
    assert!(device.scan(&gate.g2(0)).opens);
    for _ in 0..70 {
        gate.platform.boot_ms.fetch_add(3_000, Ordering::SeqCst);
        let again = device.scan(&gate.g2(0));
        assert_eq!(reason(&again.verdict), Some(Reason::AlreadyUsed));
        assert!(again.record_id.is_some());
    }
}

#[test]
fn room_for_an_hour_is_held_from_the_first_start_and_somebody_is_told_when_it_grows_short() {
    let gate = AtGate::new();
    let device = gate.ready();
    let reserve = gate.folder.path().join("reserve");
    assert_eq!(fs::metadata(&reserve).unwrap().len(), RESERVE_BYTES);
    let room = || device.live_status().room;
    assert_eq!((room().reserved, room().warning), (true, None));
    *gate.platform.free_bytes.lock().unwrap() = Some(LOW_BYTES - 1);
    assert_eq!(room().warning, Some(RoomWarning::Low));
    *gate.platform.free_bytes.lock().unwrap() = Some(LOW_BYTES);
    assert_eq!(room().warning, None);
}

#[test]
fn old_lists_go_first_when_the_disk_is_nearly_full() {
    let gate = AtGate::new();
    let device = gate.ready();
    let rows = Venue::rows(&gate.tickets);
    let mut yesterday = gate.venue.manifest(1, &rows);
    yesterday.service_day = id("2026-09-30");
    for at in [&mut yesterday.day_from, &mut yesterday.day_until] {
        *at = EpochSeconds(at.0 - 86_400);
    }
    give_day(&device, "2026-09-30", &gate.venue.stream(&yesterday, &rows)).unwrap();
    device.maintain().unwrap();
    assert_eq!(device.live_status().lists.len(), 2);
    *gate.platform.free_bytes.lock().unwrap() = Some(LOW_BYTES - 1);
    device.maintain().unwrap();
    let lists = device.live_status().lists;
    assert_eq!(lists.len(), 1);
    assert_eq!(lists[0].service_day, id("2026-10-01"));
    assert!(device.scan(&gate.g2(0)).opens);
}

#[test]
fn where_there_is_no_room_to_hold_nothing_is_taken_and_the_status_says_so() {
    let gate = AtGate::new();
    *gate.platform.free_bytes.lock().unwrap() = Some(RESERVE_BYTES);
    let device = gate.ready();
    assert!(!gate.folder.path().join("reserve").exists());
    assert_eq!(
        device.live_status().room.warning,
        Some(RoomWarning::LastHour)
    );
    assert!(
        device.scan(&gate.g2(0)).opens,
        "an admission takes what there is"
    );
    let refused = device.scan(b"noise");
    assert_eq!(reason(&refused.verdict), Some(Reason::Malformed));
    assert_eq!(refused.record_id, None, "a refusal does not");
    *gate.platform.free_bytes.lock().unwrap() = None;
    gate.platform.pass_ms(60_000);
    device.maintain().unwrap();
    assert!(device.live_status().room.reserved);
    let records = exported(&device);
    assert_eq!(of_kind(&records, "refusals").next().unwrap()["count"], 1);
}

/// Counts the claims, and answers none.
#[derive(Default)]
struct Asked(std::sync::atomic::AtomicU32);

impl stile_core::device::Asker for Asked {
    fn claim(
        &self,
        _: &stile_core::protocol::ClaimRequest,
        _: u32,
    ) -> Option<stile_core::protocol::ClaimAnswer> {
        self.0.fetch_add(1, Ordering::SeqCst);
        None
    }

    fn verify(
        &self,
        _: &stile_core::protocol::VerifyRequest,
        _: u32,
    ) -> Option<stile_core::protocol::VerifyAnswer> {
        None
    }
}

/// A small file system of its own; unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn over(folder: &Path, bytes: u64) -> Option<Self> {
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"])
            .arg(folder)
            .output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder.to_owned()));
        }
        // Not by eprintln!, which tests that pass keep to themselves.
        let _ = writeln!(
            std::io::stderr(),
            "\nSKIPPED: a full disk cannot be tested here, since no tmpfs can be mounted\n"
        );
        None
    }

    fn fill(&self) {
        let mut filler = File::create(self.0.join("filler")).unwrap();
        while filler.write_all(&[0; 4096]).is_ok() {}
        while filler.write_all(&[0]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn situation_14_a_full_disk_still_has_room_for_admissions_and_says_so() {
    let mut gate = AtGate::new();
    let venue = Venue::new();
    gate.tickets = (0..620).map(|n| venue.ticket(&format!("T{n}"))).collect();
    let identity = fs::read(gate.folder.path().join("identity.json")).unwrap();
    let Some(disk) = SmallDisk::over(gate.folder.path(), RESERVE_BYTES * 2) else {
        return;
    };
    fs::write(gate.folder.path().join("identity.json"), identity).unwrap();
    gate.platform = Arc::new(common::TestPlatform::at(NINE));
    gate.platform.real_disk.store(true, Ordering::SeqCst);
    let device = gate.ready();
    assert!(device.live_status().room.reserved);
    disk.fill();
    *gate.platform.free_bytes.lock().unwrap() = Some(0);
    // More than the log's file was made for at start.
    for ticket in 0..600 {
        assert!(device.scan(&gate.g2(ticket)).opens, "ticket {ticket}");
        gate.platform.pass_ms(10);
    }
    let room = device.live_status().room;
    assert_eq!(
        (room.reserved, room.warning),
        (false, Some(RoomWarning::LastHour))
    );
    let refused = device.scan(b"noise");
    assert_eq!(reason(&refused.verdict), Some(Reason::Malformed));
    assert_eq!(refused.record_id, None, "what is left is for admissions");
    assert_eq!(exported(&device).len(), 600, "and all of them are there");

    // To the very end: then the gate stays shut, and nothing that it said is lost.
    disk.fill();
    let mut opened = 600;
    for ticket in 600..620 {
        let outcome = device.scan(&gate.g2(ticket));
        assert_eq!(outcome.opens, outcome.record_id.is_some());
        opened += usize::from(outcome.opens);
        if !outcome.opens {
            assert_eq!(reason(&outcome.verdict), Some(Reason::StoreUnavailable));
        }
    }
    assert!(opened < 620, "the end was reached");
    assert_eq!(exported(&device).len(), opened);

    // Nor does it claim what it cannot write: the visitor is sent to another gate.
    let asked = Arc::new(Asked::default());
    device.set_asker(asked.clone());
    device.set_reachable(true);
    for ticket in 615..620 {
        assert!(!device.scan(&gate.g2(ticket)).opens);
    }
    assert_eq!(asked.0.load(Ordering::SeqCst), 0);
    fs::remove_file(gate.folder.path().join("filler")).unwrap();
    assert!(device.scan(&gate.g2(619)).opens);
    assert_eq!(
        asked.0.load(Ordering::SeqCst),
        1,
        "as before, once there is room"
    );
}

#[test]
fn situation_14_a_gate_that_starts_on_a_full_disk_gives_its_room_back_and_admits() {
    let mut gate = AtGate::new();
    let identity = fs::read(gate.folder.path().join("identity.json")).unwrap();
    let Some(disk) = SmallDisk::over(gate.folder.path(), RESERVE_BYTES * 2) else {
        return;
    };
    fs::write(gate.folder.path().join("identity.json"), identity).unwrap();
    gate.platform = Arc::new(common::TestPlatform::at(NINE));
    gate.platform.real_disk.store(true, Ordering::SeqCst);
    drop(gate.ready());
    disk.fill();
    *gate.platform.free_bytes.lock().unwrap() = Some(0);
    let device = gate.open();
    assert!(device.scan(&gate.g2(0)).opens);
    let warning = device.live_status().room.warning;
    assert_eq!(warning, Some(RoomWarning::LastHour));
}
