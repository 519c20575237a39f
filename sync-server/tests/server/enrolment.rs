//! How a device becomes one of the venue's.

use stile_core::ids::GateId;
use stile_core::key_manifest::{KeyManifest, KeyRing};
use stile_core::keys::{RootVerifyingKey, SigningKey};
use stile_core::protocol::{Certificate, NewEnrolment};
use stile_core::signed::Domain;
use stile_sync_server::ServerError;

use super::bed::{Bed, NOW, enrol_request};

async fn bed() -> (Bed, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Bed::in_folder(folder.path()).await, folder)
}

#[tokio::test]
async fn an_enrolled_device_gets_what_it_needs_and_a_certificate_that_it_can_check() {
    let (bed, _folder) = bed().await;
    let text = bed.invite().await;
    assert_eq!(
        (text.server.as_str(), text.time),
        ("http://127.0.0.1:1", NOW.seconds())
    );
    let key = SigningKey::from_seed(&[1; 32]);
    let answer = bed.enrolled(enrol_request(&text.token, &key)).await;
    assert_eq!(
        (answer.venue_id.as_str(), answer.venue_number.0),
        ("museum-01", 1)
    );
    assert_eq!(answer.time_zone, "Asia/Shanghai");
    let gates: Vec<_> = answer
        .gates
        .iter()
        .map(|gate| gate.gate_id.as_str())
        .collect();
    assert_eq!(gates, ["north", "south"]);
    let root = RootVerifyingKey::from_base64(&answer.root_public_key).unwrap();
    let manifest = KeyManifest::open(&answer.key_manifest, &root).unwrap();
    assert_eq!((manifest.version, manifest.generation), (1, 0));
    let ring = KeyRing::new(&manifest);
    let list_key = ring.list_key(answer.certificate.kid).unwrap();
    let payload = answer
        .certificate
        .verify(&Domain::CERTIFICATE, &list_key.key)
        .unwrap();
    let certificate: Certificate = serde_json::from_slice(&payload).unwrap();
    assert_eq!(certificate.device_id, answer.device_id);
    assert_eq!(certificate.public_key, key.verifying_key().to_base64());
    assert_eq!(certificate.issued_at, NOW);
    let device = bed
        .server
        .authenticate_device(&answer.bearer)
        .await
        .unwrap();
    assert_eq!(
        (device.device_id, device.venue_id),
        (answer.device_id, answer.venue_id)
    );
}

#[tokio::test]
async fn an_answer_that_was_lost_can_be_asked_for_again_and_is_the_same() {
    let (bed, _folder) = bed().await;
    let token = bed.invite().await.token;
    let key = SigningKey::from_seed(&[1; 32]);
    let first = bed.enrolled(enrol_request(&token, &key)).await;
    bed.clock.move_by(599_000);
    let again = bed.enrolled(enrol_request(&token, &key)).await;
    assert_eq!(first, again);
    let other = SigningKey::from_seed(&[2; 32]);
    let stolen = bed.server.enrol(enrol_request(&token, &other)).await;
    assert!(matches!(stolen, Err(ServerError::EnrolmentRefused(_))));
    bed.clock.move_by(1_000);
    let late = bed.server.enrol(enrol_request(&token, &key)).await;
    assert!(matches!(late, Err(ServerError::EnrolmentRefused(_))));
    assert!(
        bed.server.authenticate_device(&first.bearer).await.is_ok(),
        "it stays enrolled"
    );
}

#[tokio::test]
async fn what_is_no_token_and_no_bearer_is_refused_whatever_its_shape() {
    let (bed, _folder) = bed().await;
    let (_, answer) = bed.enrol(1).await;
    let key = SigningKey::from_seed(&[1; 32]);
    let token = bed.invite().await.token;
    for text in [
        "",
        "A",
        "AAEB",
        "\0",
        "///",
        &token[1..],
        &"A".repeat(10_000),
        "AAE",
    ] {
        let refused = bed.server.enrol(enrol_request(text, &key)).await;
        assert!(
            matches!(refused, Err(ServerError::EnrolmentRefused(_))),
            "{text:.20}"
        );
        for bearer in [text.to_owned(), format!("stile_dev_{text}")] {
            let refused = bed.server.authenticate_device(&bearer).await;
            assert!(
                matches!(refused, Err(ServerError::Unauthorized(_))),
                "{text:.20}"
            );
        }
    }
    let mut bearer = answer.bearer.into_bytes();
    let last = bearer.len() - 3;
    bearer[last] ^= 1;
    let bearer = String::from_utf8(bearer).unwrap();
    assert!(bed.server.authenticate_device(&bearer).await.is_err());
    let mut request = enrol_request(&token, &key);
    request.public_key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".into();
    let weak = bed.server.enrol(request).await.unwrap_err();
    assert!(weak.to_string().starts_with("public_key"), "{weak}");
}

#[tokio::test]
async fn an_invitation_names_gates_that_are_there_and_a_server_that_can_be_reached() {
    let (bed, _folder) = bed().await;
    let invite = |gates: &[&str], server: Option<&str>| {
        let gates = gates
            .iter()
            .map(|gate| GateId::new(*gate).unwrap())
            .collect();
        let request = NewEnrolment {
            gates,
            server: server.map(str::to_owned),
            confirm: true,
        };
        bed.server
            .new_enrolment(&bed.venue, request, "http://127.0.0.1:1", None)
    };
    assert!(matches!(
        invite(&[], None).await,
        Err(ServerError::Invalid { field: "gates", .. })
    ));
    assert!(matches!(
        invite(&["west"], None).await,
        Err(ServerError::NotFound("gate"))
    ));
    for server in [
        "gate.example",
        "ftp://gate.example",
        &format!("http://{}", "a".repeat(1_000)),
    ] {
        let refused = invite(&["north"], Some(server)).await;
        assert!(matches!(
            refused,
            Err(ServerError::Invalid {
                field: "server",
                ..
            })
        ));
    }
    assert!(
        invite(&["north"], Some("https://gate.museum.example:8443"))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_key_manifest_is_signed_anew_long_before_its_end_and_counts_up() {
    let (bed, _folder) = bed().await;
    let (_, first) = bed.enrol(1).await;
    let root = RootVerifyingKey::from_base64(&first.root_public_key).unwrap();
    let open = |signed| KeyManifest::open(&signed, &root).unwrap();
    let held = open(first.key_manifest);
    bed.clock.move_by(30 * 86_400_000);
    assert_eq!(open(bed.enrol(2).await.1.key_manifest), held);
    bed.clock.move_by(40 * 86_400_000);
    let newer = open(bed.enrol(3).await.1.key_manifest);
    assert_eq!(
        newer.compared_to(&held),
        stile_core::key_manifest::Offer::Newer
    );
    assert_eq!(newer.keys, held.keys);
    assert!(newer.not_after > held.not_after);
}
