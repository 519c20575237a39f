//! Tickets from the first sheet of a workbook: a row that names the columns, then a ticket per
//! row. A workbook is an archive with its texts apart from its cells, so it cannot be read as it
//! comes: it is held in memory, and what it may unpack to is bounded before anything is parsed.

use std::borrow::Cow;
use std::io::{self, Cursor, Read};

use calamine::{DataRef, Reader, Xlsx, XlsxError};
use jiff::ToSpan;
use jiff::civil::DateTime;
use zip::ZipArchive;

use super::FileRules;
use super::columns::{Cell, Cells, Column, Header};
use super::fields;
use super::intake::Intake;
use super::limits::{XLSX_BYTES, XLSX_COLUMNS, XLSX_PARTS, XLSX_TEXTS_BYTES, XLSX_UNPACKED_BYTES};
use super::report::FileFault;
use super::text::trimmed;

/// Floats hold whole numbers below this exactly, and spreadsheets show 15 digits: of a longer
/// number the last digits are lost.
const EXACT: f64 = 1e15;

/// Reads all rows into the intake.
pub(super) fn read<R: Read>(
    input: R,
    rules: FileRules<'_>,
    intake: &mut Intake<'_>,
) -> Result<(), FileFault> {
    let bytes = whole(input)?;
    check_parts(&bytes)?;
    let mut book = Xlsx::new(Cursor::new(bytes)).map_err(|error| fault(&error))?;
    let sheets = book.sheet_names();
    let first = sheets.first().ok_or(FileFault::Empty)?;
    let mut cells = book
        .worksheet_cells_reader(first)
        .map_err(|error| fault(&error))?;
    let mut rows = Rows {
        rules,
        intake,
        header: None,
    };
    let (mut at, mut row) = (0, Vec::new());
    while let Some(cell) = cells.next_cell().map_err(|error| fault(&error))? {
        let (line, column) = cell.get_position();
        if line != at {
            rows.take(at, std::mem::take(&mut row))?;
            at = line;
        }
        match cell.get_value() {
            DataRef::Empty => {}
            _ if column >= XLSX_COLUMNS => {
                return Err(FileFault::WorkbookTooLarge(
                    "has more than 256 columns; leave the others out",
                ));
            }
            value => row.push((column as usize, value.clone())),
        }
    }
    rows.take(at, row)?;
    match rows.header {
        Some(_) => Ok(()),
        None => Err(FileFault::Empty),
    }
}

fn whole(input: impl Read) -> Result<Vec<u8>, FileFault> {
    let mut bytes = Vec::new();
    let limit = XLSX_BYTES as u64;
    input.take(limit + 1).read_to_end(&mut bytes)?;
    match bytes.as_slice() {
        [] => Err(FileFault::Empty),
        _ if bytes.len() as u64 > limit => Err(FileFault::WorkbookTooLarge(
            "has more than 16 MiB; save it as CSV, which may be of any size",
        )),
        [0xD0, 0xCF, 0x11, 0xE0, ..] => Err(FileFault::Workbook(
            "is an old one (XLS) or locked by a password; save it as XLSX, without one",
        )),
        [b'P', b'K', ..] => Ok(bytes),
        _ => Err(FileFault::Workbook(
            "is none: XLSX files begin otherwise; name the content type that the file has",
        )),
    }
}

/// Unpacks every part, and throws away what comes out: what an archive says of its sizes may be
/// a lie.
fn check_parts(bytes: &[u8]) -> Result<(), FileFault> {
    let broken = |_| FileFault::Workbook(BROKEN);
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(broken)?;
    if archive.len() > XLSX_PARTS {
        return Err(FileFault::WorkbookTooLarge(TOO_LARGE));
    }
    let (mut unpacked, mut texts) = (0, 0);
    for index in 0..archive.len() {
        let part = archive.by_index(index).map_err(broken)?;
        let name = part.name().map_err(broken)?;
        let is_sheet = name.to_ascii_lowercase().contains("worksheets/");
        let limit = XLSX_UNPACKED_BYTES - unpacked;
        let size = io::copy(&mut part.take(limit + 1), &mut io::sink())
            .map_err(|_| FileFault::Workbook(BROKEN))?;
        if size > limit {
            return Err(FileFault::WorkbookTooLarge(TOO_LARGE));
        }
        unpacked += size;
        texts += if is_sheet { 0 } else { size };
        if texts > XLSX_TEXTS_BYTES {
            return Err(FileFault::WorkbookTooLarge(TOO_LARGE));
        }
    }
    Ok(())
}

