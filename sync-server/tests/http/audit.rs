//! The audit log: every act by key or command line stands in it, with nothing personal and no
//! secret.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::StatusCode;
use serde_json::{Value, json};
use stile_sync_server::http::openapi_text;
use stile_sync_server::store::Scope;

use crate::document::operations;
use crate::program::Program;
use crate::site::{OTHER_VENUE, Site, VENUE, csv, key_for, read, refusal};

/// Routes that are asked by other methods than GET and change nothing.
const CHANGE_NOTHING: [(&str, &str); 1] = [("POST", "/v1/codes")];

#[test]
fn every_route_by_which_a_key_changes_something_says_its_act() {
    let document: Value = serde_json::from_str(&openapi_text()).unwrap();
    for (method, path, operation) in operations(&document) {
        let is_for_keys = operation["security"][0]["api_key"].is_array();
        let is_known = CHANGE_NOTHING.contains(&(&*method, &*path));
        let acts = is_for_keys && method != "GET" && !is_known;
        assert_eq!(
            operation["x-stile-act"].is_string(),
            acts,
            "{method} {path}: a route that changes something is added by `act`, and is known to \
             the audit log by that; one that does not is added by `key`"
        );
    }
}

impl Site {
    async fn audit(&self, key: &str, query: &str) -> Value {
        let request = self.request("GET", &format!("/v1/audit{query}"));
        read(request.bearer_auth(key).send().await.unwrap()).await
    }

