//! Threads with names and small stacks: a gate runs on boards with little memory.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Stack of a thread that moves bytes and waits, in bytes: four times what one was seen to use
/// in a debug build.
const SMALL_STACK: usize = 256 * 1024;
/// Stack of the thread that does HTTP, TLS and SQLite, in bytes.
const LARGE_STACK: usize = 1024 * 1024;

/// Starts a thread that moves bytes and waits.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let builder = Builder::new().name(name.to_owned());
    builder.stack_size(SMALL_STACK).spawn(work)
}

/// Starts a thread with room for HTTP and SQLite.
pub(crate) fn spawn_large<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let builder = Builder::new().name(name.to_owned());
    builder.stack_size(LARGE_STACK).spawn(work)
}
