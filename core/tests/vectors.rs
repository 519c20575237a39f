//! The known answers of `tests/vectors`, which an independent program recomputes (`check.py`
//! there): what this crate makes of the same inputs must be the same to the byte.

// In a test an unwrap is an assertion.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use stile_core::codes::{
    Code, Document, DocumentType, Payload, VenueShapes, g2, g3, opaque, parse, v1,
};
use stile_core::ids::{
    Kid, LastFour, OrderNumber, SessionId, TicketId, TicketNumber, VenueId, VenueNumber, Zone,
};
use stile_core::key_manifest::KeyManifest;
use stile_core::keys::{
    CodeSigningKey, DeviceSigningKey, DeviceVerifyingKey, DocumentKey, IssuerSecret,
    ListSigningKey, NumberingSecret, RootSigningKey, RotationKey, SharedKey, TicketKey,
    root_fingerprint,
};
use stile_core::protocol::{EnrolmentDigits, ListManifest};
use stile_core::signed::{Domain, Signed};
use stile_core::ticket::{CancelCause, DigitsOf, Standing, Ticket, TicketStatus};
use stile_core::time::{EpochSeconds, ServiceDay};
use stile_core::whitelist;

#[derive(Deserialize)]
struct File<I, O> {
    vectors: Vec<Vector<I, O>>,
}

#[derive(Deserialize)]
struct Vector<I, O> {
    name: String,
    #[serde(rename = "in")]
    given: I,
    out: O,
}

