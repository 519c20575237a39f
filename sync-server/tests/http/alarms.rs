//! Alarms about what the booking system sends, as whoever is responsible for a venue sees them:
//! opened by what holds, over by themselves, once each.

use std::sync::Arc;

use serde_json::{Value, json};
use stile_sync_server::config::Limits;
use stile_sync_server::server::{MasterKeySource, Server};
use stile_sync_server::store::Scope;

use crate::program::Program;
use crate::site::{OTHER_VENUE, SetClock, Site, key_for, read, refusal};

const HOUR_MS: i64 = 3_600_000;

/// A venue in Shanghai on the 1st of October at ten in the morning, with a session on that day and
/// the next, and a ticket for today.
async fn venue() -> (Site, SetClock) {
    let clock = SetClock::at("2026-10-01T02:00:00Z");
    let site = Site::start_by(Arc::new(clock.clone()), Limits::default()).await;
    for day in ["2026-10-01", "2026-10-02"] {
        put_session(&site, day, "open").await;
    }
    put_ticket(&site, "2026-10-01").await;
    (site, clock)
}

/// A session of a day, named after it.
async fn put_session(site: &Site, day: &str, status: &str) {
    let session = json!({"starts_at": format!("{day} 10:00"), "ends_at": format!("{day} 12:00"),
                         "status": status});
    let path = format!("/v1/sessions/{day}");
    let _: Value = site.done("PUT", &path, session).await;
}

/// A ticket of the day's session.
async fn put_ticket(site: &Site, day: &str) {
    let file = format!("ticket_id,order_number,session_id\nT-{day},O,{day}\n");
    let report: Value = read(site.import("text/csv", file).send().await.unwrap()).await;
    assert_eq!(report["accepted"], 1, "{report}");
}

/// Has the server look, and tells what is open: kind and thing.
async fn open(site: &Site) -> Vec<(String, String)> {
    site.server.check_alarms().await.unwrap();
    listed(site, "").await
}

async fn listed(site: &Site, query: &str) -> Vec<(String, String)> {
    let alarms: Value = site
        .done("GET", &format!("/v1/alarms{query}"), Value::Null)
        .await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let alarms = alarms["alarms"].as_array().unwrap().iter();
    alarms
        .map(|alarm| (text(&alarm["kind"]), text(&alarm["thing"])))
        .collect()
}

fn no_tickets(day: &str) -> Vec<(String, String)> {
    vec![("no_tickets_tomorrow".to_owned(), day.to_owned())]
}

fn silent() -> Vec<(String, String)> {
    vec![("feed_silent".to_owned(), "venue".to_owned())]
}

#[tokio::test]
async fn at_nine_in_the_evening_a_day_without_tickets_is_an_alarm_until_they_come() {
    let (site, clock) = venue().await;
    assert_eq!(open(&site).await, []);
    clock.set("2026-10-01T12:59:59Z");
    assert_eq!(open(&site).await, [], "a second before nine");
    clock.set("2026-10-01T13:00:00Z");
    assert_eq!(open(&site).await, no_tickets("2026-10-02"));
    let alarms: Value = site.done("GET", "/v1/alarms", Value::Null).await;
    assert_eq!(
        alarms,
        json!({"alarms": [{"alarm_id": 1, "kind": "no_tickets_tomorrow", "thing": "2026-10-02",
                           "service_day": "2026-10-02", "sessions": 1,
                           "opened_at": 1_790_859_600_000_i64}], "more": false})
    );
    // Looked at again it is the same one.
    assert_eq!(open(&site).await.len(), 1);
    put_ticket(&site, "2026-10-02").await;
    assert_eq!(open(&site).await, []);
    assert_eq!(listed(&site, "?all=true").await, no_tickets("2026-10-02"));
}

#[tokio::test]
async fn a_server_that_was_down_at_nine_says_it_when_it_is_up_and_drops_it_when_the_day_is_past() {
    let (site, clock) = venue().await;
    // It comes up at half past midnight: tomorrow is today by now.
    clock.set("2026-10-01T16:30:00Z");
    assert_eq!(open(&site).await, no_tickets("2026-10-02"));
    clock.set("2026-10-02T15:59:00Z");
    assert_eq!(
        open(&site)
            .await
            .iter()
            .filter(|one| one.0 != "feed_silent")
            .count(),
        1
    );
    put_session(&site, "2026-10-03", "open").await;
    put_ticket(&site, "2026-10-03").await;
    clock.set("2026-10-02T16:00:00Z");
    assert_eq!(open(&site).await, [], "the day is past");
}

