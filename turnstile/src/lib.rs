//! A headless gate: what a scanner reads goes through core's decision to a relay, while records
//! go up and lists come down beside it. Decides nothing itself; a guard may have a screen.

mod asker;
pub mod client;
pub mod commands;
pub mod config;
pub mod control;
pub mod controller;
pub mod display;
pub mod event;
mod fault;
pub mod feedback;
pub mod heartbeats;
pub mod inputs;
mod machine;
pub mod pin;
pub mod platform;
pub mod ports;
pub mod printer;
pub mod relay;
pub mod scanner;
pub mod status_file;
pub mod sync_loop;
pub mod systemd;
mod threads;
mod tls;
pub mod tui;
pub mod watchdog;
pub mod words;
