//! A device: everything that a PDA or controller knows, behind one door. A scan takes the door's
//! lock and nothing else; the sync loop prepares aside and takes it only to swap.

mod claims;
mod feed;
mod free_passage;
mod identity;
mod judging;
mod lists;
mod look_up;
mod operators;
mod orders;
mod overrides;
mod passages;
mod refusals;
mod repeats;
mod revocation;
mod scan;
mod set_clock;
mod settings;
mod status;
mod today;
mod tries;
mod undo;
mod upkeep;
mod uploads;
mod walk_ins;
mod writing;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::{Heard, TrustedClock};
use crate::ids::GateId;
use crate::journal::{
    self, FolderLock, HeldOpen, Journal, JournalError, OpenError, Room, Salvage, SyncLog,
    Unfinished,
};
use crate::key_manifest::{KeyManifest, KeyRing, Offer};
use crate::outbox::Pace;
use crate::platform::Platform;
use crate::signed::Signed;
use crate::time::{EpochMillis, ServiceDay};
use crate::whitelist::HeldList;

pub use claims::Asker;
pub use feed::Conflict;
pub use free_passage::{FreePassageError, ScheduleChange};
pub use identity::{Candidate, Identity, IdentityError};
pub use lists::{ListDownload, ListsError, Wanted};
pub use look_up::{LookUpError, LookedUp, MAX_FOUND, MIN_LOOK_UP, OrderFound, TicketFound};
pub use operators::{HandOver, OperatorError, SignedIn};
pub use orders::OrderTicket;
pub use overrides::{Overridden, OverrideAsked};
pub use passages::PassageNoted;
pub use revocation::Refused;
pub use scan::{Explained, Say, ScanOutcome, TicketShown};
pub use set_clock::ClockError;
pub use settings::{ListTaken, SettingsPart};
pub use status::{
    ClockStatus, FreePassageStatus, KeyStatus, ListStatus, LiveStatus, Network, Status,
};
pub use today::{SetAside, Today};
pub use undo::Undone;
pub use uploads::{Upload, Uploaded};
pub use walk_ins::{WalkInError, WalkedIn};

/// Longest reason that people give for an act, in characters: a sentence or two.
const MAX_WORDS: usize = 500;

/// People's words as records hold them.
fn words(text: &str) -> String {
    text.trim().chars().take(MAX_WORDS).collect()
}

/// Why a device cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// Its identity.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// Its journal.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The gate is not one of those that it was enrolled for.
    #[error(
        "gate {asked} is none that this device was enrolled for; name one of {allowed}, or enrol it anew"
    )]
    Gate {
        /// The gate asked for.
        asked: String,
        /// Those that it may serve.
        allowed: String,
    },
}

/// A device that is open for work.
pub struct Device {
    folder: PathBuf,
    identity: Identity,
    gate_id: GateId,
    platform: Arc<dyn Platform>,
    door: Mutex<Door>,
    outgoing: Mutex<Outgoing>,
    reachable: AtomicBool,
    asker: Mutex<Option<Arc<dyn Asker>>>,
    pin_turn: operators::PinTurn,
    salvage: Option<Salvage>,
    amiss: Amiss,
    lock: Option<FolderLock>,
}

/// What may be amiss in a device's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amiss {
    /// It was last used on another machine, and so may be in use there.
    pub is_copied: bool,
    /// Lists that could not be read or verified and were removed, to be fetched again.
    pub lists_dropped: usize,
    /// There was no journal beside lists: whom it admitted before is known only by the feed.
    pub journal_gone: bool,
}

/// What a scan needs.
struct Door {
    journal: Journal,
    clock: TrustedClock,
    /// When the device was revoked: it has no keys and lists any more.
    revoked_at: Option<EpochMillis>,
    keys: Arc<KeyRing>,
    lists: Vec<HeldList>,
    recent: repeats::Recent,
    refused: Option<scan::Refused>,
    /// Check-ins that a crash left half done.
    unfinished: Vec<Unfinished>,
    /// What holds the gate open for everybody.
    held_open: Vec<HeldOpen>,
    round_trips: claims::RoundTrips,
    desk: operators::Desk,
    refusals: refusals::RefusalMeter,
    /// The days that the server named in its last answer.
    named: HashSet<ServiceDay>,
    /// When the server last said of a held list that there is no newer one.
    vouched: HashMap<ServiceDay, EpochMillis>,
    repeats: u64,
    unlogged: u64,
}

/// What the sync loop needs.
struct Outgoing {
    sync_log: SyncLog,
    key_manifest: KeyManifest,
    pace: Pace,
    stuck_tried_ms: Option<i64>,
    /// Own admissions that the server has as losers.
    conflicts: u64,
    tidied_ms: Option<i64>,
    last_trouble: Option<String>,
}

