//! CSV as it leaves: RFC 4180, UTF-8, and harmless in a spreadsheet.

use std::borrow::Cow;

use axum::body::Bytes;
use csv::{Terminator, Writer, WriterBuilder};

use crate::error::ServerError;

/// Rows of CSV in memory.
pub struct Rows(Writer<Vec<u8>>);

impl Rows {
    /// None yet.
    pub fn new() -> Self {
        let mut builder = WriterBuilder::new();
        builder.terminator(Terminator::CRLF);
        Self(builder.from_writer(Vec::new()))
    }

    /// Adds a row.
    pub fn add<T: AsRef<[u8]>>(
        &mut self,
        cells: impl IntoIterator<Item = T>,
    ) -> Result<(), ServerError> {
        self.0.write_record(cells).map_err(ServerError::internal)
    }

    /// Their text.
    pub fn into_bytes(self) -> Result<Bytes, ServerError> {
        let text = self.0.into_inner();
        text.map(Bytes::from)
            .map_err(|error| ServerError::internal(error.into_error()))
    }
}

/// A text as a cell that no spreadsheet takes for a formula: where it begins with one of the
/// signs that formulas begin with, an apostrophe stands before it. Full-width signs count, since
/// spreadsheets in the languages that have them take them so.
pub fn safe(text: &str) -> Cow<'_, str> {
    const SIGNS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    match text.starts_with(SIGNS) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_as_a_formula_gets_an_apostrophe_and_nothing_else_does() {
        for text in ["=1+1", "+86", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1"] {
            assert_eq!(safe(text), format!("'{text}"));
        }
        for text in ["", "1-1", "a=b", "'=1", "成人", " =1"] {
            assert_eq!(safe(text), text);
        }
    }

    #[test]
    fn cells_are_quoted_where_rfc_4180_wants_it() {
        let mut rows = Rows::new();
        rows.add(["a", "b,c", "say \"no\"", "two\r\nlines", ""])
            .unwrap();
        let text = rows.into_bytes().unwrap();
        assert_eq!(text, "a,\"b,c\",\"say \"\"no\"\"\",\"two\r\nlines\",\r\n");
    }
}
