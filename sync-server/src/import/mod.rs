//! Takes ticket files of any size from booking systems and spreadsheets: reads them line by
//! line in constant memory, masks what is personal, and hands typed tickets to a sink in chunks.
//! What is stored, and whether a session exists, is the sink's to know.

mod charset;
mod columns;
mod csv;
mod fields;
mod guessable;
mod hashed;
mod holder;
mod intake;
mod limits;
mod line;
mod ndjson;
mod records;
mod report;
mod text;
pub mod times;
mod xlsx;

use std::fmt;
use std::io::Read;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use charset::Charset;
pub use columns::{ColumnNameError, ColumnNames, OUR_NAMES};
pub use hashed::Hashed;
pub(crate) use limits::CODE_BITS;
pub use limits::{CHUNK_LINES, REFUSED_LINES_NAMED, XLSX_BYTES};
pub use line::{Chunk, NumberedLine, OpaqueCode, Phone, TicketLine};
pub use report::{
    FileFault, ImportError, ImportReport, LineFault, RefusedLine, SinkError, Warning,
};

use charset::Decoded;
use intake::Intake;
use records::Records;

/// How a ticket file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportFormat {
    /// A header line that names the columns, then one ticket per record.
    Csv,
    /// One JSON object per line.
    Ndjson,
    /// A workbook whose first sheet is as a CSV file is. Bounded, since it cannot be read as it
    /// comes.
    Xlsx,
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "CSV",
            Self::Ndjson => "NDJSON",
            Self::Xlsx => "XLSX",
        })
    }
}

/// Takes chunks of at most [`CHUNK_LINES`] lines in the order of the file, and answers with the
/// tickets' lines that it does not take, each once, and why.
pub type Sink<'s> = dyn FnMut(Chunk) -> Result<Vec<(u64, LineFault)>, SinkError> + 's;

/// How a file is read, as its venue and its sender say.
#[derive(Debug, Clone, Copy)]
pub struct FileRules<'v> {
    /// Where local times are meant.
    pub time_zone: &'v TimeZone,
    /// Whether the holders' documents are read. If not, they are dropped unread, and the report
    /// says so.
    pub takes_documents: bool,
    /// What it calls its columns.
    pub names: &'v ColumnNames,
    /// What its text is written in; a workbook says that itself.
    pub charset: Charset,
}

impl<'v> FileRules<'v> {
    /// A file in UTF-8, its columns called as they are here, of a venue that takes no documents.
    pub fn new(time_zone: &'v TimeZone) -> Self {
        Self {
            time_zone,
            takes_documents: false,
            names: &OUR_NAMES,
            charset: Charset::UTF_8,
        }
    }
}

/// Reads tickets from a file and hands them to the sink, in memory that does not grow with
/// the file. Blocks as long as `input` and `sink` do.
///
/// A line that cannot be read, and one that the sink does not take, is named in the report, and
/// the others go in. The error is for faults of the whole file; what the sink took before the
/// fault showed is not taken back, and the error says how many lines that were.
pub fn read_tickets<'s, R: Read>(
    input: R,
    format: ImportFormat,
    rules: FileRules<'_>,
    sink: &'s mut Sink<'s>,
) -> Result<ImportReport, ImportError> {
    let mut intake = Intake::new(sink);
    let outcome = match (format, rules.charset.is_utf8()) {
        (ImportFormat::Xlsx, _) => xlsx::read(input, rules, &mut intake),
        (_, true) => read_text(input, format, rules, &mut intake),
        (_, false) => {
            let decoded = Decoded::new(input, rules.charset);
            read_text(decoded, format, rules, &mut intake).map_err(charset::named)
        }
    };
    let outcome = outcome.and_then(|()| intake.flush());
    match outcome {
        Ok(()) => Ok(intake.into_report()),
        Err(fault) => Err(ImportError {
            fault,
            accepted: intake.accepted(),
        }),
    }
}

fn read_text<R: Read>(
    input: R,
    format: ImportFormat,
    rules: FileRules<'_>,
    intake: &mut Intake<'_>,
) -> Result<(), FileFault> {
    let mut records = Records::new(input);
    begin(&mut records, format)?;
    match format {
        ImportFormat::Ndjson => ndjson::read(&mut records, rules, intake),
        _ => csv::read(&mut records, rules, intake),
    }
}

/// What begins a ZIP archive, an empty one, and a spreadsheet of the time before XLSX.
const ARCHIVES: [&[u8]; 3] = [
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
];

/// Looks at the first bytes: refuses what is no text, and leaves a byte order mark out.
fn begin<R: Read>(records: &mut Records<R>, format: ImportFormat) -> Result<(), FileFault> {
    let start = records.peek()?;
    if start.is_empty() {
        return Err(FileFault::Empty);
    }
    if ARCHIVES.iter().any(|magic| start.starts_with(magic)) {
        return Err(FileFault::Archive { format });
    }
    if start.iter().take(2).any(|byte| *byte == 0) {
        // UTF-16, whose NUL bytes would pass for UTF-8.
        return Err(FileFault::NotUtf8 { line: 1 });
    }
    if start.starts_with(b"\xEF\xBB\xBF") {
        records.skip(3);
    }
    Ok(())
}
