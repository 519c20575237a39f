//! What a back end puts into a server before a day begins: gates, sessions, a supervisor and
//! tickets, each as the booking system sends it.

use anyhow::{Context, Result};
use axum::http::Method;
use serde_json::{Value, json};

use crate::case::Cases;
use crate::codes::CodeBook;
use crate::venue::BackEnd;

/// The supervisor's PIN; the file calls it `right`.
pub const RIGHT_PIN: &str = "24680135";

/// Puts everything of the file, and mints the codes that visitors show.
pub fn furnish(server: &impl BackEnd, cases: &Cases, codes: &mut CodeBook) -> Result<()> {
    for gate in &cases.gates {
        let mut body = gate.clone();
        let members = body.as_object_mut().context("a gate is an object")?;
        members.retain(|name, _| {
            ["direction", "checkpoint", "zones", "unattended"].contains(&name.as_str())
        });
        let path = format!("/v1/gates/{}", text(gate, "id")?);
        server.call::<Value>(Method::PUT, &path, &body)?;
    }
    for session in &cases.sessions {
        let mut body = session.clone();
        let members = body.as_object_mut().context("a session is an object")?;
        members.remove("id");
        let path = format!("/v1/sessions/{}", text(session, "id")?);
        server.call::<Value>(Method::PUT, &path, &body)?;
    }
    let supervisor = json!({ "role": "supervisor", "pin": RIGHT_PIN });
    server.call::<Value>(Method::PUT, "/v1/operators/boss", &supervisor)?;

    let lines: Vec<_> = cases.tickets.iter().map(first_line).collect();
    server.import(&lines)?;
    codes.mint(server, &cases.tickets)?;
    let later: Vec<_> = cases.tickets.iter().filter_map(second_line).collect();
    server.import(&later)
}

/// A ticket's line as the booking system first sends it: confirmed, in its first session.
pub fn first_line(ticket: &Value) -> Value {
    let digits = ticket["last_four"].as_str().unwrap_or_default();
    let mut line = json!({
        "ticket_id": ticket["ticket_id"],
        "order_number": ticket["order_number"],
        "session_id": ticket["session"],
        "holder_name": "张三",
        "phone": format!("1380000{digits}"),
        "admits": ticket["admits"],
    });
    for name in ["zones", "attention", "admit_from", "admit_until"] {
        if !ticket[name].is_null() {
            line[name] = ticket[name].clone();
        }
    }
    line
}

/// The line that gives a ticket its status, or moves it.
fn second_line(ticket: &Value) -> Option<Value> {
    let mut line = first_line(ticket);
    let moved_to = &ticket["moved_to"]["session"];
    if !moved_to.is_null() {
        line["session_id"] = moved_to.clone();
    }
    line["status"] = ticket["status"].clone();
    if !ticket["cancel_cause"].is_null() {
        line["cancel_cause"] = ticket["cancel_cause"].clone();
    }
    (ticket["status"] != "valid" || !moved_to.is_null()).then_some(line)
}

/// A member that is a text.
pub fn text<'v>(value: &'v Value, name: &str) -> Result<&'v str> {
    value[name]
        .as_str()
        .with_context(|| format!("{value} has no {name}"))
}
