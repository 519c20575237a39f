//! A look at one input while somebody tries it: what it is now, and whether it changes. Tells the
//! gate nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::spec::InputSpec;
use super::watch::{Seen, watch};
use crate::ports::{Ports, Urgency};

/// What was seen of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tried {
    /// Whether it was on at first.
    pub was_on: bool,
    /// Whether it changed in time.
    pub changed: bool,
}

/// Reads an input, as debounced as a gate reads it. `found` is told whether it is on, and says how
/// long a change is waited for. The error says why it cannot be read.
pub(crate) fn try_out(
    spec: &InputSpec,
    ports: &Arc<Ports>,
    debounce: Duration,
    found: impl FnOnce(bool) -> Duration,
) -> Result<Tried, String> {
    let mut found = Some(found);
    let mut deadline = Instant::now();
    let mut tried = Err("it says nothing".to_owned());
    let open = || spec.open(ports, Urgency::After);
    watch(open, debounce, |seen| {
        match seen {
            Seen::Level(change) => match found.take() {
                Some(found) => {
                    deadline = Instant::now() + found(change.on);
                    tried = Ok(Tried {
                        was_on: change.on,
                        changed: false,
                    });
                }
                None => {
                    tried = tried.clone().map(|tried| Tried {
                        changed: true,
                        ..tried
                    });
                    return false;
                }
            },
            Seen::Lost(why) => {
                tried = Err(why);
                return false;
            }
            Seen::Back | Seen::Nothing => {}
        }
        Instant::now() < deadline
    });
    tried
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What is seen of a file that holds `level`, and `then` once its first level was told.
    fn tried(level: &str, then: Option<&str>, wait: Duration) -> Result<Tried, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input");
        fs::write(&path, level).unwrap();
        let spec: InputSpec = format!("file:{}", path.display()).parse().unwrap();
        try_out(&spec, &Arc::default(), Duration::ZERO, |_| {
            if let Some(level) = then {
                let aside = folder.path().join("aside");
                fs::write(&aside, level).unwrap();
                fs::rename(aside, &path).unwrap();
            }
            wait
        })
    }

    #[test]
    fn an_input_that_changes_and_one_that_does_not_are_told_apart() {
        for was_on in [false, true] {
            let (level, other) = if was_on { ("1", "0") } else { ("0", "1") };
            let long = Duration::from_secs(600);
            let changed = tried(level, Some(other), long).unwrap();
            assert_eq!((changed.was_on, changed.changed), (was_on, true));
            let unmoved = tried(level, None, Duration::ZERO).unwrap();
            assert_eq!((unmoved.was_on, unmoved.changed), (was_on, false));
        }
    }

    #[test]
    fn an_input_that_cannot_be_read_says_why_at_first_and_later() {
        let long = Duration::from_secs(600);
        let error = tried("high", None, long).unwrap_err();
        assert!(error.contains("not 0 or 1"), "{error}");
        let error = tried("0", Some("high"), long).unwrap_err();
        assert!(error.contains("not 0 or 1"), "{error}");
    }
}
