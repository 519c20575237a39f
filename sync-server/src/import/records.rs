//! Cuts a file into its records, one at a time and none longer than the limit, and numbers its
//! lines. Line feed, carriage return and both together end a line.
//!
//! The csv crate is not used: it takes any text after broken quotes for one field and so loses
//! the rest of the file without a word. Here a record whose quotes are broken is a fault of its
//! first line, and reading goes on with the line after.

use std::io::{self, Read};

use memchr::{memchr, memchr2, memchr3};

use super::limits::{BUFFER_BYTES, RECORD_BYTES};
use super::report::{FileFault, LineFault};

/// The records of a file.
pub(super) struct Records<R> {
    input: R,
    buffer: Box<[u8]>,
    /// What of the buffer is still to be handed out.
    start: usize,
    end: usize,
    /// Whether the input has no more.
    ended: bool,
    /// The line that begins at `start`.
    line: u64,
    /// What separates fields, where quotes can hold line breaks.
    delimiter: Option<u8>,
}

/// One record, without its line break.
pub(super) struct Record<'b> {
    /// The line that it begins on.
    pub(super) line: u64,
    /// Its text, or why it cannot be read.
    pub(super) text: Result<&'b str, LineFault>,
}

/// How far the record that begins here reaches.
enum Extent {
    Whole(usize),
    Broken(LineFault),
}

impl<R: Read> Records<R> {
    /// Records that are lines.
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            start: 0,
            end: 0,
            ended: false,
            line: 1,
            delimiter: None,
        }
    }

    /// From here on, quotes around a field between these delimiters can hold line breaks.
    pub(super) fn delimit(&mut self, delimiter: u8) {
        self.delimiter = Some(delimiter);
    }

    /// What comes next, as far as a record can reach, without taking it.
    pub(super) fn peek(&mut self) -> Result<&[u8], FileFault> {
        self.fill()?;
        Ok(self.window())
    }

    /// Leaves out that many bytes of what [`peek`](Self::peek) gave.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.start = self.end.min(self.start + bytes);
    }

    /// The next record, blank ones included; none at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Record<'_>>, FileFault> {
        self.fill()?;
        if self.start == self.end {
            return Ok(None);
        }
        let line = self.line;
        let length = match self.extent() {
            Extent::Whole(length) => length,
            Extent::Broken(fault) => {
                self.skip_line()?;
                return Ok(Some(Record {
                    line,
                    text: Err(fault),
                }));
            }
        };
        let record = self.start..self.start + length;
        self.start = record.end + self.break_length(record.end);
        let bytes = &self.buffer[record];
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            FileFault::NotUtf8 {
                line: line + line_breaks(before),
            }
        })?;
        self.line += 1 + if self.delimiter.is_some() {
            line_breaks(bytes)
        } else {
            0
        };
        Ok(Some(Record {
            line,
            text: Ok(text),
        }))
    }

    /// What a record may consist of at most, and one byte more to see that it ends.
    fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end.min(self.start + RECORD_BYTES + 1)]
    }

    fn extent(&self) -> Extent {
        let window = self.window();
        let is_last = self.ended && window.len() <= RECORD_BYTES;
        let found = match self.delimiter {
            Some(_) => memchr3(b'\n', b'\r', b'"', window),
            None => memchr2(b'\n', b'\r', window),
        };
        match (found, self.delimiter) {
            (Some(at), Some(delimiter)) if window[at] == b'"' => {
                quoted_extent(window, delimiter, is_last)
            }
            (Some(at), _) => Extent::Whole(at),
            (None, _) if is_last => Extent::Whole(window.len()),
            (None, _) => Extent::Broken(too_long()),
        }
    }

    /// Leaves out all up to and including the next line break, however far it is.
    fn skip_line(&mut self) -> Result<(), FileFault> {
        loop {
            match memchr2(b'\n', b'\r', &self.buffer[self.start..self.end]) {
                Some(at) => {
                    self.start += at;
                    // The other half of the line break may not have been read yet.
                    self.fill()?;
                    self.start += self.break_length(self.start);
                    self.line += 1;
                    return Ok(());
                }
                None => self.start = self.end,
            }
            self.fill()?;
            if self.start == self.end {
                return Ok(());
            }
        }
    }

    /// Bytes of the line break that begins there; 0 at the end of the file.
    fn break_length(&self, at: usize) -> usize {
        match &self.buffer[at..self.end] {
            [] => 0,
            [b'\r', b'\n', ..] => 2,
            _ => 1,
        }
    }

    /// Sees to it that the buffer holds a whole record and its line break, or all that is left.
    /// Fills it to the brim each time, so that an input in crumbs costs no more than one in
    /// loaves.
    fn fill(&mut self) -> io::Result<()> {
        if self.ended || self.end - self.start >= RECORD_BYTES + 2 {
            return Ok(());
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < self.buffer.len() {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The extent of a record with quotes. Only a field that begins with one is quoted; in it, two
/// stand for one. What follows the closing one must be the end of the field: were it let pass,
/// a field that somebody forgot to close would end lines later, at the next one that opens.
fn quoted_extent(window: &[u8], delimiter: u8, is_last: bool) -> Extent {
    let at_end = |length, fault| {
        if is_last {
            Extent::Whole(length)
        } else {
            Extent::Broken(fault)
        }
    };
    let mut at = 0;
    loop {
        if window.get(at) == Some(&b'"') {
            at += 1;
            loop {
                let Some(quote) = memchr(b'"', &window[at..]) else {
                    return Extent::Broken(LineFault::new("quotes", UNCLOSED));
                };
                at += quote + 1;
                if window.get(at) != Some(&b'"') {
                    break;
                }
                at += 1;
            }
            match window.get(at) {
                None => return at_end(at, too_long()),
                Some(b'\n' | b'\r') => return Extent::Whole(at),
                Some(byte) if *byte == delimiter => at += 1,
                Some(_) => return Extent::Broken(LineFault::new("quotes", STRAY)),
            }
        } else {
            let Some(next) = memchr3(delimiter, b'\n', b'\r', &window[at..]) else {
                return at_end(window.len(), too_long());
            };
            if window[at + next] != delimiter {
                return Extent::Whole(at + next);
            }
            at += next + 1;
        }
    }
}

const UNCLOSED: &str = "a quoted field is never closed";
const STRAY: &str =
    "text after a closing quote; a quote inside a quoted field must be written twice";

fn too_long() -> LineFault {
    LineFault::new("length", format!("longer than {RECORD_BYTES} bytes"))
}

/// Line breaks in these bytes.
fn line_breaks(bytes: &[u8]) -> u64 {
    let mut breaks = 0;
    let mut rest = bytes;
    while let Some(at) = memchr2(b'\n', b'\r', rest) {
        breaks += 1;
        let length = if rest[at..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        rest = &rest[at + length..];
    }
    breaks
}
