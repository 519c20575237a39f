//! The files of tests/cases/ticket-files, each against expected.json.

use std::path::PathBuf;

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use stile_sync_server::import::{Charset, FileFault, FileRules, ImportFormat};

use crate::{Outcome, import_with};

fn folder() -> PathBuf {
    std::env::var_os("STILE_CASES")
        .map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/cases")),
            PathBuf::from,
        )
        .join("ticket-files")
}

fn import_case(name: &str) -> Outcome {
    import_case_at(name, false)
}

fn import_case_at(name: &str, takes_documents: bool) -> Outcome {
    import_case_in(name, takes_documents, Charset::UTF_8)
}

fn import_case_in(name: &str, takes_documents: bool, charset: Charset) -> Outcome {
    let file = std::fs::File::open(folder().join(name)).unwrap();
    let format = if name.ends_with(".ndjson") {
        ImportFormat::Ndjson
    } else {
        ImportFormat::Csv
    };
    let zone = TimeZone::get("Asia/Shanghai").unwrap();
    let rules = FileRules {
        takes_documents,
        charset,
        ..FileRules::new(&zone)
    };
    import_with(file, format, rules)
}

fn expected() -> serde_json::Map<String, Value> {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let Value::Object(mut expected) = serde_json::from_str(&text).unwrap() else {
        panic!()
    };
    let Value::Object(files) = expected.remove("files").unwrap() else {
        panic!()
    };
    files
}

#[test]
fn every_file_gets_the_answer_that_it_must_get() {
    for takes_documents in [false, true] {
        compare_every_file(takes_documents);
    }
}

fn compare_every_file(takes_documents: bool) {
    let mut compared = 0;
    for (name, expected) in expected() {
        let charset = expected.get("charset").and_then(Value::as_str);
        let charset = charset.map_or(Charset::UTF_8, |name| Charset::named(name).unwrap());
        let outcome = import_case_in(&name, takes_documents, charset);
        if let Some(reason) = expected.get("whole_file") {
            assert!(outcome.error().contains(reason.as_str().unwrap()), "{name}");
            assert_eq!(outcome.result.unwrap_err().accepted, 0, "{name}");
            assert!(outcome.tickets.is_empty(), "{name}");
        } else {
            let report = outcome.report();
            assert_eq!(json!(report.accepted), expected["accepted"], "{name}");
            assert_eq!(json!(outcome.refused()), expected["refused"], "{name}");
            assert_eq!(
                report.refused_count,
                outcome.refused().len() as u64,
                "{name}"
            );
            if let Some(tickets) = expected.get("tickets") {
                assert_eq!(json!(outcome.tickets.len()), *tickets, "{name}");
            }
            let masks = expected.get("masks").and_then(Value::as_object);
            for (ticket, mask) in masks.into_iter().flatten() {
                let kept = &outcome.tickets[ticket];
                assert_eq!(
                    json!([kept.holder_mask, kept.last_four]),
                    *mask,
                    "{name} {ticket}"
                );
            }
        }
        compared += 1;
    }
    assert!(compared >= 19);
}

#[test]
fn a_file_in_another_charset_is_refused_whole_and_told_to_name_it() {
    let outcome = import_case("excel-gb18030.csv");
    assert!(matches!(outcome.fault(), FileFault::NotUtf8 { line: 2 }));
    assert!(outcome.error().contains("gb18030"));
    assert!(outcome.tickets.is_empty());
}

#[test]
fn a_document_is_dropped_on_arrival_and_the_report_says_so() {
    let outcome = import_case("chinese-header.csv");
    assert_eq!(outcome.report().dropped_columns, ["document"]);
    assert!(outcome.report().unknown_columns.is_empty());
    assert!(!format!("{:?}", outcome.tickets).contains("1101051949"));
}

#[test]
fn unknown_columns_are_ignored_and_named_once() {
    assert_eq!(
        import_case("columns-elsewhere.csv")
            .report()
            .unknown_columns,
        ["备注"]
    );
    assert_eq!(
        import_case("bad-lines.ndjson").report().unknown_columns,
        ["colour"]
    );
}

#[test]
fn what_looks_like_a_formula_is_stored_as_text() {
    let outcome = import_case("injection.csv");
    assert_eq!(
        outcome.tickets["T1"].order_number.as_str(),
        "=cmd|' /C calc'!A0"
    );
}

#[test]
fn no_answer_and_no_ticket_holds_a_phone_a_name_or_a_document() {
    let names = expected();
    let cases = names.keys().flat_map(|name| [(name, false), (name, true)]);
    for (name, takes_documents) in cases {
        let outcome = import_case_at(name, takes_documents);
        let said = format!("{:?} {:?}", outcome.result, outcome.tickets);
        let error = outcome
            .result
            .as_ref()
            .err()
            .map(ToString::to_string)
            .unwrap_or_default();
        for secret in [
            "1381234", "1390000", "1.38E", "30 901", "张", "李", "娜娜", "王, 小", "1101",
        ] {
            assert!(
                !said.contains(secret) && !error.contains(secret),
                "{name}: {secret}"
            );
        }
    }
}
