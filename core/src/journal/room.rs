//! Room on disk for an hour of admissions, held by a file that is given back when the disk is
//! full. Only what must not be lost takes it: refusals never do.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::platform::Platform;
use crate::record::{Answer, Record, What};

/// Admissions of an hour that there must be room for: one every two seconds, which no arm exceeds.
const ADMISSIONS: u64 = 1_800;
/// Disk that one admission takes at worst, in bytes: six pages of SQLite's log before it is folded
/// back.
pub(super) const BYTES_PER_ADMISSION: usize = 6 * 4096;
/// The room held, in bytes: some 42 MiB.
pub const RESERVE_BYTES: u64 = ADMISSIONS * BYTES_PER_ADMISSION as u64;
/// Free room that there must be before it is held, in bytes: with something to spare, so that it
/// is not given back at once.
pub const ROOM_WANTED_BYTES: u64 = RESERVE_BYTES + RESERVE_BYTES / 4;
/// Free room below which somebody is told, in bytes: a list of 100,000 tickets twice over.
pub const LOW_BYTES: u64 = 128 * 1024 * 1024;

const FILE: &str = "reserve";

/// What somebody should be told about the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoomWarning {
    /// Little is free beside the reserve: make room today.
    Low,
    /// The reserve is not held: there may be room for an hour of admissions, or less.
    LastHour,
}

/// How much room a device has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomStatus {
    /// Bytes free beside the reserve, where the platform can tell.
    pub free_bytes: Option<u64>,
    /// Whether room for an hour of admissions is held.
    pub reserved: bool,
    /// What to tell somebody, if anything.
    pub warning: Option<RoomWarning>,
}

/// The room of one device's folder.
pub struct Room {
    folder: PathBuf,
    platform: Arc<dyn Platform>,
    held: bool,
}

impl Room {
    /// Holds the room if the disk has it.
    pub fn hold(folder: &Path, platform: Arc<dyn Platform>) -> Self {
        let held = fs::metadata(folder.join(FILE)).is_ok_and(|file| file.len() == RESERVE_BYTES);
        let mut room = Self {
            folder: folder.to_owned(),
            platform,
            held,
        };
        room.regain();
        room
    }

    /// Holds the room again once there is enough, with something to spare.
    pub fn regain(&mut self) {
        let free = self.platform.free_bytes(&self.folder);
        let enough = free.is_none_or(|free| free >= ROOM_WANTED_BYTES);
        if self.held || !enough {
            return;
        }
        let path = self.folder.join(FILE);
        self.held = self.allocate(&path).is_ok();
        if !self.held {
            // Half a reserve would only take the room that is left.
            let _ = fs::remove_file(&path);
        }
    }

    fn allocate(&self, path: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).open(path)?;
        self.platform.allocate(&file, RESERVE_BYTES)?;
        file.sync_all()?;
        File::open(&self.folder)?.sync_all()
    }

    /// Gives the room back to the disk. Whether there was any.
    pub(super) fn release(&mut self) -> bool {
        let was_held = self.held && give_back(&self.folder);
        self.held = false;
        was_held
    }

    /// Whether it is held.
    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// How much there is.
    pub fn status(&self) -> RoomStatus {
        let free_bytes = self.platform.free_bytes(&self.folder);
        let is_low = free_bytes.is_some_and(|free| free < LOW_BYTES);
        RoomStatus {
            free_bytes,
            reserved: self.held,
            warning: match (self.held, is_low) {
                (false, _) => Some(RoomWarning::LastHour),
                (true, true) => Some(RoomWarning::Low),
                (true, false) => None,
            },
        }
    }
}

/// The room that a folder holds, in bytes.
pub fn held_bytes(folder: &Path) -> u64 {
    fs::metadata(folder.join(FILE)).map_or(0, |file| file.len())
}

/// Gives the room of a folder back to the disk. Whether there was any.
pub(super) fn give_back(folder: &Path) -> bool {
    fs::remove_file(folder.join(FILE)).is_ok()
}

/// Whether a record only says that somebody was not let in.
pub(super) fn is_refusal(record: &Record) -> bool {
    match &record.what {
        What::Scan(scan) => scan.verdict == Answer::Refuse,
        What::Refusals(_) => true,
        _ => false,
    }
}