const BROKEN: &str = "cannot be read; save it again as XLSX, or as CSV";
const TOO_LARGE: &str = "unpacks to more than a workbook of tickets has; save it as CSV, which may \
     be of any size";

/// What is wrong with a workbook. calamine's own messages can repeat what they found.
fn fault(error: &XlsxError) -> FileFault {
    FileFault::Workbook(match error {
        XlsxError::Password => "is locked by a password; save it without one",
        _ => BROKEN,
    })
}

/// Takes a sheet's rows.
struct Rows<'r, 's> {
    rules: FileRules<'r>,
    intake: &'r mut Intake<'s>,
    header: Option<Header>,
}

impl Rows<'_, '_> {
    /// A row of the sheet, counted from 0: its cells and their columns.
    fn take(&mut self, row: u32, cells: Vec<(usize, DataRef<'_>)>) -> Result<(), FileFault> {
        let cells = cells.into_iter();
        let cells: Vec<_> = cells.map(|(at, value)| (at, cell(value))).collect();
        let is_blank =
            |cell: &Cell<'_>| matches!(cell, Cell::Text(text) if trimmed(text).is_empty());
        if cells.iter().all(|(_, cell)| is_blank(cell)) {
            return Ok(());
        }
        let Some(header) = &self.header else {
            let header = header(cells, self.rules, self.intake)?;
            self.header = Some(header);
            return Ok(());
        };
        let mut fields = Cells::default();
        for (at, cell) in cells {
            match header.columns.get(at) {
                None if is_blank(&cell) => {}
                None => self.intake.name_unknown(&format!("(column {})", at + 1)),
                Some(None) => {}
                // Dropped here, unread: no ticket of this venue holds a document.
                Some(Some(Column::Document)) if !self.rules.takes_documents => {}
                Some(Some(column)) => fields.set(*column, cell),
            }
        }
        let ticket = fields::ticket(&fields, self.rules.time_zone);
        self.intake.push(u64::from(row) + 1, ticket)
    }
}

fn header(
    cells: Vec<(usize, Cell<'_>)>,
    rules: FileRules<'_>,
    intake: &mut Intake<'_>,
) -> Result<Header, FileFault> {
    let width = cells.last().map_or(0, |(at, _)| at + 1);
    let mut names = vec![Cow::Borrowed(""); width];
    for (at, cell) in cells {
        if let (Some(name), Cell::Text(text)) = (names.get_mut(at), cell) {
            *name = text;
        }
    }
    let header = Header::new(names.iter().cloned(), rules.names)?;
    header.tell(names.into_iter(), rules, intake);
    Ok(header)
}

/// A cell as the fields take it.
fn cell(value: DataRef<'_>) -> Cell<'_> {
    match value {
        DataRef::Empty => Cell::Absent,
        DataRef::String(text) | DataRef::DateTimeIso(text) => Cell::Text(text.into()),
        DataRef::SharedString(text) => Cell::Text(text.into()),
        DataRef::Int(number) => Cell::Text(number.to_string().into()),
        DataRef::Float(number) => Cell::Text(number_text(number).into()),
        DataRef::DateTime(time) if time.is_datetime() => {
            let (year, month, day, hour, minute, second, milli) = time.to_ymd_hms_milli();
            match time_text([month, day, hour, minute, second], year, milli) {
                Some(text) => Cell::Text(text.into()),
                None => Cell::Other("a date out of the calendar"),
            }
        }
        DataRef::DateTime(_) | DataRef::DurationIso(_) => Cell::Other("a length of time"),
        DataRef::Bool(_) => Cell::Other("true or false"),
        DataRef::Error(_) => Cell::Other("an error of the spreadsheet"),
    }
}

/// A number as people write it: ids and phones are whole ones. One whose last digits are lost
/// reads as such.
fn number_text(number: f64) -> String {
    match number {
        _ if number.abs() >= EXACT => format!("{number:E}").replace('E', "E+"),
        _ if number.fract() == 0.0 => format!("{number:.0}"),
        _ => number.to_string(),
    }
}

/// A local time of the venue, as a day's fraction in a spreadsheet means it: to the second.
fn time_text(parts: [u8; 5], year: u16, milli: u16) -> Option<String> {
    let [month, day, hour, minute, second] = parts.map(|part| i8::try_from(part).unwrap_or(-1));
    let year = i16::try_from(year).ok()?;
    let time = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    let rounded = time.checked_add(i64::from(milli >= 500).seconds()).ok()?;
    Some(rounded.strftime("%Y-%m-%d %H:%M:%S").to_string())
}
