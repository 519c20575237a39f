//! What happened at a gate since a place in its journal: the counts that a guard hands over.

use std::collections::BTreeMap;

use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::{JournalError, SyncLog};
use crate::record::Answer;
use crate::ticket::Direction;

/// Counts of a stretch of the journal, practice left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Persons admitted by tickets at an `in` gate, overrides included, undone ones as well.
    pub admitted: u64,
    /// Refused readings, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Undos that were carried out.
    pub undone: u64,
    /// Overrides that were carried out.
    pub overrides: u64,
    /// Persons let in without a ticket.
    pub walk_ins: u64,
}

/// What a tally reads of a record.
#[derive(Deserialize)]
struct Counted {
    kind: String,
    #[serde(default)]
    direction: Direction,
    #[serde(default)]
    verdict: Option<Answer>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    persons: u64,
    #[serde(default)]
    count: u64,
    #[serde(default)]
    denied: Option<String>,
    #[serde(default)]
    flags: Vec<String>,
}

impl Tally {
    fn add(&mut self, record: Counted) {
        if record.flags.iter().any(|flag| flag == "practice") {
            return;
        }
        let is_in = record.direction == Direction::In;
        let admits = record.verdict == Some(Answer::Admit) && is_in;
        let carried_out = record.denied.is_none();
        match record.kind.as_str() {
            "scan" if admits => self.admitted += record.persons,
            "scan" => self.refuse(record.reason, 1),
            "refusals" => self.refuse(record.reason, record.count),
            "override" if admits && carried_out => {
                self.admitted += record.persons;
                self.overrides += 1;
            }
            "undo" if carried_out => self.undone += 1,
            "walk_in" if is_in => self.walk_ins += record.persons,
            _ => {}
        }
    }

    fn refuse(&mut self, reason: Option<String>, count: u64) {
        if let Some(reason) = reason {
            *self.refused.entry(reason).or_default() += count;
        }
    }
}

impl SyncLog {
    /// The place of the newest record; 0 if there is none.
    pub fn end(&self) -> Result<i64, JournalError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT coalesce(max(position), 0) FROM sync_log")?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }

    /// Counts the records after a place.
    pub fn tally(&self, after: i64) -> Result<Tally, JournalError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT record FROM sync_log WHERE position > ?1")?;
        let mut rows = statement.query(params![after])?;
        let mut tally = Tally::default();
        while let Some(row) = rows.next()? {
            let text = row.get_ref(0)?.as_str();
            let text = text.map_err(|_| JournalError::Foreign("record"))?;
            tally.add(serde_json::from_str(text)?);
        }
        Ok(tally)
    }
}
