//! Who is expected to pass: one person for each pulse, within a time. Tells nobody by itself.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stile_core::ids::RecordId;

/// Somebody for whom the gate was opened.
#[derive(Debug, Clone, Copy)]
struct Expected {
    /// The admission that opened it, if it was one.
    admission: Option<RecordId>,
    /// Until when they may pass.
    until: Instant,
}

/// The persons for whom the gate was opened and who have not passed yet.
#[derive(Debug)]
pub struct Passages {
    within: Duration,
    /// The earliest first.
    expected: Mutex<VecDeque<Expected>>,
}

impl Passages {
    /// `within`: how long after the opening somebody may pass.
    pub fn new(within: Duration) -> Self {
        Self {
            within,
            expected: Mutex::default(),
        }
    }

    /// The gate was opened for one person of an admission.
    pub fn expect(&self, admission: Option<RecordId>) {
        self.expect_at(admission, Instant::now());
    }

    /// Somebody passed: the one who was let in first. Says by which admission, if one is known.
    pub fn passed(&self) -> Option<RecordId> {
        self.expected().pop_front()?.admission
    }

    /// By which admissions nobody passed in time since this was last asked.
    pub fn overdue(&self) -> Vec<Option<RecordId>> {
        self.overdue_at(Instant::now())
    }

    fn expect_at(&self, admission: Option<RecordId>, now: Instant) {
        let until = now + self.within;
        self.expected().push_back(Expected { admission, until });
    }

    fn overdue_at(&self, now: Instant) -> Vec<Option<RecordId>> {
        let mut expected = self.expected();
        let overdue = expected.iter().take_while(|one| one.until <= now).count();
        expected.drain(..overdue).map(|one| one.admission).collect()
    }

    fn expected(&self) -> MutexGuard<'_, VecDeque<Expected>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use stile_core::time::EpochMillis;

    use super::*;

    fn admission(n: u8) -> Option<RecordId> {
        Some(RecordId::at(EpochMillis(1), [n; 10]))
    }

    #[test]
    fn who_does_not_pass_in_time_is_told_once() {
        let passages = Passages::new(Duration::from_secs(5));
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        passages.expect_at(admission(1), start);
        assert_eq!(passages.overdue_at(after(4)), []);
        assert_eq!(passages.overdue_at(after(5)), [admission(1)]);
        assert_eq!(passages.overdue_at(after(60)), []);
    }

    #[test]
    fn a_passage_counts_for_the_one_who_was_let_in_first() {
        let passages = Passages::new(Duration::from_secs(5));
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        passages.expect_at(admission(1), start);
        passages.expect_at(admission(2), after(3));
        assert_eq!(passages.passed(), admission(1));
        assert_eq!(passages.overdue_at(after(7)), []);
        assert_eq!(passages.overdue_at(after(8)), [admission(2)]);
    }

    #[test]
    fn a_passage_that_nobody_expects_changes_nothing() {
        let passages = Passages::new(Duration::from_secs(5));
        assert_eq!(passages.passed(), None);
        passages.expect(admission(1));
        assert_eq!(passages.overdue(), []);
    }
}
