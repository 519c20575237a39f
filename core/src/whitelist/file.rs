//! The file that a gate holds a day's list in: built aside, checked against its signed manifest,
//! put in place whole. A half-applied list is never used, and one that rotted is not either.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::digest::{ListDigest, hex};
use super::look_up::backwards;
use super::row::{MAX_ROW_BYTES, RowError, decode};
use crate::codes::Document;
use crate::ids::{GateId, LastFour, SessionId, TicketId, TicketNumber};
use crate::key_manifest::KeyRing;
use crate::keys::DocumentKey;
use crate::policy::Policy;
use crate::protocol::{ListHead, ListManifest, ListPage, Operator, Settings};
use crate::signed::{Domain, Signed, SignedError};
use crate::ticket::{Gate, Session, Ticket};
use crate::time::{EpochMillis, ServiceDay};
use crate::verdict::Day;

/// The layout of the file; one of another layout is dropped and fetched again.
const LAYOUT: i64 = 2;
const SCHEMA: &str = include_str!("../../../migrations/device/whitelist.sql");
/// How much of a list is read through the page cache without being copied, in bytes: a day of
/// 100,000 tickets twice over. The system takes the pages back when it needs them.
const MAP_BYTES: i64 = 64 * 1024 * 1024;

/// Rows after which the building file is synced, about 1 MiB: a scan's sync that comes meanwhile waits
/// behind no more than that, where one at the end would be of the whole list.
const ROWS_PER_SYNC: u64 = 4_096;