#[tokio::test]
async fn a_clock_that_jumps_forth_and_back_leaves_no_alarm_behind() {
    let (site, clock) = venue().await;
    clock.set("2031-05-01T13:00:00Z");
    open(&site).await;
    clock.set("2026-10-01T02:00:00Z");
    assert_eq!(open(&site).await, []);
    clock.set("2026-10-01T13:00:00Z");
    assert_eq!(open(&site).await, no_tickets("2026-10-02"));
    clock.set("2026-10-01T02:00:00Z");
    assert_eq!(
        open(&site).await,
        [],
        "it is not nine yet, whatever was thought"
    );
    let all: Value = site.done("GET", "/v1/alarms?all=true", Value::Null).await;
    for alarm in all["alarms"].as_array().unwrap() {
        assert!(alarm["ended_at"].as_i64() >= alarm["opened_at"].as_i64());
    }
}

#[tokio::test]
async fn a_closed_day_is_none_and_a_day_that_was_forgotten_is_one() {
    let (site, clock) = venue().await;
    put_session(&site, "2026-10-02", "cancelled").await;
    clock.set("2026-10-01T13:00:00Z");
    assert_eq!(open(&site).await, [], "cancelled by a person");
    // A week later there is no session at all, and the week before it took place.
    put_ticket(&site, "2026-10-02").await;
    clock.set("2026-10-07T13:00:00Z");
    assert_eq!(open(&site).await, no_tickets("2026-10-08"));
    // On the 9th, a cancelled one says that the venue is closed then.
    put_session(&site, "2026-10-08", "cancelled").await;
    clock.set("2026-10-08T13:00:00Z");
    assert_eq!(open(&site).await, []);
}

#[tokio::test]
async fn a_cancelled_ticket_is_nobody_to_come() {
    let (site, clock) = venue().await;
    put_ticket(&site, "2026-10-02").await;
    let cause = json!({"cause": "refunded"});
    let path = "/v1/tickets/T-2026-10-02/cancel";
    let _: Value = site.done("POST", path, cause).await;
    clock.set("2026-10-01T13:00:00Z");
    assert_eq!(open(&site).await, no_tickets("2026-10-02"));
    let path = "/v1/tickets/T-2026-10-02/restore";
    let _: Value = site.done("POST", path, Value::Null).await;
    assert_eq!(open(&site).await, []);
}

#[tokio::test]
async fn the_venue_says_when_its_tickets_are_due() {
    let (site, clock) = venue().await;
    let policy = |due: &str| json!({"formats": ["G2"], "alarms": {"tickets_due": due}});
    let _: Value = site.done("PUT", "/v1/policy", policy("18:30")).await;
    clock.set("2026-10-01T10:29:59Z");
    assert_eq!(open(&site).await, []);
    clock.set("2026-10-01T10:30:00Z");
    assert_eq!(open(&site).await, no_tickets("2026-10-02"));
    for wrong in ["24:00", "9:00", "21.00", "21:00:00", ""] {
        let put = site.admin("PUT", "/v1/policy").json(&policy(wrong));
        let (status, ..) = refusal(put.send().await.unwrap()).await;
        assert!(status.is_client_error(), "{wrong}");
    }
    let long = json!({"formats": ["G2"], "alarms": {"feed_silent_h": 721}});
    let put = site.admin("PUT", "/v1/policy").json(&long);
    let (_, _, problem) = refusal(put.send().await.unwrap()).await;
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("alarms.feed_silent_h")
    );
}

#[tokio::test]
async fn a_booking_system_that_is_silent_for_a_day_of_opening_is_an_alarm_until_it_writes() {
    let (site, clock) = venue().await;
    for day in ["2026-10-02", "2026-10-04", "2026-10-05"] {
        put_session(&site, day, "open").await;
    }
    put_ticket(&site, "2026-10-02").await;
    put_ticket(&site, "2026-10-05").await;
    let tickets = "ticket_id,order_number,session_id\nX,O,2026-10-04\n";
    let _: Value = read(site.import("text/csv", tickets).send().await.unwrap()).await;
    clock.pass(24 * HOUR_MS);
    assert_eq!(open(&site).await, [], "a day is allowed");
    clock.pass(1);
    assert_eq!(open(&site).await, silent());
    let alarms: Value = site.done("GET", "/v1/alarms", Value::Null).await;
    assert_eq!(alarms["alarms"][0]["since"], 1_790_820_000_000_i64);
    // The same file again changes nothing, and is a sign of life.
    put_ticket(&site, "2026-10-02").await;
    assert_eq!(open(&site).await, []);
    // 10:00 on the 2nd to 24:00 are 14 hours, the 3rd is closed, ten hours of the 4th are 24.
    clock.set("2026-10-04T02:00:00Z");
    assert_eq!(open(&site).await, []);
    clock.set("2026-10-04T02:00:01Z");
    assert_eq!(open(&site).await, silent());
    // A single change ends it as well.
    let change = json!({"cause": "refunded"});
    let _: Value = site.done("POST", "/v1/tickets/X/cancel", change).await;
    assert_eq!(open(&site).await, no_tickets("2026-10-04"));
}

