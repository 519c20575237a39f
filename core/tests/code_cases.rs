//! Every text of `codes.json`, as a scanner gives it, at a gate: the verdict by the code itself,
//! its ticket being listed and good.

// In a test an unwrap is an assertion.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Venue, cases_folder};
use data_encoding::{BASE64, HEXLOWER};
use serde::Deserialize;
use stile_core::admissions::fold;
use stile_core::clock::{Now, Trust};
use stile_core::codes::{Code, CodeRules, Format, OpaqueShape, VenueShapes, parse};
use stile_core::ids::{Kid, LastFour, TicketNumber, VenueId, VenueNumber};
use stile_core::key_manifest::{
    Algorithm, KeyManifest, KeyRing, KeyRole, ManifestKey, SisterVenue,
};
use stile_core::keys::{CodeVerifyingKey, IssuerSecret};
use stile_core::policy::{V1Key, V1SharedOffline};
use stile_core::ticket::{Reentry, Ticket};
use stile_core::time::EpochSeconds;
use stile_core::verdict::{Asked, Day, Listed, Question, Verdict, verdict};

#[derive(Deserialize)]
struct Cases {
    policy: CodeRules,
    venue: CaseVenue,
    v1: V1Keys,
    g2_keys: Vec<PublicKey>,
    sister_venues: Vec<PublicKey>,
    opaque_shapes: Vec<OpaqueShape>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct CaseVenue {
    id: VenueId,
    number: VenueNumber,
}

#[derive(Deserialize)]
struct V1Keys {
    issuer_secret_hex: String,
    shared_key_hex: String,
}

#[derive(Deserialize)]
struct PublicKey {
    number: Option<VenueNumber>,
    kid: Kid,
    public_hex: String,
    #[serde(default)]
    revoked: bool,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    mode: String,
    now: i64,
    u: i64,
    expect: String,
    input: Option<String>,
    input_base64: Option<String>,
    #[serde(default)]
    holder: String,
    format: Option<String>,
    reservation_id: Option<String>,
    ticket_number: Option<u64>,
    #[serde(default)]
    revision: u8,
}

impl Case {
    fn reading(&self) -> Vec<u8> {
        match (&self.input, &self.input_base64) {
            (Some(text), None) => text.clone().into_bytes(),
            (None, Some(text)) => BASE64.decode(text.as_bytes()).unwrap(),
            _ => panic!("{}: one input is needed", self.name),
        }
    }

