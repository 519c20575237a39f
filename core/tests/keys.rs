//! Keys, signed statements and key manifests: what is taken, what is refused, and what is never
//! printed.

// In a test an unwrap is an assertion.
#![allow(clippy::unwrap_used, clippy::panic)]

use data_encoding::{BASE64, HEXLOWER};
use stile_core::ids::{Kid, TicketId, TicketNumber, VenueId, VenueNumber};
use stile_core::key_manifest::{
    Algorithm, KeyManifest, KeyRing, KeyRole, ManifestError, ManifestKey, Offer, SisterVenue,
};
use stile_core::keys::{
    CodeSigningKey, CodeVerifyingKey, DeviceSigningKey, IssuerSecret, KeyError, ListSigningKey,
    NumberingSecret, Role, RootSigningKey, RootVerifyingKey, SharedKey, SigningKey,
    root_fingerprint,
};
use stile_core::signed::{Domain, Signed, SignedError};
use stile_core::time::{EpochMillis, EpochSeconds};

fn hex32(text: &str) -> [u8; 32] {
    HEXLOWER
        .decode(text.as_bytes())
        .unwrap()
        .try_into()
        .unwrap()
}

fn venue(name: &str) -> VenueId {
    VenueId::new(name).unwrap()
}

// --- secrets -----------------------------------------------------------------------------------

#[test]
fn no_secret_prints_anything_of_itself() {
    let bytes = [0xAB; 32];
    let issuer = IssuerSecret::from_bytes(&bytes);
    let ticket = TicketId::new("A1").unwrap();
    let ticket_key = issuer.ticket_key(&venue("m"), &ticket, 0);
    let rotation_key = issuer.rotation_key(&venue("m"), TicketNumber::new(1).unwrap(), 0);
    assert_eq!(format!("{issuer:?}"), "IssuerSecret(secret)");
    assert_eq!(format!("{ticket_key:?}"), "TicketKey(secret)");
    assert_eq!(format!("{rotation_key:?}"), "RotationKey(secret)");
    let shared = SharedKey::from_bytes(&bytes).unwrap();
    assert_eq!(format!("{shared:?}"), "SharedKey(secret)");
    let numbering = NumberingSecret::from_bytes(&bytes);
    assert_eq!(format!("{numbering:?}"), "NumberingSecret(secret)");
    let signing = CodeSigningKey::from_seed(&bytes);
    assert_eq!(format!("{signing:?}"), "SigningKey(code, secret)");
}

#[test]
fn secrets_give_back_the_bytes_that_are_to_be_sealed() {
    let bytes = [0xAB; 32];
    assert_eq!(IssuerSecret::from_bytes(&bytes).as_bytes(), &bytes);
    assert_eq!(NumberingSecret::from_bytes(&bytes).as_bytes(), &bytes);
    assert_eq!(ListSigningKey::from_seed(&bytes).seed(), &bytes);
    assert_eq!(
        SharedKey::from_bytes(b"old secret").unwrap().as_bytes(),
        b"old secret"
    );
    assert!(SharedKey::from_bytes(b"").is_err());
}

// --- public keys -------------------------------------------------------------------------------

#[test]
fn a_public_key_of_small_order_is_refused() {
    // The points of order 1, 2, 4 and 8 in their one right spelling.
    for small in [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    ] {
        let key = CodeVerifyingKey::from_bytes(&hex32(small));
        assert_eq!(key, Err(KeyError::SmallOrder), "{small}");
    }
}

#[test]
fn a_second_spelling_of_a_public_key_is_refused() {
    // y + p for the small y at which there is a point, and x = 0 with its sign set.
    for second in [
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ] {
        let key = CodeVerifyingKey::from_bytes(&hex32(second));
        assert_eq!(key, Err(KeyError::NoPoint), "{second}");
    }
}

#[test]
fn bytes_that_are_no_point_are_refused() {
    let no_point = hex32("0200000000000000000000000000000000000000000000000000000000000000");
    assert_eq!(
        CodeVerifyingKey::from_bytes(&no_point),
        Err(KeyError::NoPoint)
    );
}

#[test]
fn a_public_key_has_one_spelling_in_base64() {
    let key = CodeSigningKey::from_seed(&[1; 32]).verifying_key();
    let text = key.to_base64();
    assert_eq!(CodeVerifyingKey::from_base64(&text), Ok(key));
    let unpadded = text.trim_end_matches('=');
    let longer = BASE64.encode(&[1; 33]);
    let shorter = BASE64.encode(&[1; 31]);
    for other in [
        "",
        unpadded,
        &longer,
        &shorter,
        &format!("{text}\n"),
        &text.replace('=', "?"),
    ] {
        assert_eq!(
            CodeVerifyingKey::from_base64(other),
            Err(KeyError::Spelling),
            "{other:?}"
        );
    }
}

