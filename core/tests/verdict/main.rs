//! The rows of the verdict, one by one: what each refuses, what it carries, and which comes first.

#![allow(clippy::unwrap_used, clippy::panic)]

mod at;
mod code;
#[path = "../common/mod.rs"]
mod common;
mod exit;
mod list;
mod order;
mod ticket;
