//! Venues, keys, devices, and what a write that fails leaves behind.

use std::sync::Arc;

use stile_core::ids::{Kid, VenueId, VenueNumber};
use stile_core::keys::DeviceSigningKey;
use stile_core::policy::Policy;
use stile_core::protocol::EnrolmentDigits;
use stile_core::signed::Signed;
use stile_core::time::{EpochMillis, EpochSeconds};
use stile_sync_server::store::{
    ApiKey, ApiKeyId, ConfirmOutcome, Confirmation, EnrolOutcome, EnrolmentClaim, NewApiKey,
    NewEnrolment, NewVenue, Scope, SealedSecret, SecretKind, StoreError, StoredKeyManifest,
    enrolment_id,
};

use super::Stores;
use super::bed::NOW;

fn new_venue(id: &str) -> NewVenue {
    NewVenue {
        venue_id: VenueId::new(id).unwrap(),
        name: "馆".into(),
        time_zone: "Asia/Shanghai".into(),
        policy: Policy::default(),
        created_at: NOW,
        secrets: vec![SealedSecret {
            kind: SecretKind::Root,
            kid: Kid(0),
            sealed: vec![1, 2, 3],
        }],
    }
}

fn new_key(hash: u8, venues: &[&str]) -> NewApiKey {
    NewApiKey {
        id: ApiKeyId(hash.into()),
        made_by: None,
        hash: [hash; 32],
        name: "booking".into(),
        venues: venues.iter().map(|id| VenueId::new(*id).unwrap()).collect(),
        scopes: vec![Scope::TicketsWrite, Scope::RecordsRead],
        created_at: NOW,
        expires_at: Some(EpochSeconds(1_800_000_000)),
    }
}

pub async fn venues_are_numbered_in_order_and_their_ids_are_taken_once(stores: &dyn Stores) {
    let store = stores.make().await;
    assert_eq!(store.create_venue(new_venue("a")).await, Ok(VenueNumber(1)));
    assert_eq!(store.create_venue(new_venue("b")).await, Ok(VenueNumber(2)));
    assert_eq!(
        store.create_venue(new_venue("a")).await,
        Err(StoreError::Exists("venue"))
    );
    assert_eq!(
        store.secrets(VenueNumber(2)).await,
        Ok(new_venue("b").secrets)
    );
    let venues = store.venues().await.unwrap();
    assert_eq!(
        venues
            .iter()
            .map(|venue| venue.number.0)
            .collect::<Vec<_>>(),
        [1, 2]
    );
    let found = store.venue(&VenueId::new("b").unwrap()).await.unwrap();
    assert_eq!(found.as_ref(), Some(&venues[1]));
    assert_eq!(found.unwrap().policy, Policy::default());
    assert_eq!(store.venue(&VenueId::new("c").unwrap()).await, Ok(None));
}

pub async fn a_key_manifest_is_kept_once_per_version(stores: &dyn Stores) {
    let store = stores.make().await;
    let venue = store.create_venue(new_venue("a")).await.unwrap();
    assert_eq!(store.key_manifest(venue).await, Ok(None));
    let manifest = |version, payload: &str| StoredKeyManifest {
        version,
        generation: 0,
        not_after: EpochSeconds(1_800_000_000),
        signed: Signed {
            payload: payload.into(),
            kid: Kid(0),
            signature: "c2ln".into(),
        },
    };
    assert_eq!(
        store.keep_key_manifest(venue, manifest(2, "a")).await,
        Ok(false)
    );
    assert_eq!(
        store.keep_key_manifest(venue, manifest(1, "b")).await,
        Ok(true)
    );
    assert_eq!(
        store.keep_key_manifest(venue, manifest(1, "c")).await,
        Ok(false)
    );
    assert_eq!(
        store.keep_key_manifest(venue, manifest(2, "d")).await,
        Ok(true)
    );
    assert_eq!(store.key_manifest(venue).await, Ok(Some(manifest(2, "d"))));
}

pub async fn a_failed_write_leaves_nothing_behind_among_others_that_go_in(stores: &dyn Stores) {
    let store = stores.make().await;
    store.create_venue(new_venue("a")).await.unwrap();
    // A key is written before its second venue is found missing; the good ones wait beside it.
    let mut tasks = Vec::new();
    for n in 0..64 {
        let store = Arc::clone(&store);
        tasks.push(tokio::spawn(async move {
            let venues: &[&str] = if n % 2 == 0 {
                &["a"]
            } else {
                &["a", "missing"]
            };
            (n, store.add_api_key(new_key(n, venues)).await)
        }));
    }
    for task in tasks {
        let (n, added) = task.await.unwrap();
        match n % 2 {
            0 => assert!(added.is_ok()),
            _ => assert_eq!(added, Err(StoreError::Missing("venue"))),
        }
    }
    let keys = store.api_keys().await.unwrap();
    assert_eq!(keys.len(), 32);
    assert!(
        keys.iter()
            .all(|key| key.venues.len() == 1 && key.venues[0].venue_id.as_str() == "a")
    );
}

