//! Codes that the server mints are codes that a gate takes.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;
use stile_core::codes::{Code, Format, SignedCode, TagVerdict, VenueShapes, Window, g3, parse};
use stile_core::ids::TicketId;
use stile_core::key_manifest::{KeyManifest, KeyRing};
use stile_core::keys::{RootVerifyingKey, RotationKey, TicketKey};
use stile_core::policy::Policy;
use stile_core::protocol::{MintRequest, Minted};
use stile_core::ticket::Ticket;
use stile_core::time::{EpochSeconds, ServiceDay};
use stile_core::whitelist::decode;
use stile_sync_server::ServerError;
use stile_sync_server::import::TicketLine;

use super::bed::{Bed, NOW, TODAY, ticket};

struct Site {
    bed: Bed,
    ring: KeyRing,
    listed: Ticket,
    _folder: tempfile::TempDir,
}

/// A venue with a ticket `t`, and what a gate knows of it.
async fn site() -> Site {
    let folder = tempfile::tempdir().unwrap();
    let bed = Bed::in_folder(folder.path()).await;
    bed.put_tickets(vec![TicketLine {
        admits: 3,
        ..ticket("t", "s1")
    }])
    .await;
    let (_, answer) = bed.enrol(1).await;
    let root = RootVerifyingKey::from_base64(&answer.root_public_key).unwrap();
    let ring = KeyRing::new(&KeyManifest::open(&answer.key_manifest, &root).unwrap());
    let device = bed
        .server
        .authenticate_device(&answer.bearer)
        .await
        .unwrap();
    let day = ServiceDay::new(TODAY).unwrap();
    let mut list = bed.server.whitelist(&device, &day).await.unwrap();
    let _head = list.chunks.recv().await.unwrap().unwrap();
    let page: serde_json::Value =
        serde_json::from_slice(&list.chunks.recv().await.unwrap().unwrap()).unwrap();
    let row = BASE64
        .decode(page["rows"][0].as_str().unwrap().as_bytes())
        .unwrap();
    Site {
        bed,
        ring,
        listed: decode(&row).unwrap(),
        _folder: folder,
    }
}

impl Site {
    async fn code(&self, format: Format, ttl_s: Option<u32>) -> Result<Minted, ServerError> {
        let ticket = TicketId::new("t").unwrap();
        self.bed
            .server
            .code(&self.bed.venue, &ticket, format, ttl_s)
            .await
    }

    fn verifies(&self, code: &SignedCode) -> bool {
        let payload = code.payload();
        self.ring
            .code_key(payload.venue_number, payload.kid, payload.issued_at)
            .is_some_and(|key| code.verify_signature(key.verifying_key))
    }
}

#[tokio::test]
async fn a_v1_code_verifies_with_the_key_in_the_list() {
    let site = site().await;
    let minted = site.code(Format::V1, Some(600)).await.unwrap();
    assert_eq!(minted.expires_at, Some(EpochSeconds(NOW.seconds().0 + 600)));
    let Ok(Code::V1(code)) = parse(minted.code.unwrap().as_bytes(), &VenueShapes::default()) else {
        panic!("it is a v1 code");
    };
    let key: &TicketKey = site.listed.ticket_key.as_ref().unwrap();
    assert!(code.verify(key.as_bytes(), "5678"));
    assert_eq!(code.window(NOW, 0, &Policy::default().codes), Window::Good);
}

