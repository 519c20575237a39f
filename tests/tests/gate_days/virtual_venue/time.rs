//! Time that stands until it is moved, and the machine under a device that lives in it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use stile_core::clock::{BootId, Moment};
use stile_core::platform::{Platform, Random};
use stile_core::time::EpochMillis;
use stile_sync_server::clock::Clock;

/// What a virtual disk has left: more than any day takes.
const FREE_BYTES: u64 = 1 << 40;

/// What time it is in a virtual venue: the true time, by which its server's clock goes.
#[derive(Debug)]
pub struct VirtualTime(AtomicI64);

impl VirtualTime {
    /// Time that begins at `at`.
    pub fn new(at: EpochMillis) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(at.0)))
    }

    /// Moves time to `at`; it never runs backwards.
    pub fn move_to(&self, at: EpochMillis) {
        self.0.fetch_max(at.0, Ordering::SeqCst);
    }
}

impl Clock for VirtualTime {
    fn now(&self) -> EpochMillis {
        EpochMillis(self.0.load(Ordering::SeqCst))
    }
}

/// A device's machine. Its wall clock can be set wrong; its boot-time clock runs true.
#[derive(Debug)]
pub struct VirtualPlatform {
    name: String,
    time: Arc<VirtualTime>,
    wall_off_ms: AtomicI64,
    booted_at: EpochMillis,
    drawn: AtomicU64,
}

impl VirtualPlatform {
    /// A machine that booted an hour ago.
    pub fn new(name: &str, time: Arc<VirtualTime>) -> Arc<Self> {
        let booted_at = time.now().plus(-3_600_000);
        Arc::new(Self {
            name: name.to_owned(),
            time,
            wall_off_ms: AtomicI64::new(0),
            booted_at,
            drawn: AtomicU64::new(0),
        })
    }

    /// Sets the wall clock off the true time.
    pub fn set_wall_off(&self, off_ms: i64) {
        self.wall_off_ms.store(off_ms, Ordering::SeqCst);
    }
}

impl Random for VirtualPlatform {
    /// Never the same twice, and the same in each run.
    fn fill(&self, bytes: &mut [u8]) {
        use sha2::{Digest, Sha256};
        for piece in bytes.chunks_mut(32) {
            let turn = self.drawn.fetch_add(1, Ordering::SeqCst);
            let drawn = Sha256::digest([self.name.as_bytes(), &turn.to_be_bytes()].concat());
            piece.copy_from_slice(&drawn[..piece.len()]);
        }
    }
}

impl Platform for VirtualPlatform {
    fn moment(&self) -> Moment {
        let now = self.time.now();
        Moment {
            wall: now.plus(self.wall_off_ms.load(Ordering::SeqCst)),
            boot_ms: now.since(self.booted_at),
            boot_id: BootId(1),
        }
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.moment().boot_ms)
            .unwrap_or(0)
            .saturating_mul(1_000)
    }

    /// A disk that never fills.
    fn free_bytes(&self, _: &Path) -> Option<u64> {
        Some(FREE_BYTES)
    }

    /// A file without holes costs nothing here.
    fn allocate(&self, file: &File, bytes: u64) -> io::Result<()> {
        file.set_len(bytes)
    }

    fn fingerprint(&self) -> String {
        self.name.clone()
    }
}
