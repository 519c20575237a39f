//! A contact bounces when it closes: a level counts once it has stayed. Pure.

use std::time::{Duration, Instant};

/// A level that has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The level.
    pub on: bool,
    /// It is what was found at the start, and no change.
    pub first: bool,
}

/// Tells changes from bounces.
#[derive(Debug)]
pub struct Debounce {
    period: Duration,
    settled: Option<bool>,
    /// A level that is not the settled one, and since when it is seen.
    other: Option<Instant>,
}

impl Debounce {
    /// `period`: how long a level must stay.
    pub fn new(period: Duration) -> Self {
        Self {
            period,
            settled: None,
            other: None,
        }
    }

    /// Takes a level that was read, and gives it back once it counts. The first counts at once.
    pub fn see(&mut self, on: bool, now: Instant) -> Option<Change> {
        match self.settled {
            Some(settled) if settled == on => {
                self.other = None;
                None
            }
            Some(_) => {
                let since = *self.other.get_or_insert(now);
                if now.saturating_duration_since(since) < self.period {
                    return None;
                }
                self.other = None;
                self.settled = Some(on);
                Some(Change { on, first: false })
            }
            None => {
                self.settled = Some(on);
                Some(Change { on, first: true })
            }
        }
    }

    /// How long until a level that is seen now would count.
    pub fn settles_in(&self, now: Instant) -> Option<Duration> {
        let since = self.other?;
        Some(
            self.period
                .saturating_sub(now.saturating_duration_since(since)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(20);

    /// What counts of levels read at these times, in ms.
    fn changes(levels: &[(u64, bool)]) -> Vec<(u64, bool)> {
        let start = Instant::now();
        let mut debounce = Debounce::new(PERIOD);
        let see = |&(at, on): &(u64, bool)| {
            let change = debounce.see(on, start + Duration::from_millis(at))?;
            Some((at, change.on))
        };
        levels.iter().filter_map(see).collect()
    }

    #[test]
    fn the_first_level_counts_at_once_and_is_no_change() {
        let mut debounce = Debounce::new(PERIOD);
        let change = debounce.see(true, Instant::now());
        assert_eq!(
            change,
            Some(Change {
                on: true,
                first: true
            })
        );
    }

    #[test]
    fn a_level_counts_once_it_has_stayed() {
        let levels = [(0, false), (10, true), (20, true), (30, true), (90, true)];
        assert_eq!(changes(&levels), [(0, false), (30, true)]);
    }

    #[test]
    fn a_contact_that_bounces_changes_once() {
        let levels = [
            (0, false),
            (10, true),
            (12, false),
            (14, true),
            (33, true),
            (34, true),
            (40, false),
            (41, true),
        ];
        assert_eq!(changes(&levels), [(0, false), (34, true)]);
    }

    #[test]
    fn it_says_when_to_look_again() {
        let start = Instant::now();
        let mut debounce = Debounce::new(PERIOD);
        debounce.see(false, start);
        assert_eq!(debounce.settles_in(start), None);
        debounce.see(true, start);
        let after = start + Duration::from_millis(15);
        assert_eq!(debounce.settles_in(after), Some(Duration::from_millis(5)));
    }
}
