//! A small venue to test with: its keys, its list as the server would sign it, a platform whose
//! clocks and random bytes the test sets.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

pub mod at_gate;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use stile_core::clock::{BootId, Moment};
use stile_core::codes::{Format, OpaqueShape};
use stile_core::ids::*;
use stile_core::key_manifest::{Algorithm, KeyManifest, KeyRing, KeyRole, ManifestKey};
use stile_core::keys::*;
use stile_core::platform::{Platform, Random};
use stile_core::policy::Policy;
use stile_core::protocol::*;
use stile_core::signed::{Domain, Signed};
use stile_core::ticket::*;
use stile_core::time::*;
use stile_core::whitelist::{ListDigest, encode, hex};

/// 2026-10-01 09:00 in Shanghai: the start of the morning session.
pub const NINE: i64 = 1_790_816_400;

pub fn cases_folder() -> PathBuf {
    std::env::var_os("STILE_CASES").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/cases"),
        PathBuf::from,
    )
}

pub fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

/// A platform that the test sets.
pub struct TestPlatform {
    pub wall_ms: AtomicI64,
    pub boot_ms: AtomicI64,
    pub boot: AtomicU64,
    pub micros: AtomicU64,
    pub machine: Mutex<String>,
    pub free_bytes: Mutex<Option<u64>>,
    /// Whether room on disk is really taken; else it only looks so, and tests are quick.
    pub real_disk: AtomicBool,
    random: AtomicU64,
}

impl TestPlatform {
    pub fn at(seconds: i64) -> Self {
        Self {
            wall_ms: AtomicI64::new(seconds * 1000),
            boot_ms: AtomicI64::new(60_000),
            boot: AtomicU64::new(1),
            micros: AtomicU64::new(0),
            machine: Mutex::new("a machine".into()),
            free_bytes: Mutex::new(None),
            real_disk: AtomicBool::new(false),
            random: AtomicU64::new(1),
        }
    }

    /// Lets time pass.
    pub fn pass_ms(&self, ms: i64) {
        self.wall_ms.fetch_add(ms, Ordering::SeqCst);
        self.boot_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Random for TestPlatform {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            let n = self.random.fetch_add(1, Ordering::SeqCst);
            *byte = Sha256::digest(n.to_le_bytes())[0];
        }
    }
}

impl Platform for TestPlatform {
    fn moment(&self) -> Moment {
        Moment {
            wall: EpochMillis(self.wall_ms.load(Ordering::SeqCst)),
            boot_ms: self.boot_ms.load(Ordering::SeqCst),
            boot_id: BootId(u128::from(self.boot.load(Ordering::SeqCst))),
        }
    }

    fn micros(&self) -> u64 {
        self.micros.fetch_add(7, Ordering::SeqCst)
    }

    fn free_bytes(&self, _folder: &Path) -> Option<u64> {
        *self.free_bytes.lock().unwrap()
    }

    fn allocate(&self, file: &File, bytes: u64) -> std::io::Result<()> {
        if !self.real_disk.load(Ordering::SeqCst) {
            return file.set_len(bytes);
        }
        let piece = [0; 65_536];
        (0..bytes.div_ceil(65_536)).try_for_each(|_| (&*file).write_all(&piece))?;
        file.set_len(bytes)
    }

    fn fingerprint(&self) -> String {
        self.machine.lock().unwrap().clone()
    }
}

/// The secrets and settings of a venue, as its server has them.
pub struct Venue {
    pub venue_id: VenueId,
    pub number: VenueNumber,
    pub root: RootSigningKey,
    pub list_key: ListSigningKey,
    pub code_key: CodeSigningKey,
    pub issuer: IssuerSecret,
    pub numbering: NumberingSecret,
    pub policy: Policy,
    pub gates: Vec<Gate>,
    pub sessions: Vec<Session>,
    pub operators: Vec<Operator>,
    pub document_key: Option<[u8; 32]>,
}

impl Venue {
    pub fn new() -> Self {
        let policy = Policy {
            formats: vec![Format::V1, Format::G2, Format::G3, Format::Opaque],
            opaque_shapes: vec![OpaqueShape::new("", "0123456789abcdef", [32, 32]).unwrap()],
            ..Policy::default()
        };
        Self {
            venue_id: id("museum-01"),
            number: VenueNumber(258),
            root: RootSigningKey::from_seed(&[1; 32]),
            list_key: ListSigningKey::from_seed(&[2; 32]),
            code_key: CodeSigningKey::from_seed(&[3; 32]),
            issuer: IssuerSecret::from_bytes(&[4; 32]),
            numbering: NumberingSecret::from_bytes(&[5; 32]),
            policy,
            gates: vec![gate("east", false), gate("arm-1", true)],
            sessions: vec![session("am")],
            operators: Vec::new(),
            document_key: None,
        }
    }

