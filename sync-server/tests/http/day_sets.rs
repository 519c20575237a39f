//! The whole set of a day's tickets over HTTP: what it does, what it leaves alone, and when it is
//! refused.

use std::convert::Infallible;

use futures_util::stream;
use reqwest::{Body, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use stile_core::reason::Reason;
use stile_core::verdict::Verdict;

use crate::device::{GateDevice, set_policy};
use crate::site::{Gatekeeper, Site, csv, read, refusal};

/// A site with the tickets `T0` … of its session.
async fn with_tickets(count: usize) -> (Site, String) {
    let site = Site::start().await;
    site.furnish().await;
    site.put_tickets(ids(0..count)).await;
    let day = day_of(&site, "now").await;
    (site, day)
}

async fn day_of(site: &Site, session: &str) -> String {
    let sessions: Value = site.done("GET", "/v1/sessions", Value::Null).await;
    let sessions = sessions["sessions"].as_array().unwrap();
    let found = sessions.iter().find(|one| one["session_id"] == session);
    found.unwrap()["service_day"].as_str().unwrap().to_owned()
}

fn ids(numbers: impl IntoIterator<Item = usize>) -> impl Iterator<Item = String> {
    numbers.into_iter().map(|n| format!("T{n}"))
}

fn put(site: &Site, day: &str, query: &str, body: impl Into<Body>) -> RequestBuilder {
    site.admin("PUT", &format!("/v1/service-days/{day}/tickets{query}"))
        .header("content-type", "text/csv")
        .body(body)
}

async fn done(site: &Site, day: &str, query: &str, file: String) -> Value {
    read(put(site, day, query, file).send().await.unwrap()).await
}

async fn refused(site: &Site, day: &str, query: &str, file: String) -> (StatusCode, Value) {
    let answer = put(site, day, query, file).send().await.unwrap();
    let (status, _, problem) = refusal(answer).await;
    (status, problem)
}

async fn ticket(site: &Site, id: &str) -> Value {
    site.done("GET", &format!("/v1/tickets/{id}"), Value::Null)
        .await
}

async fn version(site: &Site, gate: &Gatekeeper) -> Value {
    let request = site.request("GET", "/v1/gate/lists");
    let lists: Value = read(request.bearer_auth(gate.bearer()).send().await.unwrap()).await;
    lists["manifests"].clone()
}

fn counts(report: &Value) -> [u64; 4] {
    ["created", "changed", "unchanged", "vanished"].map(|name| report[name].as_u64().unwrap())
}

#[tokio::test]
async fn situation_37_a_file_half_as_long_is_refused_until_a_person_confirms() {
    let (site, day) = with_tickets(40).await;
    let gate = site.enrol(1).await;
    let before = version(&site, &gate).await;
    let half = csv(ids(0..20));

    let (status, problem) = refused(&site, &day, "", half.clone()).await;
    assert_eq!(
        (status, &problem["code"]),
        (StatusCode::CONFLICT, &json!("too_many_vanish"))
    );
    let counted = ["day_had", "would_vanish", "may_vanish"].map(|name| &problem[name]);
    assert_eq!(counted, [&json!(40), &json!(20), &json!(8)]);
    let said = problem["detail"].as_str().unwrap();
    assert!(said.contains("confirm_vanish=20"), "{said}");
    let (status, _) = refused(&site, &day, "?confirm_vanish=19", half.clone()).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert_eq!(version(&site, &gate).await, before, "nothing was changed");
    assert_eq!(ticket(&site, "T39").await["deleted"], false);

    let report = done(&site, &day, "?confirm_vanish=20", half).await;
    assert_eq!(counts(&report), [0, 0, 20, 20]);
    assert_eq!(ticket(&site, "T39").await["deleted"], true);
    assert_eq!(ticket(&site, "T19").await["deleted"], false);
}

#[tokio::test]
async fn the_share_that_may_vanish_unasked_is_the_venues() {
    let (site, day) = with_tickets(10).await;
    let report = done(&site, &day, "", csv(ids(0..8))).await;
    assert_eq!(counts(&report), [0, 0, 8, 2]);
    let (status, _) = refused(&site, &day, "", csv(ids(0..6))).await;
    assert_eq!(status, StatusCode::CONFLICT);
    set_policy(&site, json!({ "vanish_percent": 25 })).await;
    let report = done(&site, &day, "", csv(ids(0..6))).await;
    assert_eq!(counts(&report), [0, 0, 6, 2]);
    set_policy(&site, json!({ "vanish_percent": 0 })).await;
    let (status, _) = refused(&site, &day, "", csv(ids(0..5))).await;
    assert_eq!(status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_dry_run_says_what_the_set_would_do_and_does_nothing() {
    let (site, day) = with_tickets(10).await;
    let gate = site.enrol(1).await;
    let before = version(&site, &gate).await;
    let mut file = "ticket_id,order_number,session_id,label\n".to_owned();
    for id in ids(0..5) {
        file += &format!("{id},O-{id},now,\n");
    }
    file += "T5,O-T5,now,A-12\nnew,O,now,\nT6,O,nowhere,\nT5,O-T5,now,B-1\n";
    let report = done(&site, &day, "?dry_run=true", file.clone()).await;
    assert_eq!(counts(&report), [1, 1, 5, 3], "{report}");
    assert_eq!(
        (&report["accepted"], &report["dry_run"]),
        (&json!(8), &json!(true))
    );
    assert_eq!(report["refused"][0]["line"], 9);
    assert_eq!(report["needs_confirmation"], true);
    let confirmed = done(&site, &day, "?dry_run=true&confirm_vanish=3", file.clone()).await;
    assert_eq!(confirmed["needs_confirmation"], false);
    assert_eq!(version(&site, &gate).await, before);
    assert_eq!(
        site.admin("GET", "/v1/tickets/new")
            .send()
            .await
            .unwrap()
            .status(),
        404
    );

    let report = done(&site, &day, "?confirm_vanish=3", file).await;
    assert_eq!(counts(&report), [1, 1, 5, 3]);
    assert_eq!(report["dry_run"], false);
    // The later of two lines of a ticket stands; the one of a refused line stays as it was.
    assert_eq!(ticket(&site, "T6").await["deleted"], false);
    assert_eq!(ticket(&site, "T7").await["deleted"], true);
}

#[tokio::test]
async fn a_set_that_is_not_what_was_stated_does_nothing() {
    let (site, day) = with_tickets(10).await;
    let whole = csv(ids(0..10)) + "bad line\n\n";
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&whole));
    let cut = whole[..whole.len() / 2].to_owned();
    for query in ["?count=11".to_owned(), format!("?sha256={digest}")] {
        let confirmed = format!("{query}&confirm_vanish=10");
        let (status, problem) = refused(&site, &day, &confirmed, cut.clone()).await;
        assert_eq!(
            (status, &problem["code"]),
            (StatusCode::UNPROCESSABLE_ENTITY, &json!("incomplete_set"))
        );
        let report = done(&site, &day, &query, whole.clone()).await;
        assert_eq!(counts(&report), [0, 0, 10, 0]);
    }
    let upper = digest.to_uppercase();
    done(
        &site,
        &day,
        &format!("?sha256={upper}&count=11"),
        whole.clone(),
    )
    .await;
    for query in ["?sha256=abc", "?count=many", "?dryrun=true"] {
        let (status, problem) = refused(&site, &day, query, whole.clone()).await;
        assert_eq!(
            (status, &problem["code"]),
            (StatusCode::BAD_REQUEST, &json!("invalid_parameter")),
            "{query}"
        );
    }
}

#[tokio::test]
async fn an_upload_that_breaks_off_or_is_no_table_does_nothing() {
    let (site, day) = with_tickets(3000).await;
    let gate = site.enrol(1).await;
    let before = version(&site, &gate).await;
    let parts = stream::iter([
        Ok(csv(ids(100..2600)).into_bytes()),
        Err(std::io::Error::other("the cable was pulled")),
    ]);
    let broken = put(
        &site,
        &day,
        "?confirm_vanish=3000",
        Body::wrap_stream(parts),
    )
    .send()
    .await;
    assert!(broken.is_err() || !broken.unwrap().status().is_success());
    let mut garbled = csv(ids(5000..7500)).into_bytes();
    garbled.extend_from_slice(b"T\xff,O,now\n");
    for file in [garbled, Vec::new(), b"PK\x03\x04".to_vec()] {
        let answer = put(&site, &day, "?confirm_vanish=3000", file)
            .send()
            .await
            .unwrap();
        let (status, code, problem) = refusal(answer).await;
        assert_eq!((status, &*code), (StatusCode::BAD_REQUEST, "invalid_file"));
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains("nothing was done")
        );
        assert!(problem.get("accepted").is_none());
    }
    assert_eq!(version(&site, &gate).await, before);
    let missing = site.admin("GET", "/v1/tickets/T5000").send().await.unwrap();
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn where_a_lines_ticket_cannot_be_read_none_vanishes() {
    let (site, day) = with_tickets(10).await;
    // Its phone is wrong, but it is T9's; so one ticket is missing, T8.
    let named = "ticket_id,order_number,session_id,phone\n".to_owned()
        + &ids(0..8)
            .map(|id| format!("{id},O-{id},now,\n"))
            .collect::<String>()
        + "T9,O-T9,now,12\n";
    let nameless = named.clone() + "\"T8,O-T8,now,\n";
    let report = done(&site, &day, "", nameless).await;
    assert_eq!(counts(&report), [0, 0, 8, 0], "{report}");
    assert_eq!(report["stay_withheld"], 1);
    assert_eq!(report["refused_count"], 2);
    assert_eq!(ticket(&site, "T8").await["deleted"], false);

    let report = done(&site, &day, "", named).await;
    assert_eq!(counts(&report), [0, 0, 8, 1], "{report}");
    assert_eq!(ticket(&site, "T8").await["deleted"], true);
    assert_eq!(ticket(&site, "T9").await["deleted"], false);
}

#[tokio::test]
async fn a_ticket_that_was_admitted_does_not_vanish_and_neither_do_cancelled_ones() {
    let (site, day) = with_tickets(10).await;
    let mut gate = site.enrol(1).await;
    let admitted = ticket(&site, "T9").await;
    let undone = ticket(&site, "T8").await;
    let (first, second) = (gate.admits(&site, &admitted), gate.admits(&site, &undone));
    let mut undo = gate.admits(&site, &undone);
    undo["kind"] = json!("undo");
    undo["refers_to"] = second["id"].clone();
    undo["verdict"] = Value::Null;
    let batch = gate.batch(&[first, second, undo]);
    let filed = site
        .request("POST", "/v1/gate/records")
        .bearer_auth(gate.bearer());
    let filed: Value = read(filed.json(&batch).send().await.unwrap()).await;
    assert!(
        filed["results"]
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["result"] == "accepted")
    );
    let cause = json!({"cause": "refunded"});
    let _: Value = site.done("POST", "/v1/tickets/T7/cancel", cause).await;

    let report = done(&site, &day, "?confirm_vanish=1", csv(ids(0..7))).await;
    assert_eq!(counts(&report), [0, 0, 7, 1], "{report}");
    assert_eq!(
        (&report["day_had"], &report["stay_admitted"]),
        (&json!(9), &json!(1))
    );
    let stands = |id: &'static str| {
        let site = &site;
        async move {
            let ticket = ticket(site, id).await;
            (ticket["status"].clone(), ticket["deleted"].clone())
        }
    };
    assert_eq!(stands("T9").await, (json!("valid"), json!(false)));
    assert_eq!(stands("T8").await, (json!("valid"), json!(true)));
    assert_eq!(stands("T7").await, (json!("cancelled"), json!(false)));
}

