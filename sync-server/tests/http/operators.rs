//! Operators: set by the back end or by command, hashed on arrival, and on their way to gates.

use reqwest::StatusCode;
use serde_json::{Value, json};
use stile_core::pin::check_pin;
use stile_core::protocol::{ListHead, Settings};

use crate::site::{Gatekeeper, Site, read, refusal};

async fn settings(site: &Site, device: &Gatekeeper) -> (Settings, u64) {
    let sessions: Value = site.done("GET", "/v1/sessions", Value::Null).await;
    let day = sessions["sessions"][0]["service_day"].as_str().unwrap();
    let path = format!("/v1/gate/whitelist/{day}");
    let request = site.request("GET", &path).bearer_auth(device.bearer());
    let text = request.send().await.unwrap().text().await.unwrap();
    let head: ListHead = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let payload = data_encoding::BASE64
        .decode(head.manifest.payload.as_bytes())
        .unwrap();
    let manifest: Value = serde_json::from_slice(&payload).unwrap();
    let version = manifest["version"].as_str().unwrap().parse().unwrap();
    (serde_json::from_str(&head.settings).unwrap(), version)
}

#[tokio::test]
async fn an_operator_reaches_the_gates_with_a_hash_of_the_pin_and_of_the_staff_qr() {
    let site = Site::start().await;
    site.furnish().await;
    let gate = site.enrol(1).await;
    let (before, first) = settings(&site, &gate).await;
    assert_eq!(before.operators, []);
    let operator =
        json!({ "name": "李", "role": "supervisor", "pin": "246810", "new_badge": true });
    let put = |operator: &Value| site.admin("PUT", "/v1/operators/li").json(operator).send();
    let made = put(&operator).await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED);
    let made: Value = read(made).await;
    let badge = made["badge"].as_str().unwrap().to_owned();
    assert!(badge.starts_with("STAFF:") && badge.len() > 30);

    let (after, second) = settings(&site, &gate).await;
    assert!(second > first && after.since > before.since);
    let [li] = after.operators.as_slice() else {
        panic!("one operator");
    };
    assert_eq!(check_pin("246810", &li.pin_hash), Ok(true));
    assert_eq!(check_pin("246811", &li.pin_hash), Ok(false));
    let hash = data_encoding::HEXLOWER.encode(&<sha2::Sha256 as sha2::Digest>::digest(&badge));
    assert_eq!(li.badge_hash.as_deref(), Some(&*hash));

    // Without a PIN and a new staff QR, both stay; the same again changes nothing.
    let renamed = json!({ "name": "李 Li", "role": "guard" });
    assert_eq!(put(&renamed).await.unwrap().status(), StatusCode::OK);
    let (renamed_at_gate, third) = settings(&site, &gate).await;
    assert_eq!(renamed_at_gate.operators[0].pin_hash, li.pin_hash);
    put(&renamed).await.unwrap();
    assert_eq!(settings(&site, &gate).await, (renamed_at_gate, third));

    let all: Value = site.done("GET", "/v1/operators", Value::Null).await;
    let shown = json!([{ "operator_id": "li", "name": "李 Li", "role": "guard",
                         "has_badge": true }]);
    assert_eq!(all["operators"], shown);
    let remove = || site.admin("DELETE", "/v1/operators/li").send();
    assert_eq!(remove().await.unwrap().status(), StatusCode::NO_CONTENT);
    assert_eq!(
        refusal(remove().await.unwrap()).await.0,
        StatusCode::NOT_FOUND
    );
    assert_eq!(settings(&site, &gate).await.0.operators, []);
}

#[tokio::test]
async fn what_is_wrong_with_an_operator_is_said_without_the_pin() {
    let site = Site::start().await;
    for (operator, word) in [
        (json!({ "role": "guard" }), "pin"),
        (json!({ "role": "guard", "pin": "98" }), "pin"),
        (json!({ "role": "guard", "pin": "9876x" }), "pin"),
        (json!({ "role": "guard", "pin": "9876543210987" }), "pin"),
        (json!({ "role": "boss", "pin": "9876" }), "role"),
        (
            json!({ "role": "guard", "pin": "9876", "colour": "9876" }),
            "colour",
        ),
    ] {
        let request = site.admin("PUT", "/v1/operators/wang").json(&operator);
        let (_, _, problem) = refusal(request.send().await.unwrap()).await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(word), "{detail}");
        assert!(!detail.contains("98"), "{detail}");
    }
}
