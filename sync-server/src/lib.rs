//! Stile's sync server: feeds each gate the day's whitelist and takes its check-ins back without
//! losing or doubling one.

pub mod import;
