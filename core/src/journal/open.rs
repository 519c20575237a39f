//! Opening the journal: pragmas, schema, the lock on the folder, and which log new records go to.
//! A newer schema is refused untouched; a damaged file is kept aside and read out.

use std::error::Error;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::own_log::{OwnLog, is_of_another_machine};
use super::salvage::{Salvage, salvage};
use super::{Journal, JournalError, SyncLog, WriteTurn, moved_before, room};
use crate::platform::Random;

mod schema {
    refinery::embed_migrations!("../migrations/device/journal");
}

/// The file's name in the device's folder.
pub const JOURNAL_FILE: &str = "journal.db";

/// How long to wait for another process that writes, such as an export beside a controller.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a device's folder cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("{0} is in use by another controller; stop that one first")]
    Locked(PathBuf),
    /// A newer version wrote it.
    #[error(
        "{path} is of schema {found}, and this version knows {known} at most; \
         install the newer version again (the file is untouched)"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// An older version wrote it, and looking brings nothing up to date.
    #[error(
        "{path} is of schema {found}, and this version reads {known}; \
         start `stile-gate run` once, which brings it up to date"
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// The file system.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// The schema cannot be brought up to date.
    #[error("the journal's schema: {0}")]
    Schema(#[from] refinery::Error),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl OpenError {
    /// Whether the disk is full.
    fn is_full(&self) -> bool {
        let mut cause: Option<&(dyn Error + 'static)> = Some(self);
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<rusqlite::Error>() {
                return super::is_full(error);
            }
            cause = error.source();
        }
        false
    }
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        JournalError::from(error).into()
    }
}

/// An opened journal.
pub struct Opened {
    /// The door's view.
    pub journal: Journal,
    /// The sync loop's view.
    pub sync_log: SyncLog,
    /// What was saved of a damaged file, if it was one.
    pub salvage: Option<Salvage>,
    /// Whether the folder was copied from another machine.
    pub is_copied: bool,
    /// Whether there was none before.
    pub is_new: bool,
    /// Holds the folder's lock as long as it lives.
    pub lock: FolderLock,
}

/// The lock on a device's folder. Released when the process ends, however it ends.
#[derive(Debug)]
pub struct FolderLock(#[expect(dead_code, reason = "held for its lock alone")] File);

/// Opens the journal of a device's folder, and begins a new log, so that a folder which was copied
/// or put back from an image never goes on with sequence numbers that have been used. `fingerprint`
/// names the machine. Where the disk is full, the room for admissions is given back for it.
pub fn open(folder: &Path, fingerprint: &str, random: &dyn Random) -> Result<Opened, OpenError> {
    let lock = lock(folder)?;
    // A power cut may leave a file of no bytes behind, in which as little stands as in none.
    let is_new = !fs::metadata(folder.join(JOURNAL_FILE)).is_ok_and(|file| file.len() > 0);
    let views = match open_views(folder) {
        Err(error) if error.is_full() && room::give_back(folder) => open_views(folder)?,
        views => views?,
    };
    let is_copied = is_of_another_machine(&views.connection, fingerprint)?;
    let moved = moved_before(&views.connection)?;
    Ok(Opened {
        journal: Journal {
            connection: views.connection,
            turn: views.turn,
            log: OwnLog::new(fingerprint, random),
            next_sequence: 1,
            room: None,
            failed: false,
            moved,
        },
        sync_log: views.sync_log,
        salvage: views.salvage,
        is_copied,
        is_new,
        lock,
    })
}

/// What of a journal is opened from the disk.
struct Views {
    connection: Connection,
    turn: WriteTurn,
    sync_log: SyncLog,
    salvage: Option<Salvage>,
}

fn open_views(folder: &Path) -> Result<Views, OpenError> {
    let path = folder.join(JOURNAL_FILE);
    let damaged = path.exists() && {
        refuse_newer(&path)?;
        is_damaged(&path)?
    };
    let aside = damaged.then(|| set_aside(&path)).transpose()?;
    let mut connection = connect(&path, "FULL")?;
    schema::migrations::runner().run(&mut connection)?;
    let salvage = match aside {
        Some(aside) => Some(salvage(&aside, &mut connection)?),
        None => None,
    };
    let turn = WriteTurn::default();
    let sync_log = SyncLog::new(connect(&path, "NORMAL")?, turn.clone())?;
    Ok(Views {
        connection,
        turn,
        sync_log,
        salvage,
    })
}

/// Opens both views beside a running controller, to look: takes no lock and writes nothing.
pub fn open_to_look(folder: &Path) -> Result<(Journal, SyncLog), OpenError> {
    let path = folder.join(JOURNAL_FILE);
    let (found, known) = (schema_of(&path)?, known_schema());
    if (1..known).contains(&found) {
        return Err(OpenError::Older { path, found, known });
    }
    let connection = open_file_to_look(folder)?;
    let moved = moved_before(&connection)?;
    let turn = WriteTurn::default();
    let sync_log = SyncLog::new(open_file_to_look(folder)?, turn.clone())?;
    Ok((
        Journal {
            connection,
            turn,
            log: OwnLog::none(),
            next_sequence: 0,
            room: None,
            failed: false,
            moved,
        },
        sync_log,
    ))
}

/// The journal's file, to look.
pub(super) fn open_file_to_look(folder: &Path) -> Result<Connection, OpenError> {
    let path = folder.join(JOURNAL_FILE);
    refuse_newer(&path)?;
    let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

fn lock(folder: &Path) -> Result<FolderLock, OpenError> {
    let path = folder.join("lock");
    let io = |source| OpenError::Io {
        path: path.clone(),
        source,
    };
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(FolderLock(file)),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked(folder.to_owned())),
        Err(TryLockError::Error(source)) => Err(io(source)),
    }
}

