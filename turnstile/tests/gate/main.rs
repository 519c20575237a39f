//! `stile-gate` as a program: against a server that the test plays, in one test binary.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod admission;
mod clock;
mod commands;
mod display;
mod doctor;
mod relay;
mod setup;
mod storage;
mod sync;
mod watchdog;
