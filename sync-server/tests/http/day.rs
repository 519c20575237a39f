//! A day over HTTP: sessions and tickets in, lists out to a gate, records in, the log out.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use stile_core::key_manifest::{KeyManifest, KeyRing};
use stile_core::keys::RootVerifyingKey;
use stile_core::protocol::{
    EnrolRequest, Enrolment, EnrolmentText, ListEnd, ListHead, ListManifest, ListPage, Lists,
    RecordsAnswer,
};
use stile_core::signed::Domain;
use stile_core::whitelist::ListBuilder;
use stile_sync_server::store::Scope;

use crate::site::{Gatekeeper, Site, read, refusal};

async fn upload(site: &Site, device: &Gatekeeper, records: &[Value]) -> Response {
    let request = site
        .request("POST", "/v1/gate/records")
        .bearer_auth(device.bearer());
    request.json(&device.batch(records)).send().await.unwrap()
}

async fn ticket(site: &Site, id: &str) -> Value {
    site.done("GET", &format!("/v1/tickets/{id}"), Value::Null)
        .await
}

#[tokio::test]
async fn a_session_and_a_gate_are_created_once_and_then_replaced() {
    let site = Site::start().await;
    let session = json!({"starts_at": "2026-10-01 22:00", "ends_at": "2026-10-01 02:00"});
    let put = || {
        site.admin("PUT", "/v1/sessions/night")
            .json(&session)
            .send()
    };
    let first = put().await.unwrap();
    assert_eq!(first.status(), StatusCode::CREATED);
    let made: Value = read(first).await;
    assert_eq!(made["service_day"], "2026-10-01");
    assert_eq!(
        made["ends_at"].as_i64().unwrap() - made["starts_at"].as_i64().unwrap(),
        4 * 3600
    );
    assert_eq!(
        made["admit_from"].as_i64().unwrap(),
        made["starts_at"].as_i64().unwrap() - 1800
    );
    assert_eq!(put().await.unwrap().status(), StatusCode::OK);
    let gate = || {
        site.admin("PUT", "/v1/gates/north")
            .json(&json!({"name": "North"}))
            .send()
    };
    assert_eq!(gate().await.unwrap().status(), StatusCode::CREATED);
    assert_eq!(gate().await.unwrap().status(), StatusCode::OK);
    let all: Value = site
        .done("GET", "/v1/sessions?service_day=2026-10-01", Value::Null)
        .await;
    assert_eq!(all, json!({"sessions": [made]}));
    let none: Value = site
        .done("GET", "/v1/sessions?service_day=2026-10-02", Value::Null)
        .await;
    assert_eq!(none, json!({"sessions": []}));
}

