//! The digest of a list. A row's leaf is SHA-256(domain, row bytes); the first byte of
//! SHA-256(ticket number) says which of 256 buckets it lies in; a bucket is SHA-256 of its leaves
//! in ascending order; the digest is SHA-256 of the 256 buckets. So one change costs one bucket,
//! and two sides that differ find out where.

use sha2::{Digest, Sha256};

use crate::ids::TicketNumber;

/// Buckets of a digest.
pub const BUCKETS: usize = 256;

const LEAF_DOMAIN: &[u8] = b"stile/whitelist-row/v1\0";

/// The leaf of a row's bytes.
pub fn leaf(row: &[u8]) -> [u8; 32] {
    Sha256::new()
        .chain_update(LEAF_DOMAIN)
        .chain_update(row)
        .finalize()
        .into()
}

/// The bucket that a ticket's row lies in.
pub fn bucket_of(number: TicketNumber) -> u8 {
    Sha256::digest(number.get().to_be_bytes())[0]
}

/// Lower-case hex of a digest, as manifests write it.
pub fn hex(digest: &[u8; 32]) -> String {
    data_encoding::HEXLOWER.encode(digest)
}

/// The leaves of one bucket.
#[derive(Debug, Clone, Default)]
pub struct BucketDigest {
    leaves: Vec<[u8; 32]>,
}

impl BucketDigest {
    /// Adds a row's leaf, in any order.
    pub fn add(&mut self, leaf: [u8; 32]) {
        self.leaves.push(leaf);
    }

    /// The bucket's digest.
    pub fn finish(mut self) -> [u8; 32] {
        self.leaves.sort_unstable();
        let mut hash = Sha256::new();
        for leaf in &self.leaves {
            hash.update(leaf);
        }
        hash.finalize().into()
    }
}

/// The digest of a whole list, built row by row in any order.
#[derive(Debug, Clone)]
pub struct ListDigest {
    buckets: Vec<BucketDigest>,
    count: u64,
}

impl Default for ListDigest {
    fn default() -> Self {
        Self {
            buckets: vec![BucketDigest::default(); BUCKETS],
            count: 0,
        }
    }
}

impl ListDigest {
    /// Adds a row.
    pub fn add(&mut self, number: TicketNumber, row: &[u8]) {
        self.buckets[usize::from(bucket_of(number))].add(leaf(row));
        self.count += 1;
    }

    /// Rows added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The digest of the list.
    pub fn finish(self) -> [u8; 32] {
        Self::of_buckets(self.buckets.into_iter().map(BucketDigest::finish))
    }

    /// The digest of a list from its bucket digests, in order.
    pub fn of_buckets(buckets: impl IntoIterator<Item = [u8; 32]>) -> [u8; 32] {
        let mut hash = Sha256::new();
        for bucket in buckets {
            hash.update(bucket);
        }
        hash.finalize().into()
    }
}
