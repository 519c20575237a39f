//! Bytes of a scanner line, cut anywhere, into codes. Pure: knows no line, no clock. What a code
//! means is core's to say, its clean-up too.

/// Longest code taken, in bytes: four times the longest that core takes, so that noise around a
/// good one is still core's to judge, and a line without end cannot fill the memory.
pub const MAX_CODE_BYTES: usize = 1024;

/// Cuts a stream of bytes into codes, each ended by CR, LF or an idle gap. A line that is overlong
/// or broken is dropped whole, up to its end, and counted: half a code is no visitor's fault.
#[derive(Debug, Default)]
pub struct Framer {
    line: Vec<u8>,
    /// Nothing of this line is kept until it ends.
    skipping: Option<Fault>,
    /// The line before was cut off.
    behind_cut: bool,
    dropped: Dropped,
}

/// What stood between two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The bytes, without their end.
    pub bytes: &'a [u8],
    /// The line before was cut off: this may be the rest of that one, or the next code.
    pub may_be_rest: bool,
}

/// Lines that were dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dropped {
    /// Longer than [`MAX_CODE_BYTES`].
    pub overlong: u64,
    /// Noise, cut off, or with characters lost.
    pub broken: u64,
}

#[derive(Debug, Clone, Copy)]
enum Fault {
    Overlong,
    Broken,
}

impl Framer {
    /// Takes the next bytes and hands over each code that ends in them.
    pub fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(Frame<'_>)) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            let (head, tail) = rest.split_at(end);
            self.keep(head);
            self.end_of_code(&mut take);
            rest = &tail[1..];
        }
        self.keep(rest);
    }

    /// The line has been quiet for the idle gap, or is at its end: what stands there is whole.
    pub fn end_of_code(&mut self, mut take: impl FnMut(Frame<'_>)) {
        if self.skipping.is_none() && is_noise(&self.line) {
            self.skipping = Some(Fault::Broken);
        }
        let is_padding = self.line.iter().all(|byte| is_padding(*byte));
        match self.skipping.take() {
            Some(Fault::Overlong) => self.dropped.overlong += 1,
            Some(Fault::Broken) => self.dropped.broken += 1,
            None if is_padding => return self.line.clear(),
            None => take(Frame {
                bytes: &self.line,
                may_be_rest: self.behind_cut,
            }),
        }
        self.behind_cut = false;
        self.line.clear();
    }

    /// The scanner ends its codes, and the one that stands there was cut off: it is dropped, so
    /// that the next one is not joined to it. Whether its rest still comes, nobody knows yet.
    pub fn cut_off(&mut self) {
        if self.is_waiting() {
            self.skipping.get_or_insert(Fault::Broken);
            self.end_of_code(|_| ());
            self.behind_cut = true;
        }
    }

    /// Bytes were lost here: what comes up to the next end is part of a code.
    pub fn lose(&mut self) {
        self.skipping.get_or_insert(Fault::Broken);
        self.line.clear();
    }

    /// Whether bytes stand there that wait for their end.
    pub fn is_waiting(&self) -> bool {
        self.skipping.is_some() || !self.line.is_empty()
    }

    /// What was dropped so far.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.skipping.is_some() {
            return;
        }
        if self.line.len() + bytes.len() > MAX_CODE_BYTES {
            self.skipping = Some(Fault::Overlong);
            self.line.clear();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }
}

/// Whether no scanner reads this off anything: a control character inside, or bytes that are no
/// text. Text in any language is left to core, which tells the visitor that it is no ticket.
fn is_noise(line: &[u8]) -> bool {
    let control = |byte: &u8| byte.is_ascii_control() && !is_padding(*byte);
    line.iter().any(control) || std::str::from_utf8(line).is_err()
}

