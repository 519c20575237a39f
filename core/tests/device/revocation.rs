//! The server will not serve the device: only a signed word takes its keys and lists away, and none
//! takes a record.

use std::path::PathBuf;

use stile_core::device::{Device, Refused};
use stile_core::ids::Kid;
use stile_core::key_manifest::KeyRole;
use stile_core::keys::ListSigningKey;
use stile_core::protocol::{Code, Problem, ReturnClaim, Revocation, RevocationNotice};
use stile_core::reason::Reason;
use stile_core::signed::{Domain, Signed};
use stile_core::ticket::Direction;
use stile_core::time::EpochMillis;

use crate::bed::{at_gate, exported};
use crate::common::at_gate::{AtGate, give, reason};
use crate::common::id;

const AT: EpochMillis = EpochMillis(1_790_000_123_456);

/// The problem document of a 401 that carries a notice.
fn body(notice: &RevocationNotice) -> Vec<u8> {
    let mut document = serde_json::to_value(Problem::new(Code::Revoked, "revoked")).unwrap();
    document["revocation"] = serde_json::to_value(notice).unwrap();
    serde_json::to_vec(&document).unwrap()
}

fn revocation(device: &str, venue: &str) -> Vec<u8> {
    let revocation = Revocation {
        venue_id: id(venue),
        device_id: id(device),
        generation: 0,
        revoked_at: AT,
    };
    serde_json::to_vec(&revocation).unwrap()
}

fn notice(gate: &AtGate) -> RevocationNotice {
    signed(
        gate,
        &revocation("pda-1", "museum-01"),
        &gate.venue.list_key,
    )
}

fn signed(gate: &AtGate, payload: &[u8], key: &ListSigningKey) -> RevocationNotice {
    RevocationNotice {
        statement: Signed::sign(&Domain::REVOCATION, payload, Kid(1), key).unwrap(),
        key_manifest: gate.venue.signed_key_manifest(1),
    }
}

/// The files of lists in the device's folder.
fn list_files(gate: &AtGate) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(gate.folder.path()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_list = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("whitelist-")
    };
    paths.filter(is_list).collect()
}

/// Whether keys, lists and records are all as they were.
fn is_untouched(gate: &AtGate, device: &Device, records: usize) {
    assert_eq!(device.revoked_at(), None);
    assert_eq!(device.live_status().lists.len(), 1);
    assert_eq!(exported(device).len(), records);
    assert!(device.scan(&gate.g2(1)).opens);
}

#[test]
fn situation_15_a_revoked_device_loses_keys_and_lists_and_keeps_what_is_unsent() {
    let gate = at_gate();
    let device = gate.ready();
    assert!(device.scan(&gate.g2(0)).opens);
    assert!(!list_files(&gate).is_empty());
    let revoked = |is_new| Refused::Revoked { at: AT, is_new };
    assert_eq!(
        device.refused(&body(&notice(&gate))).unwrap(),
        revoked(true)
    );
    assert_eq!(
        device.refused(&body(&notice(&gate))).unwrap(),
        revoked(false)
    );
    let afterwards = |device: &Device, records: usize| {
        assert_eq!(device.revoked_at(), Some(AT));
        assert_eq!(device.live_status().revoked_at, Some(AT));
        assert_eq!(device.live_status().lists, []);
        assert_eq!(
            list_files(&gate).len(),
            0,
            "nothing of them is left on disk"
        );
        assert_eq!(exported(device).len(), records);
        assert!(device.next_upload().unwrap().is_some(), "they still go up");
        let refused = device.scan(&gate.g2(1));
        assert!(!refused.opens);
        assert_eq!(reason(&refused.verdict), Some(Reason::UnknownKey));
    };
    afterwards(&device, 1);
    // No list is taken any more, were it even signed.
    give(&device, &gate.venue.list(2, &gate.tickets)).unwrap_err();
    drop(device);
    let device = gate.open();
    gate.platform.pass_ms(10_000);
    afterwards(&device, 2);
    assert!(
        device
            .lists_answered(&gate.lists(3))
            .unwrap()
            .fetch
            .is_empty()
    );
}

#[test]
fn a_crash_between_the_word_and_the_lists_is_made_good_at_the_next_start() {
    let gate = at_gate();
    let device = gate.ready();
    let kept: Vec<_> = list_files(&gate)
        .into_iter()
        .map(|path| (std::fs::read(&path).unwrap(), path))
        .collect();
    assert!(!kept.is_empty());
    device.refused(&body(&notice(&gate))).unwrap();
    drop(device);
    for (bytes, path) in kept {
        std::fs::write(path, bytes).unwrap();
    }
    let device = gate.open();
    assert_eq!(device.live_status().lists, []);
    assert_eq!(list_files(&gate).len(), 0);
}

