//! A server with a venue, and devices that file records: what tests of the server stand on.

// Each test program uses a part of it, and helpers of tests may fail loudly as tests may.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use data_encoding::BASE64;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use stile_core::ids::{GateId, Kid, RecordId, SessionId, TicketId, VenueId};
use stile_core::keys::{DeviceSigningKey, SigningKey};
use stile_core::policy::Policy;
use stile_core::protocol::{
    EnrolAnswer, EnrolRequest, EnrolmentText, NewEnrolment, NewGate, NewSession, Pulled,
    PulledRecord, RecordsAnswer, SignedBatch,
};
use stile_core::signed::{Domain, Signed};
use stile_core::time::EpochMillis;
use stile_sync_server::ServerError;
use stile_sync_server::clock::Clock;
use stile_sync_server::import::{LineFault, NumberedLine, TicketLine};
use stile_sync_server::random::SystemRandom;
use stile_sync_server::server::{
    Device, Enrolling, MasterKeySource, PullFilter, PullRequest, Server,
};
use stile_sync_server::store::{LogStream, Store};
use stile_sync_server::vault::Vault;

/// 2026-10-01 10:00 in Shanghai: within the admission of session `s1`.
pub const NOW: EpochMillis = EpochMillis(1_790_820_000_000);
/// The day of `s1` and `s2`.
pub const TODAY: &str = "2026-10-01";

/// A clock that stands until it is moved.
pub struct TestClock(AtomicI64);

impl TestClock {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(NOW.0)))
    }

    pub fn move_by(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> EpochMillis {
        EpochMillis(self.0.load(Ordering::SeqCst))
    }
}

/// A server, its clock, its store where the test gave one, and a venue.
pub struct Bed {
    pub server: Arc<Server>,
    pub clock: Arc<TestClock>,
    pub venue: VenueId,
}

impl Bed {
    /// A server on a store, with venue `museum-01`: two gates, `s1` and `s2` today, `s3` tomorrow.
    pub async fn on(store: Arc<dyn Store>) -> Self {
        let clock = TestClock::new();
        let random = Arc::new(SystemRandom);
        let key = MasterKeySource::Text(BASE64.encode(&[7; 32]).into());
        let (vault, _) = Vault::open(&key, None, &*random).unwrap();
        let server = Server::with_store(store, vault, clock.clone(), random)
            .await
            .unwrap();
        Self::furnish(server, clock).await
    }

    /// The same, on a folder.
    pub async fn in_folder(folder: &Path) -> Self {
        let clock = TestClock::new();
        let key = MasterKeySource::File(folder.join("master.key"));
        let server = Server::open(folder, key, clock.clone()).await.unwrap();
        Self::furnish(server, clock).await
    }

    async fn furnish(server: Server, clock: Arc<TestClock>) -> Self {
        let venue = VenueId::new("museum-01").unwrap();
        server
            .create_venue(venue.clone(), "博物馆", "Asia/Shanghai", Policy::default())
            .await
            .unwrap();
        let bed = Self {
            server: Arc::new(server),
            clock,
            venue,
        };
        bed.put_gate("north").await;
        bed.put_gate("south").await;
        bed.put_session("s1", "2026-10-01 10:00", "2026-10-01 12:00")
            .await;
        bed.put_session("s2", "2026-10-01 14:00", "2026-10-01 16:00")
            .await;
        bed.put_session("s3", "2026-10-02 10:00", "2026-10-02 12:00")
            .await;
        bed
    }

    pub async fn put_gate(&self, id: &str) {
        let gate: NewGate = serde_json::from_value(json!({})).unwrap();
        self.server
            .put_gate(&self.venue, GateId::new(id).unwrap(), gate)
            .await
            .unwrap();
    }

    pub async fn put_session(&self, id: &str, starts_at: &str, ends_at: &str) {
        self.put_session_with(id, json!({ "starts_at": starts_at, "ends_at": ends_at }))
            .await;
    }

    pub async fn put_session_with(&self, id: &str, session: Value) {
        let session: NewSession = serde_json::from_value(session).unwrap();
        let id = SessionId::new(id).unwrap();
        self.server
            .put_session(&self.venue, id, session)
            .await
            .unwrap();
    }

    /// Puts tickets and answers the refused lines, counted from 1.
    pub async fn put_tickets(&self, tickets: Vec<TicketLine>) -> Vec<(u64, LineFault)> {
        let lines = (1..)
            .zip(tickets)
            .map(|(line, ticket)| NumberedLine { line, ticket });
        self.server
            .upsert_tickets(&self.venue, lines.collect())
            .await
            .unwrap()
            .faults
    }

    /// Puts tickets `t0` … of session `s1`.
    pub async fn put_many_tickets(&self, count: usize) {
        for chunk in (0..count).collect::<Vec<_>>().chunks(1_000) {
            let tickets = chunk
                .iter()
                .map(|n| ticket(&format!("t{n}"), "s1"))
                .collect();
            assert_eq!(self.put_tickets(tickets).await, []);
        }
    }

    /// Enrols a device for both gates.
    pub async fn device(&self, seed: u8) -> TestDevice {
        let (key, answer) = self.enrol(seed).await;
        let device = self
            .server
            .authenticate_device(&answer.bearer)
            .await
            .unwrap();
        TestDevice {
            device,
            key,
            log_id: uuid(u128::from(seed) << 64),
            sequence: 0,
        }
    }

    pub async fn enrol(&self, seed: u8) -> (DeviceSigningKey, EnrolAnswer) {
        let token = self.invite().await.token;
        let key = SigningKey::from_seed(&[seed; 32]);
        let request = enrol_request(&token, &key);
        let answer = self.enrolled(request).await;
        (key, answer)
    }

