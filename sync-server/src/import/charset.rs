//! Text files in other charsets than UTF-8, as spreadsheets save them: turned into UTF-8 as they
//! are read. What is no text in its charset ends the file; nothing is guessed or replaced.

use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8};

use super::report::FileFault;

/// Bytes taken of the file, and made of text, at a time.
const PIECE: usize = 16 * 1024;

/// What a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charset(&'static Encoding);

impl Charset {
    /// UTF-8.
    pub const UTF_8: Self = Self(UTF_8);

    /// The charset of a name that browsers know: `gb18030`, `gbk`, `big5`, `utf-16le`, …
    pub fn named(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("us-ascii") {
            return Some(Self::UTF_8);
        }
        Encoding::for_label_no_replacement(name.as_bytes()).map(Self)
    }

    pub(super) fn is_utf8(self) -> bool {
        self.0 == UTF_8
    }
}

/// A file as UTF-8, without its byte order mark.
pub(super) struct Decoded<R> {
    input: R,
    charset: Charset,
    decoder: Decoder,
    /// Bytes that are still to be decoded: `raw[from..to]`.
    raw: Box<[u8]>,
    from: usize,
    to: usize,
    /// Text that is still to be handed out: `text[given..made]`.
    text: Box<[u8]>,
    given: usize,
    made: usize,
    /// The line that the last of that text stands on, and whether it ends in a carriage return.
    line: u64,
    after_return: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    /// The input has no more, the decoder may.
    Ended,
    /// All is decoded.
    Done,
    /// What comes next is no text.
    Malformed,
}

impl<R: Read> Decoded<R> {
    pub(super) fn new(input: R, charset: Charset) -> Self {
        Self {
            input,
            charset,
            decoder: charset.0.new_decoder_with_bom_removal(),
            raw: vec![0; PIECE].into_boxed_slice(),
            from: 0,
            to: 0,
            text: vec![0; PIECE].into_boxed_slice(),
            given: 0,
            made: 0,
            line: 1,
            after_return: false,
            state: State::Reading,
        }
    }

    /// Makes the next text.
    fn decode(&mut self) -> io::Result<()> {
        if self.from == self.to && self.state == State::Reading {
            (self.from, self.to) = (0, self.input.read(&mut self.raw)?);
            if self.to == 0 {
                self.state = State::Ended;
            }
        }
        let last = self.state == State::Ended;
        let raw = &self.raw[self.from..self.to];
        let (result, read, written) =
            self.decoder
                .decode_to_utf8_without_replacement(raw, &mut self.text, last);
        self.from += read;
        (self.given, self.made) = (0, written);
        for byte in &self.text[..written] {
            self.line += u64::from(*byte == b'\r' || (*byte == b'\n' && !self.after_return));
            self.after_return = *byte == b'\r';
        }
        match result {
            DecoderResult::Malformed(..) => self.state = State::Malformed,
            DecoderResult::InputEmpty if last => self.state = State::Done,
            DecoderResult::InputEmpty | DecoderResult::OutputFull => {}
        }
        Ok(())
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.made {
            match self.state {
                State::Done => return Ok(0),
                State::Malformed => {
                    return Err(io::Error::other(Malformed {
                        line: self.line,
                        charset: self.charset.0.name(),
                    }));
                }
                State::Reading | State::Ended => self.decode()?,
            }
        }
        let count = buffer.len().min(self.made - self.given);
        buffer[..count].copy_from_slice(&self.text[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("not {charset} (line {line})")]
struct Malformed {
    line: u64,
    charset: &'static str,
}

/// The fault of a file that was read through [`Decoded`].
pub(super) fn named(fault: FileFault) -> FileFault {
    let FileFault::Read(error) = fault else {
        return fault;
    };
    match error.downcast::<Malformed>() {
        Ok(Malformed { line, charset }) => FileFault::NotInCharset { line, charset },
        Err(error) => FileFault::Read(error),
    }
}
