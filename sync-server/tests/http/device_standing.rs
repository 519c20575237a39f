//! Devices that are not simply the venue's any more: revoked, or forgotten by data that was put
//! back from a backup; and what a person makes of what they send.

use data_encoding::HEXLOWER;
use reqwest::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use stile_core::ids::Kid;
use stile_core::key_manifest::{KeyManifest, KeyRing};
use stile_core::keys::{DeviceSigningKey, RootVerifyingKey};
use stile_core::protocol::{Revocation, RevocationNotice};
use stile_core::signed::{Domain, Signed};

use crate::program::Program;
use crate::site::{Gatekeeper, OTHER_VENUE, Site, key_for, read, refusal};

async fn send(site: &Site, device: &Gatekeeper, records: &[Value]) -> Value {
    let request = site
        .request("POST", "/v1/gate/records")
        .bearer_auth(device.bearer())
        .json(&device.batch(records));
    read(request.send().await.unwrap()).await
}

fn results(answer: &Value) -> Vec<(&str, &str)> {
    fn word(value: &Value) -> &str {
        value.as_str().unwrap_or_default()
    }
    let results = answer["results"].as_array().unwrap().iter();
    results
        .map(|one| (word(&one["result"]), word(&one["why"])))
        .collect()
}

async fn check_ins(site: &Site) -> usize {
    let pulled: Value = site.done("GET", "/v1/check-ins", Value::Null).await;
    pulled["records"].as_array().unwrap().len()
}

async fn quarantined(site: &Site) -> Vec<Value> {
    let listed: Value = site.done("GET", "/v1/quarantine", Value::Null).await;
    listed["records"].as_array().unwrap().clone()
}

async fn revoke(site: &Site, device: &Gatekeeper) {
    let path = format!("/v1/devices/{}/revoke", device.answer.device_id);
    let response = site.admin("POST", &path).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
}

/// The next record of a device's log, made of one that admitted.
fn turned(record: Value, members: Value) -> Value {
    let mut record = record;
    for (name, value) in members.as_object().unwrap() {
        record[name] = value.clone();
    }
    record
}

#[tokio::test]
async fn a_revoked_device_is_told_so_under_the_venues_key_wherever_it_asks() {
    let site = Site::start().await;
    site.furnish().await;
    let device = site.enrol(1).await;
    revoke(&site, &device).await;
    // Again is as once.
    revoke(&site, &device).await;
    let root = RootVerifyingKey::from_base64(&device.answer.root_public_key).unwrap();
    for (method, path) in [
        ("GET", "/v1/gate/lists"),
        ("GET", "/v1/gate/whitelist/2026-10-01"),
        ("GET", "/v1/gate/admissions"),
        ("POST", "/v1/gate/claims"),
        ("POST", "/v1/gate/codes/verify"),
    ] {
        let request = site.request(method, path).bearer_auth(device.bearer());
        let (status, code, problem) = refusal(request.send().await.unwrap()).await;
        assert_eq!((status.as_u16(), code.as_str()), (401, "revoked"), "{path}");
        let notice: RevocationNotice =
            serde_json::from_value(problem["revocation"].clone()).unwrap();
        let keys = KeyRing::new(&KeyManifest::open(&notice.key_manifest, &root).unwrap());
        let key = &keys.list_key(notice.statement.kid).unwrap().key;
        let payload = notice.statement.verify(&Domain::REVOCATION, key).unwrap();
        let said: Revocation = serde_json::from_slice(&payload).unwrap();
        assert_eq!(said.device_id, device.answer.device_id);
        assert_eq!(said.venue_id, device.answer.venue_id);
    }
    let listed: Value = site.done("GET", "/v1/devices", Value::Null).await;
    assert_eq!(listed["devices"][0]["standing"], "revoked");
    // Nothing waits for it.
    assert!(listed["devices"][0]["out_of_use_since"].is_i64());
}

