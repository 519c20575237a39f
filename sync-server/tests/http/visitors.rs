//! A visitor is erased: nothing of the holder is left in answers, lists or files, and what was
//! counted stays.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::program::Program;
use crate::site::{Gatekeeper, Site, read, refusal};

const FILE: &str = "ticket_id,order_number,session_id,holder_name,phone,attention,source_version\n\
    A1,O-1,now,李晓明,13800005678,wheelchair,1\n\
    A2,O-1,now,李晓明,13800005678,,1\n\
    B1,O-2,now,Wang,13911112222,,1\n";

impl Site {
    async fn import_visitors(&self) {
        let sent = self.import("text/csv", FILE).send().await.unwrap();
        let report: Value = read(sent).await;
        assert_eq!(report["accepted"], 3, "{report}");
    }

    async fn erase(&self, whose: Value) -> Value {
        self.done("POST", "/v1/visitors/erase", whose).await
    }

    async fn ticket(&self, id: &str) -> Value {
        let path = format!("/v1/tickets/{id}");
        self.done("GET", &path, Value::Null).await
    }

    /// The lines of today's list, but for its head.
    async fn rows(&self, device: &Gatekeeper) -> String {
        let sessions: Value = self.done("GET", "/v1/sessions", Value::Null).await;
        let day = sessions["sessions"][0]["service_day"].as_str().unwrap();
        let request = self.request("GET", &format!("/v1/gate/whitelist/{day}"));
        let answer = request.bearer_auth(device.bearer()).send().await.unwrap();
        let text = answer.text().await.unwrap();
        text.lines().skip(1).collect()
    }
}

#[tokio::test]
async fn an_erased_visitor_is_in_no_ticket_and_comes_back_with_no_import() {
    let site = Site::start().await;
    site.furnish().await;
    site.import_visitors().await;
    let mut gate = site.enrol(1).await;
    let record = gate.admits(&site, &site.ticket("A1").await);
    let request = site.request("POST", "/v1/gate/records");
    let batch = gate.batch(&[record]);
    let filed = request.bearer_auth(gate.bearer()).json(&batch).send().await;
    let _: Value = read(filed.unwrap()).await;
    let rows = site.rows(&gate).await;
    let other = site.ticket("B1").await;
    let log: Value = site.done("GET", "/v1/records", Value::Null).await;

    let erased = site.erase(json!({ "order_number": "O-1" })).await;
    assert_eq!(
        erased,
        json!({ "tickets": 2, "erased": 2, "unknown_ticket_ids": [] })
    );
    assert_ne!(site.rows(&gate).await, rows, "gates hear of it");
    for id in ["A1", "A2"] {
        let ticket = site.ticket(id).await.to_string();
        for personal in ["明", "5678", "wheelchair"] {
            assert!(!ticket.contains(personal), "{ticket}");
        }
    }
    assert_eq!(site.ticket("B1").await, other, "others are as they were");

    // Again is as once, also for the list; and the next import brings nothing back.
    let rows = site.rows(&gate).await;
    let again = site
        .erase(json!({ "ticket_ids": ["A1", "A2", "A9"], "order_number": "O-1" }))
        .await;
    assert_eq!(
        again,
        json!({ "tickets": 2, "erased": 0, "unknown_ticket_ids": ["A9"] })
    );
    site.import_visitors().await;
    assert_eq!(site.rows(&gate).await, rows);
    assert!(!site.ticket("A1").await.to_string().contains("5678"));

    // Records and counts say nothing of anybody and stay.
    assert_eq!(
        site.done::<Value>("GET", "/v1/records", Value::Null).await,
        log
    );
    let log = site.admin("GET", "/v1/audit").send().await.unwrap();
    let log: Value = read(log).await;
    let acts: Vec<&Value> = log["acts"].as_array().unwrap().iter().collect();
    let erasures = acts.iter().filter(|act| act["act"] == "visitor.erase");
    for act in erasures.clone() {
        assert_eq!((&act["count"], &act["thing"]), (&json!(2), &Value::Null));
    }
    assert_eq!(erasures.count(), 2);
    for personal in ["O-1", "A2", "A9"] {
        assert!(!log.to_string().contains(personal), "{log}");
    }
}

#[tokio::test]
async fn whoever_names_nobody_erases_nobody() {
    let site = Site::start().await;
    site.furnish().await;
    site.import_visitors().await;
    let many: Vec<String> = (0..1_001).map(|n| format!("T{n}")).collect();
    for whose in [json!({}), json!({ "ticket_ids": many })] {
        let request = site.admin("POST", "/v1/visitors/erase").json(&whose);
        let refused = refusal(request.send().await.unwrap()).await;
        assert_eq!(refused.0, StatusCode::UNPROCESSABLE_ENTITY);
    }
    let nobody = site.erase(json!({ "order_number": "O-77" })).await;
    assert_eq!(nobody["tickets"], 0);
    assert!(site.ticket("A1").await.to_string().contains("5678"));
}

#[test]
fn a_visitor_is_erased_from_the_command_line() {
    let program = Program::new();
    program.add_venue();
    let said = program.run(&["visitor", "erase", "--ticket", "A1,A2", "--order", "O-1"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        said,
        json!({ "tickets": 0, "erased": 0, "unknown_ticket_ids": ["A1", "A2"] })
    );
    assert!(program.run(&["audit"]).contains(r#""act":"visitor.erase""#));
    let nobody = program.command(&["visitor", "erase"]).output().unwrap();
    assert!(!nobody.status.success());
}
