//! Reconciliation, as a booking system asks for it and whoever is responsible for a venue sees it.

use std::fs;
use std::sync::Arc;

use reqwest::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use stile_sync_server::config::Limits;
use stile_sync_server::server::{MasterKeySource, Server};
use stile_sync_server::store::Scope;

use crate::program::Program;
use crate::site::{OTHER_VENUE, SetClock, Site, key_for, read, refusal};

const DAY: &str = "2026-10-02";

/// A venue in Shanghai on the 1st of October at ten in the morning, with so many tickets for the
/// session `am` of the next day, which has another one.
async fn venue(tickets: usize) -> (Site, SetClock) {
    let clock = SetClock::at("2026-10-01T02:00:00Z");
    let site = Site::start_by(Arc::new(clock.clone()), Limits::default()).await;
    for (id, starts, ends) in [("am", "10:00", "12:00"), ("pm", "14:00", "16:00")] {
        let session =
            json!({"starts_at": format!("{DAY} {starts}"), "ends_at": format!("{DAY} {ends}")});
        let _: Value = site
            .done("PUT", &format!("/v1/sessions/{id}"), session)
            .await;
    }
    let file = set((0..tickets).map(|n| line(n, "am", "valid", 1)));
    let report: Value = read(site.import("text/csv", file).send().await.unwrap()).await;
    assert_eq!(report["refused_count"], 0, "{report}");
    (site, clock)
}

fn line(n: usize, session: &str, status: &str, admits: u8) -> String {
    format!("T{n},O{n},{session},{status},{admits},\n")
}

fn set(lines: impl IntoIterator<Item = String>) -> String {
    let head = "ticket_id,order_number,session_id,status,admits,label\n".to_owned();
    head + &lines.into_iter().collect::<String>()
}

async fn send(site: &Site, query: &str, file: String) -> reqwest::Response {
    let path = format!("/v1/reconciliations/{DAY}{query}");
    let request = site.admin("POST", &path).header("content-type", "text/csv");
    request.body(file).send().await.unwrap()
}

async fn reconcile(site: &Site, file: String) -> Value {
    read(send(site, "", file).await).await
}

async fn put_day(site: &Site, file: String) -> Value {
    let path = format!("/v1/service-days/{DAY}/tickets?confirm_vanish=1000");
    let request = site.admin("PUT", &path).header("content-type", "text/csv");
    read(request.body(file).send().await.unwrap()).await
}

async fn alarms(site: &Site) -> Vec<(String, String)> {
    let alarms: Value = site.done("GET", "/v1/alarms", Value::Null).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let alarms = alarms["alarms"].as_array().unwrap().iter();
    alarms
        .map(|alarm| (text(&alarm["kind"]), text(&alarm["thing"])))
        .collect()
}

fn differs() -> Vec<(String, String)> {
    vec![("reconciliation_differs".to_owned(), DAY.to_owned())]
}

async fn version(site: &Site) -> Value {
    site.done("GET", "/v1/tickets/T0", Value::Null).await
}

#[tokio::test]
async fn what_differs_is_counted_and_named_and_nothing_is_changed() {
    let (site, _) = venue(8).await;
    let before = version(&site).await;
    let stated = set([
        line(0, "am", "valid", 1),
        line(1, "am", "cancelled", 1),
        line(2, "pm", "valid", 1),
        line(3, "am", "valid", 3),
        "T4,O4,am,valid,1,A-12\n".to_owned(),
        // In two ways at once.
        line(5, "pm", "blocked", 1),
        line(100, "am", "valid", 1),
        "T6,O6,nowhere,valid,1,\n".to_owned(),
    ]);
    let report = reconcile(&site, stated).await;
    assert_eq!(
        report["differences"],
        json!({"tickets": 7, "missing_here": 1, "unknown_there": 1, "status": 2, "session": 2,
               "admits": 1, "other": 1, "refused": 1})
    );
    for (kind, expected) in [
        ("missing_here", &["T100"][..]),
        ("unknown_there", &["T7"]),
        ("status", &["T1", "T5"]),
        ("session", &["T2", "T5"]),
        ("admits", &["T3"]),
        ("other", &["T4"]),
    ] {
        let named = report["ticket_ids"][kind].as_array().unwrap().iter();
        let mut named: Vec<_> = named.map(|id| id.as_str().unwrap()).collect();
        named.sort_unstable();
        assert_eq!(named, expected, "{kind}");
    }
    assert_eq!(
        [&report["stated"], &report["held"], &report["equal"]],
        [&json!(8), &json!(8), &json!(false)]
    );
    assert_eq!(report["lines"]["refused"][0]["field"], "session_id");
    assert_eq!(version(&site).await, before);
    let missing = site.admin("GET", "/v1/tickets/T100").send().await.unwrap();
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    assert_eq!(alarms(&site).await, differs());
}