fn vectors<I: DeserializeOwned, O: DeserializeOwned>(section: &str) -> Vec<Vector<I, O>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/vectors")
        .join(format!("{section}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let file: File<I, O> = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    assert!(!file.vectors.is_empty(), "{path:?} holds no vectors");
    file.vectors
}

fn hex(text: &str) -> Vec<u8> {
    HEXLOWER.decode(text.as_bytes()).unwrap()
}

fn hex32(text: &str) -> [u8; 32] {
    hex(text).try_into().unwrap()
}

#[derive(Deserialize)]
struct DerivedFrom {
    issuer_secret_hex: String,
    venue_id: VenueId,
    ticket_id: TicketId,
    revision: u8,
}

impl DerivedFrom {
    fn ticket_key(&self) -> TicketKey {
        IssuerSecret::from_bytes(&hex32(&self.issuer_secret_hex)).ticket_key(
            &self.venue_id,
            &self.ticket_id,
            self.revision,
        )
    }
}

#[test]
fn ticket_keys_are_derived_as_described() {
    #[derive(Deserialize)]
    struct Out {
        ticket_key_hex: String,
    }
    for vector in vectors::<DerivedFrom, Out>("ticket_key") {
        let key = vector.given.ticket_key();
        assert_eq!(
            HEXLOWER.encode(key.as_bytes()),
            vector.out.ticket_key_hex,
            "{}",
            vector.name
        );
    }
}

#[test]
fn rotation_keys_are_derived_as_described() {
    #[derive(Deserialize)]
    struct In {
        issuer_secret_hex: String,
        venue_id: VenueId,
        ticket_number: TicketNumber,
        revision: u8,
    }
    #[derive(Deserialize)]
    struct Out {
        rotation_key_hex: String,
    }
    for Vector { name, given, out } in vectors::<In, Out>("rotation_key") {
        let issuer = IssuerSecret::from_bytes(&hex32(&given.issuer_secret_hex));
        let key = issuer.rotation_key(&given.venue_id, given.ticket_number, given.revision);
        assert_eq!(
            HEXLOWER.encode(key.as_bytes()),
            out.rotation_key_hex,
            "{name}"
        );
    }
}

#[test]
fn ticket_numbers_are_derived_as_described() {
    #[derive(Deserialize)]
    struct In {
        numbering_secret_hex: String,
        venue_id: VenueId,
        ticket_id: TicketId,
    }
    #[derive(Deserialize)]
    struct Out {
        ticket_number: TicketNumber,
    }
    for Vector { name, given, out } in vectors::<In, Out>("ticket_number") {
        let secret = NumberingSecret::from_bytes(&hex32(&given.numbering_secret_hex));
        let number = secret.ticket_number(&given.venue_id, &given.ticket_id);
        assert_eq!(number, out.ticket_number, "{name}");
    }
}

#[derive(Deserialize)]
struct CodeOut {
    code: String,
}

#[test]
fn v1_codes_are_minted_and_verified_as_described() {
    #[derive(Deserialize)]
    struct In {
        shared_key_hex: Option<String>,
        issuer_secret_hex: Option<String>,
        venue_id: Option<VenueId>,
        revision: Option<u8>,
        ticket_id: TicketId,
        holder: String,
        expires_at: i64,
    }
    for Vector { name, given, out } in vectors::<In, CodeOut>("v1") {
        let Ok(Code::V1(code)) = parse(out.code.as_bytes(), &VenueShapes::default()) else {
            panic!("{name}: not parsed as v1");
        };
        assert_eq!(code.ticket_id(), &given.ticket_id, "{name}");
        assert_eq!(code.expires_at(), EpochSeconds(given.expires_at), "{name}");
        if let Some(key) = &given.shared_key_hex {
            let key = SharedKey::from_bytes(&hex(key)).unwrap();
            assert!(code.verify(key.as_bytes(), &given.holder), "{name}");
            continue;
        }
        let derived = DerivedFrom {
            issuer_secret_hex: given.issuer_secret_hex.unwrap(),
            venue_id: given.venue_id.unwrap(),
            ticket_id: given.ticket_id,
            revision: given.revision.unwrap(),
        };
        let (key, ticket) = (derived.ticket_key(), &derived.ticket_id);
        let expires_at = EpochSeconds(given.expires_at);
        let minted = v1::mint(&key, ticket, &given.holder, expires_at).unwrap();
        assert_eq!(minted, out.code, "{name}");
        assert!(code.verify(key.as_bytes(), &given.holder), "{name}");
    }
}

#[derive(Deserialize)]
struct Fields {
    code_seed_hex: String,
    kid: Kid,
    venue_number: VenueNumber,
    ticket_number: TicketNumber,
    not_before: EpochSeconds,
    window_min: u16,
    issued_at: EpochSeconds,
    ttl_5min: u8,
    admits: u8,
    last_four: Option<String>,
    revision: u8,
}

impl Fields {
    fn key(&self) -> CodeSigningKey {
        CodeSigningKey::from_seed(&hex32(&self.code_seed_hex))
    }

    fn payload(&self) -> Payload {
        Payload {
            kid: self.kid,
            venue_number: self.venue_number,
            ticket_number: self.ticket_number,
            not_before: self.not_before,
            window_min: self.window_min,
            issued_at: self.issued_at,
            ttl_5min: self.ttl_5min,
            admits: self.admits,
            last_four: self
                .last_four
                .as_deref()
                .map(|text| LastFour::from_digits(text).unwrap()),
            revision: self.revision,
        }
    }
}

#[test]
fn g2_codes_are_minted_and_verified_as_described() {
    #[derive(Deserialize)]
    struct Out {
        public_key_hex: String,
        code: String,
    }
    for Vector { name, given, out } in vectors::<Fields, Out>("g2") {
        let key = given.key().verifying_key();
        assert_eq!(
            HEXLOWER.encode(key.as_bytes()),
            out.public_key_hex,
            "{name}"
        );
        assert_eq!(
            g2::mint(&given.key(), &given.payload()).unwrap(),
            out.code,
            "{name}"
        );
        let Ok(Code::G2(code)) = parse(out.code.as_bytes(), &VenueShapes::default()) else {
            panic!("{name}: not parsed as G2");
        };
        assert_eq!(code.payload(), &given.payload(), "{name}");
        assert!(code.verify_signature(&key), "{name}");
    }
}

#[test]
fn g3_codes_are_signed_rotated_and_verified_as_described() {
    #[derive(Deserialize)]
    struct In {
        #[serde(flatten)]
        fields: Fields,
        issuer_secret_hex: String,
        venue_id: VenueId,
        t: EpochSeconds,
    }
    #[derive(Deserialize)]
    struct Out {
        signed_hex: String,
        rotation_key_hex: String,
        code: String,
    }
    for Vector { name, given, out } in vectors::<In, Out>("g3") {
        let payload = given.fields.payload();
        let issuer = IssuerSecret::from_bytes(&hex32(&given.issuer_secret_hex));
        let key = issuer.rotation_key(&given.venue_id, payload.ticket_number, payload.revision);
        assert_eq!(
            HEXLOWER.encode(key.as_bytes()),
            out.rotation_key_hex,
            "{name}"
        );

        let signed = g3::sign(&given.fields.key(), &payload).unwrap();
        assert_eq!(HEXLOWER.encode(signed.as_bytes()), out.signed_hex, "{name}");
        let at_the_app = hex(&out.signed_hex).try_into().unwrap();
        assert_eq!(
            g3::SignedPayload::from_bytes(&at_the_app).unwrap(),
            signed,
            "{name}"
        );
        assert_eq!(g3::rotate(&signed, &key, given.t), out.code, "{name}");

        let Ok(Code::G3(code)) = parse(out.code.as_bytes(), &VenueShapes::default()) else {
            panic!("{name}: not parsed as G3");
        };
        assert_eq!(code.payload(), &payload, "{name}");
        assert!(
            code.verify_signature(&given.fields.key().verifying_key()),
            "{name}"
        );
        let verdict = code.judge_tag(&key, given.t.millis(), 0);
        assert_eq!(verdict, g3::TagVerdict::Good, "{name}");
    }
}

#[test]
fn opaque_codes_are_hashed_as_described() {
    #[derive(Deserialize)]
    struct In {
        venue_id: VenueId,
        code: String,
    }
    #[derive(Deserialize)]
    struct Out {
        hash_hex: String,
    }
    for Vector { name, given, out } in vectors::<In, Out>("opaque") {
        let hash = opaque::hash(&given.venue_id, &given.code);
        assert_eq!(HEXLOWER.encode(&hash), out.hash_hex, "{name}");
    }
}

#[test]
fn documents_have_these_types_and_hashes() {
    #[derive(Deserialize)]
    struct In {
        key_hex: String,
        document: String,
    }
    #[derive(Deserialize)]
    struct Out {
        r#type: DocumentType,
        hash_hex: String,
    }
    for Vector { name, given, out } in vectors::<In, Out>("document") {
        let document = Document::new(&given.document).unwrap();
        assert_eq!(document.kind(), out.r#type, "{name}");
        let hash = document.hash(&DocumentKey::from_bytes(&hex32(&given.key_hex)));
        assert_eq!(HEXLOWER.encode(&hash), out.hash_hex, "{name}");
    }
}

#[derive(Deserialize)]
struct Statement {
    seed_hex: String,
    kid: Kid,
    payload: String,
}

#[test]
fn statements_are_signed_and_verified_as_described() {
    #[derive(Deserialize)]
    struct In {
        domain: String,
        #[serde(flatten)]
        statement: Statement,
    }
    for Vector { name, given, out } in vectors::<In, Signed>("signed") {
        let Statement {
            seed_hex,
            kid,
            payload,
        } = given.statement;
        let (seed, bytes) = (hex32(&seed_hex), payload.as_bytes());
        macro_rules! check {
            ($domain:expr, $key:ty) => {{
                let key = <$key>::from_seed(&seed);
                assert_eq!(
                    Signed::sign(&$domain, bytes, kid, &key).unwrap(),
                    out,
                    "{name}"
                );
                let verified = out.verify(&$domain, &key.verifying_key()).unwrap();
                assert_eq!(verified, bytes, "{name}");
            }};
        }
        match given.domain.as_str() {
            "stile/key-manifest/v1" => check!(Domain::KEY_MANIFEST, RootSigningKey),
            "stile/whitelist/v1" => check!(Domain::WHITELIST, ListSigningKey),
            "stile/certificate/v1" => check!(Domain::CERTIFICATE, ListSigningKey),
            "stile/revocation/v1" => check!(Domain::REVOCATION, ListSigningKey),
            "stile/records/v1" => check!(Domain::RECORDS, DeviceSigningKey),
            other => panic!("{name}: no domain {other}"),
        }
    }
}

#[test]
fn key_manifests_are_signed_read_and_pinned_as_described() {
    #[derive(Deserialize)]
    struct Out {
        root_fingerprint: String,
        signed: Signed,
    }
    for Vector { name, given, out } in vectors::<Statement, Out>("key_manifest") {
        let root = RootSigningKey::from_seed(&hex32(&given.seed_hex));
        assert_eq!(
            root_fingerprint(&root.verifying_key()),
            out.root_fingerprint,
            "{name}"
        );
        let manifest = KeyManifest::open(&out.signed, &root.verifying_key()).unwrap();
        assert_eq!(
            serde_json::to_string(&manifest).unwrap(),
            given.payload,
            "{name}"
        );
        assert_eq!(
            manifest.sign(given.kid, &root).unwrap(),
            out.signed,
            "{name}"
        );
    }
}

#[test]
fn the_digits_of_an_enrolment_follow_from_token_root_and_device_key() {
    #[derive(Deserialize)]
    struct In {
        token: String,
        root_fingerprint: String,
        device_public_key_hex: String,
    }
    #[derive(Deserialize)]
    struct Out {
        digits: EnrolmentDigits,
    }
    for Vector { name, given, out } in vectors::<In, Out>("enrolment_digits") {
        let key = DeviceVerifyingKey::from_bytes(&hex32(&given.device_public_key_hex)).unwrap();
        let derived = EnrolmentDigits::derive(&given.token, &given.root_fingerprint, &key);
        assert!(
            derived.is_some_and(|digits| digits.matches(out.digits)),
            "{name}"
        );
    }
}

/// A ticket as the vectors write it.
#[derive(Deserialize)]
struct Row {
    standing: String,
    moved_to: Option<MovedTo>,
    ticket_number: String,
    ticket_id: String,
    order_number: String,
    session_id: String,
    zones: Vec<String>,
    label: String,
    holder_mask: String,
    last_four: Option<LastFour>,
    last_four_of: Option<DigitsOf>,
    category: String,
    attention: String,
    source: String,
    age_group: String,
    admits: u8,
    status: TicketStatus,
    cancel_cause: Option<CancelCause>,
    revision: u8,
    admit_from: Option<EpochSeconds>,
    admit_until: Option<EpochSeconds>,
    ticket_key_hex: String,
    rotation_key_hex: String,
    opaque_hashes_hex: Vec<String>,
    document_hashes_hex: Vec<String>,
}

#[derive(Deserialize, Debug)]
struct MovedTo {
    session_id: SessionId,
    service_day: ServiceDay,
    admit_from: EpochSeconds,
}

impl Row {
    fn ticket(&self) -> Ticket {
        let key = |text: &str| (!text.is_empty()).then(|| hex32(text));
        Ticket {
            number: TicketNumber::try_from(self.ticket_number.clone()).unwrap(),
            ticket_id: TicketId::new(&self.ticket_id).unwrap(),
            order_number: OrderNumber::new(&self.order_number).unwrap(),
            session_id: SessionId::new(&self.session_id).unwrap(),
            zones: self
                .zones
                .iter()
                .map(|zone| Zone::new(zone).unwrap())
                .collect(),
            label: self.label.clone(),
            holder_mask: self.holder_mask.clone(),
            last_four: self.last_four,
            last_four_of: self.last_four_of,
            category: self.category.clone(),
            attention: self.attention.clone(),
            source: self.source.clone(),
            age_group: self.age_group.clone(),
            admits: self.admits,
            status: self.status,
            cancel_cause: self.cancel_cause,
            revision: self.revision,
            admit_from: self.admit_from,
            admit_until: self.admit_until,
            ticket_key: key(&self.ticket_key_hex).map(|key| TicketKey::from_bytes(&key)),
            rotation_key: key(&self.rotation_key_hex).map(|key| RotationKey::from_bytes(&key)),
            opaque_hashes: self
                .opaque_hashes_hex
                .iter()
                .map(|text| hex(text).try_into().unwrap())
                .collect(),
            document_hashes: self
                .document_hashes_hex
                .iter()
                .map(|text| hex(text).try_into().unwrap())
                .collect(),
            standing: match (self.standing.as_str(), &self.moved_to) {
                ("live", None) => Standing::Live,
                ("deleted", None) => Standing::Deleted,
                ("moved", Some(to)) => Standing::Moved {
                    session_id: to.session_id.clone(),
                    service_day: to.service_day.clone(),
                    admit_from: to.admit_from,
                },
                other => panic!("{other:?}"),
            },
        }
    }
}

#[test]
fn rows_of_a_list_have_these_bytes_leaves_and_buckets() {
    #[derive(Deserialize)]
    struct Out {
        row_hex: String,
        leaf_hex: String,
        bucket: u8,
    }
    for vector in vectors::<Row, Out>("list_row") {
        let ticket = vector.given.ticket();
        let row = whitelist::encode(&ticket);
        assert_eq!(HEXLOWER.encode(&row), vector.out.row_hex, "{}", vector.name);
        assert_eq!(
            whitelist::hex(&whitelist::leaf(&row)),
            vector.out.leaf_hex,
            "{}",
            vector.name
        );
        assert_eq!(
            whitelist::bucket_of(ticket.number),
            vector.out.bucket,
            "{}",
            vector.name
        );
        let again = whitelist::decode(&row).unwrap();
        assert_eq!(whitelist::encode(&again), row, "{}", vector.name);
        for end in 0..row.len() {
            assert!(
                whitelist::decode(&row[..end]).is_err(),
                "{} cut at {end}",
                vector.name
            );
        }
    }
}

#[test]
fn lists_have_these_digests_and_signed_manifests() {
    #[derive(Deserialize)]
    struct Series {
        ticket: Row,
        first: u64,
        step: u64,
        count: u64,
    }
    #[derive(Deserialize)]
    struct In {
        seed_hex: String,
        kid: Kid,
        settings: String,
        manifest: ListManifest,
        tickets: Vec<Row>,
        series: Option<Series>,
    }
    #[derive(Deserialize)]
    struct Out {
        digest_hex: String,
        manifest: String,
        signed: Signed,
    }
    for Vector { name, given, out } in vectors::<In, Out>("list_manifest") {
        let mut tickets: Vec<_> = given.tickets.iter().map(Row::ticket).collect();
        if let Some(series) = &given.series {
            tickets.extend((0..series.count).map(|n| Ticket {
                number: TicketNumber::new(series.first + n * series.step).unwrap(),
                ticket_id: TicketId::new(format!("T{n}")).unwrap(),
                ..series.ticket.ticket()
            }));
        }
        let mut digest = whitelist::ListDigest::default();
        // The order in which rows come does not matter.
        for ticket in tickets.iter().rev() {
            digest.add(ticket.number, &whitelist::encode(ticket));
        }
        let count = digest.count();
        let digest = whitelist::hex(&digest.finish());
        assert_eq!(digest, out.digest_hex, "{name}");
        let settings: [u8; 32] = Sha256::digest(given.settings.as_bytes()).into();
        let settings_digest = whitelist::hex(&settings);
        let manifest = ListManifest {
            count,
            digest,
            settings_digest,
            ..given.manifest
        };
        let text = serde_json::to_string(&manifest).unwrap();
        assert_eq!(text, out.manifest, "{name}");
        let key = ListSigningKey::from_seed(&hex32(&given.seed_hex));
        let signed = Signed::sign(&Domain::WHITELIST, text.as_bytes(), given.kid, &key).unwrap();
        assert_eq!(signed, out.signed, "{name}");
    }
}
