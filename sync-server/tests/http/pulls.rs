//! The log as back ends pull it over HTTP: waiting for what comes, while others write, stop and
//! stand still.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::site::{OTHER_VENUE, Site, key_for, read};
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

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_stands_open_delays_no_pull_and_nothing_is_skipped() {
    let (site, tickets) = site_with(3).await;
    let mut gate = site.enrol(1).await;
    let records: Vec<_> = tickets.iter().map(|one| gate.admits(&site, one)).collect();
    site.upload(&gate, &records[..1]).await;

    let writer = Connection::open(site.data().join("server.db")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let uploads = {
        let (site, later) = (site.clone(), records[1..].to_vec());
        tokio::spawn(async move { site.upload(&gate, &later).await })
    };
    let all = tokio::spawn(waits_for(site.clone(), "/v1/records", 3));
    let first: Value = site.done("GET", "/v1/records?wait=25", Value::Null).await;
    assert_eq!(json!(ids(&first)), json!([records[0]["id"]]));
    assert!(!uploads.is_finished());
    writer.execute_batch("COMMIT").unwrap();

    uploads.await.unwrap();
    let made: Vec<_> = records.iter().map(|record| &record["id"]).collect();
    assert_eq!(json!(all.await.unwrap()), json!(made));
}