#[tokio::test]
async fn what_a_revoked_device_admitted_is_set_aside_and_all_else_is_taken() {
    let site = Site::start().await;
    site.furnish().await;
    let mut device = site.enrol(1).await;
    let tickets = site.some_tickets(3).await;
    let before = device.admits(&site, &tickets[0]);
    site.upload(&device, std::slice::from_ref(&before)).await;
    revoke(&site, &device).await;
    let refused = json!({"verdict": "refuse", "reason": "already_used", "persons": 0});
    let records = [
        before,
        device.admits(&site, &tickets[1]),
        turned(device.admits(&site, &tickets[0]), refused),
        turned(
            device.admits(&site, &tickets[2]),
            json!({"kind": "walk_in", "ticket_id": null, "category": "adult"}),
        ),
    ];
    let aside = ("quarantined", "revoked_device");
    let answer = send(&site, &device, &records).await;
    assert_eq!(
        results(&answer),
        [("replayed", ""), aside, ("accepted", ""), aside]
    );
    assert_eq!(
        answer["logs"][0]["have_through"], 4,
        "the device is rid of them"
    );
    // Sent again, they are where they were.
    let again = send(&site, &device, &records).await;
    assert_eq!(
        results(&again),
        [("replayed", ""), aside, ("replayed", ""), aside]
    );
    assert_eq!(check_ins(&site).await, 1, "they count nowhere");
    assert_eq!(quarantined(&site).await.len(), 2);
}

#[tokio::test]
async fn a_person_accepts_some_of_what_was_set_aside_and_dismisses_the_rest() {
    let site = Site::start().await;
    site.furnish().await;
    let mut device = site.enrol(1).await;
    let tickets = site.some_tickets(2).await;
    revoke(&site, &device).await;
    let unknown = json!({"ticket_id": "T9", "ticket_number": null,
                         "service_day": tickets[0]["service_day"]});
    let records = [
        device.admits(&site, &tickets[0]),
        device.admits(&site, &tickets[1]),
        device.admits(&site, &unknown),
    ];
    send(&site, &device, &records).await;
    let id = |n: usize| records[n]["id"].clone();
    let choose = |records: Value| json!({"records": records});
    let accepted: Value = site
        .done(
            "POST",
            "/v1/quarantine/accept",
            choose(json!([id(0), id(2)])),
        )
        .await;
    let of = |judged: &Value, n: usize| {
        let results = judged["results"].as_array().unwrap().iter();
        let found = results.clone().find(|one| one["id"] == id(n));
        found.map(|one| one["result"].as_str().unwrap().to_owned())
    };
    assert_eq!(of(&accepted, 0).as_deref(), Some("accepted"));
    assert_eq!(of(&accepted, 2).as_deref(), Some("waits_for_ticket"));
    assert_eq!(check_ins(&site).await, 1);
    // What arrives later takes the one that waits for it along.
    site.put_tickets(["T9".to_owned()]).await;
    assert_eq!(check_ins(&site).await, 2);
    let dismissed: Value = site
        .done("POST", "/v1/quarantine/dismiss", choose(json!([id(1)])))
        .await;
    assert_eq!(of(&dismissed, 1).as_deref(), Some("dismissed"));
    assert_eq!(quarantined(&site).await, [] as [Value; 0]);
    // The device hears what it heard.
    let again = send(&site, &device, &records).await;
    let aside = ("quarantined", "revoked_device");
    assert_eq!(results(&again), [("replayed", ""), aside, ("replayed", "")]);
    // A person may think better of it.
    let after_all: Value = site
        .done("POST", "/v1/quarantine/accept", choose(json!([id(1)])))
        .await;
    assert_eq!(of(&after_all, 1).as_deref(), Some("accepted"));
    assert_eq!(check_ins(&site).await, 3);
    // Each of them once, whoever judges it again.
    let nothing: Value = site
        .done(
            "POST",
            "/v1/quarantine/accept",
            choose(json!([id(0), id(1), id(2)])),
        )
        .await;
    assert_eq!(nothing["results"], json!([]));
    assert_eq!(check_ins(&site).await, 3);
}

#[tokio::test]
async fn an_accepted_admission_meets_the_others_of_its_ticket_as_if_it_had_come_then() {
    let site = Site::start().await;
    site.furnish().await;
    let (mut revoked, mut other) = (site.enrol(1).await, site.enrol(2).await);
    let tickets = site.some_tickets(1).await;
    let earlier = site.server.now().plus(-60_000);
    let first = revoked.admits_at(earlier, &tickets[0]);
    let second = other.admits(&site, &tickets[0]);
    site.upload(&other, &[second]).await;
    revoke(&site, &revoked).await;
    send(&site, &revoked, std::slice::from_ref(&first)).await;
    let open = async || -> Value { site.done("GET", "/v1/conflicts", Value::Null).await };
    assert_eq!(open().await["conflicts"], json!([]));
    let device_id = &revoked.answer.device_id;
    let judged: Value = site
        .done(
            "POST",
            "/v1/quarantine/accept",
            json!({"device_id": device_id}),
        )
        .await;
    assert_eq!(judged["more"], false);
    let conflict = &open().await["conflicts"][0];
    let standings: Vec<_> = conflict["admissions"].as_array().unwrap().iter().collect();
    assert_eq!(standings.len(), 2, "{conflict}");
    assert_eq!(standings[0]["record_id"], first["id"]);
    assert_eq!(standings[0]["standing"], "winner", "it was the earlier one");
}

