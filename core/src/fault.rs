//! What tests do to a program: end it as a power cut would, with no destructor run and nothing
//! flushed, or set its machine's clocks. It is there only with the cargo feature `fault-points`,
//! which no release is built with; without it it is nothing.

use crate::time::EpochMillis;

/// `STILE_FAULT_KILL=NAME` ends the process when it comes to the place of that name.
#[cfg(feature = "fault-points")]
const KILL: &str = "STILE_FAULT_KILL";
/// `STILE_FAULT_CLOCK=FILE`: the machine's clocks stand at what the file says, `WALL_MS BOOT_MS`,
/// until it says something else.
#[cfg(feature = "fault-points")]
const CLOCK: &str = "STILE_FAULT_CLOCK";

/// Where a test has set the machine's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetClocks {
    /// The wall clock.
    pub wall: EpochMillis,
    /// Milliseconds since boot.
    pub boot_ms: i64,
}

/// Ends the process here, if a test asks for it.
#[cfg(feature = "fault-points")]
pub fn point(name: &str) {
    if std::env::var(KILL).is_ok_and(|asked| asked == name) {
        std::process::abort();
    }
}

/// Nothing, in a program that people use.
#[cfg(not(feature = "fault-points"))]
pub fn point(_: &str) {}

/// Where a test has set the machine's clocks, if one has. A file that says nothing ends the
/// process: it must not go on by another clock than the test's.
#[cfg(feature = "fault-points")]
pub fn clocks() -> Option<SetClocks> {
    let path = std::env::var_os(CLOCK)?;
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let numbers = text.split_once(' ').and_then(|(wall, boot)| {
        let wall = EpochMillis(wall.parse().ok()?);
        let boot_ms = boot.trim_end().parse().ok()?;
        Some(SetClocks { wall, boot_ms })
    });
    Some(numbers.unwrap_or_else(|| std::process::abort()))
}

/// Nowhere, in a program that people use.
#[cfg(not(feature = "fault-points"))]
pub fn clocks() -> Option<SetClocks> {
    None
}
