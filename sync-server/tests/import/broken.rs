//! Files that are broken, by accident or on purpose: a bad line is named, the others go in, and
//! nothing crashes.

use proptest::prelude::*;
use stile_sync_server::import::{FileFault, ImportFormat};

use crate::{Crumbs, Outcome, csv, import_from, ndjson};

const HEADER: &str = "ticket_id,order_number,session_id,label\n";

#[test]
fn a_field_that_is_never_closed_costs_its_own_line_only() {
    let outcome = csv(format!(
        "{HEADER}T1,O1,am,x\nT2,O2,am,\"open\nT3,O3,am,y\nT4,O4,am,z\n"
    ));
    assert_eq!(outcome.refused(), [(3, "quotes")]);
    assert_eq!(outcome.ids(), ["T1", "T3", "T4"]);
}

#[test]
fn a_field_left_open_does_not_reach_to_the_next_quoted_one() {
    let outcome = csv(format!(
        "{HEADER}T1,O1,am,\"open\nT2,O2,am,y\nT3,O3,am,\"closed\"\nT4,O4,nosuch,\n"
    ));
    assert_eq!(outcome.refused(), [(2, "quotes"), (5, "session_id")]);
    assert_eq!(outcome.ids(), ["T2", "T3"]);
}

#[test]
fn a_field_left_open_far_from_the_end_costs_its_own_line_only() {
    let mut file = format!("{HEADER}T0,O0,am,\"open\n");
    (1..20_000).for_each(|i| file.push_str(&format!("T{i},O{i},am,\n")));
    let outcome = csv(file);
    assert_eq!(outcome.refused(), [(2, "quotes")]);
    assert_eq!(outcome.report().accepted, 19_999);
}

#[test]
fn quotes_inside_a_plain_field_are_text() {
    let outcome = csv(format!(
        "{HEADER}T1,O1,am,5\" x\nT2,O2,am,a\"\"b\nT3,O3,am,\"a\"\"b\"\n"
    ));
    let labels: Vec<_> = outcome
        .tickets
        .values()
        .map(|ticket| ticket.label.as_str())
        .collect();
    assert_eq!(labels, ["5\" x", "a\"\"b", "a\"b"]);
}

#[test]
fn text_after_a_closing_quote_refuses_the_line() {
    let outcome = csv(format!(
        "{HEADER}T1,O1,am,\"a\"b\n\"T2\" ,O2,am,\nT3,O3,am,\"\"\"\"\n"
    ));
    assert_eq!(outcome.refused(), [(2, "quotes"), (3, "quotes")]);
    assert_eq!(outcome.tickets["T3"].label, "\"");
}

#[test]
fn a_header_that_cannot_be_read_refuses_the_file() {
    let outcome = csv("\nticket_id,order_number,\"session_id\nT1,O1,am\n");
    assert!(matches!(outcome.fault(), FileFault::Header { line: 2, .. }));
    assert!(outcome.error().contains("header (line 2)"));
}

#[test]
fn a_line_too_long_is_left_out_and_the_next_one_goes_in() {
    let long = "x".repeat(3_000_000);
    let outcome = csv(format!(
        "{HEADER}T1,O1,am,{long}\r\nT2,O2,am,\nT3,O3,am,\"{long}\"\nT4,O4,am,"
    ));
    assert_eq!(outcome.refused(), [(2, "length"), (4, "quotes")]);
    assert_eq!(outcome.ids(), ["T2", "T4"]);

    let good = r#"{"ticket_id":"T1","order_number":"O1","session_id":"am"}"#;
    let outcome = ndjson(format!("{{\"x\":\"{long}\"}}\n{good}\n{long}"));
    assert_eq!(outcome.refused(), [(1, "length"), (3, "length")]);
    assert_eq!(outcome.ids(), ["T1"]);
}

#[test]
fn the_longest_line_that_is_taken_is_64_kibibytes() {
    for (length, accepted) in [(65_536, 1), (65_537, 0)] {
        for end in ["", "\n", "\r\n"] {
            let start = "{\"ticket_id\":\"T1\",\"order_number\":\"O1\",\"session_id\":\"am\"}";
            let line = format!("{start}{}{end}", " ".repeat(length - start.len()));
            assert_eq!(
                ndjson(&line).report().accepted,
                accepted,
                "{length} {end:?}"
            );
        }
    }
}

#[test]
fn nesting_without_end_is_a_refused_line_and_no_crash() {
    let good = r#"{"ticket_id":"T1","order_number":"O1","session_id":"am"}"#;
    for depth in [100, 20_000, 100_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let objects = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        for line in [
            deep.clone(),
            "[".repeat(depth),
            objects.clone(),
            format!("{},\"x\":{deep}}}", &good[..good.len() - 1]),
            format!("{},\"zones\":{deep}}}", &good[..good.len() - 1]),
            format!("{},\"x\":{objects}}}", &good[..good.len() - 1]),
        ] {
            let outcome = ndjson(format!("{line}\n{good}\n"));
            assert_eq!(outcome.report().refused_count, 1, "{depth}: {line:.80}");
            assert_eq!(outcome.report().accepted, 1);
        }
    }
    let shallow = format!("{},\"x\":[[\"[[[\\\"[\"]]}}", &good[..good.len() - 1]);
    assert_eq!(ndjson(shallow).report().accepted, 1);
}

