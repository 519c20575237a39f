//! Stile's sync server: feeds each gate the day's whitelist and takes its check-ins back without
//! losing or doubling one.

pub mod acting;
mod admissions;
pub mod alarms;
pub mod attendance;
pub mod clock;
pub mod config;
mod cursor;
mod error;
mod finality;
mod hex;
pub mod http;
pub mod import;
pub mod key_backup;
pub mod last_backup;
mod lists;
pub mod log_filter;
pub mod metrics;
mod occupancy;
pub mod random;
pub mod server;
pub mod small_file;
pub mod store;
pub mod tls;
pub mod traced;
pub mod vault;
mod venue_keys;
pub mod webhooks;

pub use error::ServerError;