fn connect(path: &Path, synchronous: &str) -> Result<Connection, OpenError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // The sync loop folds the WAL back; a scan does so only if that loop has been dead for long.
    connection.pragma_update(None, "wal_autocheckpoint", 10_000)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Looks at the schema's version without writing a byte.
fn refuse_newer(path: &Path) -> Result<(), OpenError> {
    let (found, known) = (schema_of(path)?, known_schema());
    if found > known {
        return Err(OpenError::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    Ok(())
}

fn known_schema() -> i64 {
    let runner = schema::migrations::runner();
    let versions = runner.get_migrations().iter();
    versions
        .map(|one| i64::from(one.version()))
        .max()
        .unwrap_or(0)
}

/// The schema of a file; 0 of an empty or damaged one, which has no such table.
fn schema_of(path: &Path) -> Result<i64, OpenError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found = connection.query_row(
        "SELECT max(version) FROM refinery_schema_history",
        [],
        |row| row.get::<_, Option<i64>>(0),
    );
    Ok(found.unwrap_or(None).unwrap_or(0))
}

fn is_damaged(path: &Path) -> Result<bool, OpenError> {
    let verdict = connect(path, "FULL").and_then(|connection| {
        Ok(connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))?)
    });
    match verdict {
        Ok(verdict) => Ok(verdict != "ok"),
        Err(OpenError::Journal(JournalError::Sqlite(rusqlite::Error::SqliteFailure(code, _))))
            if matches!(
                code.code,
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase
            ) =>
        {
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

/// Moves a damaged file out of the way, its WAL with it.
fn set_aside(path: &Path) -> Result<PathBuf, OpenError> {
    let aside = (1..)
        .map(|n| path.with_file_name(format!("journal.damaged-{n}.db")))
        .find(|aside| !aside.exists())
        .unwrap_or_else(|| path.with_extension("damaged"));
    for suffix in ["", "-wal", "-shm"] {
        let with = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        match fs::rename(with(path), with(&aside)) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(OpenError::Io {
                    path: with(path),
                    source,
                });
            }
            _ => {}
        }
    }
    Ok(aside)
}