#[tokio::test]
async fn what_can_never_be_accepted_says_so_and_stays_until_it_is_dismissed() {
    let site = Site::start().await;
    site.furnish().await;
    let mut device = site.enrol(1).await;
    let tickets = site.some_tickets(2).await;
    let first = device.admits(&site, &tickets[0]);
    site.upload(&device, std::slice::from_ref(&first)).await;
    let taken = turned(first, json!({"u_ms": 6}));
    let foreign = turned(
        device.admits(&site, &tickets[1]),
        json!({"venue_id": "elsewhere"}),
    );
    let answer = send(&site, &device, &[taken.clone(), foreign.clone()]).await;
    let whys: Vec<_> = results(&answer).into_iter().map(|(_, why)| why).collect();
    assert_eq!(whys, ["id_taken", "foreign_venue"]);
    let choice = json!({"records": [taken["id"], foreign["id"]]});
    let judged: Value = site
        .done("POST", "/v1/quarantine/accept", choice.clone())
        .await;
    for one in judged["results"].as_array().unwrap() {
        assert_eq!(one["result"], "cannot_be_accepted", "{judged}");
    }
    assert_eq!(quarantined(&site).await.len(), 2);
    assert_eq!(check_ins(&site).await, 1);
    let _: Value = site.done("POST", "/v1/quarantine/dismiss", choice).await;
    assert_eq!(quarantined(&site).await.len(), 0);
}

#[tokio::test]
async fn a_choice_that_means_nothing_or_two_things_is_refused() {
    let site = Site::start().await;
    for choice in [
        json!({}),
        json!({"records": [], "device_id": null}),
        json!({"records": [uuid::Uuid::nil()], "device_id": "one"}),
        json!({"records": vec![uuid::Uuid::nil(); 501]}),
    ] {
        let request = site.admin("POST", "/v1/quarantine/accept").json(&choice);
        let (status, ..) = refusal(request.send().await.unwrap()).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{choice}");
    }
}

#[tokio::test]
async fn no_venue_revokes_readmits_or_judges_what_is_anothers() {
    let site = Site::start().await;
    site.furnish().await;
    let mut device = site.enrol(1).await;
    let tickets = site.some_tickets(1).await;
    revoke(&site, &device).await;
    let record = device.admits(&site, &tickets[0]);
    send(&site, &device, std::slice::from_ref(&record)).await;
    let admin = stile_sync_server::store::Scope::Admin;
    let stranger = key_for(&site.server, &[OTHER_VENUE], &[admin]).await;
    let asks = async |path: String, body: Value| {
        let request = site
            .request("POST", &path)
            .bearer_auth(&stranger)
            .json(&body);
        request.send().await.unwrap()
    };
    let id = &device.answer.device_id;
    for act in ["revoke", "readmit"] {
        let answer = asks(format!("/v1/devices/{id}/{act}"), json!({})).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{act}");
    }
    for act in ["accept", "dismiss"] {
        let choice = json!({"records": [record["id"]]});
        let answer: Value = read(asks(format!("/v1/quarantine/{act}"), choice).await).await;
        assert_eq!(answer["results"], json!([]), "{act}");
    }
    assert_eq!(quarantined(&site).await.len(), 1);
}

/// What a device sends that its server forgot.
fn returning(device: &Gatekeeper, bearer: &str, key: &DeviceSigningKey) -> Value {
    let claim = json!({
        "device_id": device.answer.device_id,
        "bearer_sha256": HEXLOWER.encode(&Sha256::digest(bearer)),
        "name": "east", "model": "CT58", "gates": ["north"],
    });
    let payload = serde_json::to_vec(&claim).unwrap();
    let claim = Signed::sign(&Domain::RETURN, &payload, Kid(0), key).unwrap();
    json!({"venue_id": device.answer.venue_id, "certificate": device.answer.certificate,
           "claim": claim})
}

