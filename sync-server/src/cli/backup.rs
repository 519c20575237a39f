//! `backup` and `restore`.

use std::path::Path;

use stile_sync_server::clock::{Clock, SystemClock};
use stile_sync_server::last_backup::{LAST_BACKUP_FILE, LastBackup};
use stile_sync_server::server::Server;

use super::args::{Backup, Place, Restore};
use super::commands::print;
use super::{CliError, master_key};

/// Copies the database beside a running server.
pub fn backup(place: &Place, command: &Backup) -> Result<(), CliError> {
    let bytes = Server::back_up(&place.data, &command.out)?;
    note(place, &command.out);
    print(&format!("{} bytes in {}", bytes, command.out.display()))?;
    eprintln!(
        "The master key is not in it, and without that key the copy opens nothing. `stile-server key \
         backup FILE` copies the keys; keep that file somewhere else."
    );
    Ok(())
}

/// Notes that a copy was made. It is one also where that cannot be noted.
fn note(place: &Place, out: &Path) {
    let last = LastBackup {
        at: SystemClock.now().seconds().0,
        file: std::path::absolute(out).unwrap_or_else(|_| out.to_owned()),
    };
    if let Err(error) = last.note(&place.data) {
        eprintln!(
            "The copy is made, and `doctor` and metrics will not know of it: {}: {error}",
            place.data.join(LAST_BACKUP_FILE).display()
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
         that enrolled since the copy come back by themselves and wait for `device readmit`; those \
         that were revoked since are to be revoked again. If keys were rotated or revoked since, run \
         `stile-server key restore FILE` with the newest copy of the keys before the server starts."
    );
    Ok(())
}
