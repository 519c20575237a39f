//! What a back end does to tickets and sessions, one at a time and many at once.

use reqwest::StatusCode;
use serde_json::{Value, json};
use stile_core::reason::Reason;
use stile_core::verdict::Verdict;

use crate::device::{GateDevice, set_policy};
use crate::site::{Site, read, refusal};

async fn with_tickets(count: usize) -> Site {
    let site = Site::start().await;
    site.furnish().await;
    site.put_tickets((0..count).map(|n| format!("T{n}"))).await;
    let now = site.server.now().seconds().0;
    let later = json!({"starts_at": now + 90_000, "ends_at": now + 93_600});
    let _: Value = site.done("PUT", "/v1/sessions/later", later).await;
    site
}

async fn post(site: &Site, path: &str, body: Value) -> Value {
    site.done("POST", path, body).await
}

fn reason(verdict: &Verdict) -> Option<Reason> {
    match verdict {
        Verdict::Refuse(refusal) => Some(refusal.reason),
        Verdict::Admit(_) => None,
    }
}

#[tokio::test]
async fn a_gate_hears_that_a_ticket_was_cancelled_restored_and_moved() {
    let site = with_tickets(1).await;
    set_policy(&site, json!({ "formats": ["G2"] })).await;
    let device = GateDevice::enrol(&site).await;
    let wanted = json!({"codes": [{"ticket_id": "T0", "format": "G2"}]});
    let minted = post(&site, "/v1/codes", wanted).await;
    let code = minted["codes"][0]["code"].as_str().unwrap();
    let answered = || async {
        device.fetch_lists(&site).await;
        device.skip(4);
        reason(&device.scan(code).verdict)
    };
    let cancelled = post(&site, "/v1/tickets/T0/cancel", json!({"cause": "visitor"})).await;
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(answered().await, Some(Reason::Cancelled));
    for _ in 0..2 {
        let restored = post(&site, "/v1/tickets/T0/restore", Value::Null).await;
        let stands = (&restored["status"], &restored["cancel_cause"]);
        assert_eq!(stands, (&json!("valid"), &Value::Null));
    }
    let moved = post(&site, "/v1/tickets/T0/move", json!({"session_id": "later"})).await;
    assert_eq!(moved["session_id"], "later");
    assert_eq!(answered().await, Some(Reason::WrongDay));
    post(&site, "/v1/tickets/T0/move", json!({"session_id": "now"})).await;
    assert_eq!(answered().await, None);
}

#[tokio::test]
async fn many_changes_are_answered_each_by_itself_and_again_change_nothing() {
    let site = with_tickets(5).await;
    let gate = site.enrol(1).await;
    let changes = json!({"changes": [
        {"act": "cancel", "ticket_id": "T0", "cause": "refunded"},
        {"act": "restore", "ticket_id": "T1"},
        {"act": "cancel", "ticket_id": "T3", "cause": "visitor"},
        {"act": "move", "ticket_id": "T2", "session_id": "later"},
        {"act": "move", "ticket_id": "T3", "session_id": "nowhere"},
        {"act": "reissue", "ticket_id": "T4", "revision": 1},
        {"act": "reissue", "ticket_id": "T3", "revision": 7},
        {"act": "restore", "ticket_id": "nobody"},
    ]});
    let lists = || async {
        let request = site.request("GET", "/v1/gate/lists");
        let lists: Value = read(request.bearer_auth(gate.bearer()).send().await.unwrap()).await;
        lists["manifests"].clone()
    };
    let mut after = Vec::new();
    for _ in 0..2 {
        let answer = post(&site, "/v1/ticket-changes", changes.clone()).await;
        let results = answer["results"].as_array().unwrap();
        let became: Vec<_> = results
            .iter()
            .map(|one| match one.get("problem") {
                Some(problem) => problem["code"].as_str().unwrap().to_owned(),
                None => format!(
                    "{} {} {} {}",
                    one["ticket_id"].as_str().unwrap(),
                    one["ticket"]["status"].as_str().unwrap(),
                    one["ticket"]["session_id"].as_str().unwrap(),
                    one["ticket"]["revision"]
                ),
            })
            .collect();
        assert_eq!(
            became,
            [
                "T0 cancelled now 0",
                "T1 valid now 0",
                "T3 cancelled now 0",
                "T2 valid later 0",
                "unprocessable",
                "T4 valid now 1",
                "conflict",
                "not_found",
            ]
        );
        after.push(lists().await);
    }
    assert_eq!(after[0], after[1], "gates have nothing to fetch");
}

