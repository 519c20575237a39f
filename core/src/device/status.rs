//! How a device is: what a screen, a status command or the person on call wants to know.

use serde::{Deserialize, Serialize};

use super::{Device, SignedIn};
use crate::clock::{Now, Trust};
use crate::ids::{DeviceId, GateId, VenueId};
use crate::journal::{JournalError, RoomStatus};
use crate::record::FreePassageCause;
use crate::time::{EpochMillis, EpochSeconds, ServiceDay};

/// How a device is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Its venue.
    pub venue_id: VenueId,
    /// Itself.
    pub device_id: DeviceId,
    /// The gate that it serves.
    pub gate_id: GateId,
    /// What the open device knows without asking its journal.
    #[serde(flatten)]
    pub live: LiveStatus,
    /// All records of its journal.
    pub records: u64,
    /// Those that the server has.
    pub synced: u64,
    /// Those that wait to go up.
    pub unsent: u64,
    /// Those that the server set aside.
    pub quarantined: u64,
    /// Those that the server refused alone.
    pub stuck: u64,
}

/// What an open device knows without asking its journal: cheap enough for every second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveStatus {
    /// When the device was revoked, if it was: it has no keys and lists any more.
    #[serde(default)]
    pub revoked_at: Option<EpochMillis>,
    /// Whether the server answered lately.
    pub online: bool,
    /// It left the last question of a scan without an answer, not long ago: the gate decides by
    /// what it has, or, where the venue is strict, admits nobody.
    #[serde(default)]
    pub unanswered: bool,
    /// Whether it only practises.
    #[serde(default)]
    pub practice: bool,
    /// Who is signed in.
    #[serde(default)]
    pub signed_in: Option<SignedIn>,
    /// Its clock.
    pub clock: ClockStatus,
    /// The lists that it holds, by day.
    pub lists: Vec<ListStatus>,
    /// The keys that it trusts.
    #[serde(default)]
    pub keys: KeyStatus,
    /// Its room on disk.
    #[serde(default)]
    pub room: RoomStatus,
    /// Readings of the same ticket within three seconds, since start.
    pub repeats: u64,
    /// Readings whose record could not be written, since start.
    pub unlogged: u64,
    /// Own admissions that the server has as losers of a conflict; `Device::conflicts` names them.
    #[serde(default)]
    pub conflicts: u64,
    /// What holds the gate open for everybody, if anything does.
    #[serde(default)]
    pub free_passage: Option<FreePassageStatus>,
    /// What kept the last upload from going up, if anything did.
    pub upload_trouble: Option<String>,
}

/// How the gate stands to server or hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// It answers.
    Online,
    /// It answered lately, but not what the last scan asked.
    NoAnswer,
    /// It has not answered for a minute.
    Offline,
}

impl LiveStatus {
    /// How it stands to server or hub.
    pub fn network(&self) -> Network {
        match (self.online, self.unanswered) {
            (false, _) => Network::Offline,
            (true, true) => Network::NoAnswer,
            (true, false) => Network::Online,
        }
    }
}

impl Network {
    /// Its word in status and on displays.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::NoAnswer => "no_answer",
            Self::Offline => "offline",
        }
    }
}

/// What holds the gate open for everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreePassageStatus {
    /// What began it; the first, if there are several.
    pub cause: FreePassageCause,
    /// Since when.
    pub since: EpochMillis,
    /// Persons whom the sensor saw pass since; `None` before the first.
    pub passages: Option<u64>,
}

/// How its clock is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockStatus {
    /// Trusted time.
    pub now: EpochMillis,
    /// Its uncertainty in ms.
    pub u_ms: i64,
    /// How far it can be trusted.
    pub trust: Trust,
    /// What the server says, while that is disputed: the gate goes on with its own clock.
    #[serde(default)]
    pub disputed: Option<EpochMillis>,
    /// By how much the wall clock is off, in ms, when that is worth a warning.
    pub wall_off_ms: Option<i64>,
}

/// The key manifest that it holds. One past its time still verifies: age alone locks no gate,
/// but somebody must look why no newer one came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyStatus {
    /// Its version.
    pub version: u64,
    /// When a newer one must have come.
    pub not_after: Option<EpochSeconds>,
    /// Whether that time is past.
    pub overdue: bool,
}

/// A list that it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListStatus {
    /// The day.
    pub service_day: ServiceDay,
    /// Its version.
    pub version: u64,
    /// Tickets, tombstones included.
    pub tickets: u64,
    /// When the server signed it.
    pub issued_at: EpochMillis,
    /// When it is too old.
    pub not_after: EpochSeconds,
    /// Since when its sessions, gates, policy and operators hold.
    #[serde(default)]
    pub settings_since: EpochMillis,
}

impl Device {
    /// How the device is now. Counts the whole journal.
    pub fn status(&self) -> Result<Status, JournalError> {
        let counts = self.outgoing().sync_log.counts()?;
        Ok(Status {
            venue_id: self.identity.venue_id.clone(),
            device_id: self.identity.device_id.clone(),
            gate_id: self.gate_id.clone(),
            live: self.live_status(),
            records: counts.records,
            synced: counts.synced,
            unsent: counts.unsent,
            quarantined: counts.quarantined,
            stuck: counts.stuck,
        })
    }

    /// How the device is now, as far as that can be said at once.
    pub fn live_status(&self) -> LiveStatus {
        let outgoing = self.outgoing();
        let (upload_trouble, conflicts) = (outgoing.last_trouble.clone(), outgoing.conflicts);
        let (version, not_after) = (
            outgoing.key_manifest.version,
            outgoing.key_manifest.not_after,
        );
        drop(outgoing);
        let moment = self.platform.moment();
        let mut door = self.door();
        let now = door.clock.look(moment);
        let mut lists: Vec<_> = door
            .lists
            .iter()
            .map(|list| ListStatus {
                service_day: list.day().service_day.clone(),
                version: list.manifest().version,
                tickets: list.manifest().count,
                issued_at: list.manifest().issued_at,
                not_after: list.day().not_after,
                settings_since: list.settings_since(),
            })
            .collect();
        lists.sort_by_key(|list| list.not_after);
        LiveStatus {
            revoked_at: door.revoked_at,
            online: self.is_reachable(),
            unanswered: door.round_trips.is_unanswered(moment.boot_ms),
            practice: door.desk.practice,
            signed_in: door.desk.signed_in.clone(),
            clock: ClockStatus {
                now: now.at,
                u_ms: now.u_ms,
                trust: now.trust,
                disputed: door.clock.disputed_time(moment),
                wall_off_ms: door.clock.warning(moment),
            },
            lists,
            keys: KeyStatus {
                version,
                not_after: Some(not_after),
                overdue: now.at >= not_after.millis(),
            },
            room: door.journal.room(),
            repeats: door.repeats,
            unlogged: door.unlogged,
            conflicts,
            free_passage: door.held_open.first().map(|held| FreePassageStatus {
                cause: held.cause,
                since: held.record_id.made_at(),
                passages: held.passages,
            }),
            upload_trouble,
        }
    }

    /// The time by the device's clock. Certificates are judged by it, since a board's own wall
    /// clock may stand in 1970.
    pub fn time(&self) -> Now {
        self.door().clock.look(self.platform.moment())
    }
}
