//! What the server shows of a day, held against what a step expects.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use stile_core::ids::DeviceId;

use crate::case::{ExpectServer, Winner};
use crate::venue::{BackEnd, same};

/// Compares the attendance of the day.
pub fn compare_attendance(server: &impl BackEnd, expected: &ExpectServer) -> Result<()> {
    let day = "/v1/reports/attendance?from=2026-10-01&to=2026-10-02";
    let report: Value = server.get(day)?;
    let sum = |list: &str, name: &str| -> u64 {
        let rows = report[list].as_array().map_or(&[][..], Vec::as_slice);
        rows.iter().filter_map(|row| row[name].as_u64()).sum()
    };
    let counts = [
        (expected.check_ins, "sessions", "check_ins"),
        (expected.conflicts, "sessions", "conflicts_open"),
        (expected.cleared_conflicts, "sessions", "conflicts_cleared"),
        (expected.undone, "sessions", "undone"),
        (expected.after_cancel, "sessions", "after_cancel"),
        (expected.overrides, "sessions", "overrides"),
        (expected.walk_ins, "walk_ins", "persons"),
    ];
    for (expected, list, name) in counts {
        if let Some(expected) = expected {
            same(name, &expected, &sum(list, name))?;
        }
    }
    for (session, expected) in &expected.attendance {
        let rows = report["sessions"].as_array().context("no sessions")?;
        let row = rows.iter().find(|row| row["session_id"] == *session);
        let row = row.with_context(|| format!("no session {session}"))?;
        let came = serde_json::from_value(json!({
            "persons": row["persons"], "tickets": row["tickets"],
        }))?;
        same(session, expected, &came)?;
    }
    Ok(())
}

/// Compares who stands first in the conflict of the day.
pub fn compare_winner(server: &impl BackEnd, expected: &Winner, device: &DeviceId) -> Result<()> {
    let conflicts: Value = server.get("/v1/conflicts?state=all")?;
    let admissions = conflicts["conflicts"][0]["admissions"].as_array();
    let admissions = admissions.context("no conflict has admissions")?;
    let winner = admissions.iter().find(|one| one["standing"] == "winner");
    let winner = winner.context("nobody won")?;
    let pulled: Value = server.get("/v1/records")?;
    let records = pulled["records"].as_array().context("no records")?;
    let record = records
        .iter()
        .find(|one| one["record"]["id"] == winner["record_id"])
        .context("the winner's record was not pulled")?;
    same(
        "winner's device",
        &json!(device),
        &record["record"]["device_id"],
    )?;
    same("winner's time", &json!(expected.at * 1000), &winner["at"])
}
