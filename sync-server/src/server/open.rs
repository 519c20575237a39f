//! Starting on a folder: one server at a time, the right master key, a database of a known schema.
//! Whatever is wrong is found before anything is changed.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use stile_core::platform::Random;
use tokio::sync::watch;
use zeroize::Zeroizing;

use super::Server;
use super::api_keys::KnownUses;
use super::finality::KnownReports;
use super::lists::KnownLists;
use super::watching::KnownHeard;
use crate::clock::Clock;
use crate::key_backup::{KeyBackup, LAST_KEY_BACKUP_FILE, LastKeyBackup, SecretName};
use crate::random::SystemRandom;
use crate::store::sqlite::{
    BackupError, DATABASE_FILE, DatabaseError, Restored, Salvage, SalvageError, SqliteStore,
    back_up, look, look_at_copy, restore, salvage,
};
use crate::store::{Store, StoreError};
use crate::vault::{MasterKeySource, SealError, Vault, VaultError};

/// The lock's file in the server's folder.
const LOCK_FILE: &str = "server.lock";
/// Names the bytes that this version writes into lists.
const SOFTWARE: &str = env!("CARGO_PKG_VERSION");

/// Why a server does not start. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another server runs on this folder.
    #[error(
        "another server runs on {}; stop it first, or give this one a folder of its own",
        .0.display()
    )]
    InUse(PathBuf),
    /// A command came before the server had a database, or one of this version.
    #[error(
        "the database in {} is older than this version; start the server once, which brings it \
         up to date, then run the command again",
        .0.display()
    )]
    Older(PathBuf),
    /// The database was damaged and kept aside, and none has taken its place.
    #[error(
        "there is no database, but {} was kept aside as damaged: put the last backup back, or move \
         that file elsewhere to start with nothing",
        .0.display()
    )]
    Salvaged(PathBuf),
    /// The folder cannot be used.
    #[error("{}: {source}", path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// Nothing could be salvaged.
    #[error(transparent)]
    Salvage(#[from] SalvageError),
    /// No copy was made, or none put back.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// Keys that were in use are missing.
    #[error(
        "the database lacks keys that the newest key backup lists: {}. It is from before they were \
         made, and gates would refuse what they signed. Run `stile-server key restore {}`, which adds \
         them. If that file is lost for good, remove {} and start again",
        lost.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        file.display(),
        note.display()
    )]
    KeysLost {
        /// Which.
        lost: Vec<SecretName>,
        /// The copy of the keys that holds them.
        file: PathBuf,
        /// The note that says so.
        note: PathBuf,
    },
    /// The master key.
    #[error(transparent)]
    MasterKey(#[from] VaultError),
    /// The master key could not seal.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The store answered, and not as it should.
    #[error("the store: {0}")]
    Store(#[from] StoreError),
}

/// Where a master key was found to be.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// It was there.
    There,
    /// It was missing, and is in this file now.
    PutBack(PathBuf),
}

/// The lock on a server's folder. Released when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct FolderLock(#[expect(dead_code, reason = "held for its lock alone")] File);

impl Server {
    /// Opens the server on a folder, which it makes if need be and locks for itself.
    pub async fn open(
        data_dir: &Path,
        master_key: MasterKeySource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        make_folder(data_dir)?;
        let lock = lock(data_dir)?.ok_or_else(|| OpenError::InUse(data_dir.to_owned()))?;
        let server = Self::open_folder(data_dir, master_key, clock, Some(lock)).await?;
        if let Some(last) = LastKeyBackup::noted(data_dir) {
            let lost = server.lost_secrets(&last.secrets).await?;
            if !lost.is_empty() {
                return Err(OpenError::KeysLost {
                    lost,
                    file: last.file,
                    note: data_dir.join(LAST_KEY_BACKUP_FILE),
                });
            }
        }
        Ok(server)
    }

    /// Whether a folder has a database.
    pub fn has_database(data_dir: &Path) -> bool {
        data_dir.join(DATABASE_FILE).exists()
    }

    /// Puts the master key of a copy back where it is missing, if it opens the database that is
    /// there, and says what it found. Blocks.
    pub fn put_master_key_back(
        data_dir: &Path,
        source: &MasterKeySource,
        backup: &KeyBackup,
    ) -> Result<KeyPlace, OpenError> {
        make_folder(data_dir)?;
        let check = look(&data_dir.join(DATABASE_FILE))?.and_then(|existing| existing.vault_check);
        let key = MasterKeySource::Text(Zeroizing::new(backup.master_key.clone()));
        Vault::open(&key, check.as_deref(), &SystemRandom)?;
        Ok(match source.put_back(&backup.master_key)? {
            None => KeyPlace::There,
            Some(path) => KeyPlace::PutBack(path),
        })
    }

