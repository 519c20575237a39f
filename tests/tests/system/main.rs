//! The whole system, from ticket file to pulled log, over real processes on loopback.

#![allow(clippy::unwrap_used)] // helpers of tests are tests as well

mod backups;
mod enrolling;
mod full_disk;
mod house;
mod images;
mod kills;
mod main_day;
mod restarts;
mod situations;
mod standing;
mod tls;
