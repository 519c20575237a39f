//! The machine's clocks, with one change: durations are counted in nanoseconds, since decisions
//! take few microseconds.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use stile_core::clock::{BootId, Moment};
use stile_core::platform::{Platform, Random};
use stile_core::time::EpochMillis;

/// The platform of a measured device.
pub struct Clocks(Instant);

impl Clocks {
    /// Clocks that start now.
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Random for Clocks {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the system gives random bytes");
    }
}

impl Platform for Clocks {
    fn moment(&self) -> Moment {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Moment {
            wall: EpochMillis(wall.as_millis() as i64),
            boot_ms: self.0.elapsed().as_millis() as i64,
            boot_id: BootId(1),
        }
    }

    fn micros(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    fn free_bytes(&self, _folder: &Path) -> Option<u64> {
        None
    }

    fn allocate(&self, file: &File, bytes: u64) -> io::Result<()> {
        file.set_len(bytes)
    }

    fn fingerprint(&self) -> String {
        "bench".into()
    }
}
