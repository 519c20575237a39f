//! Documents as credentials, from the ticket file to the gate: hashed on arrival, the number kept
//! nowhere.

use std::fs;

use serde_json::{Value, json};
use stile_core::protocol::{ListHead, ListPage, Settings};
use stile_core::reason::Reason;
use stile_core::ticket::{DigitsOf, Ticket};
use stile_core::verdict::Verdict;
use stile_core::whitelist::decode;

use crate::device::{GateDevice, set_policy};
use crate::site::{Gatekeeper, Site, read};

const CARD: &str = "440524188001010014";
const OTHER_CARD: &str = "11010519491231002X";
const DAY_S: i64 = 86_400;

async fn start(formats: Value) -> Site {
    let site = Site::start().await;
    site.furnish().await;
    set_policy(&site, json!({ "formats": formats })).await;
    site
}

/// Puts lines of ticket, session and document; all must go in.
async fn import(site: &Site, lines: &[(&str, &str, &str)]) -> Value {
    let lines = lines
        .iter()
        .map(|(ticket, session, document)| format!("{ticket},O-{ticket},{session},{document}\n"));
    let file =
        "ticket_id,order_number,session_id,document\n".to_owned() + &lines.collect::<String>();
    let report: Value = read(site.import("text/csv", file).send().await.unwrap()).await;
    assert_eq!(report["refused_count"], 0, "{report}");
    report
}

/// The session of that id, as many days from now.
async fn put_session(site: &Site, id: &str, days: i64) {
    let now = site.server.now().seconds().0 + days * DAY_S;
    let session = json!({"starts_at": now - 3600, "ends_at": now + 3600});
    let _: Value = site
        .done("PUT", &format!("/v1/sessions/{id}"), session)
        .await;
}

/// A day's settings and tickets as the server sends them.
async fn list(site: &Site, gate: &Gatekeeper, session: &str) -> (Settings, Vec<Ticket>) {
    let sessions: Value = site.done("GET", "/v1/sessions", Value::Null).await;
    let sessions = sessions["sessions"].as_array().unwrap();
    let found = sessions.iter().find(|one| one["session_id"] == session);
    let day = found.unwrap()["service_day"].as_str().unwrap();
    let request = site.request("GET", &format!("/v1/gate/whitelist/{day}"));
    let answer = request.bearer_auth(gate.bearer()).send().await.unwrap();
    let text = answer.text().await.unwrap();
    let head: ListHead = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let pages = text
        .lines()
        .filter_map(|line| serde_json::from_str::<ListPage>(line).ok());
    let rows = pages.flat_map(|page| page.rows);
    let tickets = rows.map(|row| {
        let bytes = data_encoding::BASE64.decode(row.as_bytes()).unwrap();
        decode(&bytes).unwrap()
    });
    let settings = serde_json::from_str(&head.settings).unwrap();
    (settings, tickets.collect())
}

fn refused(outcome: &stile_core::device::ScanOutcome) -> Option<Reason> {
    match &outcome.verdict {
        Verdict::Refuse(refusal) => Some(refusal.reason),
        Verdict::Admit(_) => None,
    }
}

#[tokio::test]
async fn a_visitor_enters_with_the_card_that_the_ticket_was_booked_with() {
    let site = start(json!(["G2", "document"])).await;
    let device = GateDevice::enrol(&site).await;
    device.fetch_lists(&site).await;
    let report = import(&site, &[("T1", "now", CARD), ("T2", "now", "")]).await;
    assert_eq!(report["dropped_columns"], json!([]));
    assert_eq!(device.fetch_lists(&site).await, 1);

    assert_eq!(refused(&device.scan(OTHER_CARD)), Some(Reason::NotListed));
    let outcome = device.scan(CARD);
    assert!(outcome.opens, "{:?}", outcome.verdict);
    let shown: Value = site.done("GET", "/v1/tickets/T1", Value::Null).await;
    assert_eq!(
        outcome.ticket.unwrap().number.get().to_string(),
        shown["ticket_number"].as_str().unwrap()
    );
    assert_eq!(shown["last_four"], "0014");
}

#[tokio::test]
async fn two_tickets_of_one_card_admit_two_persons_one_after_the_other() {
    let site = start(json!(["document"])).await;
    import(&site, &[("T1", "now", CARD), ("T2", "now", CARD)]).await;
    let device = GateDevice::enrol(&site).await;
    device.fetch_lists(&site).await;
    let mut admitted = Vec::new();
    for _ in 0..2 {
        let outcome = device.scan(CARD);
        assert!(outcome.opens, "{:?}", outcome.verdict);
        admitted.push(outcome.ticket.unwrap().number);
        // Sooner it would be the same reading.
        device.skip(4);
    }
    assert_ne!(admitted[0], admitted[1]);
    assert_eq!(refused(&device.scan(CARD)), Some(Reason::AlreadyUsed));
}

