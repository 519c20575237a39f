//! Opening the database: pragmas, schema, and what is refused. A newer schema and a damaged file
//! are refused untouched.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::readers::Readers;
use super::writer::Writer;
use super::{SqliteStore, venues};
use crate::store::StoreError;

mod schema {
    refinery::embed_migrations!("../migrations/server-sqlite");
}

/// The file's name in the server's folder.
pub const DATABASE_FILE: &str = "server.db";

/// Marks the file as ours: "Stil" in ASCII.
const APPLICATION_ID: i32 = 0x5374_696C;

/// How long to wait for another process that writes, such as a command beside the server.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The write-ahead log is copied into the database when it has this many pages of 4 KiB. Fewer
/// copies of pages that change often, and a log that is still read within a second at start.
const CHECKPOINT_PAGES: u32 = 4_000;

/// Memory that the writer may hold pages in, in KiB: a day's tickets and movements lie in no order,
/// and with less, pages would be read and written again within one transaction. Taken only as it
/// is used.
const WRITER_CACHE_KIB: i64 = 64 * 1024;

/// A file up to this size is checked whole at start, which takes about a second; a larger one
/// would keep the gates waiting. Damage found later is an error then.
const CHECKED_AT_START_BYTES: u64 = 256 * 1024 * 1024;

/// Room that a disk must have for a store to be ready, in bytes: the largest batch with all that it
/// touches, and time for somebody to make more.
const ROOM_BYTES: u64 = 8 * 1024 * 1024;

/// Statements kept prepared per connection; more than there are.
const PREPARED: usize = 128;

/// Why a database is not opened. It was not changed.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// A newer version of the server wrote it.
    #[error(
        "{} is of schema {found}, and this version knows {known} at most; install the newer \
         version again (the file is untouched)",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// Another program's database.
    #[error("{} is a database of another program; choose another folder", .0.display())]
    Foreign(PathBuf),
    /// It cannot be read.
    #[error(
        "{} is damaged ({found}); it is untouched. Put the last backup back, and keep this file: \
         `stile-server salvage --out FILE` reads out the records that can still be read",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        found: String,
    },
    /// The schema cannot be brought up to date.
    #[error("{}: the schema cannot be brought up to date: {source}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Why.
        source: refinery::Error,
    },
    /// The file system, or SQLite.
    #[error("{} cannot be opened: {source}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// Why.
        source: StoreError,
    },
}

impl DatabaseError {
    pub(super) fn of(path: &Path, error: impl Into<StoreError>) -> Self {
        let path = path.to_owned();
        match error.into() {
            StoreError::Damaged(found) => Self::Damaged { path, found },
            source => Self::Store { path, source },
        }
    }
}

impl SqliteStore {
    /// Opens the file, making it or bringing its schema up to date. `software` names the version
    /// of the program: when it is another one than last time, all lists get their next version.
    /// Blocks.
    pub fn open(path: &Path, software: &str) -> std::result::Result<Self, DatabaseError> {
        look(path)?;
        let connection = writer(path)?;
        venues::note_software(&connection, software)
            .map_err(|error| DatabaseError::of(path, error))?;
        let writer = Writer::start(connection)
            .map_err(|error| DatabaseError::of(path, StoreError::Unavailable(error.to_string())))?;
        Ok(Self {
            writer: Arc::new(writer),
            readers: Readers::new(path.to_owned()),
        })
    }
}

/// What can be known of a database before anything of it is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Existing {
    /// What the master key is checked against, if it was ever kept.
    pub vault_check: Option<Vec<u8>>,
    /// Whether this version brings it up to date when it opens it.
    pub is_older: bool,
}

/// Looks at a database without changing it; `None` if there is none yet.
pub fn look(path: &Path) -> Result<Option<Existing>, DatabaseError> {
    look_up_to(path, CHECKED_AT_START_BYTES)
}

/// The same, with every page checked however many there are.
pub fn look_through(path: &Path) -> Result<Option<Existing>, DatabaseError> {
    look_up_to(path, u64::MAX)
}