#[tokio::test]
async fn a_gate_sees_the_set_in_one_version_and_refuses_what_vanished() {
    let (site, day) = with_tickets(2500).await;
    set_policy(&site, json!({ "formats": ["G2"] })).await;
    let device = GateDevice::enrol(&site).await;
    device.fetch_lists(&site).await;
    let minted = json!({"codes": [{"ticket_id": "T2400", "format": "G2"}]});
    let minted: Value = site.done("POST", "/v1/codes", minted).await;
    let code = minted["codes"][0]["code"].as_str().unwrap();

    let other = csv(ids(0..2400)) + "T9000,O,now\n";
    let before = list_version(&site, &day).await;
    let report = done(&site, &day, "", other).await;
    assert_eq!(counts(&report), [1, 0, 2400, 100]);
    assert_eq!(list_version(&site, &day).await, before + 1);

    assert_eq!(device.fetch_lists(&site).await, 1);
    assert_eq!(reason(&device.scan(code).verdict), Some(Reason::Cancelled));
    // The next set names it again, and it is what it was.
    let report = done(&site, &day, "", csv(ids(0..2500)) + "T9000,O,now\n").await;
    assert_eq!(counts(&report), [0, 100, 2401, 0]);
    device.fetch_lists(&site).await;
    device.skip(4);
    assert!(device.scan(code).opens);
}