    /// The answer of a device that nobody is to confirm.
    pub async fn enrolled(&self, request: EnrolRequest) -> EnrolAnswer {
        match self.server.enrol(request).await.unwrap() {
            Enrolling::Enrolled(answer) => *answer,
            Enrolling::Waiting(waiting) => panic!("it waits for {}", waiting.enrolment_id),
        }
    }

    pub async fn invite(&self) -> EnrolmentText {
        let gates = vec![GateId::new("north").unwrap(), GateId::new("south").unwrap()];
        let request = NewEnrolment {
            gates,
            server: None,
            confirm: false,
        };
        let enrolment = self
            .server
            .new_enrolment(&self.venue, request, "http://127.0.0.1:1", None)
            .await
            .unwrap();
        enrolment.text.parse().unwrap()
    }

    pub async fn file(&self, device: &TestDevice, records: &[String]) -> RecordsAnswer {
        self.try_file(device, records).await.unwrap()
    }

    pub async fn try_file(
        &self,
        device: &TestDevice,
        records: &[String],
    ) -> Result<RecordsAnswer, ServerError> {
        self.server
            .file_records(&device.device, device.batch(records))
            .await
    }

    /// The next piece of a stream.
    pub async fn pull(&self, stream: LogStream, after: Option<&str>, limit: u32) -> Pulled {
        let request = pull_request(stream, after, limit);
        self.server.pull(&self.venue, &request).await.unwrap()
    }

    /// The whole of a stream, pulled piece by piece.
    pub async fn pull_all(&self, stream: LogStream, limit: u32) -> Vec<PulledRecord> {
        let (mut records, mut cursor) = (Vec::new(), None);
        loop {
            let pulled = self.pull(stream, cursor.as_deref(), limit).await;
            records.extend(pulled.records);
            cursor = Some(pulled.cursor);
            if !pulled.more {
                return records;
            }
        }
    }
}

/// A pull of what there is.
pub fn pull_request(stream: LogStream, after: Option<&str>, limit: u32) -> PullRequest {
    PullRequest {
        stream,
        filter: PullFilter::default(),
        after: after.map(str::to_owned),
        limit: Some(limit),
        wait_s: 0,
    }
}

pub fn enrol_request(token: &str, key: &DeviceSigningKey) -> EnrolRequest {
    EnrolRequest {
        token: token.to_owned(),
        name: "north gate".into(),
        model: "Test 1".into(),
        public_key: key.verifying_key().to_base64(),
    }
}

/// A ticket line with an id and a session, everything else at its simplest.
pub fn ticket(id: &str, session: &str) -> TicketLine {
    TicketLine {
        ticket_id: TicketId::new(id).unwrap(),
        order_number: "o-1".parse().unwrap(),
        session_id: SessionId::new(session).unwrap(),
        holder_mask: "**伟".into(),
        last_four: "5678".to_owned().try_into().ok(),
        phone: None,
        document: None,
        code: None,
        admits: 1,
        zones: Vec::new(),
        label: String::new(),
        category: String::new(),
        attention: String::new(),
        admit_from: None,
        admit_until: None,
        status: None,
        cancel_cause: None,
        source: String::new(),
        age_group: String::new(),
        source_version: None,
    }
}

/// An enrolled device with a log.
#[derive(Clone)]
pub struct TestDevice {
    pub device: Device,
    pub key: DeviceSigningKey,
    pub log_id: uuid::Uuid,
    pub sequence: u64,
}

impl TestDevice {
    /// The next record of the log: a scan that admitted one person of a ticket of `s1`.
    pub fn check_in(&mut self, ticket: &str) -> String {
        self.record(json!({ "ticket_id": ticket })).to_string()
    }

    /// The same, with members of its own.
    pub fn record(&mut self, members: Value) -> Value {
        self.sequence += 1;
        let mut record = json!({
            "id": self.record_id(self.sequence),
            "log_id": self.log_id,
            "sequence": self.sequence,
            "venue_id": self.device.venue_id,
            "device_id": self.device.device_id,
            "gate_id": "north",
            "checkpoint": "entry",
            "at": NOW.0 + i64::try_from(self.sequence).unwrap(),
            "u_ms": 3,
            "trust": "anchored",
            "kind": "scan",
            "via": "code",
            "direction": "in",
            "session_id": "s1",
            "service_day": TODAY,
            "format": "G2",
            "kid": 1,
            "verdict": "admit",
            "persons": 1,
            "mode": "online",
            "decision_us": 4,
        });
        let (record_members, members) = (record.as_object_mut().unwrap(), members);
        record_members.extend(members.as_object().unwrap().clone());
        record
    }

    /// The id that [`Self::record`] gives to the record of a sequence.
    pub fn record_id(&self, sequence: u64) -> RecordId {
        let mut random = [0; 10];
        let hash = Sha256::digest([self.log_id.as_bytes(), &sequence.to_be_bytes()[..]].concat());
        random.copy_from_slice(&hash[..10]);
        RecordId::at(NOW.plus(i64::try_from(sequence).unwrap()), random)
    }

    /// A signed batch of records, as they are written.
    pub fn batch(&self, records: &[String]) -> SignedBatch {
        let device_id = &self.device.device_id;
        let payload = format!(
            r#"{{"device_id":"{device_id}","records":[{}]}}"#,
            records.join(",")
        );
        SignedBatch(Signed::sign(&Domain::RECORDS, payload.as_bytes(), Kid(0), &self.key).unwrap())
    }
}

pub fn uuid(n: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(n)
}