fn look_up_to(path: &Path, checked_bytes: u64) -> Result<Option<Existing>, DatabaseError> {
    let size = match std::fs::metadata(path) {
        Ok(file) => file.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let source = StoreError::Unavailable(error.to_string());
            return Err(DatabaseError::Store {
                path: path.to_owned(),
                source,
            });
        }
    };
    let of = |error: rusqlite::Error| DatabaseError::of(path, error);
    let connection = read_only(path).map_err(of)?;
    if size <= checked_bytes {
        let found: String = connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(of)?;
        if found != "ok" {
            return Err(DatabaseError::Damaged {
                path: path.to_owned(),
                found,
            });
        }
    }
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(of)?;
    if tables == 0 {
        // Left behind by a start that was cut off before it made the schema.
        return Ok(None);
    }
    if application_id(&connection).map_err(of)? != APPLICATION_ID {
        return Err(DatabaseError::Foreign(path.to_owned()));
    }
    let found: i64 = connection
        .query_row(
            "SELECT coalesce(max(version), 0) FROM refinery_schema_history",
            [],
            |row| row.get(0),
        )
        .map_err(of)?;
    let known = known_schema();
    if found > known {
        return Err(DatabaseError::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    if found == 0 {
        return Ok(None);
    }
    let vault_check = connection
        .query_row("SELECT vault_check FROM server", [], |row| row.get(0))
        .optional()
        .map_err(of)?
        .flatten();
    Ok(Some(Existing {
        vault_check,
        is_older: found < known,
    }))
}

fn application_id(connection: &Connection) -> rusqlite::Result<i32> {
    connection.query_row("PRAGMA application_id", [], |row| row.get(0))
}

fn known_schema() -> i64 {
    let runner = schema::migrations::runner();
    runner
        .get_migrations()
        .iter()
        .map(|migration| i64::from(migration.version()))
        .max()
        .unwrap_or(0)
}

/// Opens the writer's connection, making the file or bringing its schema up to date.
pub(super) fn writer(path: &Path) -> Result<Connection, DatabaseError> {
    let of = |error: rusqlite::Error| DatabaseError::of(path, error);
    let mut connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(of)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(of)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    let pragmas = || -> rusqlite::Result<()> {
        if application_id(&connection)? == 0 {
            connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        }
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)
    };
    pragmas().map_err(of)?;
    schema::migrations::runner()
        .run(&mut connection)
        .map_err(|source| DatabaseError::Schema {
            path: path.to_owned(),
            source,
        })?;
    Ok(connection)
}

/// Opens a connection that only reads.
pub(super) fn read_only(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    Ok(connection)
}

