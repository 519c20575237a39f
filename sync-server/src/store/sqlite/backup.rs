//! A copy of the whole database while the server works, and the way back: a copy put in the place of
//! what was there, under a new generation, so that gates and back ends notice.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::aside::set_aside;
use super::open::{DatabaseError, Existing, look, look_through, read_only};

/// The copy holds what the database holds: for its owner alone.
const OWNER_ONLY: u32 = 0o600;

/// Why no copy was made, or none put back. What was there before is there still.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is nothing to copy.
    #[error("there is no database at {}", .0.display())]
    Nothing(PathBuf),
    /// A copy never takes the place of another file.
    #[error("{} is there already; choose another name, or move it away", .0.display())]
    Exists(PathBuf),
    /// The database, or the copy.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The file system.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What was put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The generation from now on.
    pub generation: u64,
    /// Where the database lies that was there before, if there was one.
    pub kept_aside: Option<PathBuf>,
}

/// Copies one moment of the database to a new file, checks the copy, and says how many bytes it has.
/// Writers go on meanwhile.
pub fn back_up(database: &Path, out: &Path) -> Result<u64, BackupError> {
    if look(database)?.is_none() {
        return Err(BackupError::Nothing(database.to_owned()));
    }
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| BackupError::Io { path, source }
    };
    if out.exists() {
        return Err(BackupError::Exists(out.to_owned()));
    }
    let part = beside(out, "part");
    fs::remove_file(&part)
        .or_else(fine_if_missing)
        .map_err(io(&part))?;
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(OWNER_ONLY);
    made.open(&part).map_err(io(&part))?;
    let copied = copy(database, &part).and_then(|()| Ok(look_through(&part)?));
    if let Err(error) = copied {
        // Half a copy is of no use to anybody.
        let _ = fs::remove_file(&part);
        return Err(error);
    }
    put_in_place(&part, out).map_err(io(out))?;
    Ok(fs::metadata(out).map_err(io(out))?.len())
}

fn copy(database: &Path, part: &Path) -> Result<(), BackupError> {
    let of = |error: rusqlite::Error| DatabaseError::of(database, error);
    let connection = read_only(database).map_err(of)?;
    connection
        .execute("VACUUM INTO ?1", [part.to_string_lossy()])
        .map_err(of)?;
    Ok(())
}

/// Looks at a copy, every page of it, before anything is changed.
pub fn look_at_copy(copy: &Path) -> Result<Existing, BackupError> {
    look_through(copy)?.ok_or_else(|| BackupError::Nothing(copy.to_owned()))
}

/// Puts a copy in the place of the database, which is kept aside, under a generation that neither had:
/// `now` in UTC seconds, or more.
pub fn restore(copy: &Path, database: &Path, now: u64) -> Result<Restored, BackupError> {
    look_at_copy(copy)?;
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| BackupError::Io { path, source }
    };
    let part = beside(database, "restoring");
    fs::copy(copy, &part).map_err(io(&part))?;
    let owner_only = PermissionsExt::from_mode(OWNER_ONLY);
    fs::set_permissions(&part, owner_only).map_err(io(&part))?;
    // One that cannot be read any more says nothing of its generation, and the time says enough.
    let replaced = read_only(database).and_then(|connection| generation(&connection));
    let stated = || -> rusqlite::Result<u64> {
        let connection = Connection::open(&part)?;
        let generation = generation(&connection)?
            .max(replaced.unwrap_or(0))
            .saturating_add(1)
            .max(now);
        connection.execute("UPDATE server SET generation = ?1", [generation])?;
        connection.close().map_err(|(_, error)| error)?;
        Ok(generation)
    };
    let generation = stated().map_err(|error| DatabaseError::of(&part, error))?;
    let kept_aside = match database.exists() {
        true => Some(set_aside(database, "replaced").map_err(io(database))?),
        false => None,
    };
    put_in_place(&part, database).map_err(io(database))?;
    Ok(Restored {
        generation,
        kept_aside,
    })
}

fn generation(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT generation FROM server", [], |row| row.get(0))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    PathBuf::from(name)
}

fn put_in_place(part: &Path, place: &Path) -> io::Result<()> {
    File::open(part)?.sync_all()?;
    fs::rename(part, place)?;
    let folder = place.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn fine_if_missing(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}
