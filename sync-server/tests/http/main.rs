//! The server as its clients see it: over HTTP on a loopback port, and as a program. What the
//! store promises is tested below HTTP; here it is what goes over the wire, and what becomes of
//! clients that misbehave.

// The helpers stand outside of test functions, where clippy does not see that they are tests.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod access;
mod alarms;
mod api_doc;
mod api_keys;
mod audit;
mod bodies;
mod capacity;
mod changes;
mod commands;
mod day;
mod day_sets;
mod device;
mod device_standing;
mod document;
mod documents;
mod downloads;
mod enrolments;
mod errors;
mod feed;
mod filters;
mod finality;
mod imports;
mod limits;
mod matrix;
mod metrics;
mod operators;
mod program;
mod pulls;
mod quiet;
mod reconciliations;
mod removed;
mod shared_codes;
mod sisters;
mod site;
mod stop;
mod visitors;
mod webhook_program;
mod webhook_receiver;
mod webhooks;
mod wire;
#[path = "../bed/workbook.rs"]
mod workbook;
