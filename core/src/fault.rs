//! Places at which a test can end the process, as a power cut would: no destructor runs, nothing
//! is flushed. They are there only with the cargo feature `fault-points`, which no release is built
//! with; without it they are nothing.

/// `STILE_FAULT_KILL=NAME` ends the process when it comes to the place of that name.
#[cfg(feature = "fault-points")]
const KILL: &str = "STILE_FAULT_KILL";

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
