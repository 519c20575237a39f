//! Signing keys that follow one another, seen by gates with and without a network.

use anyhow::{Context, Result};
use axum::http::Method;
use serde_json::{Value, json};
use stile_core::ids::GateId;
use stile_core::protocol::{MintAnswer, SigningKeyRevoked, SigningKeyState, SigningKeyView};
use stile_core::time::EpochMillis;

use crate::ONE_KIND;
use crate::case::Venue as Named;
use crate::venue::{BackEnd, Venue};
use crate::virtual_venue::VirtualVenue;

/// 2026-10-01 09:00 in Shanghai.
const NINE: i64 = 1_790_816_400_000;
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// The longest life of a G2, in seconds.
const LONGEST_S: u32 = 76_500;

/// A venue that is open on the first, the fourth and the fifth, with ten tickets of each day, and two
/// gates: `steady` has a network, and so has `away` until it is taken.
fn venue() -> Result<VirtualVenue> {
    let named = Named {
        id: "museum".into(),
        time_zone: "Asia/Shanghai".into(),
    };
    let mut venue = VirtualVenue::open(&named, EpochMillis(NINE))?;
    let server = venue.server();
    let gate = json!({"name": "north"});
    server.call::<Value>(Method::PUT, "/v1/gates/north", &gate)?;
    for day in [1, 4, 5] {
        let session = json!({
            "starts_at": format!("2026-10-{day:02} 08:00"),
            "ends_at": format!("2026-10-{day:02} 22:00"),
        });
        let path = format!("/v1/sessions/s{day}");
        server.call::<Value>(Method::PUT, &path, &session)?;
        let line = |n: i32| json!({"ticket_id": format!("T{day}-{n}"), "order_number": "O", "session_id": format!("s{day}")});
        server.import(&(0..10).map(line).collect::<Vec<_>>())?;
    }
    let gates: Vec<GateId> = vec!["north".parse()?];
    for device in ["steady", "away"] {
        venue.enrol(device, &gates)?;
    }
    Ok(venue)
}

fn mint(venue: &VirtualVenue, ticket: &str) -> Result<String> {
    let wanted = json!({"codes": [{"ticket_id": ticket, "format": "G2", "ttl_s": LONGEST_S}]});
    let mut minted: MintAnswer = venue.server().call(Method::POST, "/v1/codes", &wanted)?;
    minted.codes.remove(0).code.context("no code was minted")
}

fn rotate(venue: &VirtualVenue, role: &str) -> Result<SigningKeyView> {
    let path = format!("/v1/keys/{role}/rotate");
    venue.server().call(Method::POST, &path, &())
}

fn keys(venue: &VirtualVenue) -> Result<Vec<(String, u8, SigningKeyState)>> {
    let keys: stile_core::protocol::SigningKeys = venue.server().get("/v1/keys")?;
    let short = |key: SigningKeyView| (key.role.to_string(), key.kid.0, key.state);
    Ok(keys.keys.into_iter().map(short).collect())
}

fn said(venue: &mut VirtualVenue, device: &str, code: &str) -> Result<String> {
    Ok(venue.scan(device, code, None)?.verdict)
}

