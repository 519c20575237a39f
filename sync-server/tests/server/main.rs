//! The server through its use cases: lists, enrolment, codes, keys, batches, folders.

mod api_keys;
mod batches;
#[path = "../bed/mod.rs"]
mod bed;
mod codes;
mod enrolment;
mod folder;
mod full_disk;
mod whitelist;
