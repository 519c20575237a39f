//! The comparison that everything ends in: the gates' journals and the log that the back end
//! pulled, record by record and byte by byte.

use std::collections::HashMap;
use std::fmt;

use anyhow::Result;
use serde::Deserialize;
use stile_core::ids::{LogId, RecordId};
use stile_core::protocol::PulledRecord;

use crate::gate::Said;
use crate::journal::Kept;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Records in the journals.
    pub journalled: usize,
    /// Records in the log.
    pub pulled: usize,
    /// In a journal and not in the log, or said by a gate and not in its journal.
    pub lost: Vec<RecordId>,
    /// More than once in the log, by id or by their place in a device's log.
    pub doubled: Vec<RecordId>,
    /// In both, with other bytes.
    pub altered: Vec<RecordId>,
    /// In the log and in no journal.
    pub strange: Vec<RecordId>,
}

/// What tells records apart.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Place {
    id: RecordId,
    log_id: LogId,
    sequence: u64,
}

impl Comparison {
    /// Compares journals, what their gates said, and the pulled log.
    pub fn of(journals: &[Vec<Kept>], said: &[&[Said]], log: &[PulledRecord]) -> Result<Self> {
        let mut found = Self {
            pulled: log.len(),
            ..Self::default()
        };
        let mut by_id: HashMap<RecordId, &str> = HashMap::with_capacity(log.len());
        let mut by_place = HashMap::with_capacity(log.len());
        for pulled in log {
            let text = pulled.record.get();
            let place: Place = serde_json::from_str(text)?;
            let same_id = by_id.insert(place.id, text).is_some();
            let same_place = by_place
                .insert((place.log_id, place.sequence), place.id)
                .is_some();
            if same_id || same_place {
                found.doubled.push(place.id);
            }
        }
        let mut ours = HashMap::new();
        for kept in journals.iter().flatten() {
            let place: Place = serde_json::from_str(&kept.record)?;
            found.journalled += 1;
            ours.insert(place.id, ());
            match by_id.get(&place.id) {
                None => found.lost.push(place.id),
                Some(text) if *text != kept.record => found.altered.push(place.id),
                Some(_) => {}
            }
        }
        let announced = said
            .iter()
            .copied()
            .flatten()
            .filter_map(|said| said.record_id);
        found
            .lost
            .extend(announced.filter(|id| !ours.contains_key(id)));
        found
            .strange
            .extend(by_id.keys().filter(|id| !ours.contains_key(id)));
        Ok(found)
    }

    /// Whether each record is on both sides once, with the same bytes.
    pub fn is_whole(&self) -> bool {
        [&self.lost, &self.doubled, &self.altered, &self.strange]
            .iter()
            .all(|ids| ids.is_empty())
    }
}

/// `lost 0, doubled 0`, and what else there is to say.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "lost {}, doubled {}",
            self.lost.len(),
            self.doubled.len()
        )?;
        for (what, ids) in [("altered", &self.altered), ("in no journal", &self.strange)] {
            if !ids.is_empty() {
                write!(f, ", {what} {}", ids.len())?;
            }
        }
        let mut examples = self
            .lost
            .iter()
            .chain(&self.doubled)
            .chain(&self.altered)
            .chain(&self.strange);
        match examples.next() {
            None => Ok(()),
            Some(id) => write!(f, " (such as {id})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;
    use stile_core::time::EpochMillis;

    fn text(id: u128, sequence: u64) -> String {
        let (id, log) = (uuid::Uuid::from_u128(id), uuid::Uuid::from_u128(1));
        format!(r#"{{"id":"{id}","log_id":"{log}","sequence":{sequence}}}"#)
    }

    fn journal(texts: &[String]) -> Vec<Kept> {
        let kept = |text: &String| Kept {
            record: text.clone(),
            is_synced: false,
        };
        texts.iter().map(kept).collect()
    }

    fn log(texts: &[String]) -> Vec<PulledRecord> {
        let pulled = |text: &String| PulledRecord {
            late_after_final: false,
            received_at: EpochMillis(0),
            standing: None,
            after_cancel: false,
            taken_back: false,
            record: RawValue::from_string(text.clone()).unwrap(),
        };
        texts.iter().map(pulled).collect()
    }

    fn compare(journals: &[String], pulled: &[String]) -> Comparison {
        Comparison::of(&[journal(journals)], &[], &log(pulled)).unwrap()
    }

    #[test]
    fn the_same_records_in_any_order_are_whole() {
        let found = compare(&[text(1, 1), text(2, 2)], &[text(2, 2), text(1, 1)]);
        assert!(found.is_whole());
        assert_eq!(found.to_string(), "lost 0, doubled 0");
    }

    #[test]
    fn every_kind_of_difference_is_found() {
        assert_eq!(
            compare(&[text(1, 1), text(2, 2)], &[text(1, 1)]).lost.len(),
            1
        );
        assert_eq!(
            compare(&[text(1, 1)], &[text(1, 1), text(1, 1)])
                .doubled
                .len(),
            1
        );
        let same_place = compare(&[text(1, 1), text(2, 1)], &[text(1, 1), text(2, 1)]);
        assert_eq!(same_place.doubled.len(), 1);
        assert_eq!(
            compare(&[text(1, 1)], &[text(1, 1).replace('{', "{ ")])
                .altered
                .len(),
            1
        );
        let strange = compare(&[text(1, 1)], &[text(1, 1), text(2, 2)]);
        assert_eq!(strange.strange.len(), 1);
        assert!(!strange.is_whole());
    }
}
