//! Back ends that pull while records go whose time is over: each record comes once, and nobody
//! passes over what it never read without being told.

use std::collections::HashSet;

use reqwest::StatusCode;
use rusqlite::Connection;
use serde_json::Value;

use crate::site::{Site, read};

/// Lets everything in the log have come 181 days earlier.
fn age(site: &Site) {
    let writer = Connection::open(site.data().join("server.db")).unwrap();
    writer
        .execute_batch(
            "UPDATE records SET received_at = received_at - 181 * 86400000;
             UPDATE log_spans SET name = name - 181 WHERE kind = 'received';",
        )
        .unwrap();
}

fn ids(piece: &Value) -> Vec<String> {
    let records = piece["records"].as_array().unwrap().iter();
    records
        .map(|entry| entry["record"]["id"].as_str().unwrap().to_owned())
        .collect()
}

fn cursor(piece: &Value) -> String {
    piece["cursor"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_pulls_while_records_are_removed_gets_each_once() {
    let site = Site::start().await;
    site.furnish().await;
    let tickets = site.some_tickets(500).await;
    let mut gate = site.enrol(1).await;
    let (old, new) = tickets.split_at(450);
    for some in old.chunks(50) {
        let records: Vec<_> = some.iter().map(|one| gate.admits(&site, one)).collect();
        site.upload(&gate, &records).await;
    }
    let pull = async |after: &str| -> Value {
        let path = format!("/v1/records?limit=50{after}");
        site.done("GET", &path, Value::Null).await
    };
    let slow = pull("").await;
    let (mut seen, mut after) = (Vec::new(), String::new());
    while seen.len() < old.len() {
        let piece = pull(&after).await;
        seen.extend(ids(&piece));
        after = format!("&after={}", cursor(&piece));
    }
    age(&site);

    let uploads = async {
        for some in new.chunks(5) {
            let records: Vec<_> = some.iter().map(|one| gate.admits(&site, one)).collect();
            site.upload(&gate, &records).await;
        }
    };
    let pulls = async {
        while seen.len() < tickets.len() {
            let piece = pull(&after).await;
            seen.extend(ids(&piece));
            after = format!("&after={}", cursor(&piece));
        }
    };
    let (runs, (), ()) = tokio::join!(site.server.run_retention(true), uploads, pulls);
    let runs = runs.unwrap();
    assert!(runs.iter().any(|run| run.removed == old.len() as u64));
    assert_eq!(seen.len(), tickets.len());
    assert_eq!(seen.iter().collect::<HashSet<_>>().len(), tickets.len());

    // Who has read a ninth of what is gone is told so, and where to go on.
    let path = format!("/v1/records?after={}", cursor(&slow));
    let refused = site.admin("GET", &path).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::GONE);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "cursor_expired");
    let left = pull(&format!("&after={}", cursor(&problem))).await;
    assert_eq!(ids(&left), seen[old.len()..]);
    // So is who asks for a file; who begins takes what there is.
    let file = site.admin("GET", &path).header("accept", "text/csv");
    assert_eq!(file.send().await.unwrap().status(), StatusCode::GONE);
    let file = site
        .admin("GET", "/v1/records")
        .header("accept", "application/x-ndjson");
    let lines = file.send().await.unwrap().text().await.unwrap();
    assert_eq!(lines.lines().count(), new.len() + 1);
}

#[tokio::test]
async fn a_report_says_from_which_day_on_it_counts() {
    let site = Site::start().await;
    site.furnish().await;
    let tickets = site.some_tickets(1).await;
    let mut gate = site.enrol(1).await;
    let record = gate.admits(&site, &tickets[0]);
    site.upload(&gate, std::slice::from_ref(&record)).await;
    age(&site);
    let day = tickets[0]["service_day"].as_str().unwrap();
    let report = async || -> Value {
        let path = format!("/v1/reports/attendance?from={day}&to={day}");
        read(site.admin("GET", &path).send().await.unwrap()).await
    };
    assert_eq!(report().await["kept_since"], Value::Null);
    site.server.run_retention(true).await.unwrap();
    let kept_since = report().await["kept_since"].as_str().unwrap().to_owned();
    assert!(kept_since.as_str() < day);
}
