//! The disk under a gate: how long a check-in waits for it, and how much it still takes.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::statvfs;
use stile_core::journal::{ROOM_WANTED_BYTES, held_bytes};

use super::finding::Finding;

/// Writes that are measured: enough for a slowest of a hundred.
const WRITES: usize = 100;
/// One page of the journal.
const PAGE: [u8; 4096] = [0x5a; 4096];
/// All of them take no longer, on a card that is dying.
const AT_MOST: Duration = Duration::from_secs(20);

/// A visitor notices no wait so short, two syncs to an admission.
const GOOD_MEDIAN: Duration = Duration::from_millis(30);
/// A visitor waits, and the queue behind them.
const BAD_MEDIAN: Duration = Duration::from_millis(150);
/// One visitor in a hundred may wait so long.
const GOOD_P99: Duration = Duration::from_millis(150);
/// Beyond this the gate seems dead to one visitor in a hundred.
const BAD_P99: Duration = Duration::from_millis(1_000);

/// Room for a day's list, the one of tomorrow being built, and weeks of records, in bytes.
const GOOD_ROOM: u64 = 256 * 1024 * 1024;
/// Less, and no room is held for an hour of admissions.
const BAD_ROOM: u64 = ROOM_WANTED_BYTES;

/// Writes pages to a file of its own and waits for each.
pub(super) fn sync_time(data: &Path) -> Finding {
    match measure(data) {
        Ok(times) => judge_times(times),
        Err(error) => Finding::fail(
            "storage",
            format!("{}: {error}", data.display()),
            "make the folder writable for this user, or replace the card",
        ),
    }
}

fn measure(data: &Path) -> io::Result<Vec<Duration>> {
    let path = data.join("doctor.probe");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)?;
    let started = Instant::now();
    let mut times = Vec::with_capacity(WRITES);
    let mut write = || -> io::Result<()> {
        while times.len() < WRITES && started.elapsed() < AT_MOST {
            let begun = Instant::now();
            file.write_all(&PAGE)?;
            file.sync_data()?;
            times.push(begun.elapsed());
        }
        Ok(())
    };
    let written = write();
    // Also after a failure, so that nothing stays behind.
    fs::remove_file(&path)?;
    written.map(|()| times)
}

fn judge_times(mut times: Vec<Duration>) -> Finding {
    times.sort();
    let at = |percent: usize| {
        let place = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        times.get(place).copied().unwrap_or(AT_MOST)
    };
    let (median, p99) = (at(50), at(99));
    let what = format!(
        "4 KiB are on disk in {:.1} ms, the slowest of a hundred in {:.1} ms",
        median.as_secs_f64() * 1000.0,
        p99.as_secs_f64() * 1000.0
    );
    if median > BAD_MEDIAN || p99 > BAD_P99 {
        let todo = "replace the card, by an industrial one or an SSD: each admission waits for it";
        return Finding::fail("storage", what, todo);
    }
    if median > GOOD_MEDIAN || p99 > GOOD_P99 {
        return Finding::warn("storage", what, "a faster card would shorten the queue");
    }
    Finding::ok("storage", what)
}

/// How much the disk still takes, with what the gate holds of it.
pub(super) fn room(data: &Path) -> Finding {
    match statvfs(data) {
        Ok(disk) => judge_room(disk.f_bavail.saturating_mul(disk.f_frsize) + held_bytes(data)),
        Err(error) => Finding::fail("room", error.to_string(), "see to the data folder's disk"),
    }
}

fn judge_room(free: u64) -> Finding {
    let what = format!("{} MiB free", free / (1024 * 1024));
    match free {
        GOOD_ROOM.. => Finding::ok("room", what),
        BAD_ROOM.. => Finding::warn("room", what, "delete what is not the gate's"),
        _ => Finding::fail(
            "room",
            what,
            "delete what is not the gate's: refusals are no longer stored, and soon nobody is admitted",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;

    fn grade(median_ms: u64, slowest_ms: u64) -> Grade {
        let mut times = vec![Duration::from_millis(median_ms); 99];
        times.push(Duration::from_millis(slowest_ms));
        judge_times(times).grade
    }

    #[test]
    fn a_disk_is_judged_by_its_median_and_by_its_slowest() {
        assert_eq!(grade(2, 20), Grade::Ok);
        assert_eq!(grade(40, 60), Grade::Warn);
        assert_eq!(grade(2, 300), Grade::Warn);
        assert_eq!(grade(200, 200), Grade::Fail);
        assert_eq!(grade(2, 2_000), Grade::Fail);
        assert_eq!(judge_times(Vec::new()).grade, Grade::Fail);
    }

    #[test]
    fn little_room_is_said_before_it_is_too_little() {
        assert_eq!(judge_room(GOOD_ROOM).grade, Grade::Ok);
        assert_eq!(judge_room(GOOD_ROOM - 1).grade, Grade::Warn);
        assert_eq!(judge_room(BAD_ROOM - 1).grade, Grade::Fail);
    }

    #[test]
    fn measuring_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        assert_ne!(sync_time(folder.path()).what, "");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let nowhere = sync_time(&folder.path().join("nowhere"));
        assert_eq!(nowhere.grade, Grade::Fail);
    }
}