async fn list_version(site: &Site, day: &str) -> u64 {
    let gate = site.enrol(9).await;
    let request = site.request("GET", &format!("/v1/gate/whitelist/{day}"));
    let answer = request.bearer_auth(gate.bearer()).send().await.unwrap();
    let text = answer.text().await.unwrap();
    let head: stile_core::protocol::ListHead =
        serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let payload = data_encoding::BASE64
        .decode(head.manifest.payload.as_bytes())
        .unwrap();
    let manifest: Value = serde_json::from_slice(&payload).unwrap();
    manifest["version"].as_str().map_or_else(
        || manifest["version"].as_u64().unwrap(),
        |text| text.parse().unwrap(),
    )
}

fn reason(verdict: &Verdict) -> Option<Reason> {
    match verdict {
        Verdict::Refuse(refusal) => Some(refusal.reason),
        Verdict::Admit(_) => None,
    }
}

#[tokio::test]
async fn a_set_is_of_its_day_alone() {
    let (site, day) = with_tickets(5).await;
    let now = site.server.now().seconds().0;
    let session = json!({"starts_at": now + 90_000, "ends_at": now + 93_600});
    let _: Value = site.done("PUT", "/v1/sessions/tomorrow", session).await;
    let file = csv(ids(0..4)) + "T4,O-T4,tomorrow\n";
    let report = done(&site, &day, "", file).await;
    assert_eq!(
        (
            &report["refused"][0]["line"],
            &report["refused"][0]["field"]
        ),
        (&json!(6), &json!("session_id"))
    );
    assert_eq!(
        counts(&report),
        [0, 0, 4, 0],
        "the ticket that the line names stays"
    );
    assert_eq!(ticket(&site, "T4").await["session_id"], "now");
    // Of a day that nobody booked, nothing can vanish.
    let report = done(&site, "2031-01-01", "", csv(ids(0..1))).await;
    assert_eq!(counts(&report), [0, 0, 0, 0]);
}