#[tokio::test]
async fn a_venue_may_be_spared_of_the_silence_alarm_and_files_of_nothing_are_silence() {
    let (site, clock) = venue().await;
    let refused = "ticket_id,order_number,session_id\nT,O,nowhere\n";
    clock.pass(24 * HOUR_MS + 1);
    put_session(&site, "2026-10-03", "open").await;
    let report: Value = read(site.import("text/csv", refused).send().await.unwrap()).await;
    assert_eq!(report["refused_count"], 1);
    let silences = |open: Vec<(String, String)>| open.iter().any(|one| one.0 == "feed_silent");
    assert!(silences(open(&site).await));
    let policy = json!({"formats": ["G2"], "alarms": {"feed_silent_h": 0}});
    let _: Value = site.done("PUT", "/v1/policy", policy).await;
    assert!(!silences(open(&site).await));
}

#[tokio::test]
async fn a_write_by_a_clock_that_ran_ahead_does_not_hide_silence_for_years() {
    let (site, clock) = venue().await;
    clock.set("2031-05-01T13:00:00Z");
    put_ticket(&site, "2026-10-02").await;
    clock.set("2026-10-01T02:00:00Z");
    assert_eq!(open(&site).await, []);
    clock.pass(24 * HOUR_MS + 1);
    assert_eq!(open(&site).await, silent());
}

#[tokio::test]
async fn an_alarm_is_its_venues_and_a_key_without_the_scope_sees_none() {
    let (site, clock) = venue().await;
    clock.set("2026-10-01T13:00:00Z");
    assert_eq!(open(&site).await.len(), 1);
    let other = key_for(&site.server, &[OTHER_VENUE], &[Scope::RecordsRead]).await;
    let request = site.request("GET", "/v1/alarms?all=true");
    let alarms: Value = read(request.bearer_auth(other).send().await.unwrap()).await;
    assert_eq!(alarms, json!({"alarms": [], "more": false}));
}

#[tokio::test]
async fn alarms_come_in_pages_the_newest_first() {
    let (site, clock) = venue().await;
    for day in 3..=6 {
        let day = format!("2026-10-{day:02}");
        put_session(&site, &day, "open").await;
        let before = format!("2026-10-{:02}", day[8..].parse::<u8>().unwrap() - 1);
        clock.set(&format!("{before}T13:00:00Z"));
        site.server.check_alarms().await.unwrap();
    }
    let all = listed(&site, "?all=true").await;
    let mut paged = Vec::new();
    let mut query = "?all=true&limit=2".to_owned();
    loop {
        let page: Value = site
            .done("GET", &format!("/v1/alarms{query}"), Value::Null)
            .await;
        let alarms = page["alarms"].as_array().unwrap();
        assert!((1..=2).contains(&alarms.len()), "{page}");
        let ids = alarms
            .iter()
            .map(|alarm| alarm["alarm_id"].as_u64().unwrap());
        paged.extend(ids);
        if page["more"] == false {
            break;
        }
        query = format!("?all=true&limit=2&before={}", paged[paged.len() - 1]);
    }
    assert_eq!(paged.len(), all.len());
    assert!(paged.is_sorted_by(|a, b| a > b), "{paged:?}");
}

#[tokio::test]
async fn the_command_line_lists_what_is_open_and_what_was() {
    let program = Program::new();
    program.add_venue();
    let clock = SetClock::at("2026-10-01T13:00:00Z");
    let key = MasterKeySource::File(program.data().join("master.key"));
    let server = Server::open(program.data(), key, Arc::new(clock.clone()));
    let server = server.await.unwrap();
    let venue = server.venues().await.unwrap().remove(0).venue_id;
    let session = json!({"starts_at": "2026-10-02 10:00", "ends_at": "2026-10-02 12:00"});
    let session = serde_json::from_value(session).unwrap();
    let id = "s".parse().unwrap();
    server.put_session(&venue, id, session).await.unwrap();
    assert_eq!(server.check_alarms().await.unwrap(), 1);
    let line = program.run(&["alarms", "list"]);
    let alarm: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(alarm["thing"], "2026-10-02");
    clock.set("2026-10-03T13:00:00Z");
    assert_eq!(server.check_alarms().await.unwrap(), 1);
    server.close().await;
    assert_eq!(program.run(&["alarms", "list"]), "");
    let line = program.run(&["alarms", "list", "--all"]);
    assert!(line.contains("ended_at"), "{line}");
}
