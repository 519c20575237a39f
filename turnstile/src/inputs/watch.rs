//! Watches one input for ever: reads it, debounces it, and opens it again when it was away.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::debounce::{Change, Debounce};
use super::spec::Level;
use crate::ports::BackOff;

/// How long it waits for a change at most, so that what is overdue is seen in time.
const LOOK_UP: Duration = Duration::from_millis(250);

/// What is seen of an input.
#[derive(Debug)]
pub(super) enum Seen {
    /// Its level has settled.
    Level(Change),
    /// It cannot be read.
    Lost(String),
    /// It can be read again.
    Back,
    /// Time has gone by.
    Nothing,
}

/// Watches until nobody wants to know.
pub(super) fn watch(
    open: impl Fn() -> io::Result<Box<dyn Level>>,
    debounce: Duration,
    mut tell: impl FnMut(Seen) -> bool,
) {
    let mut debounce = Debounce::new(debounce);
    let mut back_off = BackOff::default();
    let mut told_lost = false;
    loop {
        let mut level = None;
        let error = loop {
            match look(&mut level, &open, &mut debounce) {
                Ok(seen) => {
                    back_off = BackOff::default();
                    let is_back = std::mem::take(&mut told_lost);
                    if (is_back && !tell(Seen::Back)) || !tell(seen) {
                        return;
                    }
                }
                Err(error) => break error,
            }
        };
        let lost = match std::mem::replace(&mut told_lost, true) {
            false => Seen::Lost(error.to_string()),
            true => Seen::Nothing,
        };
        if !tell(lost) {
            return;
        }
        sleep(back_off.next());
    }
}

/// Reads it once, and after a change has been waited for.
fn look(
    level: &mut Option<Box<dyn Level>>,
    open: &impl Fn() -> io::Result<Box<dyn Level>>,
    debounce: &mut Debounce,
) -> io::Result<Seen> {
    let level = match level {
        Some(level) => {
            let settles = debounce.settles_in(Instant::now());
            level.wait(settles.unwrap_or(LOOK_UP).min(LOOK_UP))?;
            level
        }
        None => level.insert(open()?),
    };
    let on = level.is_on()?;
    let change = debounce.see(on, Instant::now());
    Ok(change.map_or(Seen::Nothing, Seen::Level))
}
