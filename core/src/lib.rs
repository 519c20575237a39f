//! What a gate knows and decides: codes, whitelist, clock, verdict, device store, outbox and the
//! types that travel between gate and server.
//!
//! Nothing here knows of HTTP servers, Android or screens, and nothing here reads a clock or
//! makes a random number: both are passed in.

pub mod admissions;
pub mod clock;
pub mod codes;
mod decimal;
pub mod device;
pub mod fault;
pub mod ids;
pub mod journal;
pub mod key_manifest;
pub mod keys;
pub mod outbox;
pub mod pin;
pub mod platform;
pub mod policy;
pub mod protocol;
pub mod reason;
pub mod record;
pub mod signed;
pub mod ticket;
pub mod time;
pub mod verdict;
pub mod whitelist;