#[test]
fn json_with_texts_that_are_none_is_refused() {
    for value in [
        r#""\ud800""#,
        r#""\x""#,
        "\"\u{1}\"",
        "01",
        "-",
        "1-2",
        "nul",
        "'a'",
        "\"a",
    ] {
        let line = format!(
            r#"{{"ticket_id":"T1","order_number":"O1","session_id":"am","label":{value}}}"#
        );
        assert_eq!(ndjson(&line).refused(), [(1, "JSON")], "{value}");
    }
    let outcome = ndjson(r#"{"ticket_id":"T1","order_number":"O1","session_id":"am"} {}"#);
    assert_eq!(outcome.refused(), [(1, "JSON")]);
}

/// Lines of the file that hold something.
fn lines_with_text(file: &str) -> usize {
    let file = file.replace("\r\n", "\n").replace('\r', "\n");
    file.split('\n')
        .filter(|line| !line.trim().is_empty())
        .count()
}

/// Bytes that mean something to a parser, more often than chance would give.
fn nasty_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("\"".to_owned()),
        Just(",".to_owned()),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n".to_owned()),
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("[".to_owned()),
        Just("\\".to_owned()),
        Just("\u{0}".to_owned()),
        Just("\t".to_owned()),
        Just("T1,O1,am,x\n".to_owned()),
        Just(HEADER.to_owned()),
        Just("{\"ticket_id\":1,\"order_number\":\"O\",\"session_id\":\"am\"}\n".to_owned()),
        any::<String>(),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

/// All of the outcome that can be compared.
fn told(outcome: &Outcome) -> String {
    format!("{:?} {:?}", outcome.result, outcome.tickets)
}

#[derive(Debug, Clone)]
enum Kind {
    Good,
    GoodInQuotes,
    NoSession,
    Open,
    Stray,
    TooFew,
    Blank,
}

proptest! {
    #[test]
    fn no_bytes_whatever_crash_it_and_crumbs_give_the_same_answer(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            nasty_text().prop_map(String::into_bytes),
            nasty_text().prop_map(|text| format!("{HEADER}{text}").into_bytes()),
        ],
        size in 1_usize..9,
    ) {
        for format in [ImportFormat::Csv, ImportFormat::Ndjson] {
            let whole = import_from(&bytes[..], format);
            let crumbs = import_from(Crumbs { bytes: &bytes, size }, format);
            prop_assert_eq!(told(&whole), told(&crumbs));
        }
    }

    #[test]
    fn every_line_of_json_is_accepted_or_refused(text in nasty_text()) {
        // What begins with NUL is taken for UTF-16.
        let text = format!("{{}}\n{text}");
        let outcome = ndjson(&text);
        let report = outcome.report();
        prop_assert_eq!(
            report.accepted + report.refused_count,
            lines_with_text(&text) as u64
        );
    }

    #[test]
    fn every_record_of_csv_is_accepted_or_refused_by_its_own_line(
        kinds in prop::collection::vec(
            prop_oneof![
                Just(Kind::Good), Just(Kind::GoodInQuotes), Just(Kind::NoSession),
                Just(Kind::Open), Just(Kind::Stray), Just(Kind::TooFew), Just(Kind::Blank),
            ],
            0..60,
        ),
        crlf: bool,
    ) {
        let (mut file, mut line, mut good, mut bad) = (HEADER.to_owned(), 2, 0, Vec::new());
        for (i, kind) in kinds.iter().enumerate() {
            let (text, lines, field) = match kind {
                Kind::Good => (format!("T{i},O,am,x\n"), 1, None),
                Kind::GoodInQuotes => (format!("T{i},O,am,\"x \"\"y\"\", z\n\"\n"), 2, None),
                Kind::NoSession => (format!("T{i},O,pm,x\n"), 1, Some("session_id")),
                Kind::Open => (format!("T{i},O,am,\"x\n"), 1, Some("quotes")),
                Kind::Stray => (format!("T{i},O,am,\"x\"y\n"), 1, Some("quotes")),
                Kind::TooFew => (format!("T{i},O,am\n"), 1, Some("columns")),
                Kind::Blank => (" , ,\n".to_owned(), 1, None),
            };
            good += u64::from(field.is_none() && !matches!(kind, Kind::Blank));
            bad.extend(field.map(|field| (line, field)));
            line += lines;
            file.push_str(&text);
        }
        if crlf {
            file = file.replace('\n', "\r\n");
        }
        let outcome = csv(file);
        prop_assert_eq!(outcome.report().accepted, good);
        prop_assert_eq!(outcome.refused(), bad);
    }
}