impl Device {
    /// Opens an enrolled device's folder to serve a gate; without one named, the first that it
    /// may serve. Lists that do not verify any more are dropped: they can be fetched again.
    pub fn open(
        folder: &Path,
        gate: Option<&GateId>,
        platform: Arc<dyn Platform>,
    ) -> Result<Self, DeviceError> {
        let identity = Identity::load(folder)?;
        let opened = journal::open(folder, &platform.fingerprint(), platform.as_ref())?;
        let mut device = Self::assemble(
            folder,
            identity,
            gate,
            platform,
            (opened.journal, opened.sync_log),
        )?;
        let (lists_dropped, has_lists) = {
            let lists = &device.door().lists;
            (lists::drop_unusable(folder, lists), !lists.is_empty())
        };
        device.salvage = opened.salvage;
        device.amiss = Amiss {
            is_copied: opened.is_copied,
            lists_dropped,
            journal_gone: opened.is_new && (has_lists || lists_dropped > 0),
        };
        device.lock = Some(opened.lock);
        let room = Room::hold(folder, Arc::clone(&device.platform));
        device.door().journal.hold_room(room);
        // What is over goes at once, also where no server says so. What a full disk forbids now
        // is tried again every second.
        let _ = device.maintain();
        Ok(device)
    }

    /// Opens a device's folder beside the controller that has it, to look: to explain, to say how
    /// it is, to export. Takes no lock and writes nothing; a scan is refused.
    pub fn open_to_look(
        folder: &Path,
        gate: Option<&GateId>,
        platform: Arc<dyn Platform>,
    ) -> Result<Self, DeviceError> {
        let identity = Identity::load(folder)?;
        let views = journal::open_to_look(folder)?;
        Self::assemble(folder, identity, gate, platform, views)
    }

    fn assemble(
        folder: &Path,
        identity: Identity,
        gate: Option<&GateId>,
        platform: Arc<dyn Platform>,
        (journal, sync_log): (Journal, SyncLog),
    ) -> Result<Self, DeviceError> {
        let gate_id = choose_gate(&identity, gate)?;
        let key_manifest = newest_key_manifest(&identity, &sync_log)?;
        let revoked_at = revocation::known(&sync_log).map_err(OpenError::from)?;
        let keys = Arc::new(match revoked_at {
            None => KeyRing::new(&key_manifest),
            Some(_) => KeyRing::empty(identity.venue_number),
        });
        // Without keys none of them verifies.
        let lists = lists::load(folder, &keys);
        let mut clock: TrustedClock = sync_log
            .fact("clock")
            .map_err(OpenError::from)?
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_else(|| TrustedClock::new(identity.enrolled_at.millis()));
        clock.raise_floor(key_manifest.issued_at);
        for list in &lists {
            clock.raise_floor(list.manifest().issued_at);
        }
        if let Some(now) = journal.newest_record_at().map_err(OpenError::from)? {
            clock.recorded(now);
        }
        let now = clock.look(platform.moment());
        let unfinished = journal
            .unfinished(now.at.plus(-passages::RESUME_MS))
            .map_err(OpenError::from)?;
        let held_open = journal.held_open().map_err(OpenError::from)?;
        let conflicts = sync_log
            .conflicts(&identity.device_id)
            .map_err(OpenError::from)?
            .len() as u64;
        let desk = operators::Desk::load(&sync_log).map_err(OpenError::from)?;
        Ok(Self {
            folder: folder.to_owned(),
            identity,
            gate_id,
            platform,
            door: Mutex::new(Door {
                journal,
                clock,
                revoked_at,
                keys,
                lists,
                recent: repeats::Recent::default(),
                refused: None,
                unfinished,
                held_open,
                round_trips: claims::RoundTrips::default(),
                desk,
                refusals: refusals::RefusalMeter::default(),
                named: HashSet::new(),
                vouched: HashMap::new(),
                repeats: 0,
                unlogged: 0,
            }),
            outgoing: Mutex::new(Outgoing {
                sync_log,
                key_manifest,
                pace: Pace::default(),
                stuck_tried_ms: None,
                conflicts,
                tidied_ms: None,
                last_trouble: None,
            }),
            reachable: AtomicBool::new(false),
            asker: Mutex::new(None),
            pin_turn: operators::PinTurn::default(),
            salvage: None,
            amiss: Amiss::default(),
            lock: None,
        })
    }

