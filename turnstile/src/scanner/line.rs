//! Reads one byte line (a pipe, a socket, later a serial port) through the framer.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};

use super::{Framer, Input, Inputs, Reading};

/// Bytes taken at a time: four of the longest codes.
const CHUNK_BYTES: usize = 4096;

/// Reads codes until the line ends, is broken, or nobody wants them. `idle_gap`: how long the
/// line is quiet behind a code that has no line end.
pub(super) fn read_codes(
    line: &impl AsFd,
    name: &str,
    idle_gap: Option<Duration>,
    inputs: &Inputs,
) {
    let mut framer = Framer::default();
    let mut chunk = [0; CHUNK_BYTES];
    while let Ok(ready) = wait(line, idle_gap.filter(|_| framer.is_waiting())) {
        let count = match ready {
            false => 0,
            true => match read(line, &mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(_) => break,
            },
        };
        let wanted = hand_over(&mut framer, name, inputs, |framer, take| match ready {
            true => framer.feed(&chunk[..count], take),
            false => framer.end_of_code(take),
        });
        if !wanted {
            return;
        }
    }
    // What came last may have no line end.
    hand_over(&mut framer, name, inputs, |framer, take| {
        framer.end_of_code(take);
    });
}

/// Waits for bytes, or for the idle gap. True if there are bytes, or the end.
fn wait(line: &impl AsFd, gap: Option<Duration>) -> Result<bool, Errno> {
    let timeout = gap.map(|gap| Timespec {
        tv_sec: i64::try_from(gap.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: gap.subsec_nanos().into(),
    });
    let mut lines = [PollFd::new(line, PollFlags::IN)];
    match poll(&mut lines, timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true), // the read that follows finds out
        Err(error) => Err(error),
    }
}

/// Lets the framer work and puts what it gives into the queue. False if nobody wants it.
fn hand_over(
    framer: &mut Framer,
    name: &str,
    inputs: &Inputs,
    work: impl FnOnce(&mut Framer, &mut dyn FnMut(&[u8])),
) -> bool {
    let read_at = Instant::now();
    let overlong = framer.overlong();
    let mut wanted = true;
    work(framer, &mut |code| {
        let bytes = code.to_vec();
        wanted = wanted && inputs.put(Input::Reading(Reading { bytes, read_at }));
    });
    for _ in overlong..framer.overlong() {
        wanted = wanted && inputs.put(Input::Overlong(name.to_owned()));
    }
    wanted
}
