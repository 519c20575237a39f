//! The columns of a ticket file, by what they mean, and their names in English and Chinese; and
//! one line's fields, sorted by column, as CSV and NDJSON both hand them on.

use std::borrow::Cow;

use super::FileRules;
use super::intake::Intake;
use super::report::{FileFault, LineFault};
use super::text::trimmed;

/// What a column or member means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    TicketId,
    OrderNumber,
    SessionId,
    HolderName,
    Phone,
    Document,
    Code,
    Admits,
    Zones,
    Label,
    Category,
    Attention,
    AdmitFrom,
    AdmitUntil,
    Status,
    CancelCause,
    Source,
    AgeGroup,
    SourceVersion,
}

/// Every column with its English name and, where it has one, its Chinese name; in the order of
/// [`Column`].
const NAMES: [(Column, &str, &str); 19] = [
    (Column::TicketId, "ticket_id", "票号"),
    (Column::OrderNumber, "order_number", "订单号"),
    (Column::SessionId, "session_id", "场次"),
    (Column::HolderName, "holder_name", "姓名"),
    (Column::Phone, "phone", "手机号"),
    (Column::Document, "document", "证件号"),
    (Column::Code, "code", "票码"),
    (Column::Admits, "admits", "人数"),
    (Column::Zones, "zones", ""),
    (Column::Label, "label", "座位"),
    (Column::Category, "category", ""),
    (Column::Attention, "attention", ""),
    (Column::AdmitFrom, "admit_from", ""),
    (Column::AdmitUntil, "admit_until", ""),
    (Column::Status, "status", ""),
    (Column::CancelCause, "cancel_cause", ""),
    (Column::Source, "source", ""),
    (Column::AgeGroup, "age_group", ""),
    (Column::SourceVersion, "source_version", ""),
];

/// The columns that every ticket needs.
const NEEDED: [Column; 3] = [Column::TicketId, Column::OrderNumber, Column::SessionId];

impl Column {
    /// The English name, by which faults name it.
    pub(super) fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The column of that name, which may be in capitals and have spaces around it, within it
    /// or for its underscores.
    pub(super) fn named(name: &str) -> Option<Self> {
        if name.is_empty() {
            return None;
        }
        Self::named_exactly(name).or_else(|| {
            let name = trimmed(name).to_ascii_lowercase();
            Self::named_exactly(&name)
                .or_else(|| Self::named_exactly(&name.replace(char::is_whitespace, "_")))
                .or_else(|| Self::named_exactly(&name.replace(char::is_whitespace, "")))
        })
    }

    fn named_exactly(name: &str) -> Option<Self> {
        let column = NAMES.iter().find(|(_, english, chinese)| {
            *english == name || (!chinese.is_empty() && *chinese == name)
        });
        column.map(|(column, _, _)| *column)
    }

    /// A fault in this column.
    pub(super) fn fault(self, problem: impl Into<Cow<'static, str>>) -> LineFault {
        LineFault::new(self.name(), problem)
    }
}

/// What a file calls its columns, where that is not what they are called here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnNames(Vec<(Column, String)>);

/// The names that columns have here.
pub static OUR_NAMES: ColumnNames = ColumnNames(Vec::new());

/// Why a column cannot be called so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ColumnNameError {
    /// What is called so is no column.
    #[error("there is no such column; what a ticket file can hold stands in the API's document")]
    NoColumn,
    /// No name.
    #[error("a name is empty")]
    Empty,
    /// Two names for one column, or one for two.
    #[error("a column or a name is there twice")]
    Twice,
}

impl ColumnNames {
    /// The same, but that the column (`ticket_id`, `phone`, …) is called `name` in the file, and
    /// by no other name.
    pub fn with(mut self, column: &str, name: &str) -> Result<Self, ColumnNameError> {
        let column = Column::named(column).ok_or(ColumnNameError::NoColumn)?;
        let name = comparable(name);
        if name.is_empty() {
            return Err(ColumnNameError::Empty);
        }
        let is_there = |(other, called): &(Column, String)| *other == column || *called == name;
        if self.0.iter().any(is_there) {
            return Err(ColumnNameError::Twice);
        }
        self.0.push((column, name));
        Ok(self)
    }

