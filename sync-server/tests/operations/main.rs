//! What the people do who run a server: its certificate, its setting up, and its doctor, through the
//! program as they have it; and the pages that tell them.

#![allow(clippy::unwrap_used, clippy::panic)]

mod doctor;
mod installed;
mod keys;
mod pages;
mod setup;
mod tls;
mod tls_files;
mod wire;