#[test]
fn situation_33_no_refusal_without_the_venues_signature_takes_anything_away() {
    let gate = at_gate();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    let venue = &gate.venue;
    let ours = revocation("pda-1", "museum-01");
    let mut forged = notice(&gate);
    forged.statement.signature = notice(&gate).key_manifest.signature;
    let mut of_a_strange_root = signed(&gate, &ours, &ListSigningKey::from_seed(&[66; 32]));
    let mut manifest = venue.key_manifest(9);
    manifest.keys[0].public_key = ListSigningKey::from_seed(&[66; 32])
        .verifying_key()
        .to_base64();
    let strange_root = stile_core::keys::RootSigningKey::from_seed(&[67; 32]);
    of_a_strange_root.key_manifest = manifest.sign(Kid(0), &strange_root).unwrap();
    let certificate = RevocationNotice {
        // The right key, and a statement of another kind.
        statement: Signed::sign(&Domain::CERTIFICATE, &ours, Kid(1), &venue.list_key).unwrap(),
        key_manifest: venue.signed_key_manifest(1),
    };
    let unsigned = serde_json::to_vec(&Problem::new(Code::Revoked, "revoked")).unwrap();
    let bodies = [
        b"<html>401</html>".to_vec(),
        b"".to_vec(),
        b"{\"revoked\":true}".to_vec(),
        unsigned,
        body(&forged),
        body(&of_a_strange_root),
        body(&signed(&gate, &ours, &ListSigningKey::from_seed(&[66; 32]))),
        body(&signed(
            &gate,
            &revocation("pda-2", "museum-01"),
            &venue.list_key,
        )),
        body(&signed(
            &gate,
            &revocation("pda-1", "museum-02"),
            &venue.list_key,
        )),
        body(&signed(&gate, b"{}", &venue.list_key)),
        body(&certificate),
    ];
    for (index, body) in bodies.iter().enumerate() {
        assert_eq!(device.refused(body).unwrap(), Refused::Kept, "{index}");
    }
    let unknown = serde_json::to_vec(&Problem::new(Code::Unauthorized, "who?")).unwrap();
    assert_eq!(device.refused(&unknown).unwrap(), Refused::Unknown);
    is_untouched(&gate, &device, 1);
}

#[test]
fn a_device_that_was_away_when_the_list_key_was_rotated_believes_the_word_of_the_new_one() {
    let gate = at_gate();
    let device = gate.ready();
    let rotated = ListSigningKey::from_seed(&[9; 32]);
    let mut manifest = gate.venue.key_manifest(2);
    let mut key = manifest.keys[0].clone();
    assert_eq!(key.role, KeyRole::List);
    (key.kid, key.public_key) = (Kid(2), rotated.verifying_key().to_base64());
    manifest.keys.push(key);
    let notice = RevocationNotice {
        statement: Signed::sign(
            &Domain::REVOCATION,
            &revocation("pda-1", "museum-01"),
            Kid(2),
            &rotated,
        )
        .unwrap(),
        key_manifest: manifest.sign(Kid(0), &gate.venue.root).unwrap(),
    };
    let revoked = device.refused(&body(&notice)).unwrap();
    assert_eq!(
        revoked,
        Refused::Revoked {
            at: AT,
            is_new: true
        }
    );
}

#[test]
fn an_exit_opens_at_a_revoked_device_too() {
    let mut gate = at_gate();
    gate.venue.gates[0].direction = Direction::Out;
    let gate = AtGate::of(gate.venue, gate.tickets);
    let device = gate.ready();
    device.refused(&body(&notice(&gate))).unwrap();
    assert!(device.scan(&gate.g2(0)).opens);
}

#[test]
fn a_device_that_its_server_forgot_shows_its_certificate_and_signs_which_bearer_is_its_own() {
    let gate = at_gate();
    let device = gate.ready();
    let request = device.return_request("east PDA", "CT58").unwrap();
    let keys = gate.venue.key_ring();
    let list_key = &keys.list_key(request.certificate.kid).unwrap().key;
    let certificate = request
        .certificate
        .verify(&Domain::CERTIFICATE, list_key)
        .unwrap();
    let certificate: serde_json::Value = serde_json::from_slice(&certificate).unwrap();
    let key = certificate["public_key"].as_str().unwrap();
    let key = stile_core::keys::DeviceVerifyingKey::from_base64(key).unwrap();
    let claim = request.claim.verify(&Domain::RETURN, &key).unwrap();
    let claim: ReturnClaim = serde_json::from_slice(&claim).unwrap();
    assert_eq!(claim.device_id, id("pda-1"));
    assert_eq!(
        (claim.name.as_str(), claim.model.as_str()),
        ("east PDA", "CT58")
    );
    // SHA-256 of "stile_dev_test".
    assert_eq!(
        claim.bearer_sha256,
        "463bc6a729eed44168234d059b443be79925dfd546a1b19cb072075ef7ff6e36"
    );
    assert!(
        !serde_json::to_string(&request)
            .unwrap()
            .contains("stile_dev_test")
    );
}
