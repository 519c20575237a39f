//! `backup` and `restore`.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stile_sync_server::clock::{Clock, SystemClock};
use stile_sync_server::server::Server;
use stile_sync_server::small_file;

use super::args::{Backup, Place, Restore};
use super::commands::print;
use super::{CliError, master_key};

/// Where the newest backup is noted, for the doctor.
pub const LAST_BACKUP_FILE: &str = "last-backup.json";

/// The newest copy that was made.
#[derive(Debug, Serialize, Deserialize)]
pub struct LastBackup {
    /// When, in epoch seconds.
    pub at: i64,
    /// The copy, by its full path.
    pub file: PathBuf,
}

/// Copies the database beside a running server.
pub fn backup(place: &Place, command: &Backup) -> Result<(), CliError> {
    let bytes = Server::back_up(&place.data, &command.out)?;
    note(place, &command.out);
    print(&format!("{} bytes in {}", bytes, command.out.display()))?;
    eprintln!(
        "The master key is not in it, and without that key the copy opens nothing. Keep a copy of the \
         key somewhere else."
    );
    Ok(())
}

/// Notes that a copy was made. It is one also where that cannot be noted.
fn note(place: &Place, out: &Path) {
    let last = LastBackup {
        at: SystemClock.now().seconds().0,
        file: std::path::absolute(out).unwrap_or_else(|_| out.to_owned()),
    };
    let text = serde_json::to_vec(&last).map_err(io::Error::other);
    let path = place.data.join(LAST_BACKUP_FILE);
    if let Err(error) = text.and_then(|text| small_file::put_public(&path, &text)) {
        eprintln!(
            "The copy is made, and `doctor` will not know of it: {}: {error}",
            path.display()
        );
    }
}

/// Puts a copy back.
pub fn restore(place: &Place, command: &Restore) -> Result<(), CliError> {
    let restored = Server::restore(&place.data, &command.from, &master_key(place), &SystemClock)?;
    print(&format!("generation {}", restored.generation))?;
    if let Some(aside) = restored.kept_aside {
        eprintln!("What was there before is kept as {}.", aside.display());
    }
    eprintln!(
        "Start the server. Gates notice and send again what they still hold of the lost time, seven \
         days of it. The booking system sends the tickets, cancellations and settings that changed \
         since the copy once more, and begins anew where its pull answers cursor_restarted. Devices \
         that enrolled since the copy enrol again."
    );
    Ok(())
}
