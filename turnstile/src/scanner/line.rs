//! Reads one line of bytes (a pipe, a socket, a serial port, a keyboard) through the framer.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::{Frame, Framer, Input, Inputs, Reading};
use crate::event::Event;

/// Bytes taken at a time: four of the longest codes.
const CHUNK_BYTES: usize = 4096;

/// A scanner sends a code in one go; one that stops for so long without a line end was cut off.
pub(super) const CUT_OFF: Duration = Duration::from_secs(1);

/// Where bytes come from.
pub(super) trait Source: AsFd {
    /// Takes what is there; called when there is something, or the end.
    fn take(&mut self, bytes: &mut Vec<u8>) -> io::Result<Taken>;
}

/// What came of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// What there was, perhaps nothing.
    Bytes,
    /// Some were lost before these.
    BytesAfterLoss,
    /// Nothing will come any more.
    End,
}

/// A file descriptor that gives bytes as they are.
pub(super) struct Plain<F: AsFd>(pub F);

impl<F: AsFd> AsFd for Plain<F> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl<F: AsFd> Source for Plain<F> {
    fn take(&mut self, bytes: &mut Vec<u8>) -> io::Result<Taken> {
        bytes.resize(CHUNK_BYTES, 0);
        let count = match rustix::io::read(&self.0, &mut bytes[..]) {
            Ok(0) => return Ok(Taken::End),
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => 0,
            Err(error) => return Err(error.into()),
        };
        bytes.truncate(count);
        Ok(Taken::Bytes)
    }
}

/// What silence means on a line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pauses {
    /// How long it is quiet behind a code that has no line end.
    pub idle_gap: Option<Duration>,
    /// Else: how long it is quiet when a code was cut off. Where it is set, the end of the line
    /// cuts off as well.
    pub cut_off: Option<Duration>,
}

/// Why reading stopped.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The line is at its end, or broken.
    End(Option<io::Error>),
    /// Nobody wants codes any more.
    Unwanted,
}

/// Reads codes until the line ends, is broken, or nobody wants them.
pub(super) fn read_codes(
    line: &mut impl Source,
    name: &str,
    pauses: Pauses,
    inputs: &Inputs,
) -> Stopped {
    let mut reader = Reader {
        framer: Framer::default(),
        name,
        inputs,
    };
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    let pause = pauses.idle_gap.or(pauses.cut_off);
    let end = loop {
        match wait(line, pause.filter(|_| reader.framer.is_waiting())) {
            Ok(true) => {}
            Ok(false) => {
                let wanted = match pauses.idle_gap {
                    Some(_) => reader.work(|framer, take| framer.end_of_code(take)),
                    None => reader.work(|framer, _| framer.cut_off()),
                };
                match wanted {
                    true => continue,
                    false => return Stopped::Unwanted,
                }
            }
            Err(error) => break Some(error.into()),
        }
        chunk.clear();
        let taken = match line.take(&mut chunk) {
            Ok(Taken::End) => break None,
            Ok(taken) => taken,
            Err(error) => break Some(error),
        };
        let wanted = reader.work(|framer, take| {
            if taken == Taken::BytesAfterLoss {
                framer.lose();
            }
            framer.feed(&chunk, take);
        });
        if !wanted {
            return Stopped::Unwanted;
        }
    };
    // What came last may have no line end.
    reader.work(|framer, take| match pauses.cut_off {
        Some(_) => framer.cut_off(),
        None => framer.end_of_code(take),
    });
    Stopped::End(end)
}

/// Waits for bytes, or for the pause. True if there are bytes, or the end.
fn wait(line: &impl AsFd, pause: Option<Duration>) -> Result<bool, Errno> {
    let timeout = pause.map(|pause| Timespec {
        tv_sec: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: pause.subsec_nanos().into(),
    });
    let mut lines = [PollFd::new(line, PollFlags::IN)];
    match poll(&mut lines, timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true), // the read that follows finds out
        Err(error) => Err(error),
    }
}

struct Reader<'a> {
    framer: Framer,
    name: &'a str,
    inputs: &'a Inputs,
}

impl Reader<'_> {
    /// Lets the framer work and puts what it gives into the queue. False if nobody wants it.
    fn work(&mut self, work: impl FnOnce(&mut Framer, &mut dyn FnMut(Frame<'_>))) -> bool {
        let read_at = Instant::now();
        let before = self.framer.dropped();
        let mut wanted = true;
        let scanner = || self.name.to_owned();
        work(&mut self.framer, &mut |frame| {
            let reading = Reading {
                bytes: frame.bytes.to_vec(),
                read_at,
                may_be_rest: frame.may_be_rest.then(scanner),
            };
            wanted = wanted && self.inputs.put(Input::Reading(reading));
        });
        let now = self.framer.dropped();
        for _ in before.overlong..now.overlong {
            let event = Event::CodeOverlong { scanner: scanner() };
            wanted = wanted && self.inputs.put(Input::Trouble(event));
        }
        for _ in before.broken..now.broken {
            let event = Event::CodeBroken { scanner: scanner() };
            wanted = wanted && self.inputs.put(Input::Trouble(event));
        }
        wanted
    }
}
