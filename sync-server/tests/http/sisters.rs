//! Sister venues: a genuine code of another museum is told apart from a forged one.

use serde_json::{Value, json};
use stile_core::ids::{Kid, VenueId, VenueNumber};
use stile_core::key_manifest::SisterVenue;
use stile_core::reason::Reason;
use stile_core::time::EpochSeconds;
use stile_core::verdict::Verdict;
use stile_sync_server::ServerError;
use stile_sync_server::server::VenueCodes;
use stile_sync_server::store::{Change, Scope};

use crate::device::GateDevice;
use crate::site::{OTHER_VENUE, Site, VENUE, key_for, read};

fn venue() -> VenueId {
    VENUE.parse().unwrap()
}

fn other() -> VenueId {
    OTHER_VENUE.parse().unwrap()
}

async fn codes(site: &Site, venue: &VenueId) -> VenueCodes {
    site.server.venue_codes(venue).await.unwrap()
}

/// A genuine code of the other venue.
async fn code_of_sister(site: &Site) -> String {
    let key = key_for(&site.server, &[OTHER_VENUE], &[Scope::Admin]).await;
    let now = site.server.now().seconds().0;
    let session = json!({"starts_at": now - 3600, "ends_at": now + 3600});
    let request = site.request("PUT", "/v1/sessions/now").bearer_auth(&key);
    let _: Value = read(request.json(&session).send().await.unwrap()).await;
    let file = "ticket_id,order_number,session_id\nT1,O1,now\n";
    let request = site.request("POST", "/v1/tickets").bearer_auth(&key);
    let request = request.header("content-type", "text/csv").body(file);
    let _: Value = read(request.send().await.unwrap()).await;
    let request = site.request("GET", "/v1/tickets/T1/code?format=G2");
    let minted: Value = read(request.bearer_auth(&key).send().await.unwrap()).await;
    minted["code"].as_str().unwrap().to_owned()
}

fn reason(device: &GateDevice, code: &str) -> Reason {
    match device.scan(code).verdict {
        Verdict::Refuse(refusal) => refusal.reason,
        Verdict::Admit(_) => panic!("a sister's code admits nobody"),
    }
}

/// The code with another end: its signature no longer holds.
fn forged(code: &str) -> String {
    let at = code.len() - 10;
    let other = if &code[at..=at] == "A" { "B" } else { "A" };
    format!("{}{other}{}", &code[..at], &code[at + 1..])
}

#[tokio::test]
async fn a_genuine_code_of_a_sister_is_of_the_wrong_venue_and_a_forged_one_is_not() {
    let site = Site::start().await;
    site.furnish().await;
    let code = code_of_sister(&site).await;
    let device = GateDevice::enrol(&site).await;
    device.fetch_lists(&site).await;
    assert_eq!(reason(&device, &code), Reason::UnknownKey);

    let added = site.server.add_sister_of(&venue(), &other()).await.unwrap();
    assert_eq!(added, Change::Changed);
    device.fetch_lists(&site).await;
    assert_eq!(reason(&device, &forged(&code)), Reason::BadSignature);
    assert_eq!(
        codes(&site, &venue()).await.sisters,
        [codes(&site, &other()).await.venue]
    );

    // The same again signs nothing anew.
    let again = site.server.add_sister_of(&venue(), &other()).await.unwrap();
    assert_eq!(again, Change::Unchanged);
}

#[tokio::test]
async fn a_key_from_another_server_is_typed_in_and_does_the_same() {
    let site = Site::start().await;
    site.furnish().await;
    let code = code_of_sister(&site).await;
    let SisterVenue { number, keys, .. } = codes(&site, &other()).await.venue;
    let named = (other(), number);
    site.server
        .add_sister_key(
            &venue(),
            named,
            keys[0].kid,
            &keys[0].public_key,
            EpochSeconds(0),
        )
        .await
        .unwrap();
    let device = GateDevice::enrol(&site).await;
    device.fetch_lists(&site).await;
    assert_eq!(reason(&device, &code), Reason::WrongVenue);
}

#[tokio::test]
async fn a_sister_that_is_removed_is_unknown_again() {
    let site = Site::start().await;
    site.furnish().await;
    let code = code_of_sister(&site).await;
    site.server.add_sister_of(&venue(), &other()).await.unwrap();
    let device = GateDevice::enrol(&site).await;
    let remove = |kid| {
        let server = site.server.clone();
        async move { server.remove_sister(&venue(), &other(), kid).await }
    };
    assert!(matches!(
        remove(Some(Kid(9))).await,
        Err(ServerError::NotFound(_))
    ));
    remove(Some(Kid(1))).await.unwrap();
    assert!(matches!(remove(None).await, Err(ServerError::NotFound(_))));
    device.fetch_lists(&site).await;
    assert_eq!(reason(&device, &code), Reason::UnknownKey);
}

#[tokio::test]
async fn numbers_and_kids_that_collide_are_refused_and_change_nothing() {
    let site = Site::start().await;
    site.server.add_sister_of(&venue(), &other()).await.unwrap();
    let before = codes(&site, &venue()).await;
    let sister = before.sisters[0].clone();
    let key = sister.keys[0].public_key.clone();
    let own_key = before.venue.keys[0].public_key.clone();
    let add = |id: &str, number: VenueNumber, kid: u8, public_key: &str| {
        let (id, public_key) = (id.parse().unwrap(), public_key.to_owned());
        let server = site.server.clone();
        async move {
            let from = EpochSeconds(0);
            let venue = venue();
            let added = server.add_sister_key(&venue, (id, number), Kid(kid), &public_key, from);
            added.await.unwrap_err().to_string()
        }
    };
    let free = VenueNumber(900);
    for (refused, said) in [
        (
            add("theatre", before.venue.number, 1, &key).await,
            "museum itself",
        ),
        (
            add("theatre", sister.number, 1, &key).await,
            "sister venue gallery",
        ),
        (add(VENUE, free, 1, &key).await, "the venue itself"),
        (add(OTHER_VENUE, free, 2, &key).await, "has the number"),
        (
            add(OTHER_VENUE, sister.number, 1, &own_key).await,
            "another public key",
        ),
        (add("theatre", free, 1, "AAAA").await, "public_key"),
    ] {
        assert!(refused.contains(said), "{refused}");
    }
    assert_eq!(codes(&site, &venue()).await, before);
}

#[tokio::test]
async fn adding_many_at_once_loses_none() {
    let site = Site::start().await;
    let key = codes(&site, &other()).await.venue.keys[0]
        .public_key
        .clone();
    let additions = (100..104).map(|n| {
        let (server, key) = (site.server.clone(), key.clone());
        tokio::spawn(async move {
            let named = (format!("sister-{n}").parse().unwrap(), VenueNumber(n));
            let from = EpochSeconds(0);
            server
                .add_sister_key(&venue(), named, Kid(1), &key, from)
                .await
        })
    });
    for addition in additions.collect::<Vec<_>>() {
        assert_eq!(addition.await.unwrap().unwrap(), Change::Changed);
    }
    assert_eq!(codes(&site, &venue()).await.sisters.len(), 4);
}
