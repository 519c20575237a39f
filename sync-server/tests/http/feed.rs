//! What gates hear of each other over HTTP, and what the back end hears of it: the feed, conflicts
//! that come and go, attendance.

use reqwest::StatusCode;
use serde_json::{Value, json};
use stile_core::protocol::{FeedAnswer, FeedKind};

use crate::site::{Gatekeeper, Site, read, refusal};

async fn feed(site: &Site, device: &Gatekeeper, query: &str) -> FeedAnswer {
    let path = format!("/v1/gate/admissions{query}");
    let request = site.request("GET", &path).bearer_auth(device.bearer());
    read(request.send().await.unwrap()).await
}

/// A record of the device that speaks of an earlier one.
fn undo(device: &mut Gatekeeper, site: &Site, of: &Value) -> Value {
    let mut undo = device.admits(site, &Value::Null);
    let members = json!({ "kind": "undo", "refers_to": of["id"], "why": "does not match",
                          "mismatch": true, "persons": 0, "verdict": null,
                          "session_id": null, "service_day": null });
    undo.as_object_mut()
        .unwrap()
        .extend(members.as_object().unwrap().clone());
    undo
}

async fn site_with_a_ticket() -> (Site, Value) {
    let site = Site::start().await;
    site.furnish().await;
    site.put_tickets(["T1".to_owned()]).await;
    let ticket = site.done("GET", "/v1/tickets/T1", Value::Null).await;
    (site, ticket)
}

#[tokio::test]
async fn a_gate_that_waits_hears_of_another_gates_admission_and_of_its_undo() {
    let (site, ticket) = site_with_a_ticket().await;
    let (mut north, south) = (site.enrol(1).await, site.enrol(2).await);
    let start = feed(&site, &south, "").await;
    assert_eq!((start.items.len(), start.more), (0, false));

    let admitted = north.admits(&site, &ticket);
    let wait = format!("?wait=25&after={}", start.cursor);
    let (heard, ()) = tokio::join!(
        feed(&site, &south, &wait),
        site.upload(&north, std::slice::from_ref(&admitted)),
    );
    assert_eq!(heard.items.len(), 1);
    let item = &heard.items[0];
    assert_eq!((item.kind, item.persons), (FeedKind::Entry, 1));
    assert_eq!(json!(item.record_id), admitted["id"]);
    assert_eq!(item.device_id, north.answer.device_id);

    let taken_back = undo(&mut north, &site, &admitted);
    let wait = format!("?wait=25&after={}", heard.cursor);
    let (heard, ()) = tokio::join!(
        feed(&site, &south, &wait),
        site.upload(&north, std::slice::from_ref(&taken_back)),
    );
    assert_eq!(heard.items.len(), 1);
    assert_eq!(heard.items[0].kind, FeedKind::Undo);
    assert_eq!(json!(heard.items[0].refers_to), admitted["id"]);
}

#[tokio::test]
async fn a_cursor_of_another_server_starts_the_feed_anew() {
    let (site, ticket) = site_with_a_ticket().await;
    let mut north = site.enrol(1).await;
    let admitted = north.admits(&site, &ticket);
    site.upload(&north, &[admitted]).await;
    let pulled: Value = site.done("GET", "/v1/records", Value::Null).await;
    for strange in [
        "",
        "x",
        "%00",
        "AQIAAAAA",
        pulled["cursor"].as_str().unwrap(),
    ] {
        let answer = feed(&site, &north, &format!("?after={strange}")).await;
        assert_eq!(answer.items.len(), 1, "{strange}");
    }
    let path = "/v1/gate/admissions?wait=26";
    let request = site.request("GET", path).bearer_auth(north.bearer());
    let (status, code, _) = refusal(request.send().await.unwrap()).await;
    assert_eq!(
        (status, &*code),
        (StatusCode::BAD_REQUEST, "invalid_parameter")
    );
}

#[tokio::test]
async fn a_server_that_stops_keeps_no_gate_waiting() {
    let (site, _) = site_with_a_ticket().await;
    let gate = site.enrol(1).await;
    let (heard, ()) = tokio::join!(feed(&site, &gate, "?wait=25"), async {
        // Whether it waits already or comes later, it is sent home.
        site.server.stop_waiting();
    });
    assert_eq!(heard.items.len(), 0);
}

#[tokio::test]
async fn a_conflict_opens_shows_at_the_gate_that_lost_and_is_cleared_by_an_undo() {
    let (site, ticket) = site_with_a_ticket().await;
    let (mut north, mut south) = (site.enrol(1).await, site.enrol(2).await);
    let late = south.admits(&site, &ticket);
    site.upload(&south, std::slice::from_ref(&late)).await;
    let seen = feed(&site, &south, "").await;
    assert!(!seen.items[0].loses);
    let mut early = north.admits(&site, &ticket);
    early["at"] = json!(late["at"].as_i64().unwrap() - 1_000);
    site.upload(&north, &[early]).await;

    let news = feed(&site, &south, &format!("?after={}", seen.cursor)).await;
    let lost = news.items.iter().find(|item| item.loses).unwrap();
    assert_eq!(json!(lost.record_id), late["id"]);
    let day = ticket["service_day"].as_str().unwrap();
    let counts = || async {
        let path = format!("/v1/reports/attendance?from={day}&group_by=session");
        let report: Value = site.done("GET", &path, Value::Null).await;
        let sessions = report["sessions"].as_array().unwrap().clone();
        sessions
            .into_iter()
            .find(|one| one["session_id"] == "now")
            .unwrap()
    };
    let before = counts().await;
    assert_eq!(
        (&before["persons"], &before["check_ins"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(before["conflicts_open"], 1);

    let taken_back = undo(&mut south, &site, &late);
    site.upload(&south, &[taken_back]).await;
    let after = counts().await;
    assert_eq!(
        (&after["persons"], &after["undone"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(
        (&after["conflicts_open"], &after["conflicts_cleared"]),
        (&json!(0), &json!(1))
    );
    for (state, count) in [("open", 0), ("cleared", 1), ("all", 1)] {
        let path = format!("/v1/conflicts?state={state}");
        let found: Value = site.done("GET", &path, Value::Null).await;
        assert_eq!(
            found["conflicts"].as_array().unwrap().len(),
            count,
            "{state}"
        );
    }
    let cleared: Value = site
        .done("GET", "/v1/conflicts?state=cleared", Value::Null)
        .await;
    assert!(cleared["conflicts"][0]["cleared_at"].is_i64());
}

#[tokio::test]
async fn a_report_says_what_is_wrong_with_its_days() {
    let site = Site::start().await;
    for (query, expected) in [
        ("", StatusCode::BAD_REQUEST),
        ("?from=today", StatusCode::BAD_REQUEST),
        ("?from=2026-10-01&group_by=weather", StatusCode::BAD_REQUEST),
        (
            "?from=2026-10-02&to=2026-10-01",
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (
            "?from=2026-01-01&to=2026-12-31",
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
    ] {
        let request = site.admin("GET", &format!("/v1/reports/attendance{query}"));
        let (status, ..) = refusal(request.send().await.unwrap()).await;
        assert_eq!(status, expected, "{query}");
    }
    let report: Value = site
        .done(
            "GET",
            "/v1/reports/attendance?from=2026-10-01&to=2026-12-31",
            Value::Null,
        )
        .await;
    let empty = json!({ "sessions": [], "walk_ins": [], "refused_elsewhere": {} });
    assert_eq!(report, empty);
}
