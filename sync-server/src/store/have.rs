//! Which sequences of a log are there: everything up to one, and ranges beyond it. Pure; the
//! engines load and keep it.

use std::collections::BTreeMap;

/// The sequences that are there, from 1: all up to `through`, and ranges that neither touch it nor
/// each other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Have {
    through: u64,
    /// First to last, both included.
    ranges: BTreeMap<u64, u64>,
}

impl Have {
    /// What was kept. `ranges` may leave out those that lie further than one from every sequence
    /// that is asked for or added.
    pub fn new(through: u64, ranges: impl IntoIterator<Item = (u64, u64)>) -> Self {
        Self {
            through,
            ranges: ranges.into_iter().collect(),
        }
    }

    /// Nothing is missing up to here.
    pub fn through(&self) -> u64 {
        self.through
    }

    /// The ranges beyond, first to last, both included, ascending.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ranges.iter().map(|(first, last)| (*first, *last))
    }

    /// Whether it is there.
    pub fn contains(&self, sequence: u64) -> bool {
        sequence <= self.through
            || self
                .ranges
                .range(..=sequence)
                .next_back()
                .is_some_and(|(_, last)| sequence <= *last)
    }

    /// Adds one; one that is there already changes nothing.
    pub fn add(&mut self, sequence: u64) {
        if self.contains(sequence) {
            return;
        }
        let (mut first, mut last) = (sequence, sequence);
        if let Some((before, end)) = self.ranges.range(..sequence).next_back()
            && end.checked_add(1) == Some(sequence)
        {
            first = *before;
        }
        if let Some(end) = sequence
            .checked_add(1)
            .and_then(|next| self.ranges.remove(&next))
        {
            last = end;
        }
        if self.through.checked_add(1) == Some(first) {
            self.ranges.remove(&first);
            self.through = last;
        } else {
            self.ranges.insert(first, last);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_gap_that_closes_joins_what_lies_on_both_sides() {
        let mut have = Have::default();
        for sequence in [1, 2, 5, 6, 4] {
            have.add(sequence);
        }
        assert_eq!(
            (have.through(), have.ranges().collect::<Vec<_>>()),
            (2, vec![(4, 6)])
        );
        have.add(3);
        assert_eq!((have.through(), have.ranges().count()), (6, 0));
    }

    #[test]
    fn the_highest_sequence_has_no_next_one() {
        let mut have = Have::new(u64::MAX - 2, []);
        have.add(u64::MAX);
        have.add(u64::MAX - 1);
        assert_eq!(have.through(), u64::MAX);
    }

    proptest! {
        #[test]
        fn it_knows_what_a_plain_set_knows(sequences in prop::collection::vec(1_u64..40, 0..60)) {
            let mut have = Have::default();
            let mut set = BTreeSet::new();
            for sequence in sequences {
                prop_assert_eq!(have.contains(sequence), set.contains(&sequence));
                have.add(sequence);
                set.insert(sequence);
            }
            let through = (1..).take_while(|n| set.contains(n)).last().unwrap_or(0);
            prop_assert_eq!(have.through(), through);
            let beyond: Vec<u64> = have.ranges().flat_map(|(first, last)| first..=last).collect();
            let expected: Vec<u64> = set.into_iter().filter(|n| *n > through).collect();
            prop_assert_eq!(beyond, expected);
        }
    }
}
