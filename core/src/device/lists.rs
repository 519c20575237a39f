//! How lists come in: which are wanted, how one is taken while the gate goes on, and when an old
//! one goes.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::settings::{ListTaken, changed};
use super::{Device, Door, IdentityError};
use crate::journal::JournalError;
use crate::key_manifest::{KeyRing, ManifestError};
use crate::protocol::{ListEnd, ListHead, ListManifest, ListPage, Lists};
use crate::time::{EpochMillis, ServiceDay};
use crate::whitelist::{HeldList, ListBuilder, ListError, list_path};

/// Longest line of a list, in bytes: a page of rows at their longest, with room.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// Why a list, or the answer that names them, is not taken. The lists in use stay.
#[derive(Debug, thiserror::Error)]
pub enum ListsError {
    /// The answer is not of its type.
    #[error("the list's answer cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// The key manifest is not signed by the root.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The key manifest is not to be taken.
    #[error("the key manifest {0}")]
    KeyManifest(&'static str),
    /// A list.
    #[error(transparent)]
    List(#[from] ListError),
    /// A list of another venue or day than asked for.
    #[error("the list is of {0}, not of the venue and day asked for")]
    Foreign(String),
    /// A list older than the one held.
    #[error("the list of {0} is older than the one held")]
    Lower(ServiceDay),
    /// A list of the version held, with other rows or settings.
    #[error("the list of {0} has the version held and other content")]
    Contradicts(ServiceDay),
    /// The stream ended before its last line, or a line is out of place.
    #[error("the list was cut off or is out of order after {0} rows")]
    CutOff(u64),
    /// A line that is longer than any page.
    #[error("a line of the list is longer than {MAX_LINE_BYTES} bytes")]
    LongLine,
    /// The device is revoked.
    #[error("this device is revoked and takes no list")]
    Revoked,
    /// The identity's root key.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// What the server's word on lists means for this device.
#[derive(Debug, Default)]
pub struct Wanted {
    /// Days to fetch now.
    pub fetch: Vec<ServiceDay>,
    /// Lists that are not taken, and why: to be shown.
    pub refused: Vec<ListsError>,
}

fn order(manifest: &ListManifest) -> (u64, u64) {
    (manifest.generation, manifest.version)
}

fn says_the_same(one: &ListManifest, other: &ListManifest) -> bool {
    one.digest == other.digest && one.settings_digest == other.settings_digest
}

/// Opens the lists of a folder that verify.
pub(super) fn load(folder: &Path, keys: &KeyRing) -> Vec<HeldList> {
    let files = list_files(folder).filter(|path| path.extension().is_some_and(|end| end == "db"));
    files
        .filter_map(|path| HeldList::open(&path, keys).ok())
        .collect()
}

/// Deletes list files that are not in use: half-built ones, rotten ones, those whose key is gone.
/// They can be fetched again. Says how many of them were whole once.
pub(super) fn drop_unusable(folder: &Path, in_use: &[HeldList]) -> usize {
    let used: Vec<_> = in_use
        .iter()
        .map(|list| list_path(folder, &list.day().service_day))
        .collect();
    let mut dropped = 0;
    for path in list_files(folder).filter(|path| !used.contains(path)) {
        dropped += usize::from(path.extension().is_some_and(|end| end == "db"));
        // One that stays behind is tried again at the next start.
        let _ = fs::remove_file(path);
    }
    dropped
}

fn list_files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    entries.filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("whitelist-"))
    })
}

impl Door {
    /// The newest list of the current day, or else the newest of all.
    pub(super) fn list_for(&self, now: EpochMillis) -> Option<&HeldList> {
        let newest = |list: &&HeldList| (list.day().day_until, list.manifest().issued_at);
        let current = self.lists.iter().filter(|list| list.day().holds(now));
        current.max_by_key(newest).or_else(|| {
            // None of today: the last one that has begun says how stale the gate is.
            let begun = |list: &&HeldList| list.day().day_from.millis() <= now;
            let past = self.lists.iter().filter(begun).max_by_key(newest);
            past.or_else(|| self.lists.iter().max_by_key(newest))
        })
    }

