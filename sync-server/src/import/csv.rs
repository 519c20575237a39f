//! Tickets from CSV: a header that names the columns in any order, then a ticket per record.
//! Fields are separated by comma, or by semicolon or tab where the header is.

use std::borrow::Cow;
use std::io::Read;

use memchr::memchr;

use super::columns::{Cell, Cells, Column, Header};
use super::intake::Intake;
use super::line::TicketLine;
use super::records::Records;
use super::report::{FileFault, LineFault};
use super::{FileRules, fields};

/// Reads all records into the intake.
pub(super) fn read<R: Read>(
    records: &mut Records<R>,
    rules: FileRules<'_>,
    intake: &mut Intake<'_>,
) -> Result<(), FileFault> {
    let delimiter = delimiter(records.peek()?);
    records.delimit(delimiter);
    let header = header(records, delimiter, rules, intake)?;
    while let Some(record) = records.next()? {
        let ticket = match record.text {
            Ok(text) if is_blank(text, delimiter) => continue,
            Ok(text) => ticket(text, delimiter, &header, rules),
            Err(fault) => Err(fault),
        };
        intake.push(record.line, ticket)?;
    }
    Ok(())
}

/// The one of comma, semicolon and tab that the first line has most of.
fn delimiter(start: &[u8]) -> u8 {
    let line = start
        .split(|b| matches!(b, b'\n' | b'\r'))
        .find(|line| !line.is_empty());
    let count = |delimiter: &u8| {
        line.unwrap_or_default()
            .iter()
            .filter(|byte| *byte == delimiter)
            .count()
    };
    // Of equal counts the last is taken.
    [b'\t', b';', b',']
        .into_iter()
        .max_by_key(count)
        .unwrap_or(b',')
}

/// Reads the header, which is the first record that is not blank.
fn header<R: Read>(
    records: &mut Records<R>,
    delimiter: u8,
    rules: FileRules<'_>,
    intake: &mut Intake<'_>,
) -> Result<Header, FileFault> {
    while let Some(record) = records.next()? {
        let line = record.line;
        let text = record
            .text
            .map_err(|fault| FileFault::Header { line, fault })?;
        if is_blank(text, delimiter) {
            continue;
        }
        let header = Header::new(names(text, delimiter), rules.names)?;
        header.tell(names(text, delimiter), rules, intake);
        return Ok(header);
    }
    Err(FileFault::Empty)
}

fn names(text: &str, delimiter: u8) -> impl Iterator<Item = Cow<'_, str>> {
    Fields {
        rest: Some(text),
        delimiter,
    }
}

fn ticket(
    text: &str,
    delimiter: u8,
    header: &Header,
    rules: FileRules<'_>,
) -> Result<TicketLine, LineFault> {
    let mut cells = Cells::default();
    let mut count = 0;
    for field in (Fields {
        rest: Some(text),
        delimiter,
    }) {
        match header.columns.get(count) {
            None | Some(None) => {}
            // Dropped here, unread: no ticket of this venue holds a document.
            Some(Some(Column::Document)) if !rules.takes_documents => {}
            Some(Some(column)) => cells.set(*column, Cell::Text(field)),
        }
        count += 1;
    }
    let expected = header.columns.len();
    if count != expected {
        let problem = format!("{count} columns, where the header has {expected}");
        return Err(LineFault::new("columns", problem));
    }
    fields::ticket(&cells, rules.time_zone)
}

/// Whether a record holds nothing, as the rows below a spreadsheet's table do.
fn is_blank(text: &str, delimiter: u8) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || c == char::from(delimiter) || c == '"')
}

/// The fields of a record whose quotes are in order.
struct Fields<'t> {
    /// None after the last.
    rest: Option<&'t str>,
    delimiter: u8,
}

impl<'t> Iterator for Fields<'t> {
    type Item = Cow<'t, str>;

    fn next(&mut self) -> Option<Cow<'t, str>> {
        let rest = self.rest?;
        if let Some(quoted) = rest.strip_prefix('"') {
            let (inner, after) = unquote(quoted);
            // After the closing quote there is a delimiter, or nothing.
            self.rest = after.get(1..);
            return Some(inner);
        }
        match memchr(self.delimiter, rest.as_bytes()) {
            Some(at) => {
                self.rest = rest.get(at + 1..);
                rest.get(..at).map(Cow::Borrowed)
            }
            None => self.rest.take().map(Cow::Borrowed),
        }
    }
}

/// The field up to its closing quote, and what comes after that.
fn unquote(quoted: &str) -> (Cow<'_, str>, &str) {
    let bytes = quoted.as_bytes();
    let mut at = 0;
    let mut doubled = false;
    while let Some(quote) = memchr(b'"', &bytes[at..]) {
        at += quote;
        if bytes.get(at + 1) != Some(&b'"') {
            break;
        }
        doubled = true;
        at += 2;
    }
    let (inner, after) = quoted.split_at(at);
    let inner = if doubled {
        inner.replace("\"\"", "\"").into()
    } else {
        Cow::Borrowed(inner)
    };
    (inner, after.get(1..).unwrap_or_default())
}