    /// Opens the server for a command that only writes configuration, beside a running server or
    /// without one.
    pub async fn open_for_commands(
        data_dir: &Path,
        master_key: MasterKeySource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        make_folder(data_dir)?;
        let lock = lock(data_dir)?;
        let existing = look(&data_dir.join(DATABASE_FILE))?;
        // A running server knows its own schema only.
        if lock.is_none() && existing.is_none_or(|existing| existing.is_older) {
            return Err(OpenError::Older(data_dir.to_owned()));
        }
        Self::open_folder(data_dir, master_key, clock, lock).await
    }

    /// Whether a server works on a folder now. Makes nothing.
    pub fn is_at_work(data_dir: &Path) -> Result<bool, OpenError> {
        let path = data_dir.join(LOCK_FILE);
        let failed = |source| OpenError::Folder {
            path: path.clone(),
            source,
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// A server that has lost its database must not go on as a new one by itself.
    fn refuse_to_start_anew(data_dir: &Path) -> Result<(), OpenError> {
        let database = data_dir.join(DATABASE_FILE);
        let aside = fs::read_dir(data_dir)
            .into_iter()
            .flatten()
            .flatten()
            .find(|entry| {
                entry
                    .file_name()
                    .to_string_lossy()
                    .starts_with("server.damaged-")
            });
        match aside {
            Some(aside) if !database.exists() => Err(OpenError::Salvaged(aside.path())),
            _ => Ok(()),
        }
    }

    async fn open_folder(
        data_dir: &Path,
        master_key: MasterKeySource,
        clock: Arc<dyn Clock>,
        lock: Option<FolderLock>,
    ) -> Result<Self, OpenError> {
        Self::refuse_to_start_anew(data_dir)?;
        let path = data_dir.join(DATABASE_FILE);
        let random: Arc<dyn Random> = Arc::new(SystemRandom);
        let check = look(&path)?.and_then(|existing| existing.vault_check);
        let (vault, made) = Vault::open(&master_key, check.as_deref(), &*random)?;
        let store = SqliteStore::open(&path, SOFTWARE)?;
        let server = Self::with_store(Arc::new(store), vault, clock, random).await?;
        Ok(Self {
            made_master_key: made,
            _folder: lock,
            ..server
        })
    }

    /// Keeps a damaged database aside and writes the records that can be read of it, one JSON
    /// object a line. Needs no master key: records are not sealed. Blocks.
    pub fn salvage(data_dir: &Path, out: &mut dyn io::Write) -> Result<Salvage, OpenError> {
        let _lock = lock(data_dir)?.ok_or_else(|| OpenError::InUse(data_dir.to_owned()))?;
        Ok(salvage(&data_dir.join(DATABASE_FILE), out)?)
    }

    /// Copies the database to a new file beside a running server or without one, and says how many
    /// bytes the copy has. The master key is not in it. Blocks.
    pub fn back_up(data_dir: &Path, out: &Path) -> Result<u64, OpenError> {
        Ok(back_up(&data_dir.join(DATABASE_FILE), out)?)
    }

    /// Puts a copy back: only where no server runs, and only if the master key opens it. What was
    /// there is kept aside. Blocks.
    pub fn restore(
        data_dir: &Path,
        copy: &Path,
        master_key: &MasterKeySource,
        clock: &dyn Clock,
    ) -> Result<Restored, OpenError> {
        make_folder(data_dir)?;
        let _lock = lock(data_dir)?.ok_or_else(|| OpenError::InUse(data_dir.to_owned()))?;
        let check = look_at_copy(copy)?.vault_check;
        Vault::open(master_key, check.as_deref(), &SystemRandom)?;
        let now = u64::try_from(clock.now().seconds().0).unwrap_or(0);
        Ok(restore(copy, &data_dir.join(DATABASE_FILE), now)?)
    }

    /// A server on a store that is open, with a vault that fits it. For other engines, and for
    /// simulations with their own clock and random bytes.
    pub async fn with_store(
        store: Arc<dyn Store>,
        vault: Vault,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<Self, OpenError> {
        let facts = store.facts().await?;
        if facts.vault_check.is_none() {
            store.keep_vault_check(&vault.check(&*random)?).await?;
        }
        Ok(Self {
            store,
            vault,
            clock,
            random,
            generation: facts.generation,
            made_master_key: None,
            keys: RwLock::new(HashMap::new()),
            numbers: RwLock::new(HashMap::new()),
            lists: KnownLists::default(),
            uses: KnownUses::default(),
            heard: KnownHeard::default(),
            metrics: Arc::default(),
            reports: KnownReports::default(),
            stopping: watch::Sender::new(false),
            _folder: None,
        })
    }
}

fn make_folder(folder: &Path) -> Result<(), OpenError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|source| OpenError::Folder {
        path: folder.to_owned(),
        source,
    })
}

/// The lock on a folder; `None` if another process has it.
fn lock(folder: &Path) -> Result<Option<FolderLock>, OpenError> {
    let path = folder.join(LOCK_FILE);
    let failed = |source| OpenError::Folder {
        path: path.clone(),
        source,
    };
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(FolderLock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}
