//! A device from enrolment to upload, through its public door, with the bad days in between.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod bed;
mod clock;
mod enrolment;
mod journal;
mod lists;
mod revocation;
mod scanning;
mod uploads;
