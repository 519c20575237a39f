//! The outbox's policy: how many records go up at a time, how long to wait after a failure, and
//! what an answer means. The platform only carries requests and says "network is here".

use crate::ids::RecordId;
use crate::journal::SyncStatus;
use crate::protocol::{Filed, LogState, Problem, RecordsAnswer};

/// Records in one upload: small enough for a slow link to finish within seconds, large enough
/// that a day's outbox is gone in a minute.
pub const UPLOAD_RECORDS: usize = 100;
/// First wait after a failure, in ms.
pub const BACKOFF_BASE_MS: u64 = 1_000;
/// Longest wait after failures, in ms.
pub const BACKOFF_CAP_MS: u64 = 300_000;
/// A stuck record is tried again this often, in ms.
pub const STUCK_RETRY_MS: i64 = 3_600_000;

/// An HTTP answer, as far as it matters here. `None` of it means that none came.
#[derive(Debug, Clone, Default)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The `Retry-After` header in seconds, if it had one.
    pub retry_after_s: Option<u64>,
    /// The body, capped by whoever read it.
    pub body: Vec<u8>,
}

/// What an answer to an upload means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// The server says what became of records; any other of the batch still waits.
    Marks {
        /// Each of these.
        marks: Vec<(RecordId, SyncStatus)>,
        /// How far it has their logs.
        logs: Vec<LogState>,
    },
    /// The server has read the batch and will not have it as it is: send fewer, or, if it was
    /// one record, set it aside as stuck.
    Refused(String),
    /// Anything else (no answer, a proxy's page, a busy or failing server): nothing is known.
    Transport {
        /// What came, for the status.
        what: String,
        /// What the server asked for, in ms.
        retry_after_ms: Option<u64>,
    },
}

/// Reads the answer to an upload of the given records. Only a well-formed answer that names a
/// record says anything of it.
pub fn read_answer(sent: &[RecordId], answer: Option<&HttpAnswer>) -> Meaning {
    let Some(answer) = answer else {
        return Meaning::Transport {
            what: "no answer".into(),
            retry_after_ms: None,
        };
    };
    if answer.status == 200
        && let Ok(said) = serde_json::from_slice::<RecordsAnswer>(&answer.body)
    {
        let marks: Vec<_> = said
            .results
            .iter()
            .filter(|result| sent.contains(&result.id))
            .map(|result| {
                let status = match result.result {
                    Filed::Accepted | Filed::Replayed => SyncStatus::Synced,
                    Filed::Quarantined => SyncStatus::Quarantined,
                };
                (result.id, status)
            })
            .collect();
        if !marks.is_empty() {
            let logs = said.logs;
            return Meaning::Marks { marks, logs };
        }
    }
    let problem = serde_json::from_slice::<Problem>(&answer.body).ok();
    match (answer.status, problem) {
        (400 | 413 | 422, Some(problem)) => {
            Meaning::Refused(format!("{}: {}", problem.code.name(), problem.detail))
        }
        (status, problem) => Meaning::Transport {
            what: match problem {
                Some(problem) => format!("{status} {}: {}", problem.code.name(), problem.detail),
                None => format!("{status} without an answer of ours"),
            },
            retry_after_ms: answer.retry_after_s.map(|s| s.saturating_mul(1000)),
        },
    }
}

/// When to send what. Times are of the boot-time clock, in ms.
#[derive(Debug, Clone)]
pub struct Pace {
    failures: u32,
    not_before_ms: i64,
    records: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            failures: 0,
            not_before_ms: i64::MIN,
            records: UPLOAD_RECORDS,
        }
    }
}

impl Pace {
    /// Milliseconds to wait before the next try; 0 if it may go now.
    pub fn wait_ms(&self, boot_ms: i64) -> u64 {
        u64::try_from(self.not_before_ms.saturating_sub(boot_ms)).unwrap_or(0)
    }

    /// Records to send at most.
    pub fn records(&self) -> usize {
        self.records
    }

    /// It went well: no wait, and larger batches again.
    pub fn succeeded(&mut self) {
        self.failures = 0;
        self.not_before_ms = i64::MIN;
        self.records = (self.records * 2).min(UPLOAD_RECORDS);
    }

    /// The server will not have the batch: send half of it.
    pub fn refused(&mut self, sent: usize) {
        self.records = (sent / 2).max(1);
    }