    /// When the server last said that the list in use is the newest, in ms before now.
    pub(super) fn list_age_ms(&self, now: EpochMillis) -> Option<i64> {
        let list = self.list_for(now)?;
        let vouched = self.vouched.get(&list.day().service_day);
        let issued_at = list.manifest().issued_at;
        Some(now.since(vouched.copied().unwrap_or(issued_at).max(issued_at)))
    }

    pub(super) fn newest_list_issued_at(&self) -> EpochMillis {
        let issued = self
            .lists
            .iter()
            .map(|list| list.manifest().issued_at)
            .max();
        issued.unwrap_or(EpochMillis(0))
    }
}

impl Device {
    /// Reads the answer of `GET /v1/gate/lists`: takes newer keys and says which days to
    /// fetch. What it names stays; other lists go when their time is over.
    pub fn lists_answered(&self, body: &[u8]) -> Result<Wanted, ListsError> {
        let answer: Lists = serde_json::from_slice(body)?;
        self.offer_key_manifest(&answer.key_manifest)?;
        let keys = self.keys();
        let mut wanted = Wanted::default();
        let mut named = HashSet::new();
        for signed in &answer.manifests {
            let fetch = crate::whitelist::open_manifest(signed, &keys)
                .map_err(ListsError::from)
                .and_then(|manifest| {
                    named.insert(manifest.service_day.clone());
                    Ok(self.wants(&manifest)?.then_some(manifest.service_day))
                });
            match fetch {
                Ok(day) => wanted.fetch.extend(day),
                Err(refused) => wanted.refused.push(refused),
            }
        }
        self.take_named(named)?;
        Ok(wanted)
    }

    /// Whether a list is newer than the one held. A manifest that was signed after the held one
    /// is also a word on the time; an older one, which anybody may have kept, is not.
    fn wants(&self, offered: &ListManifest) -> Result<bool, ListsError> {
        if offered.venue_id != self.identity.venue_id {
            return Err(ListsError::Foreign(offered.venue_id.to_string()));
        }
        let moment = self.platform.moment();
        let mut door = self.door();
        let day = &offered.service_day;
        let held = door
            .lists
            .iter()
            .find(|list| list.day().service_day == *day);
        let newer_word = held.is_none_or(|held| offered.issued_at > held.manifest().issued_at);
        let wanted = match held.map(HeldList::manifest) {
            None => true,
            Some(held) => match order(offered).cmp(&order(held)) {
                Ordering::Greater => true,
                Ordering::Less => return Err(ListsError::Lower(day.clone())),
                Ordering::Equal if !says_the_same(offered, held) => {
                    return Err(ListsError::Contradicts(day.clone()));
                }
                Ordering::Equal => false,
            },
        };
        if !wanted {
            let vouched = door.vouched.entry(day.clone()).or_default();
            *vouched = offered.issued_at.max(*vouched);
        }
        if newer_word {
            door.clock.hear_manifest(offered.issued_at, moment);
        }
        Ok(wanted)
    }

    /// Keeps what the server named, and drops what the feed told of other days. Days whose list is
    /// still to come keep theirs: the feed does not tell it twice.
    fn take_named(&self, named: HashSet<ServiceDay>) -> Result<(), JournalError> {
        let mut door = self.door();
        door.named = named;
        let now = door.clock.look(self.platform.moment());
        // Without trusted time nothing can be said to be over.
        if !now.trust.is_anchored() {
            return Ok(());
        }
        let gone = self.drop_outdated(&mut door, now);
        let held = door.lists.iter().map(|list| list.day().service_day.clone());
        let kept: Vec<_> = held.chain(door.named.iter().cloned()).collect();
        drop(door);
        // Closing them takes a while, and no scan must wait for it.
        drop(gone);
        self.outgoing().sync_log.drop_feed_except(&kept)
    }

