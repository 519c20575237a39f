//! How a device is: what a screen, a status command or the person on call wants to know.

use serde::Serialize;

use super::Device;
use crate::clock::Trust;
use crate::ids::{DeviceId, GateId, VenueId};
use crate::journal::JournalError;
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
    /// Whether the server answered lately.
    pub online: bool,
    /// Its clock.
    pub clock: ClockStatus,
    /// The lists that it holds, by day.
    pub lists: Vec<ListStatus>,
    /// All records of its journal.
    pub records: u64,
    /// Those that wait to go up.
    pub unsent: u64,
    /// Those that the server set aside.
    pub quarantined: u64,
    /// Those that the server refused alone.
    pub stuck: u64,
    /// Readings of the same ticket within three seconds, since start.
    pub repeats: u64,
    /// Readings whose record could not be written, since start.
    pub unlogged: u64,
    /// What kept the last upload from going up, if anything did.
    pub upload_trouble: Option<String>,
}

/// How its clock is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ClockStatus {
    /// Trusted time.
    pub now: EpochMillis,
    /// Its uncertainty in ms.
    pub u_ms: i64,
    /// How far it can be trusted.
    pub trust: Trust,
    /// By how much the wall clock is off, in ms, when that is worth a warning.
    pub wall_off_ms: Option<i64>,
}

/// A list that it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
}

impl Device {
    /// How the device is now.
    pub fn status(&self) -> Result<Status, JournalError> {
        let (counts, upload_trouble) = {
            let outgoing = self.outgoing();
            (outgoing.sync_log.counts()?, outgoing.last_trouble.clone())
        };
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
            })
            .collect();
        lists.sort_by_key(|list| list.not_after);
        Ok(Status {
            venue_id: self.identity.venue_id.clone(),
            device_id: self.identity.device_id.clone(),
            gate_id: self.gate_id.clone(),
            online: self.is_reachable(),
            clock: ClockStatus {
                now: now.at,
                u_ms: now.u_ms,
                trust: now.trust,
                wall_off_ms: door.clock.warning(moment),
            },
            lists,
            records: counts.records,
            unsent: counts.unsent,
            quarantined: counts.quarantined,
            stuck: counts.stuck,
            repeats: door.repeats,
            unlogged: door.unlogged,
            upload_trouble,
        })
    }
}