    /// It failed: wait a random part of a span that doubles, and at least what the server asks
    /// for. `random` is any number; gates that failed together must not come back together.
    pub fn failed(&mut self, boot_ms: i64, retry_after_ms: Option<u64>, random: u64) {
        let span = BACKOFF_BASE_MS
            .saturating_mul(1_u64.checked_shl(self.failures).unwrap_or(u64::MAX))
            .min(BACKOFF_CAP_MS);
        self.failures = self.failures.saturating_add(1);
        // Asked to wait, gates still spread over one span, and no answer holds them for ever.
        let asked = retry_after_ms.unwrap_or(0).min(BACKOFF_CAP_MS);
        let wait = asked.saturating_add(random % (span + 1));
        self.not_before_ms = boot_ms.saturating_add(i64::try_from(wait).unwrap_or(i64::MAX));
    }

    /// The platform says that the network is back.
    pub fn network_is_here(&mut self) {
        self.failures = 0;
        self.not_before_ms = i64::MIN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Code;

    fn id(n: u128) -> RecordId {
        RecordId(uuid::Uuid::from_u128(n))
    }

    fn answer(status: u16, body: &str) -> HttpAnswer {
        HttpAnswer {
            status,
            retry_after_s: None,
            body: body.as_bytes().to_vec(),
        }
    }

    fn nothing_is_marked(meaning: &Meaning) -> bool {
        matches!(meaning, Meaning::Transport { .. })
    }

    #[test]
    fn a_captive_portals_page_marks_nothing() {
        let page = answer(200, "<html><body>Please log in</body></html>");
        assert!(nothing_is_marked(&read_answer(&[id(1)], Some(&page))));
    }

    #[test]
    fn a_404_of_a_route_or_a_proxys_502_is_transport() {
        for status in [401, 403, 404, 409, 429, 500, 502, 503] {
            let page = answer(status, "<html>sorry</html>");
            assert!(
                nothing_is_marked(&read_answer(&[id(1)], Some(&page))),
                "{status}"
            );
        }
        assert!(nothing_is_marked(&read_answer(&[id(1)], None)));
    }

    #[test]
    fn a_400_without_our_problem_document_splits_nothing() {
        let page = answer(400, "<html>Bad Request</html>");
        assert!(nothing_is_marked(&read_answer(&[id(1)], Some(&page))));
        let ours = serde_json::to_string(&Problem::new(Code::Unprocessable, "record 1")).unwrap();
        assert_eq!(
            read_answer(&[id(1)], Some(&answer(422, &ours))),
            Meaning::Refused("unprocessable: record 1".into())
        );
    }

    #[test]
    fn only_records_that_the_answer_names_and_that_were_sent_are_marked() {
        let body = format!(
            r#"{{"results":[{{"id":"{}","result":"accepted"}},{{"id":"{}","result":"replayed"}},
               {{"id":"{}","result":"quarantined"}}],"logs":[]}}"#,
            id(1),
            id(9),
            id(2)
        );
        assert_eq!(
            read_answer(&[id(1), id(2), id(3)], Some(&answer(200, &body))),
            Meaning::Marks {
                marks: vec![
                    (id(1), SyncStatus::Synced),
                    (id(2), SyncStatus::Quarantined)
                ],
                logs: Vec::new(),
            }
        );
        assert!(nothing_is_marked(&read_answer(
            &[id(7)],
            Some(&answer(200, &body))
        )));
    }

    #[test]
    fn situation_20_waits_grow_to_five_minutes_spread_over_the_whole_span_and_end_with_the_network()
    {
        let mut pace = Pace::default();
        assert_eq!(pace.wait_ms(0), 0);
        for (failures, span) in [1_000, 2_000, 4_000, 8_000].into_iter().enumerate() {
            let mut longest = pace.clone();
            longest.failed(0, None, span);
            assert_eq!(longest.wait_ms(0), span, "after {failures} failures");
            pace.failed(0, None, span + 1);
            assert_eq!(
                pace.wait_ms(0),
                0,
                "a random number of span + 1 wraps to no wait"
            );
        }
        for _ in 0..100 {
            pace.failed(0, None, BACKOFF_CAP_MS);
        }
        assert_eq!(pace.wait_ms(0), BACKOFF_CAP_MS);
        pace.network_is_here();
        assert_eq!(pace.wait_ms(0), 0);
    }

    #[test]
    fn retry_after_is_honoured() {
        let mut pace = Pace::default();
        pace.failed(0, Some(30_000), 500);
        assert_eq!(pace.wait_ms(0), 30_500);
    }

    #[test]
    fn a_refused_batch_shrinks_to_one_and_grows_again() {
        let mut pace = Pace::default();
        for expected in [50, 25, 12, 6, 3, 1, 1] {
            pace.refused(pace.records());
            assert_eq!(pace.records(), expected);
        }
        for _ in 0..10 {
            pace.succeeded();
        }
        assert_eq!(pace.records(), UPLOAD_RECORDS);
    }
}
