//! Who is expected to pass: one person for each pulse, within a time. Tells nobody by itself.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The persons for whom the gate was opened and who have not passed yet.
#[derive(Debug)]
pub struct Passages {
    within: Duration,
    /// Until when each may pass, the earliest first.
    expected: Mutex<VecDeque<Instant>>,
}

impl Passages {
    /// `within`: how long after the opening somebody may pass.
    pub fn new(within: Duration) -> Self {
        Self {
            within,
            expected: Mutex::default(),
        }
    }

    /// The gate was opened for one person.
    pub fn expect(&self) {
        self.expect_at(Instant::now());
    }

    /// Somebody passed: the one who was let in first, if one is expected.
    pub fn passed(&self) {
        self.expected().pop_front();
    }

    /// How many have not passed in time since this was last asked.
    pub fn overdue(&self) -> usize {
        self.overdue_at(Instant::now())
    }

    fn expect_at(&self, now: Instant) {
        self.expected().push_back(now + self.within);
    }

    fn overdue_at(&self, now: Instant) -> usize {
        let mut expected = self.expected();
        let overdue = expected.iter().take_while(|until| **until <= now).count();
        expected.drain(..overdue).count()
    }

    fn expected(&self) -> MutexGuard<'_, VecDeque<Instant>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_pass_in_time_is_told_once() {
        let passages = Passages::new(Duration::from_secs(5));
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        passages.expect_at(start);
        assert_eq!(passages.overdue_at(after(4)), 0);
        assert_eq!(passages.overdue_at(after(5)), 1);
        assert_eq!(passages.overdue_at(after(60)), 0);
    }

    #[test]
    fn a_passage_counts_for_the_one_who_was_let_in_first() {
        let passages = Passages::new(Duration::from_secs(5));
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        passages.expect_at(start);
        passages.expect_at(after(3));
        passages.passed();
        assert_eq!(passages.overdue_at(after(7)), 0);
        assert_eq!(passages.overdue_at(after(8)), 1);
    }

    #[test]
    fn a_passage_that_nobody_expects_changes_nothing() {
        let passages = Passages::new(Duration::from_secs(5));
        passages.passed();
        passages.expect();
        assert_eq!(passages.overdue(), 0);
    }
}