pub async fn keys_are_good_for_their_venues_until_they_end(stores: &dyn Stores) {
    let store = stores.make().await;
    store.create_venue(new_venue("b")).await.unwrap();
    store.create_venue(new_venue("a")).await.unwrap();
    store.add_api_key(new_key(1, &["b", "a"])).await.unwrap();
    let key = || async { store.api_key(&[1; 32]).await.unwrap().unwrap() };
    let first = key().await;
    assert_eq!((first.id, first.revoked_at), (ApiKeyId(1), None));
    let good_at = |key: &ApiKey| key.good_at().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(good_at(&first), ["a", "b"]);
    assert_eq!(first.scopes, [Scope::TicketsWrite, Scope::RecordsRead]);
    assert_eq!(first.expires_at, Some(EpochSeconds(1_800_000_000)));
    assert_eq!(store.api_key(&[2; 32]).await, Ok(None));
    let taken = store.add_api_key(new_key(1, &["a"])).await;
    assert_eq!(taken, Err(StoreError::Exists("API key")));

    // Used and revoked at one venue, it is as it was at the other.
    let a = store.venue(&VenueId::new("a").unwrap()).await.unwrap();
    let a = a.unwrap().number;
    store.note_key_use(ApiKeyId(1), a, NOW).await.unwrap();
    let revoke = |venue, at| store.revoke_api_key(ApiKeyId(1), venue, at);
    assert_eq!(revoke(Some(a), NOW).await, Ok(true));
    assert_eq!(revoke(Some(a), NOW.plus(1)).await, Ok(true));
    let at_one = key().await;
    assert_eq!(good_at(&at_one), ["b"]);
    let stands = |key: &ApiKey, n: usize| (key.venues[n].last_used_at, key.venues[n].revoked_at);
    assert_eq!(stands(&at_one, 0), (Some(NOW), Some(NOW)));
    assert_eq!(stands(&at_one, 1), (None, None));

    assert_eq!(revoke(None, NOW).await, Ok(true));
    assert_eq!(revoke(None, NOW.plus(1)).await, Ok(true));
    let everywhere = key().await;
    assert_eq!(everywhere.revoked_at, Some(NOW));
    assert!(good_at(&everywhere).is_empty());
    assert_eq!(
        store.revoke_api_key(ApiKeyId(9), None, NOW).await,
        Ok(false)
    );
    assert_eq!(
        store.revoke_api_key(ApiKeyId(9), Some(a), NOW).await,
        Ok(false)
    );
}

pub async fn a_token_enrols_one_key_however_often_it_asks(stores: &dyn Stores) {
    let store = stores.make().await;
    let venue = store.create_venue(new_venue("a")).await.unwrap();
    let gate = serde_json::from_value(serde_json::json!({
        "gate_id": "north", "checkpoint": "entry",
    }));
    let now = EpochMillis(0);
    store.put_gate(venue, &gate.unwrap(), now).await.unwrap();
    let invitation = |token: u8, gate: &str| NewEnrolment {
        token_hash: [token; 32],
        gates: vec![gate.parse().unwrap()],
        confirm: false,
        created_at: NOW,
        expires_at: EpochSeconds(NOW.seconds().0 + 600),
    };
    assert_eq!(
        store.add_enrolment(venue, invitation(1, "west"), 9).await,
        Err(StoreError::Missing("gate"))
    );
    store
        .add_enrolment(venue, invitation(1, "north"), 9)
        .await
        .unwrap();
    let claim = |key: u8, device: &str, ms: i64| EnrolmentClaim {
        token_hash: [1; 32],
        public_key: [key; 32],
        device_id: device.parse().unwrap(),
        bearer_hash: [9; 32],
        name: "n".into(),
        model: "m".into(),
        now: EpochMillis(NOW.0 + ms),
    };
    let EnrolOutcome::Enrolled(first) = store.enrol(venue, claim(1, "d1", 0)).await.unwrap() else {
        panic!("the first key has the token");
    };
    let again = store.enrol(venue, claim(1, "d2", 599_999)).await;
    assert_eq!(again, Ok(EnrolOutcome::Enrolled(first.clone())));
    assert_eq!(
        store.enrol(venue, claim(2, "d3", 1)).await,
        Ok(EnrolOutcome::Taken)
    );
    assert_eq!(
        store.enrol(venue, claim(1, "d2", 600_000)).await,
        Ok(EnrolOutcome::Over)
    );
    let unknown = EnrolmentClaim {
        token_hash: [2; 32],
        ..claim(1, "d4", 0)
    };
    assert_eq!(store.enrol(venue, unknown).await, Ok(EnrolOutcome::Unknown));
    assert_eq!(store.device(venue, &[9; 32]).await, Ok(Some(first)));
    assert_eq!(store.device(VenueNumber(2), &[9; 32]).await, Ok(None));
}