// --- signed statements -------------------------------------------------------------------------

fn list_key() -> ListSigningKey {
    SigningKey::from_seed(&[2; 32])
}

#[test]
fn a_statement_is_verified_as_it_was_sent() {
    let signed = Signed::sign(&Domain::WHITELIST, b"{ }", Kid(4), &list_key()).unwrap();
    let travelled: Signed = serde_json::from_str(&serde_json::to_string(&signed).unwrap()).unwrap();
    let verified = travelled.verify(&Domain::WHITELIST, &list_key().verifying_key());
    assert_eq!(verified, Ok(b"{ }".to_vec()));
    assert_eq!(travelled.kid, Kid(4));
}

#[test]
fn a_statement_changed_or_of_another_kind_or_key_is_refused() {
    let signed = Signed::sign(&Domain::WHITELIST, b"{}", Kid(1), &list_key()).unwrap();
    let key = list_key().verifying_key();
    let bad = Err(SignedError::BadSignature);
    assert_eq!(signed.verify(&Domain::REVOCATION, &key), bad);
    let other = ListSigningKey::from_seed(&[3; 32]).verifying_key();
    assert_eq!(signed.verify(&Domain::WHITELIST, &other), bad);
    let changed = Signed {
        payload: BASE64.encode(b"[]"),
        ..signed
    };
    assert_eq!(changed.verify(&Domain::WHITELIST, &key), bad);
}

#[test]
fn a_statement_has_one_spelling() {
    let signed = Signed::sign(&Domain::WHITELIST, b"{}", Kid(1), &list_key()).unwrap();
    let key = list_key().verifying_key();
    for payload in ["e30", "e30=\n", "e31=", "e3 0=", "é30="] {
        let other = Signed {
            payload: payload.to_owned(),
            ..signed.clone()
        };
        let refused = Err(SignedError::Spelling("payload"));
        assert_eq!(
            other.verify(&Domain::WHITELIST, &key),
            refused,
            "{payload:?}"
        );
    }
    for signature in [
        "",
        "AAAA",
        &signed.signature[..86],
        &"A".repeat(88),
        &"=".repeat(88),
    ] {
        let other = Signed {
            signature: signature.to_owned(),
            ..signed.clone()
        };
        let refused = Err(SignedError::Spelling("signature"));
        assert_eq!(
            other.verify(&Domain::WHITELIST, &key),
            refused,
            "{signature:?}"
        );
    }
}

#[test]
fn a_statement_larger_than_its_kind_is_neither_signed_nor_decoded() {
    let domain = Domain::REVOCATION;
    let most = vec![b' '; domain.max_bytes()];
    let signed = Signed::sign(&domain, &most, Kid(1), &list_key()).unwrap();
    assert_eq!(
        signed.verify(&domain, &list_key().verifying_key()),
        Ok(most.clone())
    );

    let more = [most.as_slice(), b"    "].concat();
    let too_large = SignedError::TooLarge(domain.max_bytes());
    assert_eq!(
        Signed::sign(&domain, &more, Kid(1), &list_key()),
        Err(too_large)
    );
    let forged = Signed {
        payload: BASE64.encode(&more),
        ..signed
    };
    assert_eq!(
        forged.verify(&domain, &list_key().verifying_key()),
        Err(too_large)
    );
}

#[test]
fn a_device_signs_its_own_batches() {
    let device = DeviceSigningKey::from_seed(&[5; 32]);
    let signed = Signed::sign(&Domain::RECORDS, b"[]", Kid(0), &device).unwrap();
    assert_eq!(
        signed.verify(&Domain::RECORDS, &device.verifying_key()),
        Ok(b"[]".to_vec())
    );
}

// --- the key manifest --------------------------------------------------------------------------

fn root() -> RootSigningKey {
    SigningKey::from_seed(&[1; 32])
}

fn manifest_key<R: Role>(role: KeyRole, kid: u8, key: &SigningKey<R>) -> ManifestKey {
    ManifestKey {
        role,
        kid: Kid(kid),
        algorithm: Algorithm::Ed25519,
        public_key: key.verifying_key().to_base64(),
        valid_from: EpochSeconds(1000),
        valid_until: Some(EpochSeconds(2000)),
        revoked: false,
    }
}