    pub fn key_manifest(&self, version: u64) -> KeyManifest {
        let key = |role, public_key| ManifestKey {
            role,
            kid: Kid(1),
            algorithm: Algorithm::Ed25519,
            public_key,
            valid_from: EpochSeconds(0),
            valid_until: None,
            revoked: false,
        };
        KeyManifest {
            venue_id: self.venue_id.clone(),
            number: self.number,
            generation: 0,
            version,
            issued_at: EpochSeconds(NINE - 86_400).millis(),
            not_after: EpochSeconds(NINE + 365 * 86_400),
            keys: vec![
                key(KeyRole::List, self.list_key.verifying_key().to_base64()),
                key(KeyRole::Code, self.code_key.verifying_key().to_base64()),
            ],
            sister_venues: Vec::new(),
        }
    }

    pub fn signed_key_manifest(&self, version: u64) -> Signed {
        self.key_manifest(version).sign(Kid(1), &self.root).unwrap()
    }

    pub fn key_ring(&self) -> KeyRing {
        KeyRing::new(&self.key_manifest(1))
    }

    /// A ticket of the morning session with its keys.
    pub fn ticket(&self, ticket_id: &str) -> Ticket {
        let ticket_id: TicketId = id(ticket_id);
        let number = self.numbering.ticket_number(&self.venue_id, &ticket_id);
        Ticket {
            number,
            order_number: id(&format!("O-{ticket_id}")),
            session_id: id("am"),
            zones: Vec::new(),
            label: String::new(),
            holder_mask: "*三".into(),
            last_four: LastFour::from_digits("5678"),
            last_four_of: Some(DigitsOf::Phone),
            category: String::new(),
            attention: String::new(),
            source: String::new(),
            age_group: String::new(),
            admits: 1,
            status: TicketStatus::Valid,
            cancel_cause: None,
            revision: 0,
            admit_from: None,
            admit_until: None,
            ticket_key: Some(self.issuer.ticket_key(&self.venue_id, &ticket_id, 0)),
            rotation_key: Some(self.issuer.rotation_key(&self.venue_id, number, 0)),
            opaque_hashes: Vec::new(),
            document_hashes: Vec::new(),
            standing: Standing::Live,
            ticket_id,
        }
    }

    pub fn v1(&self, ticket: &Ticket, expires_at: i64) -> String {
        let holder = ticket
            .last_four
            .map(|digits| digits.to_string())
            .unwrap_or_default();
        let key = self
            .issuer
            .ticket_key(&self.venue_id, &ticket.ticket_id, ticket.revision);
        stile_core::codes::v1::mint(&key, &ticket.ticket_id, &holder, EpochSeconds(expires_at))
            .unwrap()
    }

    pub fn payload(&self, ticket: &Ticket, issued_at: i64) -> stile_core::codes::Payload {
        stile_core::codes::Payload {
            kid: Kid(1),
            venue_number: self.number,
            ticket_number: ticket.number,
            not_before: EpochSeconds(NINE - 1800),
            window_min: 90,
            issued_at: EpochSeconds(issued_at),
            ttl_5min: 3,
            admits: ticket.admits,
            last_four: ticket.last_four,
            revision: ticket.revision,
        }
    }

    pub fn g2(&self, ticket: &Ticket, issued_at: i64) -> String {
        stile_core::codes::g2::mint(&self.code_key, &self.payload(ticket, issued_at)).unwrap()
    }

    pub fn g3(&self, ticket: &Ticket, t: i64) -> String {
        let payload = stile_core::codes::Payload {
            ttl_5min: 0,
            ..self.payload(ticket, NINE - 86_400)
        };
        let signed = stile_core::codes::g3::sign(&self.code_key, &payload).unwrap();
        let key = self
            .issuer
            .rotation_key(&self.venue_id, ticket.number, ticket.revision);
        stile_core::codes::g3::rotate(&signed, &key, EpochSeconds(t))
    }

    pub fn manifest(&self, version: u64, rows: &[Vec<u8>]) -> ListManifest {
        let mut digest = ListDigest::default();
        for row in rows {
            digest.add(stile_core::whitelist::decode(row).unwrap().number, row);
        }
        let settings = self.settings();
        ListManifest {
            venue_id: self.venue_id.clone(),
            service_day: id("2026-10-01"),
            day_from: EpochSeconds(NINE - 8 * 3600),
            day_until: EpochSeconds(NINE + 12 * 3600),
            generation: 0,
            version,
            count: digest.count(),
            digest: hex(&digest.finish()),
            settings_digest: hex(&Sha256::digest(settings.as_bytes()).into()),
            issued_at: EpochSeconds(NINE - 3600).millis(),
            not_after: EpochSeconds(NINE + 23 * 3600),
        }
    }

