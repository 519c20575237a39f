//! A venue's tickets for one service day, as server and gate agree on them to the byte: the rows,
//! their digest, the file that a gate holds them in, and how a new one takes its place.

mod digest;
mod file;
mod look_up;
mod row;

pub use digest::{BUCKETS, BucketDigest, ListDigest, bucket_of, hex, leaf};
pub(crate) use file::open_manifest;
pub use file::{HeldList, ListBuilder, ListError, list_path};
pub use look_up::{fits_mask, fold};
pub use row::{MAX_ROW_BYTES, RowError, decode, encode};