fn code_key(n: u8) -> CodeSigningKey {
    SigningKey::from_seed(&[10 + n; 32])
}

fn manifest() -> KeyManifest {
    KeyManifest {
        venue_id: venue("museum-01"),
        number: VenueNumber(1),
        generation: 0,
        version: 7,
        issued_at: EpochMillis(1_500_000),
        not_after: EpochSeconds(9000),
        keys: vec![
            manifest_key(KeyRole::List, 1, &list_key()),
            manifest_key(KeyRole::Code, 1, &code_key(1)),
        ],
        sister_venues: vec![SisterVenue {
            venue_id: venue("museum-02"),
            number: VenueNumber(2),
            keys: vec![manifest_key(KeyRole::Code, 1, &code_key(2))],
        }],
    }
}

#[test]
fn a_manifest_is_read_only_under_the_pinned_root() {
    let signed = manifest().sign(Kid(0), &root()).unwrap();
    assert_eq!(
        KeyManifest::open(&signed, &root().verifying_key()).unwrap(),
        manifest()
    );
    let other = RootSigningKey::from_seed(&[6; 32]).verifying_key();
    let refused = KeyManifest::open(&signed, &other);
    assert!(matches!(
        refused,
        Err(ManifestError::Signed(SignedError::BadSignature))
    ));
    assert_ne!(
        root_fingerprint(&other),
        root_fingerprint(&root().verifying_key())
    );
}

#[test]
fn a_genuine_statement_that_is_no_manifest_is_refused() {
    let signed = Signed::sign(&Domain::KEY_MANIFEST, b"{}", Kid(0), &root()).unwrap();
    let refused = KeyManifest::open(&signed, &root().verifying_key());
    assert!(matches!(refused, Err(ManifestError::Json(_))));
}

#[test]
fn a_code_key_is_found_by_venue_number_and_kid_while_it_is_valid() {
    let ring = KeyRing::new(&manifest());
    let found = |number, kid, issued_at| {
        ring.code_key(VenueNumber(number), Kid(kid), EpochSeconds(issued_at))
            .map(|key| (*key.verifying_key, key.is_sister))
    };
    let (own, sister) = (code_key(1).verifying_key(), code_key(2).verifying_key());
    assert_eq!(found(1, 1, 1000), Some((own, false)));
    assert_eq!(found(1, 1, 1999), Some((own, false)));
    assert_eq!(found(2, 1, 1000), Some((sister, true)));
    assert_eq!(found(1, 1, 999), None);
    assert_eq!(found(1, 1, 2000), None);
    assert_eq!(found(1, 2, 1500), None);
    assert_eq!(found(3, 1, 1500), None);
}

#[test]
fn a_key_without_an_end_is_valid_from_its_start_on() {
    let mut manifest = manifest();
    manifest.keys[1].valid_until = None;
    let ring = KeyRing::new(&manifest);
    assert!(
        ring.code_key(VenueNumber(1), Kid(1), EpochSeconds(i64::MAX))
            .is_some()
    );
    assert!(
        ring.code_key(VenueNumber(1), Kid(1), EpochSeconds(999))
            .is_none()
    );
}

#[test]
fn a_revoked_key_is_not_found_at_any_time() {
    let mut manifest = manifest();
    manifest.keys.iter_mut().for_each(|key| key.revoked = true);
    let ring = KeyRing::new(&manifest);
    assert!(
        ring.code_key(VenueNumber(1), Kid(1), EpochSeconds(1500))
            .is_none()
    );
    assert!(ring.list_key(Kid(1)).is_none());
}

#[test]
fn a_list_key_is_found_by_kid_and_is_no_code_key() {
    let mut manifest = manifest();
    manifest.keys.push(manifest_key(
        KeyRole::List,
        9,
        &ListSigningKey::from_seed(&[9; 32]),
    ));
    let ring = KeyRing::new(&manifest);
    let found = ring.list_key(Kid(1)).unwrap();
    assert_eq!(found.key, list_key().verifying_key());
    assert!(found.is_valid_at(EpochSeconds(1000)) && !found.is_valid_at(EpochSeconds(2000)));
    assert!(
        ring.code_key(VenueNumber(1), Kid(9), EpochSeconds(1500))
            .is_none()
    );
    assert!(ring.list_key(Kid(2)).is_none());
}

