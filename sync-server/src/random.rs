//! Where the server's random bytes come from.

use stile_core::platform::Random;

/// The operating system's source.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("an operating system that is up gives random bytes");
    }
}

/// An array of random bytes.
pub(crate) fn random_bytes<const N: usize>(random: &dyn Random) -> [u8; N] {
    let mut bytes = [0; N];
    random.fill(&mut bytes);
    bytes
}
