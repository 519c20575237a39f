//! Linux under a gate: its clocks, its random numbers, and what tells one machine from another.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Instant;

use data_encoding::HEXLOWER;
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::time::{ClockId, clock_gettime};
use sha2::{Digest, Sha256};
use stile_core::clock::{BootId, Moment};
use stile_core::fault;
use stile_core::platform::{Platform, Random};
use stile_core::time::EpochMillis;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// What names a machine: the installation's id, and the board's serial number where the board
/// tells one to everybody, since boards are often copies of one card image.
const MACHINE: [&str; 2] = [
    "/etc/machine-id",
    "/sys/firmware/devicetree/base/serial-number",
];

/// The Linux machine that the program runs on.
#[derive(Debug)]
pub struct Linux {
    boot_id: BootId,
    fingerprint: String,
    started: Instant,
}

impl Linux {
    /// Reads what does not change while the program runs.
    pub fn new() -> io::Result<Self> {
        if fault::clocks().is_some() {
            tracing::warn!("THE CLOCKS ARE A TEST'S, not this machine's");
        }
        let text = fs::read_to_string(BOOT_ID)?;
        let digits = text.trim().replace('-', "");
        let boot_id = u128::from_str_radix(&digits, 16)
            .map_err(|_| io::Error::other(format!("{BOOT_ID} holds no boot id")))?;
        Ok(Self {
            boot_id: BootId(boot_id),
            fingerprint: fingerprint(MACHINE.map(|path| fs::read(path).unwrap_or_default())),
            started: Instant::now(),
        })
    }
}

/// A hash, so that the machine's id itself stands nowhere.
fn fingerprint(parts: [Vec<u8>; 2]) -> String {
    let mut hash = Sha256::new_with_prefix(b"stile/machine/v1\0");
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    HEXLOWER.encode(&hash.finalize())
}

impl Random for Linux {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("Linux gives random bytes once it is up");
    }
}

impl Platform for Linux {
    fn moment(&self) -> Moment {
        let (wall, boot_ms) = match fault::clocks() {
            Some(set) => (set.wall, set.boot_ms),
            None => (
                EpochMillis(milliseconds(ClockId::Realtime)),
                milliseconds(ClockId::Boottime),
            ),
        };
        Moment {
            wall,
            boot_ms,
            boot_id: self.boot_id,
        }
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn free_bytes(&self, folder: &Path) -> Option<u64> {
        let disk = statvfs(folder).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    fn allocate(&self, file: &File, bytes: u64) -> io::Result<()> {
        Ok(fallocate(file, FallocateFlags::empty(), 0, bytes)?)
    }

    fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }
}

fn milliseconds(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec
        .saturating_mul(1000)
        .saturating_add(now.tv_nsec / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_really_allocated_and_free_room_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let linux = Linux::new().unwrap();
        assert!(linux.free_bytes(folder.path()).is_some());
        assert_eq!(linux.free_bytes(&folder.path().join("nowhere")), None);
        let path = folder.path().join("room");
        linux
            .allocate(&File::create(&path).unwrap(), 1 << 20)
            .unwrap();
        let held = std::os::unix::fs::MetadataExt::blocks(&fs::metadata(&path).unwrap()) * 512;
        assert!(held >= 1 << 20, "{held} bytes are held");
    }

    #[test]
    fn boot_time_runs_and_the_boot_id_stays() {
        let linux = Linux::new().unwrap();
        let (first, second) = (linux.moment(), Linux::new().unwrap().moment());
        assert!(second.boot_ms >= first.boot_ms);
        assert_eq!(first.boot_id, second.boot_id);
    }

    #[test]
    fn copies_of_one_card_on_two_boards_are_two_machines() {
        let id = b"0123456789abcdef".to_vec();
        let boards = [b"10000000a1b2c3d4".to_vec(), b"10000000a1b2c3d5".to_vec()];
        let [first, second] = boards.map(|serial| fingerprint([id.clone(), serial]));
        assert_ne!(first, second);
    }

    #[test]
    fn the_fingerprint_does_not_tell_the_machine_id() {
        let id = fs::read_to_string(MACHINE[0]).unwrap_or_default();
        let fingerprint = Linux::new().unwrap().fingerprint();
        assert_eq!(fingerprint.len(), 64);
        assert!(id.trim().is_empty() || !fingerprint.contains(id.trim()));
    }
}