#[test]
fn a_code_key_follows_another_and_no_gate_refuses_a_visitor() -> Result<()> {
    let _turn = ONE_KIND.lock().unwrap_or_else(|held| held.into_inner());
    let mut venue = venue()?;
    let old_lists = venue.lists_as_told("steady")?;
    let next = rotate(&venue, "code")?;
    assert_eq!((next.kid.0, next.state), (2, SigningKeyState::Next));
    assert_eq!(next.valid_from.0, (NINE + 72 * HOUR) / 1_000);
    let again = rotate(&venue, "code").unwrap_err();
    assert!(
        format!("{again:#}").contains("comes next already"),
        "{again:#}"
    );

    // A gate that hears of nothing for 72 hours takes what is signed meanwhile.
    venue.set_network(false)?;
    let first = mint(&venue, "T1-0")?;
    assert_eq!(said(&mut venue, "away", &first)?, "admit");

    // Just before and just after the new one signs, at a gate that heard of it.
    venue.move_to(EpochMillis(NINE + 72 * HOUR - 60_000))?;
    venue.sync("steady")?;
    let by_old = mint(&venue, "T4-0")?;
    venue.move_to(EpochMillis(NINE + 72 * HOUR))?;
    let by_new = mint(&venue, "T4-1")?;
    assert_eq!(
        keys(&venue)?,
        [
            ("code".into(), 1, SigningKeyState::Retired),
            ("code".into(), 2, SigningKeyState::Signing),
            ("list".into(), 1, SigningKeyState::Signing),
        ]
    );
    venue.move_to(EpochMillis(NINE + 73 * HOUR))?;
    assert_eq!(said(&mut venue, "steady", &by_old)?, "admit");
    assert_eq!(said(&mut venue, "steady", &by_new)?, "admit");

    // An older manifest, told again, takes nothing back.
    assert!(
        venue.hears_lists("steady", &old_lists).is_err() || {
            let another = mint(&venue, "T4-2")?;
            said(&mut venue, "steady", &another)? == "admit"
        }
    );

    // The one that was away hears of all with its next list.
    let late = mint(&venue, "T4-3")?;
    assert_eq!(said(&mut venue, "away", &late)?, "unknown_key");
    venue.sync("away")?;
    let late = mint(&venue, "T4-4")?;
    assert_eq!(said(&mut venue, "away", &late)?, "admit");

    // The daily job destroys the old private key at once, and takes the public one out of the
    // manifest only when nothing that it signed can be good any more.
    venue.tend_keys()?;
    assert_eq!(keys(&venue)?.len(), 3);
    venue.move_to(EpochMillis(NINE + 72 * HOUR + 399 * DAY))?;
    venue.tend_keys()?;
    assert_eq!(keys(&venue)?.len(), 3, "G3 signatures may be as old");
    venue.move_to(EpochMillis(NINE + 72 * HOUR + 400 * DAY))?;
    venue.tend_keys()?;
    assert_eq!(
        keys(&venue)?,
        [
            ("code".into(), 2, SigningKeyState::Signing),
            ("list".into(), 1, SigningKeyState::Signing),
        ]
    );
    // Its kid does not come again.
    assert_eq!(rotate(&venue, "code")?.kid.0, 3);
    Ok(())
}

#[test]
fn a_list_key_follows_another_and_old_lists_stay_good() -> Result<()> {
    let _turn = ONE_KIND.lock().unwrap_or_else(|held| held.into_inner());
    let mut venue = venue()?;
    assert_eq!(rotate(&venue, "list")?.kid.0, 2);
    venue.move_to(EpochMillis(NINE + HOUR))?;
    // Booked since: it is in the new list alone.
    let line = json!({"ticket_id": "T1-new", "order_number": "O", "session_id": "s1"});
    venue.server().import(&[line])?;
    venue.sync("steady")?;
    venue.set_network(false)?;
    for (device, ticket) in [("steady", "T1-new"), ("away", "T1-1")] {
        let code = mint(&venue, ticket)?;
        assert_eq!(said(&mut venue, device, &code)?, "admit", "{device}");
    }
    assert!(keys(&venue)?.contains(&("list".into(), 2, SigningKeyState::Signing)));
    // It comes back with a list by the old key in its hands, and takes the one by the new.
    venue.sync("away")?;
    let code = mint(&venue, "T1-2")?;
    assert_eq!(said(&mut venue, "away", &code)?, "admit");
    venue.move_to(EpochMillis(NINE + 8 * DAY))?;
    venue.tend_keys()?;
    assert!(
        !keys(&venue)?
            .iter()
            .any(|key| key.0 == "list" && key.1 == 1)
    );
    Ok(())
}

#[test]
fn a_stolen_code_key_ends_at_once_and_the_next_signs() -> Result<()> {
    let _turn = ONE_KIND.lock().unwrap_or_else(|held| held.into_inner());
    let mut venue = venue()?;
    let stolen = mint(&venue, "T1-0")?;
    let path = "/v1/keys/code/1/revoke";
    let revoked: SigningKeyRevoked = venue.server().call(Method::POST, path, &())?;
    assert_eq!(revoked.signing.kid.0, 2);
    assert_eq!(revoked.signing.state, SigningKeyState::Signing);
    assert_eq!(revoked.tickets, 30);
    // Who has not heard of it takes the old and knows no new one.
    let anew = mint(&venue, "T1-1")?;
    assert_eq!(said(&mut venue, "away", &stolen)?, "admit");
    assert_eq!(said(&mut venue, "away", &anew)?, "unknown_key");
    venue.sync("steady")?;
    assert_eq!(said(&mut venue, "steady", &stolen)?, "unknown_key");
    assert_eq!(said(&mut venue, "steady", &anew)?, "admit");
    // Said twice, it is the same; the key that signs now can be revoked as well.
    let again: SigningKeyRevoked = venue.server().call(Method::POST, path, &())?;
    assert_eq!(again.signing.kid.0, 2);
    let second: SigningKeyRevoked =
        venue
            .server()
            .call(Method::POST, "/v1/keys/code/2/revoke", &())?;
    assert_eq!(second.signing.kid.0, 3);
    assert!(
        venue
            .server()
            .call::<Value>(Method::POST, "/v1/keys/code/9/revoke", &())
            .is_err()
    );
    Ok(())
}
