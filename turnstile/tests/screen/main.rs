//! The guard's screen without a terminal and without a gate: what keys ask for, and how each
//! screen looks in both languages.

#![allow(clippy::unwrap_used, clippy::panic)]

mod bed;
mod cases;
mod desk;
mod forms;
mod frames;
mod keys;
mod pictures;
mod tickets;
#[path = "../../../core/tests/common/mod.rs"]
mod venue;
mod verdicts;
