//! The log as back ends pull it over HTTP: waiting for what comes, while others write, stop and
//! stand still.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::StatusCode;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::site::{Gatekeeper, OTHER_VENUE, Site, key_for, read};
use stile_sync_server::store::Scope;

/// A site with some tickets.
async fn site_with(count: usize) -> (Arc<Site>, Vec<Value>) {
    let site = Site::start().await;
    site.furnish().await;
    let tickets = site.some_tickets(count).await;
    (Arc::new(site), tickets)
}

/// The ids of the records of a piece.
fn ids(piece: &Value) -> Vec<String> {
    let records = piece["records"].as_array().unwrap().iter();
    records
        .map(|entry| entry["record"]["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Pulls with `wait` until so many records have come; gives their ids as they came.
async fn waits_for(site: Arc<Site>, path: &str, count: usize) -> Vec<String> {
    let (mut seen, mut after) = (Vec::new(), String::new());
    while seen.len() < count {
        let path = format!("{path}?wait=25&limit=7{after}");
        let piece: Value = site.done("GET", &path, Value::Null).await;
        seen.extend(ids(&piece));
        after = format!("&after={}", piece["cursor"].as_str().unwrap());
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_gets_each_record_once_while_gates_upload() {
    let (site, tickets) = site_with(120).await;
    let pulls = ["/v1/records", "/v1/check-ins"].map(|path| {
        let site = site.clone();
        tokio::spawn(async move { waits_for(site, path, 120).await })
    });
    let mut gates = Vec::new();
    for (seed, tickets) in (1..).zip(tickets.chunks(30)) {
        let (site, tickets) = (site.clone(), tickets.to_vec());
        let mut gate = site.enrol(seed).await;
        gates.push(tokio::spawn(async move {
            for some in tickets.chunks(4) {
                let records: Vec<_> = some.iter().map(|one| gate.admits(&site, one)).collect();
                site.upload(&gate, &records).await;
            }
        }));
    }
    for gate in gates {
        gate.await.unwrap();
    }
    let [records, check_ins] = pulls;
    let (records, check_ins) = (records.await.unwrap(), check_ins.await.unwrap());
    assert_eq!(records, check_ins, "both saw the same order");
    assert_eq!(records.iter().collect::<HashSet<_>>().len(), 120);
}

#[tokio::test]
async fn a_record_of_another_venue_ends_nobodys_wait() {
    let (site, tickets) = site_with(1).await;
    let mut gate = site.enrol(1).await;
    let other = key_for(&site.server, &[OTHER_VENUE], &[Scope::RecordsRead]).await;
    let waits = tokio::spawn(waits_for(site.clone(), "/v1/records", 1));
    let path = "/v1/records?wait=25";
    let others = site.request("GET", path).bearer_auth(other).send();
    let others = tokio::spawn(others);
    let record = gate.admits(&site, &tickets[0]);
    site.upload(&gate, std::slice::from_ref(&record)).await;
    assert_eq!(json!(waits.await.unwrap()), json!([record["id"]]));
    assert!(!others.is_finished());
    site.server.stop_waiting();
    let piece: Value = read(others.await.unwrap().unwrap()).await;
    assert_eq!(ids(&piece), [""; 0]);
}

#[tokio::test]
async fn a_server_that_stops_keeps_no_back_end_waiting() {
    let (site, _) = site_with(1).await;
    let wait = |path: &'static str| site.done::<Value>("GET", path, Value::Null);
    let (records, check_ins, ()) = tokio::join!(
        wait("/v1/records?wait=25"),
        wait("/v1/check-ins?wait=25"),
        async {
            // Whether they wait already or come later, they are sent home.
            site.server.stop_waiting();
        },
    );
    for piece in [records, check_ins] {
        assert_eq!((ids(&piece).len(), &piece["more"]), (0, &json!(false)));
    }
}

#[tokio::test]
async fn whoever_waits_keeps_nobody_else_from_reading_or_writing() {
    let (site, tickets) = site_with(1).await;
    let mut gate = site.enrol(1).await;
    // More than there are connections to read with, and threads that block.
    let waiting = (0..200).map(|_| tokio::spawn(waits_for(site.clone(), "/v1/check-ins", 1)));
    let waiting: Vec<_> = waiting.collect();
    let now: Value = site.done("GET", "/v1/records", Value::Null).await;
    assert_eq!(ids(&now).len(), 0);
    let record = gate.admits(&site, &tickets[0]);
    site.upload(&gate, std::slice::from_ref(&record)).await;
    for seen in join_all(waiting).await {
        assert_eq!(json!(seen.unwrap()), json!([record["id"]]));
    }
}

/// Uploads until the server has taken it: it lets a gate wait, or tells it to come again.
async fn upload_in_the_end(site: &Site, gate: &Gatekeeper, records: &[Value]) {
    loop {
        let request = site.request("POST", "/v1/gate/records");
        let request = request
            .bearer_auth(gate.bearer())
            .json(&gate.batch(records));
        let response = request.send().await.unwrap();
        if response.status() == StatusCode::SERVICE_UNAVAILABLE {
            assert!(response.headers().contains_key("retry-after"));
            continue;
        }
        let answer: Value = read(response).await;
        let results = answer["results"].as_array().unwrap();
        assert!(
            results.iter().all(|one| one["result"] == "accepted"),
            "{answer}"
        );
        return;
    }
}

/// Another process holds the database open for writing for ten seconds. They are real ones, twice
/// as long as the server's writer waits for it at a time.
#[tokio::test(flavor = "multi_thread")]
async fn situation_09_each_record_comes_once_though_a_writer_stays_open_for_ten_seconds() {
    const GATES: u8 = 3;
    let (site, tickets) = site_with(60).await;
    let mut first = site.enrol(1).await;
    let early: Vec<_> = tickets[..3]
        .iter()
        .map(|one| first.admits(&site, one))
        .collect();
    site.upload(&first, &early).await;
    let mut gates = vec![first];
    for seed in 2..=GATES {
        gates.push(site.enrol(seed).await);
    }

    let writer = Connection::open(site.data().join("server.db")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let opened = Instant::now();
    let parts = tickets[3..].chunks(57 / usize::from(GATES));
    let uploads = gates.into_iter().zip(parts).map(|(mut gate, some)| {
        let (site, some) = (site.clone(), some.to_vec());
        tokio::spawn(async move {
            for few in some.chunks(4) {
                let records: Vec<_> = few.iter().map(|one| gate.admits(&site, one)).collect();
                upload_in_the_end(&site, &gate, &records).await;
            }
        })
    });
    let uploads: Vec<_> = uploads.collect();
    let pulls = ["/v1/records", "/v1/check-ins"].map(|path| {
        let site = site.clone();
        tokio::spawn(async move { waits_for(site, path, 60).await })
    });
    // Whoever reads is answered meanwhile, with what there was.
    let made: Vec<_> = early.iter().map(|record| &record["id"]).collect();
    while opened.elapsed() < Duration::from_secs(10) {
        let now: Value = site.done("GET", "/v1/records?wait=25", Value::Null).await;
        assert_eq!(json!(ids(&now)), json!(made));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(uploads.iter().all(|upload| !upload.is_finished()));
    writer.execute_batch("COMMIT").unwrap();

    for upload in uploads {
        upload.await.unwrap();
    }
    let [records, check_ins] = pulls;
    let (records, check_ins) = (records.await.unwrap(), check_ins.await.unwrap());
    assert_eq!(records, check_ins, "both saw the same order");
    assert_eq!(json!(records[..3]), json!(made));
    assert_eq!(records.iter().collect::<HashSet<_>>().len(), 60);
}