    pub fn settings(&self) -> String {
        serde_json::to_string(&Settings {
            sessions: self.sessions.clone(),
            gates: self.gates.clone(),
            policy: self.policy.clone(),
            operators: self.operators.clone(),
            document_key: self.document_key.map(|key| STANDARD.encode(key)),
            since: EpochSeconds(NINE - 3600).millis(),
        })
        .unwrap()
    }

    pub fn sign_list(&self, manifest: &ListManifest) -> Signed {
        let payload = serde_json::to_vec(manifest).unwrap();
        Signed::sign(&Domain::WHITELIST, &payload, Kid(1), &self.list_key).unwrap()
    }

    pub fn rows(tickets: &[Ticket]) -> Vec<Vec<u8>> {
        let mut tickets = tickets.to_vec();
        tickets.sort_by_key(|ticket| ticket.number);
        tickets.iter().map(encode).collect()
    }

    /// A list as `GET /v1/gate/whitelist/{service_day}` streams it.
    pub fn list(&self, version: u64, tickets: &[Ticket]) -> Vec<u8> {
        let rows = Self::rows(tickets);
        self.stream(&self.manifest(version, &rows), &rows)
    }

    pub fn stream(&self, manifest: &ListManifest, rows: &[Vec<u8>]) -> Vec<u8> {
        let head = ListHead {
            manifest: self.sign_list(manifest),
            key_manifest: self.signed_key_manifest(1),
            settings: self.settings(),
        };
        let mut lines = vec![serde_json::to_string(&head).unwrap()];
        for page in rows.chunks(500) {
            let rows = page.iter().map(|row| STANDARD.encode(row)).collect();
            lines.push(serde_json::to_string(&ListPage { rows }).unwrap());
        }
        lines.push(
            serde_json::to_string(&ListEnd {
                end: rows.len() as u64,
            })
            .unwrap(),
        );
        lines
            .join("\n")
            .into_bytes()
            .into_iter()
            .chain([b'\n'])
            .collect()
    }

    pub fn enrolment_text(&self) -> EnrolmentText {
        EnrolmentText {
            server: "http://127.0.0.1:1".into(),
            token: "token".into(),
            root_fingerprint: root_fingerprint(&self.root.verifying_key()),
            ca_pin: None,
            time: EpochSeconds(NINE - 7200),
        }
    }

    pub fn enrol(&self, request: &EnrolRequest) -> EnrolAnswer {
        let device_id: DeviceId = id("pda-1");
        let certificate = Certificate {
            device_id: device_id.clone(),
            venue_id: self.venue_id.clone(),
            public_key: request.public_key.clone(),
            issued_at: EpochSeconds(NINE - 7200).millis(),
        };
        let payload = serde_json::to_vec(&certificate).unwrap();
        EnrolAnswer {
            device_id,
            bearer: "stile_dev_test".into(),
            venue_id: self.venue_id.clone(),
            venue_number: self.number,
            time_zone: "Asia/Shanghai".into(),
            gates: self.gates.clone(),
            root_public_key: self.root.verifying_key().to_base64(),
            key_manifest: self.signed_key_manifest(1),
            certificate: Signed::sign(&Domain::CERTIFICATE, &payload, Kid(1), &self.list_key)
                .unwrap(),
        }
    }
}

pub fn gate(gate_id: &str, unattended: bool) -> Gate {
    Gate {
        gate_id: id(gate_id),
        name: String::new(),
        direction: Direction::In,
        checkpoint: id("entry"),
        zones: vec![id("main")],
        unattended,
    }
}

/// 09:00 to 11:00, admission from 08:30 to 10:00.
pub fn session(session_id: &str) -> Session {
    Session {
        session_id: id(session_id),
        service_day: id("2026-10-01"),
        name: String::new(),
        starts_at: EpochSeconds(NINE),
        ends_at: EpochSeconds(NINE + 7200),
        admit_from: EpochSeconds(NINE - 1800),
        admit_until: EpochSeconds(NINE + 3600),
        zones: vec![id("main")],
        reentry: Reentry::None,
        status: SessionStatus::Open,
        note: String::new(),
        capacity: None,
        zone_capacities: std::collections::BTreeMap::new(),
    }
}