#[tokio::test]
async fn an_alarm_is_over_once_the_set_is_the_same_or_was_put() {
    let (site, clock) = venue(4).await;
    let whole = set((0..4).map(|n| line(n, "am", "valid", 1)));
    let half = set((0..2).map(|n| line(n, "am", "valid", 1)));
    let report = reconcile(&site, half.clone()).await;
    assert_eq!(report["differences"]["unknown_there"], 2);
    assert_eq!(alarms(&site).await, differs());
    assert_eq!(reconcile(&site, whole).await["equal"], true);
    assert_eq!(alarms(&site).await, []);
    reconcile(&site, half.clone()).await;
    assert_eq!(alarms(&site).await, differs());
    put_day(&site, half).await;
    assert_eq!(alarms(&site).await, []);
    // A day that is past is nobody's business any more.
    reconcile(&site, set([line(0, "am", "valid", 2)])).await;
    assert_eq!(alarms(&site).await, differs());
    clock.set("2026-10-02T15:00:00Z");
    site.server.check_alarms().await.unwrap();
    assert!(alarms(&site).await.contains(&differs()[0]));
    clock.set("2026-10-02T16:00:00Z");
    site.server.check_alarms().await.unwrap();
    assert!(!alarms(&site).await.contains(&differs()[0]));
}

#[tokio::test]
async fn a_file_that_was_cut_in_half_is_refused_where_it_was_said_how_long_it_is() {
    let (site, _) = venue(40).await;
    let whole = set((0..40).map(|n| line(n, "am", "valid", 1)));
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&whole));
    let half = whole[..whole.len() / 2].to_owned();
    for query in ["?count=40".to_owned(), format!("?sha256={digest}")] {
        let (status, code, _) = refusal(send(&site, &query, half.clone()).await).await;
        assert_eq!(
            (status, &*code),
            (StatusCode::UNPROCESSABLE_ENTITY, "incomplete_set")
        );
    }
    let listed: Value = site.done("GET", "/v1/reconciliations", Value::Null).await;
    assert_eq!(listed, json!({"reconciliations": [], "more": false}));
    assert_eq!(alarms(&site).await, []);
    let query = format!("?count=40&sha256={digest}");
    let report: Value = read(send(&site, &query, whole).await).await;
    assert_eq!(
        (&report["equal"], &report["sha256"]),
        (&json!(true), &json!(digest))
    );
    // Unsaid, half of it is missing.
    let report = reconcile(&site, half).await;
    assert_eq!(report["equal"], false);
    assert!(report["differences"]["unknown_there"].as_u64() > Some(15));
}

#[tokio::test]
async fn a_hundred_of_each_kind_are_named_and_all_are_counted() {
    let (site, _) = venue(1).await;
    let report = reconcile(&site, set((1..1500).map(|n| line(n, "am", "valid", 1)))).await;
    assert_eq!(report["differences"]["missing_here"], 1499);
    assert_eq!(report["differences"]["tickets"], 1500);
    let named = report["ticket_ids"]["missing_here"].as_array().unwrap();
    assert_eq!(named.len(), 100);
}

