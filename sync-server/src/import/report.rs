//! What an import answers: how many tickets went in, which lines did not and why, or why nothing
//! of the file could. No answer repeats what stands in the file but names of columns.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use stile_core::ids::TicketId;
use utoipa::ToSchema;

use super::ImportFormat;
use super::limits::REFUSED_LINES_NAMED;

/// What became of a file whose lines could be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportReport {
    /// Lines that went in. The same ticket twice counts twice; the later line stands.
    pub accepted: u64,
    /// Lines that did not go in.
    pub refused_count: u64,
    /// The first 1,000 of them, by line.
    pub refused: Vec<RefusedLine>,
    /// Columns or members that mean nothing here and were ignored, once each.
    pub unknown_columns: Vec<String>,
    /// Columns that are known and were dropped unread: `document` where the venue takes none.
    pub dropped_columns: Vec<String>,
    /// What was taken, and should be looked at nevertheless.
    pub warnings: Vec<Warning>,
}

/// Something about a column as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Warning {
    /// The column, in English.
    #[schema(example = "code")]
    pub field: String,
    /// What is doubtful and what to do. Holds nothing of the file.
    pub problem: String,
}

impl ImportReport {
    /// Takes back that lines went in: so many, of which these are the first.
    pub(crate) fn refuse_late(&mut self, count: u64, first: Vec<(u64, LineFault)>) {
        self.accepted = self.accepted.saturating_sub(count);
        self.refused_count += count;
        self.name_refused(first);
        self.refused.sort_by_key(|line| line.line);
    }

    /// Names refused lines, as many as there is room for.
    pub(super) fn name_refused(&mut self, faults: Vec<(u64, LineFault)>) {
        let room = REFUSED_LINES_NAMED.saturating_sub(self.refused.len());
        let named = faults.into_iter().take(room);
        self.refused.extend(named.map(|(line, fault)| RefusedLine {
            line,
            field: fault.field.to_owned(),
            problem: fault.problem.into(),
        }));
    }
}

/// A line that did not go in; the others did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusedLine {
    /// Line of the file, from 1; a CSV's header is a line too.
    pub line: u64,
    /// The column that is wrong, in English; or, of the line as a whole, `columns` (their
    /// number), `quotes`, `length`, `JSON` or `object`.
    #[schema(example = "phone")]
    pub field: String,
    /// What is wrong and what to do. Holds nothing of the line.
    #[schema(example = "fewer than four digits")]
    pub problem: String,
}

/// Why one line does not go in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFault {
    /// As in [`RefusedLine::field`].
    pub field: &'static str,
    /// As in [`RefusedLine::problem`]: nothing of the line may stand here.
    pub problem: Cow<'static, str>,
    /// The ticket that the line is of, where that could be read.
    pub ticket_id: Option<TicketId>,
}

impl LineFault {
    /// A fault of that field.
    pub fn new(field: &'static str, problem: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field,
            problem: problem.into(),
            ticket_id: None,
        }
    }

    /// The same of a line of that ticket.
    #[must_use]
    pub fn of(self, ticket_id: TicketId) -> Self {
        Self {
            ticket_id: Some(ticket_id),
            ..self
        }
    }
}

/// What the sink says when it can take no more, such as a full disk.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Why the file as a whole was refused, and how much of it had gone in by then: nothing, unless
/// it is longer than a chunk and its first fault comes late.
#[derive(Debug, thiserror::Error)]
#[error("{fault}{}", went_in(*accepted))]
pub struct ImportError {
    /// What is wrong.
    pub fault: FileFault,
    /// Lines before the fault that went in.
    pub accepted: u64,
}

fn went_in(accepted: u64) -> String {
    match accepted {
        0 => String::new(),
        1 => "; 1 line before it had gone in".to_owned(),
        _ => format!("; {accepted} lines before it had gone in"),
    }
}

/// Why a file as a whole is refused.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// It holds nothing, or blank lines only.
    #[error("the file is empty")]
    Empty,
    /// It begins as ZIP archives (XLSX is one) or as old spreadsheets do.
    #[error("a spreadsheet or ZIP file, not {format}; send it as XLSX or save it as {format}")]
    Archive {
        /// What it was sent as.
        format: ImportFormat,
    },
    /// It is written in another charset.
    #[error(
        "not UTF-8 (line {line}); name the charset (a Chinese spreadsheet's is mostly gb18030), \
         or save the file as UTF-8"
    )]
    NotUtf8 {
        /// The first line that shows it.
        line: u64,
    },
    /// It is not written in the charset that was named.
    #[error("not {charset} (line {line}); name the charset that the file is written in")]
    NotInCharset {
        /// The first line that shows it.
        line: u64,
        /// The charset that was named.
        charset: &'static str,
    },
    /// A workbook that cannot be read.
    #[error("the workbook {0}")]
    Workbook(&'static str),
    /// A workbook of more than is held in memory.
    #[error("the workbook {0}")]
    WorkbookTooLarge(&'static str),
    /// The header lacks columns that every ticket needs.
    #[error("missing column {}; the first line must name the columns", .columns.join(", "))]
    MissingColumns {
        /// Their English names.
        columns: Vec<&'static str>,
    },
    /// Two columns of the header have the same meaning.
    #[error("column {column} is there twice")]
    DuplicateColumn {
        /// Its English name.
        column: &'static str,
    },
    /// The header line cannot be read.
    #[error("header (line {line}): {}", .fault.problem)]
    Header {
        /// The line that it begins on.
        line: u64,
        /// What is wrong with it.
        fault: LineFault,
    },
    /// The file could not be read to its end.
    #[error("the file broke off: {0}")]
    Read(#[from] std::io::Error),
    /// The sink could take no more.
    #[error("the tickets could not be stored: {0}")]
    Sink(SinkError),
}
