//! What the tests of the door share: gates by name, items of the feed, records as they lie.

use std::sync::Arc;

use stile_core::device::{Device, ScanOutcome};
use stile_core::ids::{LogId, RecordId};
use stile_core::protocol::{FeedAnswer, FeedItem, FeedKind};
use stile_core::reason::Reason;
use stile_core::ticket::{Direction, Ticket};
use stile_core::time::EpochMillis;
use uuid::Uuid;

use crate::common::at_gate::{AtGate, exported, give, reason};
use crate::common::{NINE, gate, id};

/// A venue with an exit beside its entrances; its first ticket admits `admits`.
pub fn scene(admits: u8) -> AtGate {
    let mut scene = AtGate::new();
    let mut exit = gate("exit", false);
    exit.direction = Direction::Out;
    scene.venue.gates.push(exit);
    scene.tickets[0].admits = admits;
    enrolled_anew(scene)
}

/// The scene with the gates that it has now, since enrolment names them.
pub fn enrolled_anew(scene: AtGate) -> AtGate {
    AtGate::of(scene.venue, scene.tickets)
}

/// Opens the device at a gate, tells it the time, gives it the list.
pub fn at(scene: &AtGate, gate: &str) -> Device {
    let device = reopened(scene, gate);
    scene.anchor(&device);
    give(&device, &scene.venue.list(1, &scene.tickets)).unwrap();
    device
}

/// Opens the device again as it was left.
pub fn reopened(scene: &AtGate, gate: &str) -> Device {
    Device::open(scene.folder.path(), Some(&id(gate)), scene.platform.clone()).unwrap()
}

pub fn refused(outcome: &ScanOutcome) -> Option<Reason> {
    reason(&outcome.verdict)
}

/// Records of a kind, as JSON.
pub fn records(device: &Device, kind: &str) -> Vec<serde_json::Value> {
    let mut records = exported(device);
    records.retain(|record| record["kind"] == kind);
    records
}

/// An entry of one person, a number of seconds after nine, by another device.
pub fn entry(ticket: &Ticket, n: u128, after_nine_s: i64) -> FeedItem {
    FeedItem {
        record_id: RecordId(Uuid::from_u128(n)),
        kind: FeedKind::Entry,
        refers_to: None,
        ticket_number: ticket.number,
        service_day: id("2026-10-01"),
        checkpoint: id("entry"),
        gate_id: id("west"),
        device_id: id("pda-2"),
        log_id: LogId(Uuid::from_u128(2)),
        sequence: u64::try_from(n).unwrap(),
        at: EpochMillis((NINE + after_nine_s) * 1000),
        anchored: true,
        persons: 1,
        claim_granted: false,
        waived_already_used: false,
        loses: false,
    }
}

pub fn undo_of(item: &FeedItem, n: u128) -> FeedItem {
    FeedItem {
        record_id: RecordId(Uuid::from_u128(n)),
        kind: FeedKind::Undo,
        refers_to: Some(item.record_id),
        persons: 0,
        ..item.clone()
    }
}

/// What the server's feed makes of an own admission.
pub fn own_entry(device: &Device, record: &serde_json::Value) -> FeedItem {
    let text = |name: &str| record[name].as_str().unwrap().to_owned();
    FeedItem {
        record_id: serde_json::from_value(record["id"].clone()).unwrap(),
        kind: FeedKind::Entry,
        refers_to: None,
        ticket_number: serde_json::from_value(record["ticket_number"].clone()).unwrap(),
        service_day: id("2026-10-01"),
        checkpoint: id(&text("checkpoint")),
        gate_id: id(&text("gate_id")),
        device_id: device.identity().device_id.clone(),
        log_id: serde_json::from_value(record["log_id"].clone()).unwrap(),
        sequence: record["sequence"].as_u64().unwrap(),
        at: EpochMillis(record["at"].as_i64().unwrap()),
        anchored: true,
        persons: u8::try_from(record["persons"].as_u64().unwrap()).unwrap(),
        claim_granted: false,
        waived_already_used: false,
        loses: false,
    }
}

pub fn feed(items: Vec<FeedItem>, cursor: &str) -> FeedAnswer {
    FeedAnswer {
        items,
        cursor: cursor.into(),
        more: false,
    }
}

/// An asker that the test tells what to say, and that remembers what it was asked.
#[derive(Default)]
pub struct Told {
    pub claims: std::sync::Mutex<Vec<stile_core::protocol::ClaimRequest>>,
    pub deadlines: std::sync::Mutex<Vec<u32>>,
    pub grants: std::sync::Mutex<Option<bool>>,
    pub genuine: std::sync::Mutex<Option<bool>>,
}

impl stile_core::device::Asker for Told {
    fn claim(
        &self,
        request: &stile_core::protocol::ClaimRequest,
        deadline_ms: u32,
    ) -> Option<stile_core::protocol::ClaimAnswer> {
        self.claims.lock().unwrap().push(request.clone());
        self.deadlines.lock().unwrap().push(deadline_ms);
        let granted = (*self.grants.lock().unwrap())?;
        Some(stile_core::protocol::ClaimAnswer {
            scan_id: request.scan_id,
            granted,
            winner: (!granted).then(|| stile_core::protocol::ClaimWinner {
                gate_id: id("west"),
                device_id: id("pda-2"),
                at: EpochMillis(NINE * 1000 - 5_000),
            }),
            remaining: 0,
        })
    }

    fn verify(
        &self,
        _: &stile_core::protocol::VerifyRequest,
        _: u32,
    ) -> Option<stile_core::protocol::VerifyAnswer> {
        let genuine = (*self.genuine.lock().unwrap())?;
        Some(stile_core::protocol::VerifyAnswer { genuine })
    }
}

/// A device whose server is reachable and answers as told.
pub fn with_asker(device: &Device, grants: Option<bool>) -> Arc<Told> {
    let told = Arc::new(Told::default());
    *told.grants.lock().unwrap() = grants;
    device.set_asker(told.clone());
    device.set_reachable(true);
    told
}
