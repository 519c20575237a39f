//! Files of any size, and inputs and sinks that fail on the way.

use std::io::{self, Read};

use jiff::tz::TimeZone;
use stile_sync_server::import::{
    CHUNK_LINES, Charset, FileFault, FileRules, ImportFormat, LineFault, OUR_NAMES,
    REFUSED_LINES_NAMED, read_tickets,
};

use crate::{Crumbs, csv, import_from, ndjson};

const HEADER: &str = "ticket_id,order_number,session_id\n";

static ZONE: TimeZone = TimeZone::UTC;
const RULES: FileRules<'static> = FileRules {
    time_zone: &ZONE,
    takes_documents: false,
    names: &OUR_NAMES,
    charset: Charset::UTF_8,
};

/// A file that is made while it is read: `line(0)`, `line(1)`, … `line(count - 1)`.
struct Endless<F> {
    line: F,
    count: u64,
    next: u64,
    rest: Vec<u8>,
}

fn endless<F: Fn(u64) -> String>(count: u64, line: F) -> Endless<F> {
    Endless {
        line,
        count,
        next: 0,
        rest: Vec::new(),
    }
}

impl<F: Fn(u64) -> String> Read for Endless<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() && self.next < self.count {
            self.rest = (self.line)(self.next).into_bytes();
            self.next += 1;
        }
        let length = self.rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest[..length]);
        self.rest.drain(..length);
        Ok(length)
    }
}

#[test]
fn the_sink_gets_a_large_file_in_chunks_as_it_is_read() {
    let input = endless(200_001, |i| match i {
        0 => HEADER.to_owned(),
        _ => format!("T{i},O{i},am\n"),
    });
    let (mut expected_line, mut largest) = (2, 0);
    let report = read_tickets(input, ImportFormat::Csv, RULES, &mut |chunk| {
        largest = largest.max(chunk.tickets.len());
        for line in &chunk.tickets {
            assert_eq!(line.line, expected_line);
            expected_line += 1;
        }
        Ok(Vec::new())
    })
    .unwrap();
    assert_eq!((report.accepted, report.refused_count), (200_000, 0));
    assert_eq!(largest, CHUNK_LINES);
}

#[test]
fn a_report_names_no_more_than_its_share_of_bad_lines_and_counts_all() {
    let input = endless(50_000, |i| match i % 2 {
        0 => "{\n".to_owned(),
        _ => format!("{{\"ticket_id\":{i},\"order_number\":1,\"session_id\":\"pm\",\"x{i}\":0}}\n"),
    });
    let outcome = import_from(input, ImportFormat::Ndjson);
    let report = outcome.report();
    assert_eq!((report.accepted, report.refused_count), (0, 50_000));
    let lines: Vec<_> = report.refused.iter().map(|refused| refused.line).collect();
    assert_eq!(lines, (1..=REFUSED_LINES_NAMED as u64).collect::<Vec<_>>());
    assert!(report.unknown_columns.len() <= 100);
}

#[test]
fn an_unknown_member_with_a_long_name_is_named_in_short_and_once() {
    let name = "很".repeat(1_000);
    let line =
        format!("{{\"ticket_id\":1,\"order_number\":1,\"session_id\":\"am\",\"{name}\":0}}\n");
    let outcome = ndjson(line.repeat(2));
    assert_eq!(outcome.report().unknown_columns, ["很".repeat(64)]);
}

#[test]
fn a_line_without_end_is_left_out_in_the_same_memory() {
    let input = endless(5_000, |i| match i {
        0 => HEADER.to_owned(),
        4_999 => "\nT1,O1,am\n".to_owned(),
        _ => "x".repeat(10_000),
    });
    let outcome = import_from(input, ImportFormat::Csv);
    assert_eq!(outcome.refused(), [(2, "length")]);
    assert_eq!(outcome.ids(), ["T1"]);
}

#[test]
fn a_large_file_in_crumbs_gives_the_same_tickets() {
    let mut file = "ticket_id,order_number,session_id,attention\r\n".to_owned();
    for i in 0..3_000 {
        file.push_str(&format!(
            "T{i},O{i},am,\"{}\r\n{}\"\r\n",
            "x".repeat(i % 300),
            "é".repeat(i % 90)
        ));
    }
    let whole = csv(&file);
    let crumbs = import_from(
        Crumbs {
            bytes: file.as_bytes(),
            size: 7,
        },
        ImportFormat::Csv,
    );
    assert_eq!(whole.report().accepted, 3_000);
    assert_eq!(whole.tickets, crumbs.tickets);
}

#[test]
fn text_that_stops_being_utf_8_late_says_how_many_lines_had_gone_in() {
    let mut file = HEADER.as_bytes().to_vec();
    (0..2_500).for_each(|i| file.extend_from_slice(format!("T{i},O{i},am\n").as_bytes()));
    file.extend_from_slice(b"T,\xC9\xCF,am\n");
    let outcome = csv(file);
    assert!(matches!(
        outcome.fault(),
        FileFault::NotUtf8 { line: 2_502 }
    ));
    assert!(
        outcome
            .error()
            .ends_with("2000 lines before it had gone in")
    );
    assert_eq!(outcome.tickets.len(), 2_000);
}

#[test]
fn a_connection_that_breaks_off_is_no_end_of_the_file() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let start = format!("{HEADER}T1,O1,am\nT2,O2,am\n");
    let outcome = import_from(start.as_bytes().chain(Broken), ImportFormat::Csv);
    assert!(matches!(outcome.fault(), FileFault::Read(_)));
    assert!(outcome.tickets.is_empty());
}

#[test]
fn a_read_that_was_interrupted_is_tried_again() {
    struct Interrupted(bool);
    impl Read for Interrupted {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Ok(0);
            }
            Err(io::ErrorKind::Interrupted.into())
        }
    }
    let input = Interrupted(false).chain("ticket_id,order_number,session_id\nT1,O1,am".as_bytes());
    assert_eq!(import_from(input, ImportFormat::Csv).ids(), ["T1"]);
}

#[test]
fn a_sink_that_fails_ends_the_import_and_what_it_took_is_said() {
    let input = endless(5_001, |i| match i {
        0 => HEADER.to_owned(),
        _ => format!("T{i},O{i},am\n"),
    });
    let mut chunks = 0;
    let error = read_tickets(input, ImportFormat::Csv, RULES, &mut |_| {
        chunks += 1;
        if chunks > 3 {
            Err("disk full".into())
        } else {
            Ok(Vec::new())
        }
    })
    .unwrap_err();
    assert!(matches!(error.fault, FileFault::Sink(_)));
    assert_eq!((error.accepted, chunks), (3_000, 4));
    assert!(error.to_string().contains("disk full"));
}

#[test]
fn refusals_of_reader_and_sink_are_reported_in_the_order_of_the_file() {
    let file = format!("{HEADER}T1,O1,pm\nT2\nT3,O3,am\nT4,O4,pm\nT5\n");
    let refused = csv(&file);
    assert_eq!(
        refused.refused(),
        [
            (2, "session_id"),
            (3, "columns"),
            (5, "session_id"),
            (6, "columns")
        ]
    );
    // A sink that names a line twice has still refused one line.
    let report = read_tickets(file.as_bytes(), ImportFormat::Csv, RULES, &mut |_| {
        let fault = LineFault::new("session_id", "no such session");
        Ok(vec![(5, fault.clone()), (5, fault)])
    })
    .unwrap();
    assert_eq!((report.accepted, report.refused_count), (2, 3));
}
