//! Gathers lines into chunks for the sink, and what became of them into the report. Holds one
//! chunk at a time, whatever the size of the file.

use super::Sink;
use super::columns::Column;
use super::guessable::Codes;
use super::limits::{CHUNK_LINES, COLUMN_NAME_CHARS, COLUMNS_NAMED};
use super::line::{Chunk, NumberedLine, TicketLine};
use super::report::{FileFault, ImportReport, LineFault};
use super::text::trimmed;

pub(super) struct Intake<'s> {
    sink: &'s mut Sink<'s>,
    /// Lines of the present chunk for the sink.
    ready: Vec<NumberedLine>,
    /// Lines of the present chunk that could not be read.
    faults: Vec<(u64, LineFault)>,
    report: ImportReport,
    codes: Codes,
}

impl<'s> Intake<'s> {
    pub(super) fn new(sink: &'s mut Sink<'s>) -> Self {
        Self {
            sink,
            ready: Vec::new(),
            faults: Vec::new(),
            report: ImportReport::default(),
            codes: Codes::default(),
        }
    }

    /// Takes the next line of the file, or why it is none.
    pub(super) fn push(
        &mut self,
        line: u64,
        ticket: Result<TicketLine, LineFault>,
    ) -> Result<(), FileFault> {
        match ticket {
            Ok(ticket) => {
                if let Some(code) = &ticket.code {
                    self.codes.add(code.as_str());
                }
                self.ready.push(NumberedLine { line, ticket });
            }
            Err(fault) => self.faults.push((line, fault)),
        }
        if self.ready.len() + self.faults.len() >= CHUNK_LINES {
            self.flush()?;
        }
        Ok(())
    }

    /// Hands the present chunk to the sink.
    pub(super) fn flush(&mut self) -> Result<(), FileFault> {
        let mut faults = std::mem::take(&mut self.faults);
        if !self.ready.is_empty() || !faults.is_empty() {
            let next = Vec::with_capacity(self.ready.len());
            let chunk = Chunk {
                tickets: std::mem::replace(&mut self.ready, next),
                unread: faults
                    .iter()
                    .map(|(_, fault)| fault.ticket_id.clone())
                    .collect(),
            };
            let count = chunk.tickets.len() as u64;
            let mut refused = (self.sink)(chunk).map_err(FileFault::Sink)?;
            refused.sort_by_key(|(line, _)| *line);
            refused.dedup_by_key(|(line, _)| *line);
            self.report.accepted += count.saturating_sub(refused.len() as u64);
            faults.append(&mut refused);
            faults.sort_by_key(|(line, _)| *line);
        }
        self.report.refused_count += faults.len() as u64;
        self.report.name_refused(faults);
        Ok(())
    }

    /// Takes note of a column that means nothing here.
    pub(super) fn name_unknown(&mut self, name: &str) {
        let name = trimmed(name);
        let names = &mut self.report.unknown_columns;
        let is_named = |known: &String| {
            // Long names are cut, so only their beginnings can be compared.
            known == name || known.chars().eq(name.chars().take(COLUMN_NAME_CHARS))
        };
        if names.len() < COLUMNS_NAMED && !names.iter().any(is_named) {
            names.push(name.chars().take(COLUMN_NAME_CHARS).collect());
        }
    }

    /// Takes note of a column that is dropped on arrival.
    pub(super) fn name_dropped(&mut self, column: Column) {
        let names = &mut self.report.dropped_columns;
        if !names.iter().any(|known| known == column.name()) {
            names.push(column.name().to_owned());
        }
    }

    /// Lines that have gone in so far.
    pub(super) fn accepted(&self) -> u64 {
        self.report.accepted
    }

    pub(super) fn into_report(self) -> ImportReport {
        ImportReport {
            warnings: self.codes.warnings(),
            ..self.report
        }
    }
}
