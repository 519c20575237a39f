//! When a session is final, as a gate, a back end and an operator see it over HTTP.

use serde_json::{Value, json};

use crate::program::Program;
use crate::site::{Gatekeeper, Site, read};

/// The gate asks for its lists and says that all before a moment is delivered.
async fn polls(site: &Site, device: &Gatekeeper, through: i64, outstanding: u64) {
    let said = format!("generation=0&delivered_through={through}&outstanding={outstanding}");
    let request = site.request("GET", &format!("/v1/gate/lists?{said}"));
    let answer = request.bearer_auth(device.bearer()).send().await.unwrap();
    let _: Value = read(answer).await;
}

/// A session that ends about now, with one ticket that was admitted and one that was not.
async fn day(site: &Site) -> (Gatekeeper, String) {
    site.furnish().await;
    let mut device = site.enrol(1).await;
    let tickets = site.some_tickets(2).await;
    let check_in = device.admits(site, &tickets[0]);
    site.upload(&device, &[check_in]).await;
    let now = site.server.now().seconds().0;
    // After the device was enrolled: what comes later is not waited for.
    let session = json!({"starts_at": now - 3600, "ends_at": now + 1});
    let put: Value = site.done("PUT", "/v1/sessions/now", session).await;
    (device, put["service_day"].as_str().unwrap().to_owned())
}

async fn attendance(site: &Site, day: &str) -> Value {
    let path = format!("/v1/reports/attendance?from={day}");
    let report: Value = site.done("GET", &path, Value::Null).await;
    report["sessions"][0].clone()
}

#[tokio::test]
async fn times_beyond_every_calendar_are_heard_and_finish_nothing() {
    let site = Site::start().await;
    let (device, day) = day(&site).await;
    // It does not end meanwhile, however slow the machine is.
    let now = site.server.now().seconds().0;
    let session = json!({"starts_at": now - 3600, "ends_at": now + 3600});
    let _: Value = site.done("PUT", "/v1/sessions/now", session).await;
    for through in [i64::MIN, i64::MAX, -1, i64::MAX - 1, 0] {
        polls(&site, &device, through, 0).await;
    }
    assert_eq!(attendance(&site, &day).await["no_show"], Value::Null);
}

#[tokio::test]
async fn situation_36_a_back_end_is_told_who_did_not_come_once_nothing_more_is_waited_for() {
    let site = Site::start().await;
    let (mut device, day) = day(&site).await;
    let before = attendance(&site, &day).await;
    assert_eq!(before["no_show"], Value::Null);
    let gate = &before["finality"]["awaits"][0];
    assert_eq!(gate["gate_id"], "north");
    assert_eq!(gate["devices"][0]["name"], "device 1");

    // A scan waits on the device: its report reaches no further.
    let end = before["finality"]["admit_until"].as_i64().unwrap() * 1_000;
    polls(&site, &device, end - 60_000, 1).await;
    let waits = attendance(&site, &day).await;
    assert_eq!(waits["finality"]["complete_through"], end - 60_000);
    let device_1 = &waits["finality"]["awaits"][0]["devices"][0];
    assert_eq!(device_1["outstanding"], 1);
    assert_eq!(waits["no_show"], Value::Null);

    let id = device_1["device_id"].as_str().unwrap();
    let path = format!("/v1/devices/{id}/out-of-use");
    let response = site.admin("POST", &path).send().await.unwrap();
    assert_eq!(response.status(), 204);
    let no_show = async || {
        site.server.finalize().await.unwrap();
        let after = attendance(&site, &day).await;
        (!after["no_show"].is_null()).then_some(after)
    };
    let after = site.awaited(no_show).await;
    assert_eq!(
        (&after["no_show"], &after["no_show_tickets"]),
        (&json!(1), &json!(1))
    );
    assert!(after["finality"]["finalized_at"].is_i64());

    // Found again, the other ticket's check-in is late, in whichever form the log is pulled.
    let ticket: Value = site.done("GET", "/v1/tickets/T1", Value::Null).await;
    let late = device.admits(&site, &ticket);
    site.upload(&device, &[late]).await;
    let pulled: Value = site.done("GET", "/v1/check-ins", Value::Null).await;
    assert_eq!(pulled["records"][1]["late_after_final"], true);
    assert_eq!(pulled["sessions"][0]["session_id"], "now");
    assert_eq!(pulled["sessions"][0]["late_after_final"], 1);
    let lines = site
        .admin("GET", "/v1/records")
        .header("accept", "application/x-ndjson");
    let lines = lines.send().await.unwrap().text().await.unwrap();
    let end: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(end["sessions"][0]["late_after_final"], 1);
    let csv = site
        .admin("GET", "/v1/records")
        .header("accept", "text/csv");
    let csv = csv.send().await.unwrap();
    assert!(csv.headers().contains_key("stile-complete-through"));
    let text = csv.text().await.unwrap();
    let head: Vec<_> = text.lines().next().unwrap().split(',').collect();
    let column = head
        .iter()
        .position(|name| *name == "late_after_final")
        .unwrap();
    let late: Vec<_> = text
        .lines()
        .skip(1)
        .map(|row| row.split(',').nth(column))
        .collect();
    assert_eq!(late, [Some("false"), Some("true")]);
}

#[test]
fn devices_are_listed_and_put_out_of_use_by_command() {
    let program = Program::new();
    program.add_venue();
    assert_eq!(program.run(&["device", "list"]), "");
    let refused = program
        .command(&["device", "out-of-use", "nobody"])
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("no such device"), "{said}");
    let audit = program.run(&["audit"]);
    assert!(audit.contains("device.out_of_use"), "{audit}");
}

#[test]
fn attendance_is_printed_as_a_table_and_as_the_report_that_it_is() {
    let program = Program::new();
    program.add_venue();
    let table = program.run(&["attendance", "2026-10-01", "--by", "service_day"]);
    assert!(
        table.contains("no-show") && table.contains("of expected"),
        "{table}"
    );
    let json = program.run(&["attendance", "2026-10-01", "--to", "2026-10-02", "--json"]);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["sessions"], json!([]));
}
