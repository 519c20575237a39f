//! Places where a test can make a gate hang. They are there only with the cargo feature
//! `fault-points`, which no release is built with; without it they are nothing.

use crate::heartbeats::Loop;

/// `STILE_FAULT_HANG=scan:FILE` (or `relay:`, `sync:`): that loop hangs at its next turn once
/// the file is there.
#[cfg(feature = "fault-points")]
const HANG: &str = "STILE_FAULT_HANG";

/// Hangs here for ever, if a test asks for it.
#[cfg(feature = "fault-points")]
pub(crate) fn hang_point(of: Loop) {
    let asked = std::env::var(HANG).unwrap_or_default();
    let name = match of {
        Loop::Scan => "scan",
        Loop::Relay => "relay",
        Loop::Sync => "sync",
    };
    let is_asked = asked
        .split_once(':')
        .is_some_and(|(asked, file)| asked == name && std::path::Path::new(file).exists());
    if is_asked {
        loop {
            std::thread::park();
        }
    }
}

/// Nothing, in a program that people use.
#[cfg(not(feature = "fault-points"))]
pub(crate) fn hang_point(_: Loop) {}
