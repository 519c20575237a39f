//! `status.json`: what a running controller knows beside its journal, written aside and put in
//! place every second, for `stile-gate status` and for monitoring.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stile_core::clock::Moment;
use stile_core::device::LiveStatus;
use stile_core::ids::GateId;
use stile_core::time::EpochMillis;

/// The file's name in the data folder.
pub const STATUS_FILE: &str = "status.json";

/// A file older than this is of a controller that hangs or is gone, in ms: a few writes missed.
const ALIVE_MS: i64 = 5_000;

/// What a running controller writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusFile {
    /// The program's version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// The gate that it serves.
    pub gate_id: GateId,
    /// Its scanners.
    pub scanners: Vec<String>,
    /// Its relay.
    pub relay: String,
    /// When it started, by the wall clock.
    pub started_at: EpochMillis,
    /// When it wrote this, by the wall clock.
    pub written_at: EpochMillis,
    /// The same by the boot-time clock, in ms.
    pub written_boot_ms: i64,
    /// The boot that this clock runs in, hex.
    pub boot_id: String,
    /// How the device is.
    pub live: LiveStatus,
}

impl StatusFile {
    /// Notes when it is written.
    pub fn stamp(&mut self, moment: Moment) {
        self.written_at = moment.wall;
        self.written_boot_ms = moment.boot_ms;
        self.boot_id = format!("{:032x}", moment.boot_id.0);
    }

    /// Puts it in place whole. Not waited for: after a power cut it is old anyway.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let path = folder.join(STATUS_FILE);
        let aside = path.with_extension("json.new");
        fs::write(&aside, serde_json::to_vec(self)?)?;
        fs::rename(&aside, &path)
    }

    /// The same in one line, for the service manager.
    pub fn line(&self) -> String {
        let list = match self.live.lists.iter().max_by_key(|list| list.issued_at) {
            Some(list) => format!("list of {} v{}", list.service_day, list.version),
            None => "no list".into(),
        };
        let network = self.live.network().as_str();
        let mut line = format!("gate {}: {network}, {list}", self.gate_id);
        if let Some(off_ms) = self.live.clock.wall_off_ms {
            line.push_str(&format!(", clock off by {} s", off_ms / 1000));
        }
        if let Some(what) = &self.live.upload_trouble {
            line.push_str(&format!(", check-ins do not go up: {what}"));
        }
        line
    }

    /// Takes it away, at the end of a controller that ended in order.
    pub fn remove(folder: &Path) {
        // One that stays behind grows old, which says as much.
        let _ = fs::remove_file(folder.join(STATUS_FILE));
    }

    /// Reads a folder's, if it has one that can be read.
    pub fn read(folder: &Path) -> Option<Self> {
        let text = fs::read(folder.join(STATUS_FILE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// How old it is, in ms, if it was written in this boot.
    pub fn age_ms(&self, moment: Moment) -> Option<i64> {
        let same_boot = self.boot_id == format!("{:032x}", moment.boot_id.0);
        same_boot.then(|| moment.boot_ms.saturating_sub(self.written_boot_ms).max(0))
    }

    /// Whether its controller is at work, as far as its age tells.
    pub fn is_alive(&self, moment: Moment) -> bool {
        self.age_ms(moment).is_some_and(|age| age < ALIVE_MS)
    }
}

#[cfg(test)]
mod tests {
    use stile_core::clock::{BootId, Trust};
    use stile_core::device::{ClockStatus, KeyStatus};
    use stile_core::journal::RoomStatus;

    use super::*;

    fn moment(boot: u128, boot_ms: i64) -> Moment {
        Moment {
            wall: EpochMillis(0),
            boot_ms,
            boot_id: BootId(boot),
        }
    }

    fn file() -> StatusFile {
        StatusFile {
            version: "0".into(),
            pid: 1,
            gate_id: GateId::new("north").unwrap(),
            scanners: vec!["stdin".into()],
            relay: "log".into(),
            started_at: EpochMillis(0),
            written_at: EpochMillis(0),
            written_boot_ms: 0,
            boot_id: String::new(),
            live: LiveStatus {
                revoked_at: None,
                practice: false,
                signed_in: None,
                keys: KeyStatus::default(),
                room: RoomStatus::default(),
                online: false,
                unanswered: false,
                clock: ClockStatus {
                    now: EpochMillis(0),
                    u_ms: 0,
                    trust: Trust::Unanchored,
                    disputed: None,
                    wall_off_ms: None,
                },
                lists: Vec::new(),
                repeats: 0,
                unlogged: 0,
                conflicts: 0,
                free_passage: None,
                upload_trouble: None,
            },
        }
    }

    #[test]
    fn it_is_read_as_it_was_written_and_ages_by_the_boot_clock() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = file();
        file.stamp(moment(7, 1_000));
        file.write(folder.path()).unwrap();
        let read = StatusFile::read(folder.path()).unwrap();
        assert_eq!(read, file);
        assert_eq!(read.age_ms(moment(7, 3_500)), Some(2_500));
        assert!(read.is_alive(moment(7, 3_500)));
        assert!(!read.is_alive(moment(7, 6_001)));
    }

    #[test]
    fn one_of_another_boot_is_not_alive() {
        let mut file = file();
        file.stamp(moment(7, 1_000));
        assert_eq!(file.age_ms(moment(8, 1_000)), None);
        assert!(!file.is_alive(moment(8, 1_000)));
    }

    #[test]
    fn half_a_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(STATUS_FILE), "{\"version\":").unwrap();
        assert_eq!(StatusFile::read(folder.path()), None);
    }
}
