//! `stile-gate` as a program: against a server that the test plays, in one test binary.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod admission;
mod boards;
mod clock;
mod commands;
mod display;
mod doctor;
mod feedback;
mod free_passage;
mod gpio;
mod inputs;
mod modbus;
mod plugged;
#[cfg(feature = "fault-points")]
mod power_cuts;
mod relay;
mod screen;
mod set_clock;
mod setup;
mod storage;
mod sync;
mod watchdog;