    /// The column that a file calls so.
    pub(super) fn column(&self, name: &str) -> Option<Column> {
        if self.0.is_empty() {
            return Column::named(name);
        }
        let wanted = comparable(name);
        if let Some((column, _)) = self.0.iter().find(|(_, called)| *called == wanted) {
            return Some(*column);
        }
        let is_called_otherwise = |column: &Column| self.0.iter().any(|(other, _)| other == column);
        Column::named(name).filter(|column| !is_called_otherwise(column))
    }
}

fn comparable(name: &str) -> String {
    trimmed(name).to_lowercase()
}

/// Where a header has each column.
pub(super) struct Header {
    /// The meaning of each column of the file; none for those that are ignored.
    pub(super) columns: Vec<Option<Column>>,
}

impl Header {
    /// Sorts the names of a header; the needed ones must be there, and none twice.
    pub(super) fn new<'n>(
        names: impl Iterator<Item = Cow<'n, str>>,
        called: &ColumnNames,
    ) -> Result<Self, FileFault> {
        let columns: Vec<_> = names.map(|name| called.column(&name)).collect();
        let count = |column| {
            columns
                .iter()
                .filter(|other| **other == Some(column))
                .count()
        };
        if let Some((column, ..)) = NAMES.into_iter().find(|(column, ..)| count(*column) > 1) {
            return Err(FileFault::DuplicateColumn {
                column: column.name(),
            });
        }
        let missing: Vec<_> = NEEDED
            .into_iter()
            .filter(|column| count(*column) == 0)
            .collect();
        if !missing.is_empty() {
            let columns = missing.into_iter().map(Column::name).collect();
            return Err(FileFault::MissingColumns { columns });
        }
        Ok(Self { columns })
    }

    /// Takes note of the columns that are not read.
    pub(super) fn tell<'n>(
        &self,
        names: impl Iterator<Item = Cow<'n, str>>,
        rules: FileRules<'_>,
        intake: &mut Intake<'_>,
    ) {
        for (at, (column, name)) in self.columns.iter().zip(names).enumerate() {
            match column {
                None if trimmed(&name).is_empty() => {
                    intake.name_unknown(&format!("(column {})", at + 1));
                }
                None => intake.name_unknown(&name),
                Some(Column::Document) if !rules.takes_documents => {
                    intake.name_dropped(Column::Document);
                }
                Some(_) => {}
            }
        }
    }
}

/// One field as it stands in the file. Not printable, since it may be a phone number.
#[derive(Default)]
pub(super) enum Cell<'t> {
    /// No such column, or JSON's null.
    #[default]
    Absent,
    /// A text, or an integer in decimal.
    Text(Cow<'t, str>),
    /// A JSON array of texts and integers.
    List(Vec<Cow<'t, str>>),
    /// A JSON value that no column takes; says what it is.
    Other(&'static str),
}

/// The fields of one line.
#[derive(Default)]
pub(super) struct Cells<'t> {
    cells: [Cell<'t>; NAMES.len()],
}

impl<'t> Cells<'t> {
    pub(super) fn set(&mut self, column: Column, cell: Cell<'t>) {
        self.cells[column as usize] = cell;
    }

    pub(super) fn get(&self, column: Column) -> &Cell<'t> {
        &self.cells[column as usize]
    }

    /// The text of a field without outer spaces; empty if there is none.
    pub(super) fn text(&self, column: Column) -> Result<&str, LineFault> {
        match self.get(column) {
            Cell::Absent => Ok(""),
            Cell::Text(text) => Ok(trimmed(text)),
            Cell::List(_) => Err(column.fault("must be a text or an integer, not a list")),
            Cell::Other(kind) => {
                Err(column.fault(format!("must be a text or an integer, not {kind}")))
            }
        }
    }
}