#[tokio::test]
async fn where_the_venue_takes_no_documents_nothing_is_sent_or_stored() {
    let site = start(json!(["G2"])).await;
    let gate = site.enrol(1).await;
    let report = import(&site, &[("T1", "now", CARD)]).await;
    assert_eq!(report["dropped_columns"], json!(["document"]));
    let (settings, tickets) = list(&site, &gate, "now").await;
    assert_eq!(settings.document_key, None);
    assert!(tickets[0].document_hashes.is_empty() && tickets[0].last_four.is_none());

    // Taking them later makes nothing of what was dropped; sending the file again does.
    set_policy(&site, json!({"formats": ["G2", "document"]})).await;
    assert_eq!(list(&site, &gate, "now").await.0.document_key, None);
    import(&site, &[("T1", "now", CARD)]).await;
    let (settings, tickets) = list(&site, &gate, "now").await;
    assert!(settings.document_key.is_some());
    assert_eq!(tickets[0].document_hashes.len(), 1);
    assert_eq!(tickets[0].last_four_of, Some(DigitsOf::Document));

    set_policy(&site, json!({"formats": ["G2"]})).await;
    let (settings, tickets) = list(&site, &gate, "now").await;
    assert_eq!(settings.document_key, None);
    assert!(tickets[0].document_hashes.is_empty());
}

#[tokio::test]
async fn each_day_has_a_key_of_its_own_and_the_same_file_again_changes_nothing() {
    let site = start(json!(["document"])).await;
    let gate = site.enrol(1).await;
    put_session(&site, "tomorrow", 1).await;
    let file = [("T1", "now", CARD), ("T2", "tomorrow", CARD)];
    import(&site, &file).await;
    let today = list(&site, &gate, "now").await;
    let tomorrow = list(&site, &gate, "tomorrow").await;
    assert!(today.0.document_key.is_some() && tomorrow.0.document_key.is_some());
    assert_ne!(today.0.document_key, tomorrow.0.document_key);
    assert_ne!(today.1[0].document_hashes, tomorrow.1[0].document_hashes);
    import(&site, &file).await;
    assert_eq!(list(&site, &gate, "now").await, today);
}

#[tokio::test]
async fn a_ticket_that_goes_to_another_day_is_known_there_by_the_document_that_its_line_names() {
    let site = start(json!(["document"])).await;
    let device = GateDevice::enrol(&site).await;
    put_session(&site, "tomorrow", 1).await;
    import(&site, &[("T1", "now", CARD)]).await;
    import(&site, &[("T1", "tomorrow", CARD)]).await;
    device.fetch_lists(&site).await;
    assert_eq!(refused(&device.scan(CARD)), Some(Reason::WrongDay));

    // Back by a line that names no document: it has none any more.
    import(&site, &[("T1", "now", "")]).await;
    let gate = site.enrol(1).await;
    assert!(
        list(&site, &gate, "now").await.1[0]
            .document_hashes
            .is_empty()
    );
}

#[tokio::test]
async fn a_session_that_goes_to_another_day_and_comes_back_has_its_documents_again() {
    let site = start(json!(["document"])).await;
    let device = GateDevice::enrol(&site).await;
    put_session(&site, "am", 0).await;
    put_session(&site, "tomorrow", 1).await;
    import(&site, &[("T1", "am", CARD), ("T2", "tomorrow", OTHER_CARD)]).await;
    put_session(&site, "am", 1).await;
    let gate = site.enrol(1).await;
    let (_, moved) = list(&site, &gate, "am").await;
    let hashes: Vec<_> = moved
        .iter()
        .map(|ticket| ticket.document_hashes.len())
        .collect();
    assert_eq!((hashes.len(), hashes.iter().sum::<usize>()), (2, 1));
    device.fetch_lists(&site).await;
    assert_eq!(refused(&device.scan(CARD)), Some(Reason::WrongDay));

    put_session(&site, "am", 0).await;
    device.fetch_lists(&site).await;
    let outcome = device.scan(CARD);
    assert!(outcome.opens, "{:?}", outcome.verdict);
}

#[tokio::test]
async fn a_wrong_document_is_named_and_the_others_go_in() {
    let site = start(json!(["document"])).await;
    let file = "ticket_id,order_number,session_id,证件号\nT1,O1,now,110105194912310021\nT2,O2,now,\nT3,O3,nowhere,440524188001010014\n";
    let answer = site.import("text/csv", file).send().await.unwrap();
    let report: Value = read(answer).await;
    assert_eq!(report["accepted"], 1, "{report}");
    assert_eq!(report["refused"][0]["field"], "document");
    assert_eq!(report["refused"][1]["field"], "session_id");
    assert!(!report.to_string().contains("1949"), "{report}");
}

#[tokio::test]
async fn no_file_of_the_server_holds_the_number_or_the_days_key() {
    let mut site = start(json!(["document"])).await;
    import(&site, &[("T1", "now", CARD)]).await;
    let gate = site.enrol(1).await;
    let key = list(&site, &gate, "now").await.0.document_key.unwrap();
    let key = data_encoding::BASE64.decode(key.as_bytes()).unwrap();
    site.stop().await;
    let mut looked_at = 0;
    for entry in fs::read_dir(site.data()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        looked_at += bytes.len();
        for secret in [CARD.as_bytes(), &key] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret));
        }
    }
    assert!(looked_at > 10_000);
}
