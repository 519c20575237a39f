//! Tickets from NDJSON: one object per line, its members named as the columns are.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::columns::{Cell, Cells, Column};
use super::intake::Intake;
use super::limits::JSON_LEVELS;
use super::line::TicketLine;
use super::records::Records;
use super::report::{FileFault, LineFault};
use super::{FileRules, fields};

/// Reads all lines into the intake.
pub(super) fn read<R: Read>(
    records: &mut Records<R>,
    rules: FileRules<'_>,
    intake: &mut Intake<'_>,
) -> Result<(), FileFault> {
    let mut empty = true;
    while let Some(record) = records.next()? {
        let ticket = match record.text {
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => ticket(text, rules, intake),
            Err(fault) => Err(fault),
        };
        empty = false;
        intake.push(record.line, ticket)?;
    }
    if empty { Err(FileFault::Empty) } else { Ok(()) }
}

fn ticket(
    text: &str,
    rules: FileRules<'_>,
    intake: &mut Intake<'_>,
) -> Result<TicketLine, LineFault> {
    let mut json = serde_json::Deserializer::from_str(text);
    let members = Members { rules, intake }
        .deserialize(&mut json)
        .and_then(|members| json.end().map(|()| members))
        .map_err(|error| fault(&error))?;
    fields::ticket(&members?, rules.time_zone)
}

/// What is wrong with the line as a whole. serde_json's own messages can repeat what they found.
fn fault(error: &serde_json::Error) -> LineFault {
    match error.classify() {
        Category::Data => LineFault::new(
            "object",
            "must be one JSON object per line, with no array around them",
        ),
        Category::Eof => LineFault::new("JSON", "not JSON: the line ends before the object does"),
        Category::Syntax | Category::Io => {
            LineFault::new("JSON", format!("not JSON from byte {} on", error.column()))
        }
    }
}

/// Sorts the members of one object. Faults of a member wait until the whole line has proved to
/// be JSON.
struct Members<'m, 's> {
    rules: FileRules<'m>,
    intake: &'m mut Intake<'s>,
}

impl<'de> DeserializeSeed<'de> for Members<'_, '_> {
    type Value = Result<Cells<'de>, LineFault>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_, '_> {
    type Value = Result<Cells<'de>, LineFault>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut cells = Cells::default();
        let mut fault = None;
        while let Some(column) = members.next_key_seed(Name {
            rules: self.rules,
            intake: self.intake,
        })? {
            let raw: &'de RawValue = members.next_value()?;
            let outcome = match column {
                _ if is_too_deep(raw.get()) => Err(LineFault::new(
                    "JSON",
                    format!("nested deeper than {JSON_LEVELS} levels"),
                )),
                None => Ok(()),
                // Dropped here, unread: no ticket of this venue holds a document.
                Some(Column::Document) if !self.rules.takes_documents => Ok(()),
                Some(column) if !matches!(cells.get(column), Cell::Absent) => {
                    Err(column.fault("is there twice"))
                }
                Some(column) => cell(raw).map(|cell| cells.set(column, cell)),
            };
            if let Err(found) = outcome {
                fault.get_or_insert(found);
            }
        }
        Ok(fault.map_or(Ok(cells), Err))
    }
}

/// The column that a member's name means; takes note of names that mean none.
struct Name<'m, 's> {
    rules: FileRules<'m>,
    intake: &'m mut Intake<'s>,
}

impl<'de> DeserializeSeed<'de> for Name<'_, '_> {
    type Value = Option<Column>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_, '_> {
    type Value = Option<Column>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let column = self.rules.names.column(name);
        match column {
            None => self.intake.name_unknown(name),
            Some(Column::Document) if !self.rules.takes_documents => {
                self.intake.name_dropped(Column::Document);
            }
            Some(_) => {}
        }
        Ok(column)
    }
}

/// One member's value. Numbers are taken as they are written, since an id can have more digits
/// than any number type.
fn cell(raw: &RawValue) -> Result<Cell<'_>, LineFault> {
    if !raw.get().starts_with('[') {
        return scalar(raw);
    }
    let values: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(|error| fault(&error))?;
    let mut list = Vec::with_capacity(values.len());
    for value in values {
        match scalar(value)? {
            Cell::Text(text) => list.push(text),
            _ => return Ok(Cell::Other("a list of other things")),
        }
    }
    Ok(Cell::List(list))
}

fn scalar(raw: &RawValue) -> Result<Cell<'_>, LineFault> {
    let text = raw.get();
    Ok(match text.as_bytes().first() {
        Some(b'"') => Cell::Text(string(text)?),
        Some(b'n') => Cell::Absent,
        Some(b't' | b'f') => Cell::Other("true or false"),
        Some(b'[') => Cell::Other("a list"),
        Some(b'{') => Cell::Other("an object"),
        _ if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') => Cell::Text(text.into()),
        _ => Cell::Other("a decimal number"),
    })
}

/// A JSON string, borrowed where it has no escapes.
fn string(text: &str) -> Result<Cow<'_, str>, LineFault> {
    match text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
    {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(text)
            .map(Cow::Owned)
            .map_err(|error| fault(&error)),
    }
}

/// Whether arrays and objects lie deeper in each other than any ticket's. The values here are
/// read without recursion; the limit is for what may come to read them otherwise.
fn is_too_deep(raw: &str) -> bool {
    let (mut level, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in raw.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => level += 1,
            b']' | b'}' if !in_string => level = level.saturating_sub(1),
            _ => {}
        }
        if level > JSON_LEVELS {
            return true;
        }
    }
    false
}
