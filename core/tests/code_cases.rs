//! Every text of `tests/cases/codes.json`, as a scanner gives it, and what is to be made of the code
//! by itself. Documents, and who can be asked about a shared key, are not the codes' matter.

// In a test an unwrap is an assertion.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use data_encoding::{BASE64, HEXLOWER};
use serde::Deserialize;
use stile_core::codes::{Code, CodeRules, OpaqueShape, Payload, TagVerdict, Window, parse};
use stile_core::ids::{Kid, TicketNumber, VenueId, VenueNumber};
use stile_core::keys::{CodeVerifyingKey, IssuerSecret};
use stile_core::time::EpochSeconds;

#[derive(Deserialize)]
struct Cases {
    policy: CodeRules,
    venue: Venue,
    v1: V1Keys,
    g2_keys: Vec<PublicKey>,
    sister_venues: Vec<PublicKey>,
    opaque_shapes: Vec<OpaqueShape>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Venue {
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
}

fn cases() -> Cases {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases/codes.json");
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
    fn key(&self, payload: &Payload) -> Option<CodeVerifyingKey> {
        let mine = payload.venue_number == self.venue.number;
        let keys = if mine {
            &self.g2_keys
        } else {
            &self.sister_venues
        };
        keys.iter()
            .filter(|key| mine || key.number == Some(payload.venue_number))
            .find(|key| key.kid == payload.kid && !key.revoked)
            .map(|key| CodeVerifyingKey::from_bytes(&hex32(&key.public_hex)).unwrap())
    }

    /// What is to be made of a code by itself, in the words of the cases.
    fn judge(&self, case: &Case) -> &'static str {
        let shapes = match case.mode.as_str() {
            "opaque" => &self.opaque_shapes[..],
            _ => &[],
        };
        let Ok(code) = parse(&case.reading(), shapes) else {
            return "malformed";
        };
        if let Some(format) = &case.format {
            assert_eq!(&code.format().to_string(), format, "{}", case.name);
        }
        let (now, u_ms) = (EpochSeconds(case.now).millis(), case.u * 1000);
        let issuer = IssuerSecret::from_bytes(&hex32(&self.v1.issuer_secret_hex));
        let window = match &code {
            Code::V1(code) => {
                if let Some(id) = &case.reservation_id {
                    assert_eq!(code.ticket_id().as_str(), id, "{}", case.name);
                }
                let genuine = match case.mode.as_str() {
                    "v1_shared_server" => {
                        code.verify(&hex32(&self.v1.shared_key_hex), &case.holder)
                    }
                    _ => {
                        let key =
                            issuer.ticket_key(&self.venue.id, code.ticket_id(), case.revision);
                        code.verify(key.as_bytes(), &case.holder)
                    }
                };
                if !genuine {
                    return "bad_signature";
                }
                code.window(now, u_ms, &self.policy)
            }
            Code::G2(code) => {
                let Some(key) = self.key(code.payload()) else {
                    return "unknown_key";
                };
                if !code.verify_signature(&key) {
                    return "bad_signature";
                }
                if code.payload().venue_number != self.venue.number {
                    return "wrong_venue";
                }
                code.window(now, u_ms, &self.policy)
            }
            Code::G3(code) => {
                let Some(key) = self.key(code.payload()) else {
                    return "unknown_key";
                };
                let number = TicketNumber::new(case.ticket_number.unwrap()).unwrap();
                let rotation = issuer.rotation_key(&self.venue.id, number, case.revision);
                if !code.verify_signature(&key) {
                    return "bad_signature";
                }
                match code.judge_tag(&rotation, now, u_ms) {
                    TagVerdict::BadTag => return "bad_signature",
                    TagVerdict::Good => Window::Good,
                    TagVerdict::NotYet => Window::NotYet,
                    TagVerdict::Expired => Window::Expired,
                }
            }
            Code::Opaque(_) => Window::Good,
        };
        match window {
            Window::Good => "verified",
            Window::NotYet => "code_not_yet_valid",
            Window::Expired => "code_expired",
        }
    }
}

#[test]
fn every_case_text_is_judged_as_stated() {
    let cases = cases();
    let mut judged = 0;
    for case in &cases.cases {
        // Documents are not codes of this module; who can be asked is the verdict's matter.
        if matches!(case.mode.as_str(), "document" | "v1_shared_offline") {
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
    assert!(judged > 100, "only {judged} cases were judged");
}