    /// Hands over every record that is not known to be on the server, oldest first, as the JSON
    /// text that it is. Returns how many.
    pub fn export<E: From<JournalError>>(
        &self,
        take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<u64, E> {
        self.outgoing().sync_log.export(take)
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The gate that it serves.
    pub fn gate_id(&self) -> &GateId {
        &self.gate_id
    }

    /// What was saved of a damaged journal when it was opened, if it was one.
    pub fn salvage(&self) -> Option<&Salvage> {
        self.salvage.as_ref()
    }

    /// What was found amiss in its folder when it was opened.
    pub fn amiss(&self) -> Amiss {
        self.amiss
    }

    /// Whether server or hub answered lately, as the sync loop knows.
    pub fn set_reachable(&self, reachable: bool) {
        self.reachable.store(reachable, Ordering::Relaxed);
    }

    fn is_reachable(&self) -> bool {
        self.reachable.load(Ordering::Relaxed)
    }

    /// The platform says that the network is back.
    pub fn network_is_here(&self) {
        self.outgoing().pace.network_is_here();
    }

    /// Hears the server's time from an answer's header; `sent_boot_ms` is the boot-time clock
    /// when the request left.
    pub fn hear_server(
        &self,
        server: EpochMillis,
        sent_boot_ms: i64,
    ) -> Result<Heard, JournalError> {
        let moment = self.platform.moment();
        let round_trip_ms = moment.boot_ms.saturating_sub(sent_boot_ms);
        let (heard, clock) = {
            let mut door = self.door();
            let not_after = door
                .lists
                .iter()
                .map(|list| list.day().not_after.millis())
                .max();
            let heard = door
                .clock
                .hear_server(server, round_trip_ms, moment, not_after);
            (heard, door.clock.clone())
        };
        self.keep_clock(&clock)?;
        Ok(heard)
    }

    fn keep_clock(&self, clock: &TrustedClock) -> Result<(), JournalError> {
        let text = serde_json::to_string(clock)?;
        self.outgoing().sync_log.set_fact("clock", &text)
    }

    /// Takes a key manifest if it is newer than the one held and signed by the pinned root.
    fn offer_key_manifest(&self, signed: &Signed) -> Result<(), ListsError> {
        let root = self.identity.root().map_err(IdentityError::from)?;
        let offered = KeyManifest::open(signed, &root)?;
        let mut outgoing = self.outgoing();
        match offered.compared_to(&outgoing.key_manifest) {
            Offer::Same => return Ok(()),
            Offer::Newer => {}
            Offer::Lower => return Err(ListsError::KeyManifest("is older than the one held")),
            Offer::Contradicts => {
                return Err(ListsError::KeyManifest("contradicts the one held"));
            }
            Offer::OtherVenue => return Err(ListsError::KeyManifest("is another venue's")),
        }
        let text = serde_json::to_string(signed).map_err(JournalError::from)?;
        if offered.generation > outgoing.key_manifest.generation {
            // The server was put back from a backup, and may have lost what it confirmed.
            outgoing.sync_log.ask_what_is_missing()?;
        }
        outgoing.sync_log.set_fact("key_manifest", &text)?;
        let issued_at = offered.issued_at;
        let keys = Arc::new(KeyRing::new(&offered));
        outgoing.key_manifest = offered;
        drop(outgoing);
        let mut door = self.door();
        if door.revoked_at.is_none() {
            door.keys = keys;
        }
        door.clock.hear_manifest(issued_at, self.platform.moment());
        Ok(())
    }

    fn keys(&self) -> Arc<KeyRing> {
        Arc::clone(&self.door().keys)
    }

    fn door(&self) -> MutexGuard<'_, Door> {
        // A panic under the lock cannot leave a half-written record: SQLite rolls it back.
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outgoing(&self) -> MutexGuard<'_, Outgoing> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn choose_gate(identity: &Identity, gate: Option<&GateId>) -> Result<GateId, DeviceError> {
    let mut allowed = identity.gates.iter().map(|gate| &gate.gate_id);
    let found = match gate {
        Some(asked) => allowed.find(|allowed| *allowed == asked),
        None => allowed.next(),
    };
    found.cloned().ok_or_else(|| DeviceError::Gate {
        asked: gate.map_or_else(|| "no gate at all".into(), ToString::to_string),
        allowed: identity
            .gates
            .iter()
            .map(|gate| gate.gate_id.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    })
}

/// The newer of the manifest that enrolment gave and the one kept since.
fn newest_key_manifest(identity: &Identity, log: &SyncLog) -> Result<KeyManifest, DeviceError> {
    let root = identity.root().map_err(IdentityError::from)?;
    let enrolled = KeyManifest::open(&identity.key_manifest, &root).map_err(IdentityError::from)?;
    let kept = log.fact("key_manifest").map_err(OpenError::from)?;
    let kept = kept
        .and_then(|text| serde_json::from_str::<Signed>(&text).ok())
        .and_then(|signed| KeyManifest::open(&signed, &root).ok());
    Ok(enrolled.or_newer(kept))
}