#[tokio::test]
async fn a_session_that_cannot_be_is_refused_with_the_member_that_is_wrong() {
    let site = Site::start().await;
    for (session, member) in [
        (
            json!({"starts_at": 2_000_000_000, "ends_at": 2_000_000_000}),
            "ends_at",
        ),
        (
            json!({"starts_at": "noon", "ends_at": 2_000_000_000}),
            "starts_at",
        ),
        (
            json!({"starts_at": 2_000_000_000, "ends_at": 2_000_300_000}),
            "ends_at",
        ),
    ] {
        let request = site.admin("PUT", "/v1/sessions/s").json(&session);
        let (status, _, problem) = refusal(request.send().await.unwrap()).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        assert!(
            problem["detail"].as_str().unwrap().contains(member),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn the_policy_is_read_and_replaced() {
    let site = Site::start().await;
    let mut policy: Value = site.done("GET", "/v1/policy", Value::Null).await;
    assert_eq!(policy["formats"], json!(["v1", "G2", "G3"]));
    policy["formats"] = json!(["G3"]);
    let _: Value = site.done("PUT", "/v1/policy", policy.clone()).await;
    assert_eq!(
        site.done::<Value>("GET", "/v1/policy", Value::Null).await,
        policy
    );
}

#[tokio::test]
async fn a_device_enrols_once_with_its_token_and_again_only_with_its_own_key() {
    let site = Site::start().await;
    site.furnish().await;
    let invited: Enrolment = site
        .done(
            "POST",
            "/v1/enrolments",
            json!({"gates": ["north"], "confirm": false}),
        )
        .await;
    let text: EnrolmentText = invited.text.parse().unwrap();
    assert_eq!(text.server, format!("http://{}", site.address));
    let ask = |seed: u8, token: &str| {
        let key = stile_core::keys::DeviceSigningKey::from_seed(&[seed; 32]);
        let request = EnrolRequest {
            token: token.to_owned(),
            name: "north".to_owned(),
            model: "test".to_owned(),
            public_key: key.verifying_key().to_base64(),
        };
        site.request("POST", "/v1/gate/enrol").json(&request).send()
    };
    let first: Value = read(ask(1, &text.token).await.unwrap()).await;
    let again: Value = read(ask(1, &text.token).await.unwrap()).await;
    assert_eq!(first["device_id"], again["device_id"]);
    for (seed, token) in [(2, &*text.token), (1, "nonsense"), (1, "")] {
        let (status, code, _) = refusal(ask(seed, token).await.unwrap()).await;
        assert_eq!(
            (status, &*code),
            (StatusCode::FORBIDDEN, "enrolment_refused")
        );
    }
    let unknown = site
        .admin("POST", "/v1/enrolments")
        .json(&json!({"gates": ["nowhere"]}));
    assert!(
        refusal(unknown.send().await.unwrap())
            .await
            .0
            .is_client_error()
    );
}

#[tokio::test]
async fn a_gate_fetches_a_days_list_and_finds_it_whole_and_signed() {
    let site = Site::start().await;
    site.furnish().await;
    site.put_tickets((0..1200).map(|n| format!("T{n}"))).await;
    let device = site.enrol(1).await;
    let root = RootVerifyingKey::from_base64(&device.answer.root_public_key).unwrap();
    let ask = |path: &str| site.request("GET", path).bearer_auth(device.bearer());

    let lists: Lists = read(ask("/v1/gate/lists").send().await.unwrap()).await;
    let keys = KeyRing::new(&KeyManifest::open(&lists.key_manifest, &root).unwrap());
    let signed = &lists.manifests[0];
    let signer = keys.list_key(signed.kid).unwrap();
    let manifest = signed.verify(&Domain::WHITELIST, &signer.key).unwrap();
    let manifest: ListManifest = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest.count, 1200);

    let path = format!("/v1/gate/whitelist/{}", manifest.service_day);
    let response = ask(&path).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    let tag = response.headers()["etag"].clone();
    let text = response.text().await.unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (head, pages) = lines.split_first().unwrap();
    let (end, pages) = pages.split_last().unwrap();
    let head: ListHead = serde_json::from_str(head).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut list = ListBuilder::begin(folder.path(), &head, &keys).unwrap();
    for page in pages {
        let page: ListPage = serde_json::from_str(page).unwrap();
        list.add(&page).unwrap();
    }
    let end: ListEnd = serde_json::from_str(end).unwrap();
    assert_eq!(end.end, 1200);
    let held = list.finish(&keys).unwrap();
    assert!(held.by_id(&"T77".parse().unwrap()).unwrap().is_some());

    let unchanged = ask(&path)
        .header("if-none-match", &tag)
        .send()
        .await
        .unwrap();
    assert_eq!(unchanged.status(), StatusCode::NOT_MODIFIED);
    site.put_tickets(["new".to_owned()]).await;
    let changed = ask(&path)
        .header("if-none-match", &tag)
        .send()
        .await
        .unwrap();
    assert_eq!(changed.status(), StatusCode::OK);

    let compressed = ask(&path)
        .header("accept-encoding", "zstd")
        .send()
        .await
        .unwrap();
    assert_eq!(compressed.headers()["content-encoding"], "zstd");
    let compressed = compressed.bytes().await.unwrap();
    let plain = zstd::decode_all(&compressed[..]).unwrap();
    assert!(plain.ends_with(b"{\"end\":1201}\n"));
    assert!(compressed.len() < plain.len());
    let no_day = ask("/v1/gate/whitelist/1999-01-01").send().await.unwrap();
    assert_eq!(refusal(no_day).await.1, "not_found");
}

#[tokio::test]
async fn records_are_filed_once_and_pulled_once() {
    let site = Site::start().await;
    site.furnish().await;
    site.put_tickets((0..5).map(|n| format!("T{n}"))).await;
    let mut device = site.enrol(1).await;
    let mut records = Vec::new();
    for n in 0..5 {
        let ticket = ticket(&site, &format!("T{n}")).await;
        records.push(device.admits(&site, &ticket));
    }
    let answer: RecordsAnswer = read(upload(&site, &device, &records).await).await;
    let words = |answer: &RecordsAnswer| {
        let results = answer
            .results
            .iter()
            .map(|result| serde_json::to_value(result.result).unwrap());
        results.collect::<Vec<_>>()
    };
    assert_eq!(words(&answer), ["accepted"; 5]);
    assert_eq!(answer.logs[0].have_through, 5);
    let again: RecordsAnswer = read(upload(&site, &device, &records).await).await;
    assert_eq!(words(&again), ["replayed"; 5]);

    let reader = site.key(Scope::RecordsRead).await;
    let pull = |path: String| {
        let request = site.request("GET", &path).bearer_auth(&reader);
        async { request.send().await.unwrap() }
    };
    for stream in ["/v1/records", "/v1/check-ins"] {
        let first: Value = read(pull(format!("{stream}?limit=3")).await).await;
        assert_eq!(first["more"], true);
        let cursor = first["cursor"].as_str().unwrap();
        let second: Value = read(pull(format!("{stream}?after={cursor}&limit=3")).await).await;
        assert_eq!(second["more"], false);
        let pieces = [&first, &second];
        let pulled = pieces
            .iter()
            .flat_map(|piece| piece["records"].as_array().unwrap());
        let pulled: Vec<_> = pulled.map(|entry| entry["record"].clone()).collect();
        assert_eq!(pulled, records, "{stream}");
        let cursor = second["cursor"].as_str().unwrap();
        let last: Value = read(pull(format!("{stream}?after={cursor}")).await).await;
        assert_eq!(last["records"], json!([]));
    }
}

#[tokio::test]
async fn the_log_comes_as_lines_to_whoever_asks_for_lines() {
    let site = Site::start().await;
    site.furnish().await;
    site.put_tickets(["T1".to_owned()]).await;
    let mut device = site.enrol(1).await;
    let record = device.admits(&site, &ticket(&site, "T1").await);
    let _: Value = read(upload(&site, &device, std::slice::from_ref(&record)).await).await;
    let whole: Value = site.done("GET", "/v1/records", Value::Null).await;
    for accept in [
        "application/x-ndjson",
        "text/html, application/x-ndjson;q=0.9",
    ] {
        let response = site
            .admin("GET", "/v1/records")
            .header("accept", accept)
            .send()
            .await
            .unwrap();
        assert_eq!(response.headers()["content-type"], "application/x-ndjson");
        let text = response.text().await.unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["record"], record);
        assert_eq!(lines[1]["cursor"], whole["cursor"]);
        assert_eq!(lines[1]["more"], false);
        assert_eq!(lines[1]["sessions"][0]["session_id"], "now");
    }
}

#[tokio::test]
async fn a_ticket_admitted_by_two_devices_is_a_conflict_with_a_winner_and_a_loser() {
    let site = Site::start().await;
    site.furnish().await;
    site.put_tickets(["T1".to_owned()]).await;
    let ticket = ticket(&site, "T1").await;
    let (mut first, mut second) = (site.enrol(1).await, site.enrol(2).await);
    let records = [first.admits(&site, &ticket), second.admits(&site, &ticket)];
    let _: Value = read(upload(&site, &first, &records[..1]).await).await;
    let none: Value = site.done("GET", "/v1/conflicts", Value::Null).await;
    assert_eq!(none, json!({"conflicts": []}));
    let _: Value = read(upload(&site, &second, &records[1..]).await).await;
    let found: Value = site.done("GET", "/v1/conflicts", Value::Null).await;
    let conflict = &found["conflicts"][0];
    assert_eq!(conflict["ticket_id"], "T1");
    let standings: Vec<_> = conflict["admissions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["standing"])
        .collect();
    assert_eq!(standings, ["winner", "loser"]);
}

#[tokio::test]
async fn a_batch_that_is_not_the_devices_own_is_refused_whole() {
    let site = Site::start().await;
    site.furnish().await;
    site.put_tickets(["T1".to_owned()]).await;
    let ticket = ticket(&site, "T1").await;
    let (mut device, other) = (site.enrol(1).await, site.enrol(2).await);
    let record = device.admits(&site, &ticket);
    let send = |bearer: &str, body: Value| {
        site.request("POST", "/v1/gate/records")
            .bearer_auth(bearer)
            .json(&body)
            .send()
    };
    let batch = serde_json::to_value(device.batch(std::slice::from_ref(&record))).unwrap();
    let foreign = send(other.bearer(), batch.clone()).await.unwrap();
    assert_eq!(refusal(foreign).await.0, StatusCode::FORBIDDEN);
    let mut changed = batch.clone();
    changed["payload"] = device
        .sign(&json!({"device_id": "x", "records": []}))
        .payload
        .into();
    let changed = send(device.bearer(), changed).await.unwrap();
    assert_eq!(refusal(changed).await.0, StatusCode::FORBIDDEN);
    let no_batch = serde_json::to_value(device.sign(&json!("nonsense"))).unwrap();
    let no_batch = send(device.bearer(), no_batch).await.unwrap();
    assert_eq!(refusal(no_batch).await.0, StatusCode::BAD_REQUEST);
    let many: Vec<Value> = (0..501).map(|_| record.clone()).collect();
    let many = upload(&site, &device, &many).await;
    assert!([413, 422].contains(&refusal(many).await.0.as_u16()));
    let log: Value = site.done("GET", "/v1/records", Value::Null).await;
    assert_eq!(log["records"], json!([]));
}

#[tokio::test]
async fn codes_are_minted_singly_and_in_bulk_and_not_for_what_is_cancelled() {
    let site = Site::start().await;
    site.furnish().await;
    site.put_tickets(["T1".to_owned(), "T2".to_owned()]).await;
    for format in ["v1", "G2", "G3"] {
        let path = format!("/v1/tickets/T1/code?format={format}&ttl_s=600");
        let minted: Value = site.done("GET", &path, Value::Null).await;
        assert!(!minted["code"].as_str().unwrap().is_empty(), "{format}");
        assert_eq!(minted["rotation"].is_object(), format == "G3", "{format}");
    }
    let wanted = json!({"codes": [
        {"ticket_id": "T1", "format": "v1"}, {"ticket_id": "none", "format": "G2"},
    ]});
    let minted: Value = site.done("POST", "/v1/codes", wanted).await;
    assert!(minted["codes"][0]["code"].is_string());
    assert!(minted["codes"][1]["problem"].is_string());
    let many: Vec<_> = (0..1001)
        .map(|_| json!({"ticket_id": "T1", "format": "v1"}))
        .collect();
    let many = site
        .admin("POST", "/v1/codes")
        .json(&json!({"codes": many}))
        .send()
        .await
        .unwrap();
    assert_eq!(refusal(many).await.0, StatusCode::UNPROCESSABLE_ENTITY);

    let cancel = json!({"cause": "refunded"});
    let cancelled: Value = site
        .done("POST", "/v1/tickets/T2/cancel", cancel.clone())
        .await;
    assert_eq!(
        (&cancelled["status"], &cancelled["cancel_cause"]),
        (&json!("cancelled"), &json!("refunded"))
    );
    let again: Value = site.done("POST", "/v1/tickets/T2/cancel", cancel).await;
    assert_eq!(again, cancelled);
    let opaque = site
        .admin("GET", "/v1/tickets/T1/code?format=opaque")
        .send()
        .await
        .unwrap();
    assert_eq!(refusal(opaque).await.0, StatusCode::UNPROCESSABLE_ENTITY);
}