/// Why a list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// Its manifest is signed by no list key that is valid now.
    #[error("the list's manifest names list key {0}, which is unknown or not valid")]
    UnknownKey(u8),
    /// Its manifest's signature.
    #[error("the list's manifest: {0}")]
    Signed(#[from] SignedError),
    /// What is signed is no manifest, or the settings are not of their type.
    #[error("the list's {what} cannot be read: {source}")]
    Json {
        /// Which part.
        what: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The settings are not those that the manifest names.
    #[error("the list's settings differ from its manifest")]
    Settings,
    /// The settings' key for documents is no key.
    #[error("the list's document key is not 32 bytes in base64")]
    DocumentKey,
    /// A row that cannot be read, or out of order.
    #[error("row {row} of the list: {source}")]
    Row {
        /// Counted from 1.
        row: u64,
        /// What is wrong.
        source: RowError,
    },
    /// A row that is no base64.
    #[error("row {0} of the list is no base64")]
    Base64(u64),
    /// Rows must come in ascending order of ticket numbers.
    #[error("row {0} of the list is out of order")]
    Order(u64),
    /// Rows that do not add up to the manifest.
    #[error("the list has {have} rows and not the {want} of its manifest, or other ones")]
    Digest {
        /// Rows had.
        have: u64,
        /// Rows that the manifest states.
        want: u64,
    },
    /// A file of another layout.
    #[error("the list's file is of another layout")]
    Layout,
    /// The file system.
    #[error("the list's file: {0}")]
    Io(#[from] io::Error),
    /// SQLite.
    #[error("the list's file: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// Where a day's list lies in a device's folder.
pub fn list_path(folder: &Path, day: &ServiceDay) -> PathBuf {
    folder.join(format!("whitelist-{day}.db"))
}

/// Reads and verifies the manifest of a list.
pub(crate) fn open_manifest(signed: &Signed, keys: &KeyRing) -> Result<ListManifest, ListError> {
    let key = keys
        .list_key(signed.kid)
        .ok_or(ListError::UnknownKey(signed.kid.0))?;
    let payload = signed.verify(&Domain::WHITELIST, &key.key)?;
    let manifest: ListManifest =
        serde_json::from_slice(&payload).map_err(|source| ListError::Json {
            what: "manifest",
            source,
        })?;
    if !key.is_valid_at(manifest.issued_at.seconds()) {
        return Err(ListError::UnknownKey(signed.kid.0));
    }
    Ok(manifest)
}

/// A day's list on its way in.
pub struct ListBuilder {
    connection: Connection,
    manifest: ListManifest,
    digest: ListDigest,
    last: u64,
    building: PathBuf,
    place: PathBuf,
}

impl ListBuilder {
    /// Starts a list beside the one in use: verifies the head, then waits for rows.
    pub fn begin(folder: &Path, head: &ListHead, keys: &KeyRing) -> Result<Self, ListError> {
        let manifest = open_manifest(&head.manifest, keys)?;
        read_settings(head, &manifest)?;
        let place = list_path(folder, &manifest.service_day);
        let building = place.with_extension("building");
        remove_if_there(&building)?;
        let connection = Connection::open(&building)?;
        // Nothing reads the file before it is whole, checked and synced, so SQLite's own care
        // for half-written files would be paid for nothing.
        connection.execute_batch(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;",
        )?;
        connection.execute_batch(SCHEMA)?;
        connection.pragma_update(None, "user_version", LAYOUT)?;
        connection.execute_batch("BEGIN")?;
        let text = serde_json::to_string(head).map_err(|source| ListError::Json {
            what: "head",
            source,
        })?;
        connection.execute("INSERT INTO list (head) VALUES (?1)", [text])?;
        Ok(Self {
            connection,
            manifest,
            digest: ListDigest::default(),
            last: 0,
            building,
            place,
        })
    }

    /// Takes a page of rows.
    pub fn add(&mut self, page: &ListPage) -> Result<(), ListError> {
        let mut bytes = Vec::with_capacity(512);
        for row in &page.rows {
            let place = self.digest.count() + 1;
            if row.len() > MAX_ROW_BYTES * 2 {
                return Err(ListError::Base64(place));
            }
            bytes.clear();
            STANDARD
                .decode_vec(row, &mut bytes)
                .map_err(|_| ListError::Base64(place))?;
            self.add_row(&bytes)?;
        }
        Ok(())
    }

    fn add_row(&mut self, bytes: &[u8]) -> Result<(), ListError> {
        let place = self.digest.count() + 1;
        let ticket = decode(bytes).map_err(|source| ListError::Row { row: place, source })?;
        if ticket.number.get() <= self.last || place > self.manifest.count {
            return Err(ListError::Order(place));
        }
        self.last = ticket.number.get();
        self.digest.add(ticket.number, bytes);
        let number = ticket.number.as_i64();
        self.connection
            .prepare_cached(
                "INSERT INTO ticket (number, ticket_id, order_end, last_four, row)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                number,
                ticket.ticket_id.as_str(),
                backwards(ticket.order_number.as_str()),
                ticket.last_four.map(LastFour::get),
                bytes
            ])?;
        for hash in &ticket.document_hashes {
            self.connection
                .prepare_cached("INSERT INTO document (hash, number) VALUES (?1, ?2)")?
                .execute(params![hash.as_slice(), number])?;
        }
        for hash in &ticket.opaque_hashes {
            self.connection
                .prepare_cached("INSERT INTO opaque (hash, number) VALUES (?1, ?2)")?
                .execute(params![hash.as_slice(), number])?;
        }
        if place.is_multiple_of(ROWS_PER_SYNC) {
            File::open(&self.building)?.sync_data()?;
        }
        Ok(())
    }

    /// Checks the rows against the manifest and puts the list in the place of the one before.
    pub fn finish(self, keys: &KeyRing) -> Result<HeldList, ListError> {
        let Self {
            connection,
            manifest,
            digest,
            building,
            place,
            ..
        } = self;
        check_digest(digest, &manifest)?;
        for step in [
            "CREATE UNIQUE INDEX ticket_by_id ON ticket (ticket_id)",
            "CREATE INDEX ticket_by_order ON ticket (order_end)",
            "CREATE INDEX ticket_by_digits ON ticket (last_four) WHERE last_four IS NOT NULL",
            "COMMIT",
        ] {
            connection.execute_batch(step)?;
            File::open(&building)?.sync_data()?;
        }
        connection.close().map_err(|(_, error)| error)?;
        File::open(&building)?.sync_all()?;
        fs::rename(&building, &place)?;
        if let Some(folder) = place.parent() {
            File::open(folder)?.sync_all()?;
        }
        HeldList::open_checked(&place, keys)
    }
}

/// The file never changes once it is in place, so that SQLite need not lock it and look whether
/// it did at every look-up.
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + "?immutable=1"
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn read_settings(head: &ListHead, manifest: &ListManifest) -> Result<Settings, ListError> {
    let digest: [u8; 32] = Sha256::digest(head.settings.as_bytes()).into();
    if hex(&digest) != manifest.settings_digest {
        return Err(ListError::Settings);
    }
    serde_json::from_str(&head.settings).map_err(|source| ListError::Json {
        what: "settings",
        source,
    })
}

fn check_digest(digest: ListDigest, manifest: &ListManifest) -> Result<(), ListError> {
    let have = digest.count();
    let differ = ListError::Digest {
        have,
        want: manifest.count,
    };
    if have != manifest.count || hex(&digest.finish()) != manifest.digest {
        return Err(differ);
    }
    Ok(())
}

/// A day's list, whole and checked. Never changes; what a scan needs of it is shared, not copied.
pub struct HeldList {
    pub(super) connection: Connection,
    manifest: ListManifest,
    document_key: Option<DocumentKey>,
    day: Arc<Day>,
    policy: Arc<Policy>,
    gates: Vec<Arc<Gate>>,
    operators: Arc<[Operator]>,
    settings_since: EpochMillis,
    sessions: HashMap<SessionId, Arc<Session>>,
}

impl HeldList {
    /// Opens a list and checks every row of it against its signed manifest.
    pub fn open(path: &Path, keys: &KeyRing) -> Result<Self, ListError> {
        let list = Self::open_checked(path, keys)?;
        let mut digest = ListDigest::default();
        let mut statement = list.connection.prepare("SELECT number, row FROM ticket")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let number = TicketNumber::from_i64(row.get(0)?).ok_or(ListError::Layout)?;
            digest.add(
                number,
                row.get_ref(1)?.as_blob().map_err(|_| ListError::Layout)?,
            );
        }
        drop(rows);
        drop(statement);
        check_digest(digest, &list.manifest)?;
        Ok(list)
    }

    /// Opens a list whose rows have just been checked.
    fn open_checked(path: &Path, keys: &KeyRing) -> Result<Self, ListError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(immutable_uri(path), flags)?;
        connection.pragma_update(None, "mmap_size", MAP_BYTES)?;
        let layout: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if layout != LAYOUT {
            return Err(ListError::Layout);
        }
        let head: String = connection.query_row("SELECT head FROM list", [], |row| row.get(0))?;
        let head: ListHead = serde_json::from_str(&head).map_err(|source| ListError::Json {
            what: "head",
            source,
        })?;
        let manifest = open_manifest(&head.manifest, keys)?;
        let settings = read_settings(&head, &manifest)?;
        let document_key = settings.document_key.as_deref().map(read_key).transpose()?;
        let sessions = settings.sessions.into_iter();
        Ok(Self {
            connection,
            day: Arc::new(Day {
                service_day: manifest.service_day.clone(),
                day_from: manifest.day_from,
                day_until: manifest.day_until,
                not_after: manifest.not_after,
            }),
            document_key,
            policy: Arc::new(settings.policy),
            gates: settings.gates.into_iter().map(Arc::new).collect(),
            operators: settings.operators.into(),
            settings_since: settings.since,
            sessions: sessions
                .map(|one| (one.session_id.clone(), Arc::new(one)))
                .collect(),
            manifest,
        })
    }

    /// What the server signed.
    pub fn manifest(&self) -> &ListManifest {
        &self.manifest
    }

    /// The day's borders.
    pub fn day(&self) -> &Arc<Day> {
        &self.day
    }

    /// The venue's policy as it holds for the day.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// A gate of the venue as it is on the day.
    pub fn gate(&self, id: &GateId) -> Option<&Arc<Gate>> {
        self.gates.iter().find(|gate| gate.gate_id == *id)
    }

    /// Who signs in at the venue's gates.
    pub fn operators(&self) -> &Arc<[Operator]> {
        &self.operators
    }

    /// Since when its settings hold.
    pub fn settings_since(&self) -> EpochMillis {
        self.settings_since
    }

    /// The venue's gates.
    pub fn gates(&self) -> &[Arc<Gate>] {
        &self.gates
    }

    /// The sessions of the day.
    pub fn sessions(&self) -> &HashMap<SessionId, Arc<Session>> {
        &self.sessions
    }

    /// A session of the day.
    pub fn session(&self, id: &SessionId) -> Option<&Arc<Session>> {
        self.sessions.get(id)
    }

    /// The ticket of a number.
    pub fn by_number(&self, number: TicketNumber) -> Result<Option<Ticket>, ListError> {
        self.one(
            "SELECT row FROM ticket WHERE number = ?1",
            params![number.as_i64()],
        )
    }

    /// The ticket of an id.
    pub fn by_id(&self, id: &TicketId) -> Result<Option<Ticket>, ListError> {
        self.one(
            "SELECT row FROM ticket WHERE ticket_id = ?1",
            params![id.as_str()],
        )
    }

    /// The tickets behind an opaque code.
    pub fn by_opaque(&self, hash: &[u8; 16]) -> Result<Vec<Ticket>, ListError> {
        self.all(
            "SELECT row FROM ticket WHERE number IN (SELECT number FROM opaque WHERE hash = ?1)",
            params![hash.as_slice()],
        )
    }

    /// The tickets behind a document; none where the list has no key of the day.
    pub fn by_document(&self, document: &Document) -> Result<Vec<Ticket>, ListError> {
        let Some(key) = &self.document_key else {
            return Ok(Vec::new());
        };
        self.all(
            "SELECT row FROM ticket WHERE number IN (SELECT number FROM document WHERE hash = ?1)",
            params![document.hash(key).as_slice()],
        )
    }

    pub(super) fn all(
        &self,
        sql: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<Ticket>, ListError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        let mut tickets = Vec::new();
        while let Some(row) = rows.next()? {
            tickets.push(read_row(row)?);
        }
        Ok(tickets)
    }

    fn one(&self, sql: &str, id: &[&dyn rusqlite::ToSql]) -> Result<Option<Ticket>, ListError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        statement
            .query_row(id, |row| Ok(read_row(row)))
            .optional()?
            .transpose()
    }
}

/// The day's key for documents, as settings write it.
fn read_key(text: &str) -> Result<DocumentKey, ListError> {
    let bytes = Zeroizing::new(STANDARD.decode(text).unwrap_or_default());
    let bytes = bytes.as_slice().try_into();
    bytes
        .map(DocumentKey::from_bytes)
        .map_err(|_| ListError::DocumentKey)
}

fn read_row(row: &rusqlite::Row<'_>) -> Result<Ticket, ListError> {
    let bytes = row.get_ref(0)?.as_blob().map_err(|_| ListError::Layout)?;
    decode(bytes).map_err(|source| ListError::Row { row: 0, source })
}