    /// Starts to take a day's list while the gate goes on with the one it has.
    pub fn begin_list(&self, day: ServiceDay) -> ListDownload<'_> {
        ListDownload {
            device: self,
            day,
            line: Vec::new(),
            builder: None,
            rows: 0,
            ended: false,
        }
    }

    fn swap(&self, list: HeldList) -> Result<ListTaken, ListsError> {
        let mut door = self.door();
        if door.revoked_at.is_some() {
            drop(door);
            drop(list);
            drop_unusable(&self.folder, &[]);
            return Err(ListsError::Revoked);
        }
        let same_day = |held: &HeldList| held.day().service_day == list.day().service_day;
        let old = door
            .lists
            .iter()
            .position(same_day)
            .map(|at| door.lists.swap_remove(at));
        door.clock.raise_floor(list.manifest().issued_at);
        let taken = ListTaken {
            tickets: list.manifest().count,
            changed: old
                .as_ref()
                .map_or_else(Vec::new, |old| changed(old, &list)),
            since: list.settings_since(),
        };
        door.lists.push(list);
        drop(door);
        // Closing the old file takes a while, and no scan must wait for it.
        drop(old);
        Ok(taken)
    }
}

/// A list on its way in: feed it the bytes of the stream as they come, then finish.
pub struct ListDownload<'a> {
    device: &'a Device,
    day: ServiceDay,
    line: Vec<u8>,
    builder: Option<(ListBuilder, Arc<KeyRing>)>,
    rows: u64,
    ended: bool,
}

impl ListDownload<'_> {
    /// Takes the next bytes, cut anywhere.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<(), ListsError> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if self.line.is_empty() {
                self.take_line(head)?;
            } else {
                self.line.extend_from_slice(head);
                let line = std::mem::take(&mut self.line);
                self.take_line(&line)?;
                self.line = line;
                self.line.clear();
            }
        }
        if self.line.len() + bytes.len() > MAX_LINE_BYTES {
            return Err(ListsError::LongLine);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn take_line(&mut self, line: &[u8]) -> Result<(), ListsError> {
        let Some((builder, _)) = &mut self.builder else {
            return self.take_head(line);
        };
        if self.ended {
            return Err(ListsError::CutOff(self.rows));
        }
        if line.starts_with(b"{\"end\"") {
            let end: ListEnd = serde_json::from_slice(line)?;
            self.ended = end.end == self.rows;
            return if self.ended {
                Ok(())
            } else {
                Err(ListsError::CutOff(self.rows))
            };
        }
        let page: ListPage = serde_json::from_slice(line)?;
        builder.add(&page)?;
        self.rows += page.rows.len() as u64;
        Ok(())
    }

    fn take_head(&mut self, line: &[u8]) -> Result<(), ListsError> {
        let head: ListHead = serde_json::from_slice(line)?;
        self.device.offer_key_manifest(&head.key_manifest)?;
        let keys = self.device.keys();
        let manifest = crate::whitelist::open_manifest(&head.manifest, &keys)?;
        if manifest.service_day != self.day {
            return Err(ListsError::Foreign(manifest.service_day.to_string()));
        }
        self.device.wants(&manifest)?;
        let builder = ListBuilder::begin(&self.device.folder, &head, &keys)?;
        self.builder = Some((builder, keys));
        Ok(())
    }

    /// Checks the whole and puts it in use. The gate sees the old list or the new one. Says what
    /// changed beside the tickets.
    pub fn finish(self) -> Result<ListTaken, ListsError> {
        let Some((builder, keys)) = self.builder.filter(|_| self.ended && self.line.is_empty())
        else {
            return Err(ListsError::CutOff(self.rows));
        };
        self.device.swap(builder.finish(&keys)?)
    }
}
