//! What core takes from the platform: its clocks and its random bytes. Tests and simulations
//! pass their own.

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

    /// Names the machine for as long as it is the same one: a copied folder is noticed by it.
    fn fingerprint(&self) -> String;
}
