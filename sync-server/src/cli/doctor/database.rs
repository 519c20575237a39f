//! The database, page by page, and the master key that opens what is sealed in it.

use std::path::Path;

use stile_sync_server::random::SystemRandom;
use stile_sync_server::server::MasterKeySource;
use stile_sync_server::store::sqlite::{DATABASE_FILE, DatabaseError, look_through};
use stile_sync_server::vault::{Vault, VaultError};

use super::finding::Finding;

const MIB: u64 = 1024 * 1024;

pub(super) fn findings(data: &Path, key: &MasterKeySource) -> Vec<Finding> {
    let path = data.join(DATABASE_FILE);
    let existing = match look_through(&path) {
        Ok(Some(existing)) => existing,
        Ok(None) => {
            let todo = "run `stile-server setup`, or put a backup back with `restore`";
            let what = format!("there is none in {}", data.display());
            return vec![Finding::fail("database", what, todo)];
        }
        Err(error) => return vec![broken(&error), not_looked_at()],
    };
    let size = std::fs::metadata(&path).map_or(0, |file| file.len() / MIB);
    let database = match existing.is_older {
        false => Finding::ok(
            "database",
            format!("{size} MiB, every page is sound, the schema is this version's"),
        ),
        true => Finding::warn(
            "database",
            format!("{size} MiB, every page is sound, the schema is an older version's"),
            "back it up, then start the server, which brings it up to date",
        ),
    };
    let key = match &existing.vault_check {
        // With a check no key is made where there is none.
        Some(check) => match Vault::open(key, Some(check), &SystemRandom) {
            Ok(_) => Finding::ok("key", "the master key is there and opens what is sealed"),
            Err(error) => wrong_key(&error),
        },
        None => Finding::left_out("key", "nothing is sealed yet"),
    };
    vec![database, key]
}

fn broken(error: &DatabaseError) -> Finding {
    let todo = match error {
        DatabaseError::Damaged { .. } => {
            "stop the server, read the records out with `salvage`, and put the last backup back"
        }
        _ => "see to it before the server is started again",
    };
    Finding::fail("database", error.to_string(), todo)
}

fn not_looked_at() -> Finding {
    Finding::left_out("key", "there is no database to try it on")
}

fn wrong_key(error: &VaultError) -> Finding {
    Finding::fail(
        "key",
        error.to_string(),
        "gates and booking system are served nothing until the right one is there",
    )
}
