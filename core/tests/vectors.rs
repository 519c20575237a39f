//! The known answers of `tests/vectors`, which an independent program recomputes (`check.py`
//! there): what this crate makes of the same inputs must be the same to the byte.

// In a test an unwrap is an assertion.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use stile_core::codes::{Code, Payload, g2, g3, opaque, parse, v1};
use stile_core::ids::{Kid, LastFour, TicketId, TicketNumber, VenueId, VenueNumber};
use stile_core::key_manifest::KeyManifest;
use stile_core::keys::{
    CodeSigningKey, DeviceSigningKey, IssuerSecret, ListSigningKey, NumberingSecret,
    RootSigningKey, SharedKey, TicketKey, root_fingerprint,
};
use stile_core::signed::{Domain, Signed};
use stile_core::time::EpochSeconds;

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
        let Ok(Code::V1(code)) = parse(out.code.as_bytes(), &[]) else {
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
        let Ok(Code::G2(code)) = parse(out.code.as_bytes(), &[]) else {
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

        let Ok(Code::G3(code)) = parse(out.code.as_bytes(), &[]) else {
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
