//! The server through its use cases: lists, enrolment, codes, keys, batches, folders.

// Helpers of tests may fail loudly as tests may.
#![allow(clippy::unwrap_used, clippy::panic)]

mod api_keys;
mod batches;
#[path = "../bed/mod.rs"]
mod bed;
mod codes;
mod enrolment;
mod folder;
mod full_disk;
mod keys;
mod retention;
mod whitelist;