#[tokio::test]
async fn a_dry_run_of_a_file_of_changes_counts_them_and_does_nothing() {
    let (site, _) = with_tickets(3).await;
    let parts = stream::iter([Ok::<_, Infallible>(csv(ids(2..5)).into_bytes())]);
    let report = site
        .admin("POST", "/v1/tickets?dry_run=true")
        .header("content-type", "text/csv")
        .body(Body::wrap_stream(parts));
    let report: Value = read(report.send().await.unwrap()).await;
    assert_eq!(report["created"], 2, "{report}");
    assert_eq!(
        (&report["unchanged"], &report["accepted"]),
        (&json!(1), &json!(3))
    );
    let missing = site.admin("GET", "/v1/tickets/T4").send().await.unwrap();
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    let report: Value = read(
        site.import("text/csv", csv(ids(2..5)))
            .send()
            .await
            .unwrap(),
    )
    .await;
    assert_eq!(
        (&report["created"], &report["dry_run"]),
        (&json!(2), &json!(false))
    );
}

#[tokio::test]
async fn a_set_stands_in_the_audit_log_and_brings_no_erased_holder_back() {
    let (site, day) = with_tickets(2).await;
    let file =
        "ticket_id,order_number,session_id,holder_name\nT0,O-T0,now,张三\nT1,O-T1,now,李四\n";
    done(&site, &day, "", file.to_owned()).await;
    assert_eq!(ticket(&site, "T0").await["holder_mask"], "*三");
    let erase = json!({"ticket_ids": ["T0"]});
    let _: Value = site.done("POST", "/v1/visitors/erase", erase).await;
    done(&site, &day, "", file.to_owned()).await;
    assert_eq!(ticket(&site, "T0").await["holder_mask"], "");
    done(&site, &day, "?dry_run=true", file.to_owned()).await;
    let log: Value = site.done("GET", "/v1/audit", Value::Null).await;
    let acts = log["acts"].as_array().unwrap().iter();
    let puts: Vec<_> = acts
        .filter(|act| act["act"] == "tickets.put_day")
        .map(|act| (act["result"].as_str().unwrap(), act["count"].to_string()))
        .collect();
    assert_eq!(
        puts,
        ["2", "2", "0"].map(|count| ("done", count.to_owned()))
    );
}
