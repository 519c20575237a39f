//! An enrolled device at a gate at nine o'clock that holds the list of a few tickets.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use stile_core::device::{Candidate, Device, DeviceError, ListsError};
use stile_core::protocol::Lists;
use stile_core::reason::Reason;
use stile_core::ticket::Ticket;
use stile_core::time::EpochMillis;
use stile_core::verdict::Verdict;

use super::{NINE, TestPlatform, Venue, id};

pub struct AtGate {
    pub folder: tempfile::TempDir,
    pub platform: Arc<TestPlatform>,
    pub venue: Venue,
    pub tickets: Vec<Ticket>,
}

impl AtGate {
    pub fn of(venue: Venue, tickets: Vec<Ticket>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let platform = Arc::new(TestPlatform::at(NINE));
        let candidate = Candidate::new(venue.enrolment_text(), platform.as_ref());
        let answer = venue.enrol(&candidate.request("pda", "test"));
        let identity = candidate.accept(answer).unwrap();
        identity.save(folder.path()).unwrap();
        Self {
            folder,
            platform,
            venue,
            tickets,
        }
    }

    pub fn new() -> Self {
        let venue = Venue::new();
        let names = ["A1", "A2", "A3", "A4", "A5"];
        let tickets = names.iter().map(|name| venue.ticket(name)).collect();
        Self::of(venue, tickets)
    }

    pub fn try_open(&self) -> Result<Device, DeviceError> {
        Device::open(self.folder.path(), None, self.platform.clone())
    }

    pub fn open(&self) -> Device {
        self.try_open().unwrap()
    }

    /// Opens it, tells it the time, gives it the list.
    pub fn ready(&self) -> Device {
        let device = self.open();
        self.anchor(&device);
        give(&device, &self.venue.list(1, &self.tickets)).unwrap();
        device
    }

    /// The server says the same time as the wall.
    pub fn anchor(&self, device: &Device) {
        let sent = self.platform.boot_ms.load(Ordering::SeqCst);
        let wall = self.platform.wall_ms.load(Ordering::SeqCst);
        device.hear_server(EpochMillis(wall), sent).unwrap();
    }

    /// The power fails and comes back after a while; boot time starts again.
    pub fn reboot(&self, off_ms: i64) {
        self.platform.boot.fetch_add(1, Ordering::SeqCst);
        self.platform.wall_ms.fetch_add(off_ms, Ordering::SeqCst);
        self.platform.boot_ms.store(5_000, Ordering::SeqCst);
    }

    pub fn now_s(&self) -> i64 {
        self.platform.wall_ms.load(Ordering::SeqCst) / 1000
    }

    pub fn g2(&self, ticket: usize) -> Vec<u8> {
        self.venue
            .g2(&self.tickets[ticket], self.now_s())
            .into_bytes()
    }

    /// The answer of `GET /v1/gate/lists`.
    pub fn lists(&self, version: u64) -> Vec<u8> {
        let rows = Venue::rows(&self.tickets);
        let lists = Lists {
            key_manifest: self.venue.signed_key_manifest(1),
            manifests: vec![self.venue.sign_list(&self.venue.manifest(version, &rows))],
        };
        serde_json::to_vec(&lists).unwrap()
    }
}

pub fn give(device: &Device, stream: &[u8]) -> Result<u64, ListsError> {
    give_day(device, "2026-10-01", stream)
}

pub fn give_day(device: &Device, day: &str, stream: &[u8]) -> Result<u64, ListsError> {
    let mut list = device.begin_list(id(day));
    for piece in stream.chunks(7_777) {
        list.feed(piece)?;
    }
    list.finish().map(|taken| taken.tickets)
}

pub fn reason(verdict: &Verdict) -> Option<Reason> {
    match verdict {
        Verdict::Admit(_) => None,
        Verdict::Refuse(refusal) => Some(refusal.reason),
    }
}

/// Every record that is not known to be on the server, as the JSON that it is.
pub fn exported(device: &Device) -> Vec<serde_json::Value> {
    let mut records = Vec::new();
    device
        .export(|text| {
            records.push(serde_json::from_str(text).unwrap());
            Ok::<_, stile_core::journal::JournalError>(())
        })
        .unwrap();
    records
}