    fn is_v1_shared(&self) -> bool {
        self.mode.starts_with("v1_shared")
    }
}

fn cases() -> Cases {
    let path = cases_folder().join("codes.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn hex32(text: &str) -> [u8; 32] {
    HEXLOWER
        .decode(text.as_bytes())
        .unwrap()
        .try_into()
        .unwrap()
}

impl Cases {
    fn key_ring(&self) -> KeyRing {
        let code_key = |key: &PublicKey| ManifestKey {
            role: KeyRole::Code,
            kid: key.kid,
            algorithm: Algorithm::Ed25519,
            public_key: CodeVerifyingKey::from_bytes(&hex32(&key.public_hex))
                .unwrap()
                .to_base64(),
            valid_from: EpochSeconds(0),
            valid_until: None,
            revoked: key.revoked,
        };
        let sisters = self.sister_venues.iter().map(|key| SisterVenue {
            venue_id: VenueId::new(format!("sister-{}", key.number.unwrap().0)).unwrap(),
            number: key.number.unwrap(),
            keys: vec![code_key(key)],
        });
        KeyRing::new(&KeyManifest {
            venue_id: self.venue.id.clone(),
            number: self.venue.number,
            generation: 0,
            version: 1,
            issued_at: EpochSeconds(0).millis(),
            not_after: EpochSeconds(i64::MAX),
            keys: self.g2_keys.iter().map(code_key).collect(),
            sister_venues: sisters.collect(),
        })
    }

    /// The ticket that a code names, as the list of its venue would have it.
    fn listed(&self, case: &Case, code: Option<&Code>) -> Ticket {
        let issuer = IssuerSecret::from_bytes(&hex32(&self.v1.issuer_secret_hex));
        let mut ticket = Venue::new().ticket("ORD-77");
        ticket.admits = 255;
        ticket.revision = case.revision;
        ticket.last_four = LastFour::from_digits(&case.holder);
        match code {
            Some(Code::V1(code)) => {
                let id = code.ticket_id();
                ticket.ticket_key = Some(issuer.ticket_key(&self.venue.id, id, case.revision));
                ticket.ticket_id = id.clone();
            }
            Some(Code::G2(code)) => {
                ticket.number = code.payload().ticket_number;
                ticket.revision = code.payload().revision;
            }
            Some(Code::G3(code)) => {
                ticket.number = code.payload().ticket_number;
                let number = TicketNumber::new(case.ticket_number.unwrap()).unwrap();
                let key = issuer.rotation_key(&self.venue.id, number, case.revision);
                ticket.rotation_key = Some(key);
            }
            Some(Code::Opaque(_) | Code::Document(_)) | None => {}
        }
        ticket
    }

    /// What the gate makes of a text, in the words of the cases.
    fn judge(&self, case: &Case) -> String {
        let mut venue = Venue::new();
        venue.policy.codes = self.policy;
        venue.policy.opaque_shapes = match case.mode.as_str() {
            "opaque" => self.opaque_shapes.clone(),
            _ => Vec::new(),
        };
        if case.mode != "document_off" {
            venue.policy.formats.push(Format::Document);
        }
        if case.is_v1_shared() {
            venue.policy.v1_key = V1Key::Shared;
            venue.policy.staffed.v1_shared_offline = V1SharedOffline::UnverifiableOffline;
        }
        let code = parse(&case.reading(), &venue.policy.shapes()).ok();
        if let (Some(code), Some(format)) = (&code, &case.format) {
            assert_eq!(&code.format().to_string(), format, "{}", case.name);
        }
        if let (Some(code), Some(id)) = (&code, &case.reservation_id) {
            assert_eq!(code.ticket_id().unwrap().as_str(), id, "{}", case.name);
        }
        let ticket = self.listed(case, code.as_ref());
        let mut session = common::session("am");
        (session.admit_from, session.admit_until) = (EpochSeconds(0), EpochSeconds(i64::MAX));
        let day = Day {
            service_day: common::id("2026-10-01"),
            day_from: EpochSeconds(0),
            day_until: EpochSeconds(i64::MAX),
            not_after: EpochSeconds(i64::MAX),
        };
        let now = Now {
            at: EpochSeconds(case.now).millis(),
            u_ms: case.u * 1000,
            trust: Trust::Anchored,
        };
        let judged = verdict(&Question {
            asked: code.as_ref().map_or(Asked::NoCode, Asked::Code),
            server_says_genuine: None,
            keys: &self.key_ring(),
            policy: &venue.policy,
            gate: &venue.gates[0],
            list: Some(&day),
            listed: Some(Listed {
                ticket: &ticket,
                session: Some(&session),
                day: &day,
            }),
            admissions: &fold(ticket.admits, Reentry::None, Vec::new()),
            persons: 1,
            reachable: true,
            now,
            read_at: now,
            waived: &[],
        });
        match judged.verdict {
            Verdict::Admit(_) => "verified".into(),
            Verdict::Refuse(refusal) => refusal.reason.name().into(),
        }
    }
}

#[test]
fn every_text_of_the_cases_is_judged_as_stated() {
    let cases = cases();
    let mut judged = 0;
    for case in &cases.cases {
        // Where the shared key is, there is no gate: see below.
        if case.mode == "v1_shared_server" {
            continue;
        }
        assert_eq!(
            cases.judge(case),
            case.expect,
            "{} ({})",
            case.name,
            case.mode
        );
        judged += 1;
    }
    let elsewhere = |case: &&Case| case.mode == "v1_shared_server";
    let elsewhere = cases.cases.iter().filter(elsewhere).count();
    assert_eq!(judged + elsewhere, cases.cases.len());
}

#[test]
fn a_code_of_the_shared_key_verifies_where_the_key_and_the_whole_phone_are() {
    let cases = cases();
    for case in cases
        .cases
        .iter()
        .filter(|case| case.mode == "v1_shared_server")
    {
        let Ok(Code::V1(code)) = parse(&case.reading(), &VenueShapes::default()) else {
            panic!("{}", case.name)
        };
        let genuine = code.verify(&hex32(&cases.v1.shared_key_hex), &case.holder);
        assert_eq!(genuine, case.expect == "verified", "{}", case.name);
    }
}