/// Scanners pad with these and send them alone as a sign of life; a code of them alone is none.
fn is_padding(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The codes in pieces of a stream that then ends, and how many were overlong.
    fn codes<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, Dropped) {
        let mut framer = Framer::default();
        let mut codes = Vec::new();
        for piece in pieces {
            framer.feed(piece, |frame| codes.push(frame.bytes.to_vec()));
        }
        framer.end_of_code(|frame| codes.push(frame.bytes.to_vec()));
        (codes, framer.dropped())
    }

    fn faults(overlong: u64, broken: u64) -> Dropped {
        Dropped { overlong, broken }
    }

    fn texts(stream: &[u8]) -> Vec<Vec<u8>> {
        codes([stream]).0
    }

    #[test]
    fn a_code_ends_with_cr_with_lf_or_with_both() {
        let expected: Vec<Vec<u8>> = vec![b"AB-1".to_vec(), b"CD-2".to_vec()];
        for stream in [
            "AB-1\rCD-2\r",
            "AB-1\nCD-2\n",
            "AB-1\r\nCD-2\r\n",
            "AB-1\n\rCD-2",
        ] {
            assert_eq!(texts(stream.as_bytes()), expected, "{stream:?}");
        }
    }

    #[test]
    fn a_tab_ends_no_code() {
        assert_eq!(texts(b"AB\tCD\n"), [b"AB\tCD".to_vec()]);
    }

    #[test]
    fn empty_lines_and_padding_alone_are_no_codes() {
        assert!(texts(b"\r\n\n\r \t\n\0\0\0\n").is_empty());
    }

    #[test]
    fn noise_is_counted_and_not_judged_and_the_next_code_is_read() {
        let stream = b"\xff\xfe\x13AB\r\x80\nCD-2\rEF\x07\nGH-4\n";
        let (codes, dropped) = codes([stream.as_slice()]);
        assert_eq!(codes, [b"CD-2".to_vec(), b"GH-4".to_vec()]);
        assert_eq!(dropped, faults(0, 3));
    }

    #[test]
    fn text_in_any_language_is_left_to_core() {
        let text = "这不是门票 ]Q1\0\t\n";
        assert_eq!(codes([text.as_bytes()]).1, faults(0, 0));
        assert_eq!(texts(text.as_bytes()).len(), 1);
    }

    #[test]
    fn half_a_code_that_was_cut_off_is_not_joined_to_the_next_one() {
        let mut framer = Framer::default();
        let mut codes = Vec::new();
        framer.feed(b"AB-", |_| ());
        framer.cut_off();
        framer.cut_off();
        framer.feed(b"CD-2\n", |frame| codes.push(frame.bytes.to_vec()));
        assert_eq!(
            (codes, framer.dropped()),
            (vec![b"CD-2".to_vec()], faults(0, 1))
        );
    }

    #[test]
    fn what_follows_a_cut_off_up_to_its_end_may_be_the_rest_of_it() {
        let mut framer = Framer::default();
        let mut frames = Vec::new();
        framer.feed(b"AB-", |_| ());
        framer.cut_off();
        framer.feed(b"1\r\nCD-2\r", |frame| {
            frames.push((frame.bytes.to_vec(), frame.may_be_rest));
        });
        assert_eq!(frames, [(b"1".to_vec(), true), (b"CD-2".to_vec(), false)]);
    }

    #[test]
    fn a_code_with_lost_characters_is_dropped_up_to_its_end() {
        let mut framer = Framer::default();
        let mut codes = Vec::new();
        framer.feed(b"AB-", |_| ());
        framer.lose();
        framer.feed(b"9\nCD-2\n", |frame| codes.push(frame.bytes.to_vec()));
        assert_eq!(
            (codes, framer.dropped()),
            (vec![b"CD-2".to_vec()], faults(0, 1))
        );
    }

    #[test]
    fn an_idle_gap_ends_a_code_that_has_no_line_end() {
        let mut framer = Framer::default();
        let mut codes = Vec::new();
        framer.feed(b"AB-", |_| ());
        framer.feed(b"1", |_| ());
        assert!(framer.is_waiting());
        framer.end_of_code(|frame| codes.push(frame.bytes.to_vec()));
        assert!(!framer.is_waiting());
        framer.end_of_code(|frame| codes.push(frame.bytes.to_vec()));
        framer.feed(b"CD-2\n", |frame| codes.push(frame.bytes.to_vec()));
        assert_eq!(codes, [b"AB-1".to_vec(), b"CD-2".to_vec()]);
    }

    #[test]
    fn an_overlong_code_is_dropped_and_counted_and_the_next_one_is_read() {
        let mut stream = vec![b'x'; MAX_CODE_BYTES + 1];
        stream.extend(b"\nAB-1\n");
        let expected = (vec![b"AB-1".to_vec()], faults(1, 0));
        assert_eq!(codes([stream.as_slice()]), expected);
    }

    #[test]
    fn the_longest_code_is_taken() {
        let longest = vec![b'x'; MAX_CODE_BYTES];
        let stream = [longest.as_slice(), b"\n"].concat();
        assert_eq!(codes([stream.as_slice()]), (vec![longest], faults(0, 0)));
    }

    #[test]
    fn an_idle_gap_also_ends_an_overlong_line() {
        let mut framer = Framer::default();
        let mut codes = Vec::new();
        framer.feed(&[b'x'; 5000], |_| ());
        framer.end_of_code(|frame| codes.push(frame.bytes.to_vec()));
        framer.feed(b"AB-1\r", |frame| codes.push(frame.bytes.to_vec()));
        let expected = (vec![b"AB-1".to_vec()], faults(1, 0));
        assert_eq!((codes, framer.dropped()), expected);
    }

    /// Streams rich in line ends, padding, noise and overlong lines.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"\n".to_vec()),
            Just(b"\r\n".to_vec()),
            Just(vec![b'y'; MAX_CODE_BYTES]),
            Just(vec![b'z'; MAX_CODE_BYTES + 1]),
            "[A-Z0-9 \t-]{0,40}".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..8),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_gives_the_same_codes(
            stream in stream(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]);
            prop_assert_eq!(codes(pieces), codes([stream.as_slice()]));
        }

        #[test]
        fn no_code_holds_a_line_end_or_is_overlong(stream in stream()) {
            for code in texts(&stream) {
                prop_assert!(!code.is_empty() && code.len() <= MAX_CODE_BYTES);
                prop_assert!(!code.iter().any(|byte| matches!(byte, b'\r' | b'\n')));
            }
        }
    }
}
