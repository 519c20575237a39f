//! What was read of a file as a whole, whatever stands in it: its SHA-256, by which whoever made
//! it can tell that all of it arrived.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// Hashes what is read through it.
pub struct Hashed<R> {
    input: R,
    hash: Sha256,
}

impl<R: Read> Hashed<R> {
    /// Over the whole of an input.
    pub fn new(input: R) -> Self {
        Self {
            input,
            hash: Sha256::new(),
        }
    }

    /// SHA-256 of what was read.
    pub fn finish(self) -> [u8; 32] {
        self.hash.finalize().into()
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}
