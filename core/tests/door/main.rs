//! Every act at a device's door, through its public functions, with the bad days in between.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod claims;
mod feed;
mod free_passage;
mod journal;
mod orders;
mod overrides;
mod parties;
mod passages;
mod properties;
mod repeats;
mod scene;
mod undo;
mod walk_ins;