/// A server that was put back from a backup that is older than the enrolment of a device.
async fn forgetful() -> (Site, Gatekeeper, Vec<Value>) {
    let site = Site::start().await;
    site.furnish().await;
    let tickets = site.some_tickets(2).await;
    let copy = site.back_up();
    let device = site.enrol(1).await;
    let site = site.put_back(&copy).await;
    (site, device, tickets)
}

async fn lists(site: &Site, device: &Gatekeeper) -> (StatusCode, String) {
    let request = site.request("GET", "/v1/gate/lists");
    let answer = request.bearer_auth(device.bearer()).send().await.unwrap();
    match answer.status().is_success() {
        true => (answer.status(), String::new()),
        false => {
            let (status, code, _) = refusal(answer).await;
            (status, code)
        }
    }
}

#[tokio::test]
async fn a_forgotten_device_is_known_by_its_certificate_and_waits_for_an_operators_word() {
    let (site, mut device, tickets) = forgetful().await;
    assert_eq!(lists(&site, &device).await.1, "unauthorized");
    let returns = returning(&device, device.bearer(), &device.key);
    let comes_back = async || -> Value {
        let request = site.request("POST", "/v1/gate/return").json(&returns);
        read(request.send().await.unwrap()).await
    };
    // The answer may be lost: again is as once.
    for _ in 0..2 {
        assert_eq!(comes_back().await["standing"], "forgotten");
    }
    assert_eq!(
        lists(&site, &device).await,
        (StatusCode::FORBIDDEN, "device_forgotten".to_owned())
    );
    let record = device.admits(&site, &tickets[0]);
    let answer = send(&site, &device, &[record]).await;
    assert_eq!(results(&answer), [("quarantined", "forgotten_device")]);
    let listed: Value = site.done("GET", "/v1/devices", Value::Null).await;
    let shown = &listed["devices"][0];
    assert_eq!(
        (&shown["standing"], &shown["name"]),
        (&json!("forgotten"), &json!("east"))
    );
    let id = device.answer.device_id.clone();
    let readmit = async |body: Value| {
        let path = format!("/v1/devices/{id}/readmit");
        site.admin("POST", &path).json(&body).send().await.unwrap()
    };
    assert_eq!(
        readmit(json!({"gates": ["nowhere"]})).await.status(),
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(readmit(json!({})).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(lists(&site, &device).await.0, StatusCode::OK);
    assert_eq!(comes_back().await["standing"], "enrolled");
    // What it sent meanwhile still wants a word of its own; what it sends from now on does not.
    let record = device.admits(&site, &tickets[1]);
    assert_eq!(
        results(&send(&site, &device, &[record]).await),
        [("accepted", "")]
    );
    assert_eq!(check_ins(&site).await, 1);
    let judged: Value = site
        .done("POST", "/v1/quarantine/accept", json!({"device_id": id}))
        .await;
    assert_eq!(judged["results"][0]["result"], "accepted");
    assert_eq!(check_ins(&site).await, 2);
}

#[tokio::test]
async fn a_certificate_alone_or_a_strange_one_brings_nobody_back() {
    let (site, device, _) = forgetful().await;
    let stranger = DeviceSigningKey::from_seed(&[77; 32]);
    let good = returning(&device, device.bearer(), &device.key);
    let mut without_venue = good.clone();
    without_venue["venue_id"] = json!("elsewhere");
    let mut of_other_venue = good.clone();
    of_other_venue["venue_id"] = json!(OTHER_VENUE);
    let mut forged = good.clone();
    forged["certificate"]["signature"] = good["claim"]["signature"].clone();
    let mut other_kid = good.clone();
    other_kid["certificate"]["kid"] = json!(9);
    // Whoever has seen the certificate, and would have lists by a bearer of his own.
    let stolen = returning(&device, "stile_dev_mine", &stranger);
    for request in [without_venue, of_other_venue, forged, other_kid, stolen] {
        let answer = site.request("POST", "/v1/gate/return").json(&request);
        let (status, code, _) = refusal(answer.send().await.unwrap()).await;
        assert_eq!(
            (status.as_u16(), code.as_str()),
            (401, "unauthorized"),
            "{request}"
        );
    }
    let listed: Value = site.done("GET", "/v1/devices", Value::Null).await;
    assert_eq!(listed["devices"], json!([]));
}

#[tokio::test]
async fn a_revoked_device_is_not_readmitted_and_does_not_come_back() {
    let site = Site::start().await;
    site.furnish().await;
    let device = site.enrol(1).await;
    revoke(&site, &device).await;
    let request = site.request("POST", "/v1/gate/return").json(&returning(
        &device,
        device.bearer(),
        &device.key,
    ));
    let answer: Value = read(request.send().await.unwrap()).await;
    assert_eq!(answer["standing"], "revoked");
    let path = format!("/v1/devices/{}/readmit", device.answer.device_id);
    let readmitted = site
        .admin("POST", &path)
        .json(&json!({}))
        .send()
        .await
        .unwrap();
    assert_eq!(readmitted.status(), StatusCode::CONFLICT);
    assert_eq!(lists(&site, &device).await.1, "revoked");
}

#[test]
fn devices_are_revoked_and_quarantine_is_judged_by_command() {
    let program = Program::new();
    program.add_venue();
    for command in [
        &["device", "revoke", "nobody"][..],
        &["device", "readmit", "nobody"],
        &["quarantine", "accept"],
        &["quarantine", "accept", "--device", "nobody"],
    ] {
        let output = program.command(command).output().unwrap();
        assert!(!output.status.success(), "{command:?}");
    }
    assert_eq!(program.run(&["quarantine", "list"]), "");
    let id = "019a0000-0000-7000-8000-000000000001";
    let output = program
        .command(&["quarantine", "dismiss", id])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("not in quarantine"), "{said}");
    let audit = program.run(&["audit"]);
    assert!(audit.contains("quarantine.dismiss"), "{audit}");
}

#[tokio::test]
async fn a_device_comes_back_by_a_certificate_of_a_list_key_that_was_rotated_unless_it_was_stolen()
{
    let site = Site::start().await;
    site.furnish().await;
    let device = site.enrol(1).await;
    let comes_back = async || {
        let request = site.request("POST", "/v1/gate/return");
        let returns = returning(&device, device.bearer(), &device.key);
        request.json(&returns).send().await.unwrap()
    };
    let _: Value = site.done("POST", "/v1/keys/list/rotate", Value::Null).await;
    let answer: Value = read(comes_back().await).await;
    assert_eq!(answer["standing"], "enrolled");
    let _: Value = site
        .done("POST", "/v1/keys/list/1/revoke", Value::Null)
        .await;
    let (status, code, _) = refusal(comes_back().await).await;
    assert_eq!((status.as_u16(), code.as_str()), (401, "unauthorized"));
}

#[tokio::test]
async fn the_audit_log_says_whose_records_a_person_judged_and_how_many() {
    let site = Site::start().await;
    site.furnish().await;
    let mut device = site.enrol(1).await;
    let tickets = site.some_tickets(3).await;
    revoke(&site, &device).await;
    let records: Vec<_> = (0..3).map(|n| device.admits(&site, &tickets[n])).collect();
    send(&site, &device, &records).await;
    let choice = json!({"records": [records[0]["id"]]});
    let _: Value = site.done("POST", "/v1/quarantine/dismiss", choice).await;
    let device_id = &device.answer.device_id;
    let choice = json!({"device_id": device_id});
    let _: Value = site.done("POST", "/v1/quarantine/accept", choice).await;
    let audit: Value = site.done("GET", "/v1/audit", Value::Null).await;
    let acts = audit["acts"].as_array().unwrap();
    let act = |name: &str| acts.iter().find(|one| one["act"] == name).unwrap();
    let dismissed = act("quarantine.dismiss");
    assert_eq!(
        (&dismissed["thing"], &dismissed["count"]),
        (&records[0]["id"], &json!(1))
    );
    let accepted = act("quarantine.accept");
    assert_eq!(accepted["thing"], json!(device_id));
    assert_eq!(accepted["count"], 2);
}

#[tokio::test]
async fn a_page_behind_a_number_beyond_all_is_refused_and_is_no_fault_of_the_server() {
    let site = Site::start().await;
    for before in [
        "9223372036854775808",
        "18446744073709551615",
        "9007199254740992",
    ] {
        for path in ["/v1/alarms", "/v1/reconciliations"] {
            let path = format!("{path}?before={before}");
            let answer = site.admin("GET", &path).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{path}");
        }
    }
    let stated = json!({"count": u64::MAX, "sha256": "ab".repeat(32)});
    let path = "/v1/reconciliations/2026-10-01/digest";
    let answer = site.admin("POST", path).json(&stated).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
}
