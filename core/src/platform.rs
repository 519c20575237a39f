//! What core takes from the platform: its clocks, its random bytes and its room on disk. Tests and simulations
//! pass their own.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::clock::Moment;

/// A source of random bytes fit for keys.
pub trait Random: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]);
}

/// The machine under a device.
pub trait Platform: Random {
    /// What the clocks show now.
    fn moment(&self) -> Moment;

    /// A clock for durations, in µs; where it starts does not matter.
    fn micros(&self) -> u64;

    /// Bytes that the file system under a folder can still take, if the platform can tell.
    fn free_bytes(&self, folder: &Path) -> Option<u64>;

    /// Gives a file real room on disk, all of it or an error.
    fn allocate(&self, file: &File, bytes: u64) -> io::Result<()>;

    /// Names the machine for as long as it is the same one: a copied folder is noticed by it.
    fn fingerprint(&self) -> String;
}
