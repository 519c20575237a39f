//! Filters of the log: what each lets through, whatever the form, and the cursors that go with
//! them.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::site::{Gatekeeper, Site, read, refusal};

/// A record of the device, with members of its own.
fn with(gate: &mut Gatekeeper, site: &Site, ticket: &Value, members: &Value) -> Value {
    let mut record = gate.admits(site, ticket);
    let members = members.as_object().unwrap().clone();
    record.as_object_mut().unwrap().extend(members);
    record
}

/// The ids of all that is found, page by page.
async fn found(site: &Site, path: &str) -> Vec<Value> {
    let (mut ids, mut after) = (Vec::new(), String::new());
    loop {
        let page: Value = site
            .done("GET", &format!("{path}&limit=2{after}"), Value::Null)
            .await;
        let records = page["records"].as_array().unwrap().iter();
        ids.extend(records.map(|entry| entry["record"]["id"].clone()));
        if page["more"] == false {
            return ids;
        }
        after = format!("&after={}", page["cursor"].as_str().unwrap());
    }
}

/// The same in one answer.
async fn found_in_lines(site: &Site, path: &str) -> Vec<Value> {
    let request = site
        .admin("GET", path)
        .header("accept", "application/x-ndjson");
    let text = request.send().await.unwrap().text().await.unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut ids: Vec<Value> = lines
        .map(|line: Value| line["record"]["id"].clone())
        .collect();
    assert_eq!(ids.pop(), Some(Value::Null), "the last line is the end");
    ids
}

/// A site with some of everything in its log, and the records in their order.
async fn site_with_a_mixed_log() -> (Site, Vec<Value>) {
    let site = Site::start().await;
    site.furnish().await;
    let later = json!({"starts_at": "2099-10-01 10:00", "ends_at": "2099-10-01 12:00"});
    let _: Value = site.done("PUT", "/v1/sessions/later", later).await;
    let tickets = site.some_tickets(3).await;
    let mut gate = site.enrol(1).await;
    let south = json!({"gate_id": "south"});
    let later = json!({"session_id": "later", "service_day": "2099-10-01", "verdict": "refuse",
                       "reason": "too_early", "persons": 0});
    let again = json!({"verdict": "refuse", "reason": "already_used", "persons": 0});
    let nobodys = json!({"verdict": "refuse", "reason": "malformed", "persons": 0,
                         "session_id": null});
    let walk_in = json!({"kind": "walk_in", "session_id": null, "verdict": null,
                         "category": "guest", "service_day": tickets[0]["service_day"]});
    let mut records = Vec::new();
    for round in 0..3 {
        records.push(with(&mut gate, &site, &tickets[round], &json!({})));
        records.push(with(&mut gate, &site, &tickets[round], &south));
        records.push(with(&mut gate, &site, &tickets[0], &again));
        records.push(with(&mut gate, &site, &tickets[1], &later));
        records.push(with(&mut gate, &site, &Value::Null, &nobodys));
        records.push(with(&mut gate, &site, &Value::Null, &walk_in));
    }
    for (n, record) in records.iter_mut().enumerate() {
        // An hour between two, from 2026-10-01 08:00 in the venue's zone.
        record["at"] = json!(1_790_812_800_000_i64 + i64::try_from(n).unwrap() * 3_600_000);
    }
    for batch in records.chunks(4) {
        site.upload(&gate, batch).await;
    }
    (site, records)
}

type Says = fn(&Value) -> bool;

