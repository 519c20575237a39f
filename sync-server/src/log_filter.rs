//! Which records of a log are wanted. What they are found by in a store is not known here.

use serde::Deserialize;
use sha2::{Digest, Sha256};
use stile_core::ids::{GateId, SessionId, TicketNumber};
use stile_core::record::Answer;
use stile_core::time::{EpochMillis, ServiceDay};

/// Bytes of a filter's mark: as many as tell the filters of one venue apart.
pub(crate) const MARK_BYTES: usize = 8;

/// Which records of a log are wanted: those for which all that is set holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LogFilter {
    /// Of this session, as the record says.
    pub session_id: Option<SessionId>,
    /// Made at this gate.
    pub gate_id: Option<GateId>,
    /// That count to this day; of records that count to none, those that name it.
    pub service_day: Option<ServiceDay>,
    /// Made then or later, by the device's clock.
    pub from: Option<EpochMillis>,
    /// Made before, by the device's clock.
    pub until: Option<EpochMillis>,
    /// That name this ticket, whatever came of it.
    pub ticket: Option<TicketNumber>,
    /// Of this kind, as the device calls it.
    pub kind: Option<String>,
    /// With this verdict.
    pub verdict: Option<Answer>,
    /// With this reason, as the device calls it.
    pub reason: Option<String>,
}

/// What is read of a record to tell whether it is wanted.
#[derive(Deserialize)]
struct Said {
    at: EpochMillis,
    kind: String,
    gate_id: GateId,
    #[serde(default)]
    session_id: Option<SessionId>,
    #[serde(default)]
    service_day: Option<ServiceDay>,
    #[serde(default)]
    verdict: Option<Answer>,
    #[serde(default)]
    reason: Option<String>,
}

impl LogFilter {
    /// Whether the bytes of a record must be read to tell whether it is wanted.
    pub fn asks_the_record(&self) -> bool {
        let of_ticket = Self {
            ticket: self.ticket,
            ..Self::default()
        };
        *self != of_ticket
    }

    /// Whether a record is wanted that counts to `day`, if to any. The ticket is not looked at:
    /// stores find it by its number.
    pub fn wants(&self, bytes: &[u8], day: Option<&ServiceDay>) -> serde_json::Result<bool> {
        let said: Said = serde_json::from_slice(bytes)?;
        let day = day.or(said.service_day.as_ref());
        Ok(is(self.session_id.as_ref(), said.session_id.as_ref())
            && is(self.gate_id.as_ref(), Some(&said.gate_id))
            && is(self.service_day.as_ref(), day)
            && self.from.is_none_or(|from| said.at >= from)
            && self.until.is_none_or(|until| said.at < until)
            && is(self.kind.as_ref(), Some(&said.kind))
            && is(self.verdict.as_ref(), said.verdict.as_ref())
            && is(self.reason.as_ref(), said.reason.as_ref()))
    }

    /// What tells this filter from others in a cursor; none where all records are wanted.
    pub(crate) fn mark(&self) -> Option<[u8; MARK_BYTES]> {
        if *self == Self::default() {
            return None;
        }
        let verdict = self.verdict.map(|verdict| match verdict {
            Answer::Admit => "admit",
            Answer::Refuse => "refuse",
        });
        let number = |number: Option<i64>| number.map(|number| number.to_string());
        // The order is part of every cursor that was given.
        let parts = [
            self.session_id.as_ref().map(|id| id.as_str().to_owned()),
            self.gate_id.as_ref().map(|id| id.as_str().to_owned()),
            self.service_day.as_ref().map(|day| day.as_str().to_owned()),
            number(self.from.map(|at| at.0)),
            number(self.until.map(|at| at.0)),
            number(self.ticket.map(TicketNumber::as_i64)),
            self.kind.clone(),
            verdict.map(str::to_owned),
            self.reason.clone(),
        ];
        let mut hash = Sha256::new();
        for part in parts {
            // What is not set is not what is empty.
            let text = part.map(|text| format!("{}:{text}", text.len()));
            hash.update(text.as_deref().unwrap_or("-"));
            hash.update(b"\0");
        }
        let hash: [u8; 32] = hash.finalize().into();
        hash.first_chunk().copied()
    }
}

fn is<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
    wanted.is_none() || wanted == found
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_filter_has_a_mark_of_its_own_and_none_has_none() {
        let all = LogFilter::default();
        assert_eq!(all.mark(), None);
        let session = |id: &str| LogFilter {
            session_id: Some(id.parse().unwrap()),
            ..all.clone()
        };
        let filters = [
            session("a"),
            session("b"),
            LogFilter {
                gate_id: Some("a".parse().unwrap()),
                ..all.clone()
            },
            LogFilter {
                kind: Some("a".into()),
                ..all.clone()
            },
            LogFilter {
                reason: Some("a".into()),
                ..all.clone()
            },
            LogFilter {
                from: Some(EpochMillis(1)),
                ..all.clone()
            },
            LogFilter {
                until: Some(EpochMillis(1)),
                ..all.clone()
            },
            LogFilter {
                from: Some(EpochMillis(1)),
                until: Some(EpochMillis(1)),
                ..all
            },
        ];
        let marks: HashSet<_> = filters.iter().map(LogFilter::mark).collect();
        assert_eq!(marks.len(), filters.len());
        assert!(!marks.contains(&None));
    }
}
