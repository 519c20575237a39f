//! A database moved out of the way, with what belongs to it. Nothing is ever deleted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Renames a database and its write-ahead log to `server.WHY-N.db`, N from 1.
pub(super) fn set_aside(path: &Path, why: &str) -> io::Result<PathBuf> {
    let aside = (1..u32::MAX)
        .map(|n| path.with_extension(format!("{why}-{n}.db")))
        .find(|aside| !aside.exists())
        .ok_or_else(|| io::Error::other("there are too many files set aside already"))?;
    for suffix in ["", "-wal", "-shm"] {
        let with = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        match fs::rename(with(path), with(&aside)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(aside)
}
