//! Ticket files through the import's public door: the cases that venues sent, the kinds that
//! they stand for, broken files, and files of any size.

#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of tests, as the tests themselves

mod broken;
mod cases;
mod documents;
mod fields;
mod files;
mod senders;
mod streaming;
#[path = "../bed/workbook.rs"]
mod workbook;
mod workbooks;

use std::collections::BTreeMap;
use std::io::{self, Read};

use jiff::tz::TimeZone;
use stile_sync_server::import::{
    FileFault, FileRules, ImportError, ImportFormat, ImportReport, LineFault, NumberedLine,
    RefusedLine, TicketLine, read_tickets,
};

/// What came of an import at a venue in Shanghai whose only session is `am`.
struct Outcome {
    result: Result<ImportReport, ImportError>,
    tickets: BTreeMap<String, TicketLine>,
}

impl Outcome {
    fn report(&self) -> &ImportReport {
        self.result.as_ref().unwrap()
    }

    /// The lines that did not go in, and which field was wrong.
    fn refused(&self) -> Vec<(u64, &str)> {
        self.report()
            .refused
            .iter()
            .map(|line| (line.line, line.field.as_str()))
            .collect()
    }

    fn fault(&self) -> &FileFault {
        &self.result.as_ref().unwrap_err().fault
    }

    fn error(&self) -> String {
        self.result.as_ref().unwrap_err().to_string()
    }

    fn ids(&self) -> Vec<&str> {
        self.tickets.keys().map(String::as_str).collect()
    }
}

/// The sink of that venue: keeps the later of two lines of a ticket.
fn keep(
    tickets: &mut BTreeMap<String, TicketLine>,
    lines: Vec<NumberedLine>,
) -> Vec<(u64, LineFault)> {
    let mut refused = Vec::new();
    for NumberedLine { line, ticket } in lines {
        if ticket.session_id.as_str() == "am" {
            tickets.insert(ticket.ticket_id.as_str().to_owned(), ticket);
        } else {
            refused.push((line, LineFault::new("session_id", "no such session")));
        }
    }
    refused
}

fn import_from(input: impl Read, format: ImportFormat) -> Outcome {
    import_at(input, format, false)
}

/// The same, where visitors may enter with their documents.
fn import_at(input: impl Read, format: ImportFormat, takes_documents: bool) -> Outcome {
    let zone = TimeZone::get("Asia/Shanghai").unwrap();
    let rules = FileRules {
        takes_documents,
        ..FileRules::new(&zone)
    };
    import_with(input, format, rules)
}

fn import_with(input: impl Read, format: ImportFormat, rules: FileRules<'_>) -> Outcome {
    let mut tickets = BTreeMap::new();
    let result = read_tickets(input, format, rules, &mut |chunk| {
        Ok(keep(&mut tickets, chunk.tickets))
    });
    Outcome { result, tickets }
}

fn csv(text: impl AsRef<[u8]>) -> Outcome {
    import_from(text.as_ref(), ImportFormat::Csv)
}

fn ndjson(text: impl AsRef<[u8]>) -> Outcome {
    import_from(text.as_ref(), ImportFormat::Ndjson)
}

/// The one ticket of a file with one more column than is needed.
fn with_field(column: &str, value: &str) -> Result<TicketLine, RefusedLine> {
    let value = value.replace('"', "\"\"");
    let file = format!("ticket_id,order_number,session_id,{column}\nT1,O1,am,\"{value}\"\n");
    one(csv(file))
}

/// The one ticket of a file with one more member than is needed.
fn with_member(name: &str, json: &str) -> Result<TicketLine, RefusedLine> {
    one(ndjson(format!(
        r#"{{"ticket_id":"T1","order_number":"O1","session_id":"am","{name}":{json}}}"#
    )))
}

fn one(outcome: Outcome) -> Result<TicketLine, RefusedLine> {
    let report = outcome.result.unwrap();
    assert_eq!(report.accepted + report.refused_count, 1);
    match report.refused.into_iter().next() {
        Some(refused) => Err(refused),
        None => Ok(outcome.tickets.into_values().next().unwrap()),
    }
}

/// An input that comes a few bytes at a time, as from a bad line.
struct Crumbs<'b> {
    bytes: &'b [u8],
    size: usize,
}

impl Read for Crumbs<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.size.min(buffer.len());
        self.bytes.read(&mut buffer[..size])
    }
}
