//! What tests of a gate share: a small venue, a server that serves it and can misbehave, and a
//! running `stile-gate`.

#![allow(dead_code)]

pub mod fake_server;
pub mod process;
pub mod pty;
#[path = "../../../core/tests/common/mod.rs"]
pub mod venue;