#[tokio::test]
async fn count_and_digest_alone_say_whether_it_is_still_the_same() {
    let (site, _) = venue(4).await;
    let whole = set((0..4).map(|n| line(n, "am", "valid", 1)));
    let sha256 = data_encoding::HEXLOWER.encode(&Sha256::digest(&whole));
    let ask = async |count: u64, sha256: &str| -> Value {
        let path = format!("/v1/reconciliations/{DAY}/digest");
        let body = json!({"count": count, "sha256": sha256});
        site.done("POST", &path, body).await
    };
    let never = ask(4, &sha256).await;
    assert_eq!(never["equal"], false);
    assert_eq!(never.get("changed_since"), None, "nothing was stated yet");
    put_day(&site, whole.clone()).await;
    assert_eq!(ask(4, &sha256.to_uppercase()).await["equal"], true);
    assert_eq!(ask(5, &sha256).await["equal"], false);
    assert_eq!(ask(4, &"0".repeat(64)).await["equal"], false);
    let cause = json!({"cause": "refunded"});
    let _: Value = site.done("POST", "/v1/tickets/T1/cancel", cause).await;
    let changed = ask(4, &sha256).await;
    assert_eq!(
        (&changed["equal"], &changed["changed_since"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(
        alarms(&site).await,
        [],
        "a digest tells nothing of the tickets"
    );
    for wrong in ["", "abc", &"g".repeat(64)] {
        let path = format!("/v1/reconciliations/{DAY}/digest");
        let body = json!({"count": 4, "sha256": wrong});
        let answer = site.admin("POST", &path).json(&body).send().await.unwrap();
        let (status, ..) = refusal(answer).await;
        assert!(status.is_client_error(), "{wrong}");
    }
}

#[tokio::test]
async fn the_evening_before_the_server_looks_once_and_says_what_was_changed_since() {
    let (site, clock) = venue(4).await;
    let forms = async || -> Vec<(String, bool, Value)> {
        let path = format!("/v1/reconciliations?service_day={DAY}");
        let listed: Value = site.done("GET", &path, Value::Null).await;
        let all = listed["reconciliations"].as_array().unwrap().iter();
        all.map(|one| {
            let form = one["form"].as_str().unwrap().to_owned();
            (form, one["equal"] == true, one["changed_since"].clone())
        })
        .collect()
    };
    clock.set("2026-10-01T12:59:00Z");
    reconcile(&site, set((0..4).map(|n| line(n, "am", "valid", 1)))).await;
    site.server.check_alarms().await.unwrap();
    assert_eq!(forms().await, [("set".to_owned(), true, Value::Null)]);
    let cause = json!({"cause": "refunded"});
    let _: Value = site.done("POST", "/v1/tickets/T1/cancel", cause).await;
    clock.set("2026-10-01T13:00:00Z");
    for _ in 0..3 {
        site.server.check_alarms().await.unwrap();
    }
    let looked = ("nightly".to_owned(), false, json!(1));
    assert_eq!(
        forms().await,
        [looked, ("set".to_owned(), true, Value::Null)]
    );
    assert_eq!(
        alarms(&site).await,
        [],
        "the booking system changed it itself"
    );
}

#[tokio::test]
async fn who_reconciles_and_stops_is_an_alarm_until_it_does_again_or_wants_none() {
    let (site, clock) = venue(2).await;
    let whole = || set((0..2).map(|n| line(n, "am", "valid", 1)));
    let overdue = async || {
        site.server.check_alarms().await.unwrap();
        let of_kind = |(kind, _): &(String, String)| kind == "reconciliation_overdue";
        alarms(&site).await.iter().any(of_kind)
    };
    put_day(&site, whole()).await;
    clock.set("2026-10-04T02:00:00Z");
    assert!(!overdue().await, "it never reconciled");
    reconcile(&site, whole()).await;
    clock.pass(26 * 3_600_000);
    assert!(!overdue().await);
    clock.pass(1);
    assert!(overdue().await);
    put_day(&site, whole()).await;
    assert!(!overdue().await, "a day that was put is as good");
    clock.pass(27 * 3_600_000);
    assert!(overdue().await);
    let policy = json!({"formats": ["G2"], "alarms": {"reconciled_within_h": 0}});
    let _: Value = site.done("PUT", "/v1/policy", policy).await;
    assert!(!overdue().await);
}

#[tokio::test]
async fn another_venue_sees_nothing_and_the_audit_log_keeps_who_asked() {
    let (site, _) = venue(2).await;
    reconcile(&site, set([line(0, "am", "valid", 1)])).await;
    let other = key_for(&site.server, &[OTHER_VENUE], &[Scope::TicketsWrite]).await;
    let request = site.request("GET", "/v1/reconciliations");
    let listed: Value = read(request.bearer_auth(other).send().await.unwrap()).await;
    assert_eq!(listed["reconciliations"], json!([]));
    let log: Value = site.done("GET", "/v1/audit", Value::Null).await;
    let acts = log["acts"].as_array().unwrap();
    let act = acts
        .iter()
        .find(|act| act["act"] == "tickets.reconcile")
        .unwrap();
    assert_eq!((&act["thing"], &act["count"]), (&json!(DAY), &json!(1)));
}

#[tokio::test]
async fn the_command_line_compares_a_file_and_lists_what_was_compared() {
    let program = Program::new();
    program.add_venue();
    let clock = SetClock::at("2026-10-01T02:00:00Z");
    let key = MasterKeySource::File(program.data().join("master.key"));
    let server = Server::open(program.data(), key, Arc::new(clock));
    let server = server.await.unwrap();
    let venue = server.venues().await.unwrap().remove(0).venue_id;
    let session = json!({"starts_at": format!("{DAY} 10:00"), "ends_at": format!("{DAY} 12:00")});
    let session = serde_json::from_value(session).unwrap();
    server
        .put_session(&venue, "am".parse().unwrap(), session)
        .await
        .unwrap();
    server.close().await;
    assert_eq!(program.run(&["reconcile", "list"]), "");
    let file = program.data().join("day.csv");
    fs::write(&file, set((0..1200).map(|n| line(n, "am", "valid", 1)))).unwrap();
    let printed = program.run(&["reconcile", DAY, file.to_str().unwrap()]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["differences"]["missing_here"], 1200);
    let listed = program.run(&["reconcile", "list", "--day", DAY]);
    assert_eq!(listed.lines().count(), 1);
    assert!(listed.contains(r#""form":"set""#), "{listed}");
    assert!(program.run(&["alarms", "list"]).contains(DAY));
    let other = program.data().join("day.txt");
    let said = program.refused(&["reconcile", DAY, other.to_str().unwrap()]);
    assert!(said.contains(".csv"), "{said}");
    program.refused(&["reconcile", DAY]);
}
