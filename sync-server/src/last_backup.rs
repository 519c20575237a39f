//! The note of the newest copy that `backup` made, beside the data: for the doctor and for metrics.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::small_file;

/// The note's file in the server's folder.
pub const LAST_BACKUP_FILE: &str = "last-backup.json";

/// The newest copy that was made.
#[derive(Debug, Serialize, Deserialize)]
pub struct LastBackup {
    /// When, in epoch seconds.
    pub at: i64,
    /// The copy, by its full path.
    pub file: PathBuf,
}

impl LastBackup {
    /// The one that is noted in a server's folder, if one is.
    pub fn noted(data: &Path) -> Option<Self> {
        let text = fs::read_to_string(data.join(LAST_BACKUP_FILE)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Notes it.
    pub fn note(&self, data: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        small_file::put_public(&data.join(LAST_BACKUP_FILE), &text)
    }
}