#[tokio::test]
async fn each_filter_lets_through_what_it_names_and_nothing_else() {
    let (site, records) = site_with_a_mixed_log().await;
    let today = records[0]["service_day"].as_str().unwrap();
    let day = format!("service_day={today}");
    // Ten in the morning, and the half hour after it.
    let times = "from=2026-10-01%2010:00&to=2026-10-01T10:30:00%2B08:00";
    let both = format!("{day}&gate_id=south&ticket_id=T1");
    let filters: [(&str, Says); 13] = [
        ("session_id=now", |one| one["session_id"] == "now"),
        ("session_id=later", |one| one["session_id"] == "later"),
        ("session_id=none", |_| false),
        ("gate_id=south", |one| one["gate_id"] == "south"),
        ("gate_id=nowhere", |_| false),
        (&day, |one| {
            one["service_day"].is_string() && one["service_day"] != "2099-10-01"
        }),
        ("service_day=2099-10-01", |one| {
            one["service_day"] == "2099-10-01"
        }),
        ("service_day=1999-01-01", |_| false),
        ("ticket_id=T0", |one| one["ticket_id"] == "T0"),
        ("ticket_id=nobodys", |_| false),
        (times, |one| one["at"] == 1_790_820_000_000_i64),
        ("from=1790870400", |one| {
            one["at"].as_i64() >= Some(1_790_870_400_000)
        }),
        (&both, |one| {
            one["gate_id"] == "south" && one["ticket_id"] == "T1"
        }),
    ];
    let further: [(&str, Says); 5] = [
        ("kind=walk_in", |one| one["kind"] == "walk_in"),
        ("verdict=refuse", |one| one["verdict"] == "refuse"),
        ("verdict=admit&session_id=now", |one| {
            one["verdict"] == "admit"
        }),
        ("reason=already_used", |one| one["reason"] == "already_used"),
        ("kind=what_nobody_makes", |_| false),
    ];
    let ids = |says: Says, admits: bool| {
        let wanted = records.iter().filter(|one| {
            let is_check_in = one["kind"] == "scan" && one["verdict"] == "admit";
            says(one) && (is_check_in || !admits)
        });
        wanted.map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    for (query, says) in filters.into_iter().chain(further) {
        let path = format!("/v1/records?{query}");
        assert_eq!(found(&site, &path).await, ids(says, false), "{query}");
        assert_eq!(
            found_in_lines(&site, &path).await,
            ids(says, false),
            "{query}"
        );
    }
    for (query, says) in filters {
        let path = format!("/v1/check-ins?{query}");
        assert_eq!(found(&site, &path).await, ids(says, true), "{query}");
        assert_eq!(
            found_in_lines(&site, &path).await,
            ids(says, true),
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_ticket_is_found_also_where_its_record_knows_only_its_number_or_came_before_it() {
    let site = Site::start().await;
    site.furnish().await;
    site.put_tickets(["T1".to_owned()]).await;
    let known: Value = site.done("GET", "/v1/tickets/T1", Value::Null).await;
    let mut gate = site.enrol(1).await;
    let unlisted = json!({"ticket_id": null, "session_id": null, "service_day": null});
    let by_number = with(&mut gate, &site, &known, &unlisted);
    site.upload(&gate, std::slice::from_ref(&by_number)).await;
    let early = gate.admits(&site, &json!({"ticket_id": "T2"}));
    let batch = gate.batch(std::slice::from_ref(&early));
    let upload = site
        .request("POST", "/v1/gate/records")
        .bearer_auth(gate.bearer());
    let answer: Value = read(upload.json(&batch).send().await.unwrap()).await;
    assert_eq!(answer["results"][0]["result"], "quarantined");
    assert_eq!(
        found(&site, "/v1/check-ins?ticket_id=T2").await,
        [Value::Null; 0]
    );
    site.put_tickets(["T2".to_owned()]).await;

    let day = known["service_day"].as_str().unwrap();
    for (query, record) in [("ticket_id=T1", &by_number), ("ticket_id=T2", &early)] {
        // It counts to the ticket's day, whether the record knew that or not.
        let path = format!("/v1/check-ins?{query}&service_day={day}");
        assert_eq!(found(&site, &path).await, [record["id"].clone()], "{query}");
    }
}

#[tokio::test]
async fn a_cursor_is_good_with_the_filters_that_it_was_given_for_alone() {
    let (site, records) = site_with_a_mixed_log().await;
    let cursor = async |path: &str| {
        let page: Value = site.done("GET", path, Value::Null).await;
        page["cursor"].as_str().unwrap().to_owned()
    };
    let filtered = cursor("/v1/records?gate_id=south&kind=scan&limit=1").await;
    let whole = cursor("/v1/records?limit=1").await;
    for (path, cursor) in [
        ("/v1/records?", &filtered),
        ("/v1/records?gate_id=south", &filtered),
        ("/v1/records?gate_id=north&kind=scan", &filtered),
        (
            "/v1/records?gate_id=south&kind=scan&to=2026-10-01%2012:00",
            &filtered,
        ),
        ("/v1/records?gate_id=south&kind=scan", &whole),
    ] {
        for form in ["application/json", "application/x-ndjson", "text/csv"] {
            let request = site.admin("GET", &format!("{path}&after={cursor}"));
            let response = request.header("accept", form).send().await.unwrap();
            let (status, code, _) = refusal(response).await;
            let told = (status, &*code);
            assert_eq!(
                told,
                (StatusCode::UNPROCESSABLE_ENTITY, "cursor_of_other_filters"),
                "{path}"
            );
        }
    }
    let path = format!("/v1/check-ins?gate_id=south&after={filtered}");
    let response = site.admin("GET", &path).send().await.unwrap();
    assert_eq!(refusal(response).await.1, "invalid_cursor");

    let rest = format!("/v1/records?kind=scan&gate_id=south&after={filtered}");
    let rest = found_in_lines(&site, &rest).await;
    let south = records.iter().filter(|one| one["gate_id"] == "south");
    let south: Vec<_> = south.map(|one| one["id"].clone()).collect();
    assert_eq!(rest, south[1..]);
}

#[tokio::test]
async fn whoever_waits_with_a_filter_is_not_answered_with_what_it_leaves_out() {
    let site = Site::start().await;
    site.furnish().await;
    let tickets = site.some_tickets(20).await;
    let mut gate = site.enrol(1).await;
    let path = "/v1/check-ins?wait=25&ticket_id=T19";
    let uploads = async {
        let mut last = Value::Null;
        for ticket in &tickets {
            last = gate.admits(&site, ticket);
            site.upload(&gate, std::slice::from_ref(&last)).await;
        }
        last
    };
    let (page, last) = tokio::join!(site.done::<Value>("GET", path, Value::Null), uploads);
    assert_eq!(page["records"].as_array().unwrap().len(), 1);
    assert_eq!(page["records"][0]["record"], last);
}

#[tokio::test]
async fn a_filter_that_cannot_be_is_refused_by_its_name() {
    let site = Site::start().await;
    let (bad, never) = (StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY);
    for (path, name, expected) in [
        ("/v1/records?session_id=", "session_id", bad),
        ("/v1/records?gate_id=13800005678!", "gate_id", bad),
        ("/v1/records?service_day=today", "service_day", bad),
        ("/v1/records?kind=SCAN", "kind", bad),
        ("/v1/records?verdict=13800005678", "verdict", bad),
        ("/v1/records?reason=13800005678!", "reason", bad),
        ("/v1/check-ins?kind=scan", "kind", bad),
        ("/v1/check-ins?verdict=admit", "verdict", bad),
        ("/v1/check-ins?reason=malformed", "reason", bad),
        ("/v1/records?from=13800005678", "from", never),
        ("/v1/records?to=noon", "to", never),
        ("/v1/records?from=2000000000&to=2000000000", "to", never),
    ] {
        let (status, _, problem) = refusal(site.admin("GET", path).send().await.unwrap()).await;
        assert_eq!(status, expected, "{path}: {problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains(name) && !detail.contains("13800005678"),
            "{path}: {detail}"
        );
    }
}
