//! `attendance`: who came, as a table.

use std::collections::BTreeMap;
use std::fmt::Write;

use stile_core::protocol::Attendance as Report;
use stile_sync_server::server::Server;
use unicode_segmentation::UnicodeSegmentation;

use super::CliError;
use super::args::Attendance;
use super::commands::{print, print_json, venue_meant};

/// What stands where something is not known, or not counted.
const UNKNOWN: &str = "-";
/// What stands where no-shows are not known yet.
const PENDING: &str = "pending";
/// The columns behind the name.
const COLUMNS: [&str; 8] = [
    "persons",
    "tickets",
    "expected",
    "booked",
    "of expected",
    "of booked",
    "no-show",
    "refused",
];

/// `attendance`
pub fn attendance(command: Attendance) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| {
        let venue = venue_meant(server, command.venue).await?;
        let to = command.to.as_ref().unwrap_or(&command.from);
        let report = server
            .attendance_by(&venue, &command.from, to, command.by)
            .await?;
        if command.json {
            return print_json(&report);
        }
        print(table(rows(&report)).trim_end())?;
        say_what_is_missing(&report);
        Ok(())
    }
}

/// The name of each row, and its cells.
fn rows(report: &Report) -> Vec<Vec<String>> {
    let mut rows = vec![
        std::iter::once("")
            .chain(COLUMNS)
            .map(str::to_owned)
            .collect(),
    ];
    for one in &report.sessions {
        let no_show = one.no_show.map_or(PENDING.to_owned(), |n| n.to_string());
        rows.push(vec![
            format!("{} {} {}", one.service_day, one.session_id, one.name),
            one.persons.to_string(),
            one.tickets.to_string(),
            one.expected.to_string(),
            one.booked.to_string(),
            percent(one.rate_of_expected),
            percent(one.rate_of_booked),
            no_show,
            total(&one.refused),
        ]);
    }
    for one in &report.groups {
        let known = one.open_sessions.map_or(UNKNOWN, |_| PENDING);
        let no_show = one.no_show.map_or(known.to_owned(), |n| n.to_string());
        rows.push(vec![
            one.name.clone(),
            one.persons.to_string(),
            one.tickets.to_string(),
            one.expected.map_or(UNKNOWN.to_owned(), |n| n.to_string()),
            one.booked.map_or(UNKNOWN.to_owned(), |n| n.to_string()),
            percent(one.rate_of_expected),
            percent(one.rate_of_booked),
            no_show,
            total(&one.refused),
        ]);
    }
    rows
}

fn percent(rate: Option<f64>) -> String {
    rate.map_or(UNKNOWN.to_owned(), |rate| format!("{:.1} %", rate * 100.0))
}

fn total(refused: &BTreeMap<String, u64>) -> String {
    refused.values().sum::<u64>().to_string()
}

/// Names to the left, numbers to the right.
fn table(rows: Vec<Vec<String>>) -> String {
    let width = |text: &str| text.graphemes(true).count();
    let columns = COLUMNS.len() + 1;
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter()
                .map(|row| width(&row[column]))
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - width(cell));
            // Writing to a text does not fail.
            let _ = match column {
                0 => write!(text, "{cell}{pad}"),
                _ => write!(text, "  {pad}{cell}"),
            };
        }
        text.push('\n');
    }
    text
}

/// Which gates the no-shows wait for, beside the table.
fn say_what_is_missing(report: &Report) {
    if let Some(day) = &report.kept_since {
        eprintln!("Days before {day} are not counted: records of them were removed.");
    }
    for one in &report.sessions {
        for gate in &one.finality.awaits {
            let devices = gate.devices.iter().map(|device| device.device_id.as_str());
            let devices: Vec<_> = devices.collect();
            eprintln!(
                "{} waits for the gate {} ({})",
                one.session_id,
                gate.gate_id,
                devices.join(", ")
            );
        }
    }
    let elsewhere: u64 = report.refused_elsewhere.values().sum();
    if elsewhere > 0 {
        eprintln!("{elsewhere} more readings were refused that belong to none of these.");
    }
}