pub async fn a_device_waits_for_its_digits_and_the_time_they_take_is_counted(stores: &dyn Stores) {
    let store = stores.make().await;
    let venue = store.create_venue(new_venue("a")).await.unwrap();
    let gate = serde_json::from_value(serde_json::json!({
        "gate_id": "north", "checkpoint": "entry",
    }));
    let at = |ms: i64| EpochMillis(NOW.0 + ms);
    store.put_gate(venue, &gate.unwrap(), at(0)).await.unwrap();
    let invite = |token: u8, ms: i64| {
        let invitation = NewEnrolment {
            token_hash: [token; 32],
            gates: vec!["north".parse().unwrap()],
            confirm: true,
            created_at: at(ms),
            expires_at: EpochSeconds(at(ms).seconds().0 + 600),
        };
        store.add_enrolment(venue, invitation, 2)
    };
    let key = DeviceSigningKey::from_seed(&[1; 32]).verifying_key();
    let root = "ab".repeat(32);
    let claim = |ms: i64| EnrolmentClaim {
        token_hash: [1; 32],
        public_key: *key.as_bytes(),
        device_id: "d1".parse().unwrap(),
        bearer_hash: [9; 32],
        name: "n".into(),
        model: "m".into(),
        now: at(ms),
    };
    let given = |digits: EnrolmentDigits, ms: i64| Confirmation {
        enrolment_id: enrolment_id(&[1; 32]),
        digits,
        root_fingerprint: root.clone(),
        tries: 3,
        expires_at: EpochSeconds(at(ms).seconds().0 + 600),
        now: at(ms),
    };
    let right = EnrolmentDigits::derive_from_hash(&[1; 32], &root, &key).unwrap();
    let wrong = EnrolmentDigits::derive_from_hash(&[2; 32], &root, &key).unwrap();

    // Room counts what is open: not what is over or refused.
    assert_eq!(invite(1, 0).await, Ok(true));
    assert_eq!(invite(2, 0).await, Ok(true));
    assert_eq!(invite(3, 0).await, Ok(false));
    let second = enrolment_id(&[2; 32]);
    assert_eq!(
        store.refuse_enrolment(venue, &second, at(0)).await,
        Ok(true)
    );
    assert_eq!(invite(3, 0).await, Ok(true));

    let confirm = |digits, ms| store.confirm_enrolment(venue, given(digits, ms));
    assert_eq!(confirm(right, 1).await, Ok(ConfirmOutcome::NoDevice));
    let expires_at = EpochSeconds(at(0).seconds().0 + 600);
    let waiting = EnrolOutcome::Waiting { expires_at };
    assert_eq!(store.enrol(venue, claim(1)).await, Ok(waiting.clone()));
    assert_eq!(
        confirm(wrong, 2).await,
        Ok(ConfirmOutcome::Wrong { left: 2 })
    );
    assert_eq!(store.enrol(venue, claim(3)).await, Ok(waiting));
    // In its last moment it is confirmed, and has ten minutes more to hear of it.
    assert!(matches!(
        confirm(right, 599_999).await,
        Ok(ConfirmOutcome::Confirmed(_))
    ));
    assert!(matches!(
        store.enrol(venue, claim(700_000)).await,
        Ok(EnrolOutcome::Enrolled(_))
    ));
    // What was never used is forgotten a day after its end, what was used is not.
    assert_eq!(invite(4, 2 * 86_400_000).await, Ok(true));
    let third = Confirmation {
        enrolment_id: enrolment_id(&[3; 32]),
        ..given(right, 2 * 86_400_000)
    };
    assert_eq!(
        store.confirm_enrolment(venue, third).await,
        Ok(ConfirmOutcome::Unknown)
    );
    assert_eq!(
        confirm(right, 2 * 86_400_000).await,
        Ok(ConfirmOutcome::Over)
    );
}

pub async fn after_closing_nothing_is_taken(stores: &dyn Stores) {
    let store = stores.make().await;
    let writes: Vec<_> = (0..32)
        .map(|n| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.create_venue(new_venue(&format!("v{n}"))).await })
        })
        .collect();
    store.close().await;
    for write in writes {
        // Taken whole or not at all.
        assert!(matches!(
            write.await.unwrap(),
            Ok(_) | Err(StoreError::Closed)
        ));
    }
    assert_eq!(store.probe().await, Err(StoreError::Closed));
    assert_eq!(store.venues().await, Err(StoreError::Closed));
}