    /// The log's acts as short lines: what, of what, and how it ended.
    async fn acts(&self) -> Vec<String> {
        let log = self.audit(&self.admin, "").await;
        let acts = log["acts"].as_array().unwrap().iter();
        let word = |value: &Value| match value {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let line = |act: &Value| ["act", "thing", "result", "count"].map(|name| word(&act[name]));
        acts.map(|act| line(act).join(" ")).collect()
    }
}

#[tokio::test]
async fn acts_are_kept_with_who_when_and_how_they_ended_and_nothing_personal() {
    let site = Site::start().await;
    let before = site.server.now().0;
    site.furnish().await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let operator = json!({ "name": "李晓明", "role": "guard", "pin": "246810" });
    let request = site.admin("PUT", "/v1/operators/li").json(&operator);
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    let put = request.header("traceparent", parent).send().await.unwrap();
    assert_eq!(put.status(), StatusCode::CREATED);
    site.put_tickets(["T1".to_owned(), "T2".to_owned()]).await;
    let cause = json!({ "cause": "refunded" });
    let _: Value = site
        .done("POST", "/v1/tickets/T1/cancel", cause.clone())
        .await;
    let cancel = site.admin("POST", "/v1/tickets/13800005678/cancel");
    refusal(cancel.json(&cause).send().await.unwrap()).await;
    let cancel = site.admin("POST", "/v1/tickets/T2/cancel");
    let cancel = cancel.header("content-type", "application/json").body("{");
    refusal(cancel.send().await.unwrap()).await;

    let acts = site.acts().await;
    assert_eq!(
        acts,
        [
            "session.put now done -",
            "gate.put north done -",
            "gate.put south done -",
            "operator.put li done -",
            "tickets.import - done 2",
            "ticket.cancel T1 done -",
            "ticket.cancel - not_found -",
            "ticket.cancel - invalid_body -",
        ]
    );
    let log = site.audit(&site.admin, "").await;
    let keys = site.server.api_keys().await.unwrap();
    for act in log["acts"].as_array().unwrap() {
        assert_eq!(act["api_key_id"], keys[0].id.0);
        assert!((before..=site.server.now().0).contains(&act["at"].as_i64().unwrap()));
        assert_eq!(act["trace"].as_str().unwrap().len(), 32);
    }
    assert_eq!(log["acts"][3]["trace"], trace);
    for personal in ["李晓明", "246810", "13800005678", site.admin.as_str()] {
        assert!(!log.to_string().contains(personal));
    }
}

#[tokio::test]
async fn what_a_key_tried_and_may_not_do_is_kept_as_well() {
    let site = Site::start().await;
    let clerk = site.key(Scope::TicketsWrite).await;
    let put = site.request("PUT", "/v1/gates/north").bearer_auth(&clerk);
    refusal(put.json(&json!({})).send().await.unwrap()).await;
    // Reading is no act, nor is what nobody known asks.
    let _: Value = site.done("GET", "/v1/gates", Value::Null).await;
    refusal(site.request("PUT", "/v1/gates/north").send().await.unwrap()).await;
    assert_eq!(site.acts().await, ["gate.put - forbidden -"]);
}

#[tokio::test]
async fn an_import_that_breaks_off_is_kept_as_one_that_did() {
    let site = Site::start().await;
    site.furnish().await;
    let mut file = GzEncoder::new(Vec::new(), Compression::fast());
    let good = csv((0..20_000).map(|n| format!("T{n}")));
    file.write_all(good.as_bytes()).unwrap();
    let mut file = file.finish().unwrap();
    file.truncate(file.len() - 100);
    let sent = site
        .import("text/csv", file)
        .header("content-encoding", "gzip");
    let (_, code, problem) = refusal(sent.send().await.unwrap()).await;
    assert_eq!(code, "invalid_file");
    assert!(
        problem["accepted"].as_u64().unwrap() >= 1_000,
        "some lines were stored"
    );
    let last = site.acts().await.pop().unwrap();
    assert_eq!(last, "tickets.import - invalid_file -");
    let headless = site.import("text/csv", "no,such,columns\n").send().await;
    refusal(headless.unwrap()).await;
    let last = site.acts().await.pop().unwrap();
    assert_eq!(last, "tickets.import - invalid_file -");
}

#[tokio::test]
async fn each_venue_has_a_log_of_its_own_that_is_read_by_cursor() {
    let site = Site::start().await;
    site.furnish().await;
    let group = key_for(&site.server, &[VENUE, OTHER_VENUE], &[Scope::Admin]).await;
    let other = key_for(&site.server, &[OTHER_VENUE], &[Scope::Admin]).await;
    assert_eq!(site.audit(&other, "").await["acts"], json!([]));
    let new = json!({ "name": "both", "scopes": ["records:read"], "venues": [VENUE, OTHER_VENUE] });
    let make = site.request("POST", &format!("/v1/api-keys?venue={VENUE}"));
    let made: Value = read(make.bearer_auth(&group).json(&new).send().await.unwrap()).await;
    // A key for both venues stands in the log of each.
    let theirs = site.audit(&other, "").await;
    assert_eq!(theirs["acts"].as_array().unwrap().len(), 1);
    assert_eq!(theirs["acts"][0]["thing"], made["api_key_id"].to_string());
    assert_eq!(
        site.acts().await.pop().unwrap(),
        format!("api_key.make {} done -", made["api_key_id"])
    );

    let first = site.audit(&site.admin, "?limit=3").await;
    assert_eq!(
        (first["acts"].as_array().unwrap().len(), &first["more"]),
        (3, &json!(true))
    );
    let cursor = first["cursor"].as_str().unwrap();
    let rest = site.audit(&site.admin, &format!("?after={cursor}")).await;
    assert_eq!(rest["acts"].as_array().unwrap().len(), 1);
    // The cursor is of this venue's audit log and of nothing else.
    for (path, key) in [("/v1/audit", &other), ("/v1/records", &site.admin)] {
        let request = site.request("GET", &format!("{path}?after={cursor}"));
        let refused = refusal(request.bearer_auth(key).send().await.unwrap()).await;
        assert_eq!(refused.1, "invalid_cursor");
    }
}

#[test]
fn commands_are_kept_with_the_user_who_ran_them() {
    let program = Program::new();
    program.add_venue();
    program.run(&["gate", "add", "north"]);
    let key = program.add_key("admin");
    let keys: Value = serde_json::from_str(&program.run(&["key", "list"])).unwrap();
    let id = keys[0]["id"].to_string();
    program.run(&["key", "revoke", &id]);
    assert!(
        !program
            .command(&["key", "revoke", "1"])
            .status()
            .unwrap()
            .success()
    );
    program.run(&[
        "enrol",
        "--gate",
        "north",
        "--server",
        "http://10.0.0.5:8470",
    ]);
    let lines = program.run(&["audit"]);
    assert!(!lines.contains(&key));
    let acts: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let invited = acts.last().unwrap()["thing"].as_str().unwrap();
    let short = |act: &Value| {
        let text = |name: &str| act[name].as_str().unwrap_or("-").to_owned();
        ["venue", "act", "thing", "result"].map(text).join(" ")
    };
    assert_eq!(
        acts.iter().map(short).collect::<Vec<_>>(),
        [
            "- venue.add museum done".to_owned(),
            "- api_key.revoke - not_found".to_owned(),
            "museum gate.put north done".to_owned(),
            format!("museum api_key.make {id} done"),
            format!("museum api_key.revoke {id} done"),
            format!("museum device.invite {invited} done"),
        ]
    );
    assert!(
        acts.iter()
            .all(|act| act["uid"].is_u64() && act["trace"].is_null())
    );
    assert_eq!(
        program.run(&["audit", "--venue", "museum"]).lines().count(),
        4
    );
}

#[test]
fn what_was_removed_and_when_is_shown_by_command() {
    let program = Program::new();
    program.add_venue();
    let json = |args: &[&str]| serde_json::from_str::<Value>(&program.run(args)).unwrap();
    assert_eq!(
        json(&["retention", "status"]),
        json!({ "keep_days": 180, "runs": [] })
    );
    let runs = json(&["retention", "run"]);
    assert_eq!(runs.as_array().unwrap().len(), 8);
    program.run(&["retention", "set", "--days", "400"]);
    let few = program
        .command(&["retention", "set", "--days", "30"])
        .output();
    let few = few.unwrap();
    assert!(!few.status.success());
    assert!(String::from_utf8_lossy(&few.stderr).contains("days: at least 180"));
    let status = json(&["retention", "status"]);
    assert_eq!(status["keep_days"], 400);
    for run in status["runs"].as_array().unwrap() {
        assert!(
            run["at"].is_i64() && run["removed"] == 0 && run["job"].is_string(),
            "{run}"
        );
    }
    let log = program.run(&["audit"]);
    for act in ["retention.run", "retention.set"] {
        assert!(log.contains(act), "{log}");
    }
}
