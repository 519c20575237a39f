//! The disk under a server: whether its folder can be written and by whom, how long an answer waits
//! for the disk, and how much it still takes.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

use super::finding::Finding;

/// Writes that are measured: enough for a slowest of a hundred.
const WRITES: usize = 100;
/// One page of the database.
const PAGE: [u8; 4096] = [0x5a; 4096];
/// All of them take no longer, on a disk that is dying.
const AT_MOST: Duration = Duration::from_secs(20);

/// A gate that asks before it opens notices no wait so short.
const GOOD_MEDIAN: Duration = Duration::from_millis(20);
/// Gates give up asking and decide alone.
const BAD_MEDIAN: Duration = Duration::from_millis(200);
/// One answer in a hundred may wait so long.
const GOOD_P99: Duration = Duration::from_millis(200);
/// One upload in a hundred stands still.
const BAD_P99: Duration = Duration::from_millis(2_000);

/// Room for a season of records, for a ticket file that is being read, and for a backup, in bytes.
const GOOD_ROOM: u64 = 1024 * MIB;
/// A day at a large venue, in bytes. At 8 MiB the server takes nothing any more.
const BAD_ROOM: u64 = 64 * MIB;
const MIB: u64 = 1024 * 1024;

pub(super) fn findings(data: &Path) -> Vec<Finding> {
    vec![owner(data), sync_time(data), room(data)]
}

/// A file that root has made is one that the server's user cannot write.
fn owner(data: &Path) -> Finding {
    let look = || -> io::Result<Finding> {
        let mut files = Vec::new();
        for entry in fs::read_dir(data)? {
            let entry = entry?;
            files.push((entry.path(), entry.metadata()?.uid()));
        }
        Ok(judge_owners(data, fs::metadata(data)?.uid(), &files))
    };
    look().unwrap_or_else(|error| {
        let what = format!("{}: {error}", data.display());
        Finding::fail("data", what, "run this as the server's user")
    })
}

fn judge_owners(data: &Path, owner: u32, files: &[(PathBuf, u32)]) -> Finding {
    match files.iter().find(|(_, uid)| *uid != owner) {
        None => Finding::ok("data", format!("{}: all of one user", data.display())),
        Some((other, _)) => Finding::fail(
            "data",
            format!(
                "{} belongs to another user than its folder",
                other.display()
            ),
            "stop the server, chown -R the folder to its user, and run commands as that user",
        ),
    }
}

/// Writes pages to a file of its own and waits for each.
fn sync_time(data: &Path) -> Finding {
    match measure(data) {
        Ok(times) => judge_times(times),
        Err(error) => Finding::fail(
            "storage",
            format!("{}: {error}", data.display()),
            "make the folder writable for the server's user, or replace the disk",
        ),
    }
}

fn measure(data: &Path) -> io::Result<Vec<Duration>> {
    let path = data.join("doctor.probe");
    let mut options = OpenOptions::new();
    let mut file = options
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
        let todo = "replace the disk, by an SSD: every answer to a gate waits for it";
        return Finding::fail("storage", what, todo);
    }
    if median > GOOD_MEDIAN || p99 > GOOD_P99 {
        return Finding::warn("storage", what, "an SSD would answer gates sooner");
    }
    Finding::ok("storage", what)
}

fn room(data: &Path) -> Finding {
    match statvfs(data) {
        Ok(disk) => judge_room(disk.f_bavail.saturating_mul(disk.f_frsize)),
        Err(error) => Finding::fail("room", error.to_string(), "see to the data folder's disk"),
    }
}

fn judge_room(free: u64) -> Finding {
    let what = format!("{} MiB free", free / MIB);
    match free {
        GOOD_ROOM.. => Finding::ok("room", what),
        BAD_ROOM.. => Finding::warn(
            "room",
            what,
            "delete what is not the server's, or enlarge the disk",
        ),
        _ => Finding::fail(
            "room",
            what,
            "delete what is not the server's: soon it takes no check-ins, which then wait at the gates",
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
        assert_eq!(grade(300, 300), Grade::Fail);
        assert_eq!(grade(2, 3_000), Grade::Fail);
        assert_eq!(judge_times(Vec::new()).grade, Grade::Fail);
    }

    #[test]
    fn a_file_that_root_has_made_is_found() {
        let data = Path::new("/data");
        let mut files = vec![(data.join("server.db"), 900)];
        assert_eq!(judge_owners(data, 900, &files).grade, Grade::Ok);
        files.push((data.join("server.db-wal"), 0));
        let found = judge_owners(data, 900, &files);
        assert_eq!(found.grade, Grade::Fail);
        assert!(found.what.contains("server.db-wal"));
    }

    #[test]
    fn little_room_is_said_before_it_is_too_little() {
        assert_eq!(judge_room(GOOD_ROOM).grade, Grade::Ok);
        assert_eq!(judge_room(GOOD_ROOM - 1).grade, Grade::Warn);
        assert_eq!(judge_room(BAD_ROOM - 1).grade, Grade::Fail);
    }

    #[test]
    fn looking_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(findings(folder.path()).len(), 3);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let nowhere = sync_time(&folder.path().join("nowhere"));
        assert_eq!(nowhere.grade, Grade::Fail);
    }
}
