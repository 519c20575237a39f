//! The examples of `docs/api.md`, run as they stand.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::site::Site;

/// Stands for what differs each time.
const ANYTHING: &str = "…";
/// Where a gate does something.
const ADMITS: &str = "<!-- a gate admits T-1 -->";

/// A piece of the page.
enum Piece {
    /// What is to be typed, and in what language its answer follows, with the answer.
    Typed(String, Option<(String, String)>),
    /// A gate admits a ticket.
    Admission,
}

fn pieces(page: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line == ADMITS {
            pieces.push(Piece::Admission);
        }
        let Some(language) = line.strip_prefix("```") else {
            continue;
        };
        let text = lines.by_ref().take_while(|line| *line != "```");
        let text = text.collect::<Vec<_>>().join("\n");
        match (language, pieces.last_mut()) {
            ("sh", _) => pieces.push(Piece::Typed(text, None)),
            (_, Some(Piece::Typed(_, answer @ None))) => *answer = Some((language.into(), text)),
            _ => panic!("an answer to nothing: {text}"),
        }
    }
    pieces
}

/// What is told must be there as it is told; there may be more.
fn is_told(told: &Value, there: &Value) -> bool {
    match (told, there) {
        (Value::String(told), _) if told == ANYTHING => !there.is_null(),
        (Value::Object(told), Value::Object(there)) => told
            .iter()
            .all(|(name, told)| there.get(name).is_some_and(|there| is_told(told, there))),
        (Value::Array(told), Value::Array(there)) => {
            told.len() == there.len() && told.iter().zip(there).all(|(a, b)| is_told(a, b))
        }
        _ => told == there,
    }
}

/// Each line as it is told, up to where it is left open.
fn reads(told: &str, there: &str) -> bool {
    let (told, there): (Vec<_>, Vec<_>) = (told.lines().collect(), there.lines().collect());
    told.len() == there.len()
        && told
            .iter()
            .zip(there)
            .all(|(told, there)| match told.strip_suffix(ANYTHING) {
                Some(beginning) => there.starts_with(beginning),
                None => *told == there,
            })
}

async fn admit(site: &Site) {
    let mut device = site.enrol(1).await;
    let ticket: Value = site.done("GET", "/v1/tickets/T-1", Value::Null).await;
    let mut record = device.admits(site, &ticket);
    record["session_id"] = ticket["session_id"].clone();
    site.upload(&device, &[record]).await;
}

#[tokio::test]
async fn every_example_of_the_page_on_the_api_gives_the_answer_that_it_shows() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/api.md");
    let page = std::fs::read_to_string(page).unwrap();
    let site = Site::start().await;
    site.furnish().await;
    let folder = tempfile::tempdir().unwrap();
    // What one piece defines the next ones use; the first says where the server is.
    let mut before = String::from("set -euo pipefail\n");
    let mut answers = 0;
    for piece in pieces(&page) {
        let Piece::Typed(typed, answer) = piece else {
            admit(&site).await;
            continue;
        };
        let Some((language, told)) = answer else {
            if !typed.contains("export STILE=") {
                before += &format!("{typed}\n");
            }
            continue;
        };
        let mut shell = Command::new("bash");
        shell
            .arg("-c")
            .arg(format!("{before}{typed}"))
            .current_dir(folder.path())
            .env("STILE", site.url(""))
            .env("KEY", &site.admin);
        let output = tokio::task::spawn_blocking(move || shell.output());
        let output = output.await.unwrap().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{typed}\n{errors}");
        let there = String::from_utf8(output.stdout).unwrap();
        let is_right = match language.as_str() {
            "json" => is_told(
                &serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}")),
                &serde_json::from_str(&there).unwrap_or_else(|error| panic!("{error}: {there}")),
            ),
            _ => reads(&told, &there),
        };
        assert!(is_right, "{typed}\ntold:\n{told}\nthere:\n{there}");
        answers += 1;
    }
    assert!(answers >= 9, "{answers} examples have answers");
}