/// Whether there is room for what comes next. A commit alone does not tell: a small one fits into
/// what is left of the write-ahead log.
pub(super) fn check_room(path: &Path) -> Result<(), StoreError> {
    let disk = rustix::fs::statvfs(path)
        .map_err(|error| StoreError::Unavailable(format!("the disk: {error}")))?;
    let room = disk.f_bavail.saturating_mul(disk.f_frsize);
    if room < ROOM_BYTES {
        Err(StoreError::Full)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use refinery::Target;
    use stile_core::ids::{SessionId, TicketNumber, VenueNumber};
    use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};

    use super::*;
    use crate::log_filter::LogFilter;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{ConflictState, KeptSince, LogQuery, LogStream, Position, Store};

    /// A venue of the first schema: one ticket that was admitted twice.
    const FIRST_DAY: &str = r#"
        INSERT INTO venues VALUES (1, 'museum-01', 'M', 'Asia/Shanghai', '{"formats":["G2"]}', 0);
        INSERT INTO sessions VALUES (1, 's1', '2099-10-01', '', 4094517600, 4094524800, 4094515800,
                                     4094524800, '', 'none', 'open', '');
        INSERT INTO list_days VALUES (1, '2099-10-01', 3, 4094494200, 4094528400);
        INSERT INTO tickets VALUES (1, '2099-10-01', 7, 0, 2, 'live', NULL, NULL, NULL, 'A1', 'O1',
            's1', 'cancelled', 'refunded', 0, 1, '', '', '', NULL, '', '', '', '', NULL, NULL, x'',
            NULL);
        INSERT INTO movements VALUES (1, 7, '2099-10-01', 'entry', 0, 140737488355329);
        INSERT INTO movements VALUES (1, 7, '2099-10-01', 'entry', 1, 140737488355330);
        INSERT INTO conflicts VALUES (1, 7, '2099-10-01', 'entry', 4094518000000, NULL);
        INSERT INTO positions VALUES (1, 2);"#;

    fn of(set: impl FnOnce(&mut LogFilter)) -> LogFilter {
        let mut filter = LogFilter::default();
        set(&mut filter);
        filter
    }

    fn record(n: u64) -> String {
        format!(
            r#"{{"id":"00000000-0000-0000-0000-00000000000{n}","log_id":"00000000-0000-0000-0000-0000000000ff","sequence":{n},"venue_id":"museum-01","device_id":"d1","gate_id":"north","checkpoint":"entry","at":{n},"u_ms":1,"trust":"anchored","kind":"scan","direction":"in","ticket_id":"A1","session_id":"s1","verdict":"admit","persons":1}}"#
        )
    }

    /// A check-in of another ticket, and the undo that took it back, as they lay before undos came
    /// with check-ins; and a passage that took nothing back.
    const UNDONE: &str = r#"
        INSERT INTO records (place, received_at, check_in, taken_back, number, record) VALUES
            ((1 << 47) + 1, 5, 1, 1, 8, CAST('{"kind":"scan"}' AS BLOB)),
            ((1 << 47) + 2, 5, 0, 0, 8, CAST('{"kind":"undo",
                "refers_to":"00000000-0000-0000-0000-0000000000aa"}' AS BLOB)),
            ((1 << 47) + 3, 5, 0, 0, NULL, CAST('{"kind":"passage",
                "refers_to":"00000000-0000-0000-0000-0000000000aa"}' AS BLOB));
        INSERT INTO record_ids VALUES
            (1, x'000000000000000000000000000000aa', x'', (1 << 47) + 1);
        INSERT INTO positions VALUES (1, 3);"#;

    #[tokio::test]
    async fn undos_from_before_come_with_their_check_ins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(DATABASE_FILE);
        let mut connection = Connection::open(&path).unwrap();
        connection
            .pragma_update(None, "application_id", APPLICATION_ID)
            .unwrap();
        schema::migrations::runner()
            .set_target(Target::Version(12))
            .run(&mut connection)
            .unwrap();
        connection.execute_batch(UNDONE).unwrap();
        drop(connection);
        let store = SqliteStore::open(&path, "2").unwrap();
        let query = LogQuery {
            stream: LogStream::CheckIns,
            filter: LogFilter::default(),
            after: Position(0),
            limit: 10,
        };
        let log = store.pull(VenueNumber(1), query).await.unwrap();
        let positions: Vec<_> = log.records.iter().map(|one| one.position.0).collect();
        assert_eq!(positions, [1, 2]);
    }

    #[tokio::test]
    async fn a_database_of_the_first_schema_is_brought_up_to_date_with_its_records() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(DATABASE_FILE);
        let mut connection = Connection::open(&path).unwrap();
        connection
            .pragma_update(None, "application_id", APPLICATION_ID)
            .unwrap();
        schema::migrations::runner()
            .set_target(Target::Version(1))
            .run(&mut connection)
            .unwrap();
        connection.execute_batch(FIRST_DAY).unwrap();
        for (n, standing) in [(1_u64, "winner"), (2, "loser")] {
            connection
                .execute(
                    "INSERT INTO records VALUES ((1 << 47) + ?1, 5, 1, ?2, ?3)",
                    (i64::try_from(n).unwrap(), standing, record(n).as_bytes()),
                )
                .unwrap();
        }
        drop(connection);
        assert!(look(&path).unwrap().unwrap().is_older);

        let store = SqliteStore::open(&path, "2").unwrap();
        assert!(!look(&path).unwrap().unwrap().is_older);
        let venue = VenueNumber(1);
        // Old records are found as new ones are.
        for (filter, count) in [
            (LogFilter::default(), 2),
            (of(|filter| filter.ticket = TicketNumber::from_i64(7)), 2),
            (of(|filter| filter.ticket = TicketNumber::from_i64(8)), 0),
            (
                of(|filter| filter.service_day = ServiceDay::new("2099-10-01").ok()),
                2,
            ),
            (
                of(|filter| filter.session_id = SessionId::new("s1").ok()),
                2,
            ),
            (
                of(|filter| filter.session_id = SessionId::new("s2").ok()),
                0,
            ),
            (of(|filter| filter.from = Some(EpochMillis(2))), 1),
            (of(|filter| filter.from = Some(EpochMillis(3_600_000))), 0),
        ] {
            let query = LogQuery {
                stream: LogStream::CheckIns,
                filter: filter.clone(),
                after: Position(0),
                limit: 10,
            };
            let log = store.pull(venue, query).await.unwrap();
            assert_eq!((log.records.len(), log.more), (count, false), "{filter:?}");
        }
        let feed = store.feed(venue, Position(0), 10, EpochSeconds(0)).await;
        let loses: Vec<bool> = feed.unwrap().items.iter().map(|item| item.loses).collect();
        assert_eq!(loses, [false, true]);
        let day = ServiceDay::new("2099-10-01").unwrap();
        let now = EpochMillis(4_094_600_000_000);
        let counts = store
            .attendance(
                venue,
                crate::attendance::AttendanceQuery {
                    from: day.clone(),
                    to: day,
                    by: crate::attendance::GroupBy::Session,
                    zone: jiff::tz::TimeZone::UTC,
                    now,
                },
            )
            .await
            .unwrap();
        let s1 = &counts.sessions[0];
        assert_eq!(s1.finality.finalized_at, None);
        assert_eq!(store.finalize(venue, now).await.unwrap(), 1);
        let events = store.events(venue, Position(0), 10).await.unwrap();
        assert_eq!(events[0].thing, "s1");
        assert_eq!((s1.persons, s1.check_ins, s1.after_cancel), (1, 2, 0));
        let conflicts = store.conflicts(venue, ConflictState::Open, 10).await;
        assert_eq!(conflicts.unwrap()[0].entries.len(), 2);
        // They go as new ones do.
        let day = EpochMillis(24 * 3_600_000);
        let kept = KeptSince {
            all: day,
            untold: day,
        };
        let step = store.forget_records(venue, kept, now, 10).await.unwrap();
        assert_eq!(step.removed, 2);
    }
}
