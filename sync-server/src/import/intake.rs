//! Gathers lines into chunks for the sink, and what became of them into the report. Holds one
//! chunk at a time, whatever the size of the file.

use super::Sink;
use super::columns::Column;
use super::limits::{CHUNK_LINES, COLUMN_NAME_CHARS, COLUMNS_NAMED, REFUSED_LINES_NAMED};
use super::line::{NumberedLine, TicketLine};
use super::report::{FileFault, ImportReport, LineFault, RefusedLine};
use super::text::trimmed;

pub(super) struct Intake<'s> {
    sink: &'s mut Sink<'s>,
    /// Lines of the present chunk for the sink.
    ready: Vec<NumberedLine>,
    /// Lines of the present chunk that the sink need not see.
    faults: Vec<(u64, LineFault)>,
    report: ImportReport,
}

impl<'s> Intake<'s> {
    pub(super) fn new(sink: &'s mut Sink<'s>) -> Self {
        Self {
            sink,
            ready: Vec::new(),
            faults: Vec::new(),
            report: ImportReport::default(),
        }
    }

    /// Takes the next line of the file, or why it is none.
    pub(super) fn push(
        &mut self,
        line: u64,
        ticket: Result<TicketLine, LineFault>,
    ) -> Result<(), FileFault> {
        match ticket {
            Ok(ticket) => self.ready.push(NumberedLine { line, ticket }),
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
        if !self.ready.is_empty() {
            let next = Vec::with_capacity(self.ready.len());
            let ready = std::mem::replace(&mut self.ready, next);
            let count = ready.len() as u64;
            let mut refused = (self.sink)(ready).map_err(FileFault::Sink)?;
            refused.sort_by_key(|(line, _)| *line);
            refused.dedup_by_key(|(line, _)| *line);
            self.report.accepted += count.saturating_sub(refused.len() as u64);
            faults.append(&mut refused);
            faults.sort_by_key(|(line, _)| *line);
        }
        self.report.refused_count += faults.len() as u64;
        let room = REFUSED_LINES_NAMED.saturating_sub(self.report.refused.len());
        self.report
            .refused
            .extend(
                faults
                    .into_iter()
                    .take(room)
                    .map(|(line, fault)| RefusedLine {
                        line,
                        field: fault.field.to_owned(),
                        problem: fault.problem.into(),
                    }),
            );
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
        self.report
    }
}
