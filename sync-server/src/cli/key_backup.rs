//! `key backup` and `key restore`: the keys in a file of their own, apart from copies of the data.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stile_core::protocol::Act;
use stile_sync_server::clock::SystemClock;
use stile_sync_server::key_backup::{KeyBackup, LAST_KEY_BACKUP_FILE, LastKeyBackup};
use stile_sync_server::last_backup::LastBackup;
use stile_sync_server::random::SystemRandom;
use stile_sync_server::server::{KeyPlace, Server};
use tokio::runtime::Builder;

use super::acts::{self, Said};
use super::args::{KeyBackupOut, KeyRestore, Place};
use super::commands::print;
use super::{CliError, master_key, passphrase};

/// `key backup`
pub async fn back_up(
    server: &Server,
    place: &Place,
    command: &KeyBackupOut,
) -> Result<(), CliError> {
    if !command.beside_data {
        refuse_beside_data(&place.data, &command.out)?;
    }
    let backup = server.key_backup(&master_key(place)).await?;
    let words = passphrase::ask_twice("A passphrase for the copy, four words or more")?;
    backup
        .write(&command.out, &words, &SystemRandom)
        .map_err(failed)?;
    note(place, &backup, &command.out);
    print(&format!(
        "{} secrets and the master key in {}",
        backup.secrets.len(),
        command.out.display()
    ))?;
    eprintln!(
        "Keep the file apart from the data and its copies, and the passphrase apart from the file: \
         both together open every copy of the database. Make another after keys were rotated or \
         venues added."
    );
    Ok(())
}

/// A copy of the keys beside a copy of the data is of no more use than none.
fn refuse_beside_data(data: &Path, out: &Path) -> Result<(), CliError> {
    let folder = |path: &Path| -> Option<PathBuf> {
        let path = std::path::absolute(path).ok()?;
        path.parent()?.canonicalize().ok()
    };
    let Some(folder_of_keys) = folder(out) else {
        return Ok(()); // writing says what is wrong with it
    };
    let is_in_data = data
        .canonicalize()
        .is_ok_and(|data| folder_of_keys.starts_with(data));
    let backups = LastBackup::noted(data).and_then(|last| folder(&last.file));
    let near = match backups {
        _ if is_in_data => "the data",
        Some(backups) if folder_of_keys == backups => "the copy of the data",
        _ => return Ok(()),
    };
    Err(CliError::Usage(format!(
        "{} would lie beside {near}: whoever takes the one has the other. Write it elsewhere, or say \
         --beside-data",
        out.display()
    )))
}

fn note(place: &Place, backup: &KeyBackup, file: &Path) {
    if let Err(error) = LastKeyBackup::of(backup, file).note(&place.data) {
        eprintln!(
            "The copy is good, and `doctor` will not know of it: {}: {error}",
            place.data.join(LAST_KEY_BACKUP_FILE).display()
        );
    }
}

/// `key restore`
pub fn restore(place: &Place, command: &KeyRestore) -> Result<(), CliError> {
    let words = passphrase::ask("The passphrase of the copy")?;
    let backup = KeyBackup::read(&command.from, &words).map_err(failed)?;
    let source = master_key(place);
    match Server::put_master_key_back(&place.data, &source, &backup)? {
        KeyPlace::There => {
            eprintln!("The master key is there already, and is the one of the copy.")
        }
        KeyPlace::PutBack(file) => {
            eprintln!("The master key is back: {}, mode 0600.", file.display());
        }
    }
    note(place, &backup, &command.from);
    if !Server::has_database(&place.data) {
        eprintln!(
            "There is no database here yet. Put the newest copy of the data back with `stile-server \
             restore`, then run this once more: it adds the keys that are newer than that copy."
        );
        return Ok(());
    }
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| CliError::System {
        doing: "start",
        source,
    })?;
    let done = runtime.block_on(async {
        let clock = Arc::new(SystemClock);
        let server = Server::open_for_commands(&place.data, source, clock).await?;
        let acting = acts::begin(&server, Said::at_server(Act::KeyRestore, None)).await?;
        let work = async { Ok::<_, CliError>(server.put_secrets_back(&backup).await?) };
        let done = server.act(&acting, work, acts::result).await;
        server.close().await;
        done
    })?;
    for name in &done.added {
        print(&format!("added: {name}"))?;
    }
    for name in &done.homeless {
        eprintln!("Not added: the {name}, which is in no venue of this database.");
    }
    eprintln!(
        "{} secrets of the copy are in the database already, {} were added.",
        done.there,
        done.added.len()
    );
    Ok(())
}

fn failed(error: impl std::fmt::Display) -> CliError {
    CliError::Failed(error.to_string())
}