#[tokio::test]
async fn what_no_change_can_be_is_refused_whole_and_named() {
    let site = with_tickets(1).await;
    for (changes, said) in [
        (json!([{"act": "burn", "ticket_id": "T0"}]), "act"),
        (json!([{"act": "cancel", "ticket_id": "T0"}]), "cause"),
        (
            json!([{"act": "restore", "ticket_id": "T 0"}]),
            "changes[0]",
        ),
        (
            json!([{"act": "restore", "ticket_id": "T0", "cause": "visitor"}]),
            "changes[0]",
        ),
    ] {
        let request = site.admin("POST", "/v1/ticket-changes");
        let body = json!({ "changes": changes });
        let (status, code, problem) = refusal(request.json(&body).send().await.unwrap()).await;
        assert_eq!((status, &*code), (StatusCode::BAD_REQUEST, "invalid_body"));
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said), "{detail}");
    }
    let change = json!({"act": "restore", "ticket_id": "T0"});
    let many = json!({ "changes": vec![change; 1_001] });
    let request = site.admin("POST", "/v1/ticket-changes");
    let (status, code, _) = refusal(request.json(&many).send().await.unwrap()).await;
    assert_eq!(
        (status, &*code),
        (StatusCode::PAYLOAD_TOO_LARGE, "too_large")
    );
    let unknown = site
        .admin("POST", "/v1/tickets/nobody/restore")
        .send()
        .await;
    assert_eq!(refusal(unknown.unwrap()).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_ticket_that_vanished_is_restored_as_it_was() {
    let site = with_tickets(3).await;
    let sessions: Value = site.done("GET", "/v1/sessions", Value::Null).await;
    let now = sessions["sessions"].as_array().unwrap();
    let now = now.iter().find(|one| one["session_id"] == "now").unwrap();
    let day = now["service_day"].as_str().unwrap();
    let set = format!("/v1/service-days/{day}/tickets?confirm_vanish=3");
    let empty = site.admin("PUT", &set).header("content-type", "text/csv");
    let empty = empty.body("ticket_id,order_number,session_id\n");
    let _: Value = read(empty.send().await.unwrap()).await;
    let gone: Value = site.done("GET", "/v1/tickets/T0", Value::Null).await;
    assert_eq!(gone["deleted"], true);
    let back = post(&site, "/v1/tickets/T0/restore", Value::Null).await;
    assert_eq!(
        (&back["deleted"], &back["status"]),
        (&json!(false), &json!("valid"))
    );
}

#[tokio::test]
async fn many_sessions_go_in_at_once_and_wrong_ones_are_named() {
    let site = Site::start().await;
    let day = |day: u32| {
        json!({"session_id": format!("s{day}"), "name": "上午场",
               "starts_at": format!("2031-10-{day:02} 09:00"),
               "ends_at": format!("2031-10-{day:02} 11:00")})
    };
    let mut misspelt = day(4);
    misspelt["nmae"] = json!("x");
    let mut backwards = day(5);
    backwards["ends_at"] = json!("2031-10-05T00:00:00Z");
    let mut numbered = day(6);
    numbered["session_id"] = json!(42);
    let mut nameless = day(7);
    nameless.as_object_mut().unwrap().remove("session_id");
    let body =
        json!({"sessions": [day(1), day(2), misspelt, backwards, numbered, nameless, day(3)]});
    for _ in 0..2 {
        let answer = post(&site, "/v1/sessions", body.clone()).await;
        let results = answer["results"].as_array().unwrap();
        let became: Vec<_> = results
            .iter()
            .map(|one| match one.get("problem") {
                Some(problem) => problem["detail"].as_str().unwrap(),
                None => one["session"]["session_id"].as_str().unwrap(),
            })
            .collect();
        assert_eq!(became[..2], ["s1", "s2"]);
        assert!(became[2].contains("`nmae`"), "{}", became[2]);
        assert!(became[3].starts_with("ends_at: "), "{}", became[3]);
        assert_eq!(became[4], "42");
        assert!(became[5].contains("session_id"), "{}", became[5]);
        assert_eq!(became[6], "s3");
    }
    let sessions: Value = site.done("GET", "/v1/sessions", Value::Null).await;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn situation_30_tomorrows_list_is_there_the_evening_before_and_is_fetched_once() {
    let site = Site::start().await;
    site.furnish().await;
    let now = site.server.now().seconds().0;
    let tomorrow = json!({"starts_at": now + 24 * 3600, "ends_at": now + 26 * 3600});
    let _: Value = site.done("PUT", "/v1/sessions/tomorrow", tomorrow).await;
    let gates = [
        GateDevice::enrol(&site).await,
        GateDevice::enrol(&site).await,
    ];
    for gate in &gates {
        assert_eq!(gate.fetch_lists(&site).await, 2, "today's and tomorrow's");
        // What has not changed is not sent again, however often a gate asks, also at midnight.
        for _ in 0..3 {
            assert_eq!(gate.fetch_lists(&site).await, 0);
        }
    }
    site.put_tickets(["T0".to_owned()]).await;
    for gate in &gates {
        assert_eq!(gate.fetch_lists(&site).await, 1, "the one that changed");
        assert_eq!(gate.fetch_lists(&site).await, 0);
    }
}