#[test]
fn keys_of_unknown_algorithms_and_roles_are_kept_and_never_verify() {
    let mut newer = manifest();
    newer.keys[1].algorithm = Algorithm::Other("SM2".to_owned());
    newer.keys[1].public_key = "an SM2 point".to_owned();
    newer.keys[0].role = KeyRole::Other("audit".to_owned());
    let signed = newer.sign(Kid(0), &root()).unwrap();
    let opened = KeyManifest::open(&signed, &root().verifying_key()).unwrap();
    assert_eq!(opened, newer);
    let ring = KeyRing::new(&opened);
    assert!(
        ring.code_key(VenueNumber(1), Kid(1), EpochSeconds(1500))
            .is_none()
    );
    assert!(ring.list_key(Kid(1)).is_none());
}

#[test]
fn a_manifest_that_names_two_things_alike_is_refused_by_signer_and_reader() {
    let mut number_twice = manifest();
    number_twice.sister_venues[0].number = VenueNumber(1);
    let mut kid_twice = manifest();
    kid_twice
        .keys
        .push(manifest_key(KeyRole::Code, 1, &code_key(3)));
    for (manifest, says) in [
        (number_twice, "venue number 1 stands twice"),
        (kid_twice, "code key 1 of venue museum-01"),
    ] {
        let refused = manifest.sign(Kid(0), &root()).unwrap_err().to_string();
        assert!(refused.contains(says), "{refused}");
        let payload = serde_json::to_vec(&manifest).unwrap();
        let signed = Signed::sign(&Domain::KEY_MANIFEST, &payload, Kid(0), &root()).unwrap();
        let refused = KeyManifest::open(&signed, &root().verifying_key()).unwrap_err();
        assert!(refused.to_string().contains(says), "{refused}");
    }
}

#[test]
fn a_manifest_with_a_useless_key_or_one_of_two_roles_is_not_signed() {
    let mut small_order = manifest();
    small_order.keys[1].public_key = BASE64.encode(&[0; 32]);
    let mut two_roles = manifest();
    two_roles.keys[1].public_key = two_roles.keys[0].public_key.clone();
    let mut root_as_list = manifest();
    root_as_list.keys[0] = manifest_key(KeyRole::List, 1, &root());
    for (manifest, says) in [
        (
            small_order,
            "code key 1 of venue museum-01: this Ed25519 public key is of small order",
        ),
        (two_roles, "serves two roles"),
        (root_as_list, "serves two roles"),
    ] {
        let refused = manifest.sign(Kid(0), &root()).unwrap_err().to_string();
        assert!(refused.contains(says), "{refused}");
    }
}

#[test]
fn a_useless_key_in_a_genuine_manifest_spoils_that_key_alone() {
    let mut manifest = manifest();
    manifest.keys[1].public_key = BASE64.encode(&[0; 32]);
    let ring = KeyRing::new(&manifest);
    assert!(
        ring.code_key(VenueNumber(1), Kid(1), EpochSeconds(1500))
            .is_none()
    );
    assert!(
        ring.code_key(VenueNumber(2), Kid(1), EpochSeconds(1500))
            .is_some()
    );
}

#[test]
fn a_manifest_is_never_taken_lower() {
    let held = manifest();
    let offer = |generation, version| {
        KeyManifest {
            generation,
            version,
            ..manifest()
        }
        .compared_to(&held)
    };
    assert_eq!(offer(0, 7), Offer::Same);
    assert_eq!(offer(0, 8), Offer::Newer);
    assert_eq!(
        offer(1_790_000_000, 1),
        Offer::Newer,
        "a restored server counts anew"
    );
    assert_eq!(offer(0, 6), Offer::Lower);
    let restored = KeyManifest {
        generation: 1_790_000_000,
        version: 1,
        ..manifest()
    };
    assert_eq!(held.compared_to(&restored), Offer::Lower);

    let other_content = KeyManifest {
        keys: Vec::new(),
        ..manifest()
    };
    assert_eq!(other_content.compared_to(&held), Offer::Contradicts);
    let other_venue = KeyManifest {
        venue_id: venue("museum-02"),
        version: 8,
        ..manifest()
    };
    assert_eq!(other_venue.compared_to(&held), Offer::OtherVenue);
}

#[test]
fn a_root_key_travels_in_base64_and_is_pinned_by_its_fingerprint() {
    let key = root().verifying_key();
    let travelled = RootVerifyingKey::from_base64(&key.to_base64()).unwrap();
    let fingerprint = root_fingerprint(&travelled);
    assert_eq!(fingerprint, root_fingerprint(&key));
    assert_eq!(fingerprint.len(), 64);
}