#[tokio::test]
async fn a_booking_system_mints_the_servers_v1_codes_with_the_minting_key() {
    let site = site().await;
    let (server, venue) = (&site.bed.server, &site.bed.venue);
    let key = server.minting_key(venue).await.unwrap();
    let hmac = |key: &[u8], text: String| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        mac.update(text.as_bytes());
        mac.finalize().into_bytes()
    };
    for (revision, next) in [("", 1), (":1", 2)] {
        let minted = site.code(Format::V1, Some(600)).await.unwrap();
        let expires_at = minted.expires_at.unwrap().0;
        let ticket_key = hmac(&*key, format!("{venue}:t{revision}\u{1}"));
        let tag = hmac(&ticket_key, format!("t:5678:{expires_at}"));
        let tag = BASE64URL_NOPAD.encode(&tag);
        assert_eq!(minted.code, Some(format!("t-{expires_at}-{tag}")));
        server
            .reissue_ticket(venue, &TicketId::new("t").unwrap(), next)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_g2_code_says_what_the_list_says_and_lasts_whole_five_minutes() {
    let site = site().await;
    let minted = site.code(Format::G2, Some(601)).await.unwrap();
    assert_eq!(minted.expires_at, Some(EpochSeconds(NOW.seconds().0 + 900)));
    let Ok(Code::G2(code)) = parse(minted.code.unwrap().as_bytes(), &VenueShapes::default()) else {
        panic!("it is a G2 code");
    };
    assert!(site.verifies(&code));
    let payload = code.payload();
    assert_eq!(payload.ticket_number, site.listed.number);
    assert_eq!((payload.admits, payload.revision), (3, 0));
    assert_eq!(payload.last_four, site.listed.last_four);
    // Admission of s1: 09:30 to 12:00.
    assert_eq!(
        (payload.not_before.0, payload.window_min),
        (1_790_818_200, 150)
    );
}

#[tokio::test]
async fn a_g3_code_rotates_by_what_the_visitors_app_is_given() {
    let site = site().await;
    let minted = site.code(Format::G3, None).await.unwrap();
    let Ok(Code::G3(code)) = parse(minted.code.unwrap().as_bytes(), &VenueShapes::default()) else {
        panic!("it is a G3 code");
    };
    let listed: &RotationKey = site.listed.rotation_key.as_ref().unwrap();
    assert_eq!(code.judge_tag(listed, NOW, 0), TagVerdict::Good);
    let end = minted.expires_at.unwrap().millis();
    assert_eq!(code.judge_tag(listed, end.plus(-1), 0), TagVerdict::Good);
    assert_eq!(code.judge_tag(listed, end, 0), TagVerdict::Expired);
    let rotation = minted.rotation.unwrap();
    let payload = BASE64.decode(rotation.signed_payload.as_bytes()).unwrap();
    let signed = g3::SignedPayload::from_bytes(&payload.try_into().unwrap()).unwrap();
    let key = BASE64.decode(rotation.rotation_key.as_bytes()).unwrap();
    let key = RotationKey::from_bytes(&key.try_into().unwrap());
    let later = NOW.plus(3_600_000);
    let Ok(Code::G3(code)) = parse(
        g3::rotate(&signed, &key, later.seconds()).as_bytes(),
        &VenueShapes::default(),
    ) else {
        panic!("it is a G3 code");
    };
    assert_eq!(code.judge_tag(listed, later, 0), TagVerdict::Good);
}

#[tokio::test]
async fn codes_that_cannot_be_minted_say_why_and_the_others_are() {
    let site = site().await;
    let request: MintRequest = serde_json::from_value(json!({ "codes": [
        { "ticket_id": "t", "format": "G2" },
        { "ticket_id": "nobody", "format": "G2" },
        { "ticket_id": "t", "format": "opaque" },
        { "ticket_id": "t", "format": "v1", "ttl_s": 7201 },
        { "ticket_id": "t", "format": "G2", "ttl_s": 76501 },
        { "ticket_id": "t", "format": "G2", "ttl_s": 76500 },
        { "ticket_id": "t", "format": "v1", "ttl_s": 0 },
    ] }))
    .unwrap();
    let answer = site
        .bed
        .server
        .mint(&site.bed.venue, request)
        .await
        .unwrap();
    let minted: Vec<bool> = answer
        .codes
        .iter()
        .map(|code| code.code.is_some())
        .collect();
    assert_eq!(minted, [true, false, false, false, false, true, false]);
    for code in answer.codes {
        assert_ne!(code.code.is_some(), code.problem.is_some());
    }
    let too_many = MintRequest {
        codes: vec![
            serde_json::from_value(json!({ "ticket_id": "t", "format": "G2" })).unwrap();
            1_001
        ],
    };
    let refused = site.bed.server.mint(&site.bed.venue, too_many).await;
    assert!(matches!(
        refused,
        Err(ServerError::Invalid { field: "codes", .. })
    ));
}

#[tokio::test]
async fn a_format_that_the_venue_does_not_take_is_not_minted() {
    let site = site().await;
    let policy = Policy {
        formats: vec![Format::G3],
        ..Policy::default()
    };
    site.bed
        .server
        .set_policy(&site.bed.venue, policy)
        .await
        .unwrap();
    let refused = site.code(Format::G2, None).await;
    assert!(matches!(refused, Err(ServerError::Unprocessable(_))));
    assert!(site.code(Format::G3, None).await.is_ok());
}

#[tokio::test]
async fn a_cancelled_tickets_code_is_minted_so_that_the_gate_can_say_why_not() {
    let site = site().await;
    let ticket = TicketId::new("t").unwrap();
    let cause = stile_core::ticket::CancelCause::Refunded;
    site.bed
        .server
        .cancel_ticket(&site.bed.venue, &ticket, cause)
        .await
        .unwrap();
    assert!(site.code(Format::G2, None).await.is_ok());
}
