//! The columns of the log in CSV, in either of its layouts.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use stile_core::protocol::PulledRecord;
use stile_core::time::EpochMillis;

use super::csv::safe;
use crate::error::ServerError;
use crate::server::{CheckInLog, local_time};
use crate::store::StoreError;

/// What the server says of a record, in the order of [`PulledRecord`].
const SAID: [&str; 5] = [
    "received_at",
    "standing",
    "after_cancel",
    "taken_back",
    "late_after_final",
];

/// `at` again, for people: RFC 3339 with the offset of the venue's zone.
const LOCAL_TIME: &str = "local_time";

/// Members of records that have a column; one that a record does not have is empty.
const MEMBERS: [&str; 27] = [
    "id",
    "kind",
    "at",
    "u_ms",
    "trust",
    "gate_id",
    "checkpoint",
    "device_id",
    "log_id",
    "sequence",
    "via",
    "direction",
    "ticket_id",
    "ticket_number",
    "session_id",
    "service_day",
    "format",
    "verdict",
    "reason",
    "persons",
    "mode",
    "operator",
    "decision_us",
    "flags",
    "refers_to",
    "source",
    "age_group",
];

/// The record as the device wrote it, with what has no column.
const RECORD: &str = "record";

/// The head of the layout `log`.
pub fn log_head() -> impl Iterator<Item = &'static str> {
    let after = [LOCAL_TIME, RECORD];
    SAID.into_iter().chain(MEMBERS).chain(after)
}

/// A record in the layout `log`.
pub fn log_row(pulled: &PulledRecord, zone: &TimeZone) -> Result<Vec<String>, ServerError> {
    let text = pulled.record.get();
    // Unread: filing takes members that it does not know as they are, numbers of any size included.
    let members: HashMap<String, &RawValue> = serde_json::from_str(text)
        .map_err(|error| StoreError::Damaged(format!("a record: {error}")))?;
    let at = members.get("at").and_then(|at| at.get().parse().ok());
    let mut row = vec![
        pulled.received_at.0.to_string(),
        word(pulled.standing.as_ref())?,
        pulled.after_cancel.to_string(),
        pulled.taken_back.to_string(),
        pulled.late_after_final.to_string(),
    ];
    row.extend(MEMBERS.map(|name| members.get(name).map(|raw| cell(raw)).unwrap_or_default()));
    row.push(at.map_or_else(String::new, |at| local_time(EpochMillis(at), zone)));
    row.push(text.to_owned());
    Ok(row)
}

/// The head of the layout `checkin_logs`.
pub const CHECK_IN_LOGS: [&str; 6] = [
    "reservation_id",
    "venue_code",
    "scan_time",
    "duration_ms",
    "age_group",
    "source",
];

/// A check-in in the layout `checkin_logs`.
pub fn check_in_row(one: &CheckInLog) -> [String; 6] {
    [
        safe(&one.reservation_id).into_owned(),
        one.venue_code.clone(),
        one.scan_time.clone(),
        one.duration_ms.map(|ms| ms.to_string()).unwrap_or_default(),
        safe(&one.age_group).into_owned(),
        safe(&one.source).into_owned(),
    ]
}

fn word(word: Option<&impl Serialize>) -> Result<String, ServerError> {
    let value = to_raw_value(&word).map_err(ServerError::internal)?;
    Ok(cell(&value))
}

/// Texts are harmless, several words stand with a space between them, and what is neither, such
/// as a number, is the JSON that it is.
fn cell(raw: &RawValue) -> String {
    let json = raw.get();
    if json == "null" {
        return String::new();
    }
    if let Ok(text) = serde_json::from_str::<String>(json) {
        return safe(&text).into_owned();
    }
    match serde_json::from_str::<Vec<String>>(json) {
        Ok(words) => safe(&words.join(" ")).into_owned(),
        Err(_) => json.to_owned(),
    }
}
