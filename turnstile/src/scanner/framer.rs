//! Bytes of a scanner line, cut anywhere, into codes. Pure: knows no line, no clock. What a code
//! means is core's to say, its clean-up too.

/// Longest code taken, in bytes: four times the longest that core takes, so that noise around a
/// good one is still core's to judge, and a line without end cannot fill the memory.
pub const MAX_CODE_BYTES: usize = 1024;

/// Cuts a stream of bytes into codes, each ended by CR, LF or an idle gap.
#[derive(Debug, Default)]
pub struct Framer {
    line: Vec<u8>,
    /// The line is longer than any code: nothing of it is kept until it ends.
    skipping: bool,
    overlong: u64,
}

impl Framer {
    /// Takes the next bytes and hands over each code that ends in them.
    pub fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) {
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
    pub fn end_of_code(&mut self, mut take: impl FnMut(&[u8])) {
        if std::mem::take(&mut self.skipping) {
            self.overlong = self.overlong.saturating_add(1);
        } else if !self.line.iter().all(|byte| is_padding(*byte)) {
            take(&self.line);
        }
        self.line.clear();
    }

    /// Whether bytes stand there that wait for their end.
    pub fn is_waiting(&self) -> bool {
        self.skipping || !self.line.is_empty()
    }

    /// Codes that were dropped because they were longer than [`MAX_CODE_BYTES`].
    pub fn overlong(&self) -> u64 {
        self.overlong
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.skipping || self.line.len() + bytes.len() > MAX_CODE_BYTES {
            self.skipping = true;
            self.line.clear();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }
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
    fn codes<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, u64) {
        let mut framer = Framer::default();
        let mut codes = Vec::new();
        for piece in pieces {
            framer.feed(piece, |code| codes.push(code.to_vec()));
        }
        framer.end_of_code(|code| codes.push(code.to_vec()));
        (codes, framer.overlong())
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
    fn noise_beside_a_code_is_left_to_the_clean_up_of_core() {
        assert_eq!(texts(b"\xff\x00AB-1\xfe\n"), [b"\xff\x00AB-1\xfe".to_vec()]);
    }

    #[test]
    fn an_idle_gap_ends_a_code_that_has_no_line_end() {
        let mut framer = Framer::default();
        let mut codes = Vec::new();
        framer.feed(b"AB-", |_| ());
        framer.feed(b"1", |_| ());
        assert!(framer.is_waiting());
        framer.end_of_code(|code| codes.push(code.to_vec()));
        assert!(!framer.is_waiting());
        framer.end_of_code(|code| codes.push(code.to_vec()));
        framer.feed(b"CD-2\n", |code| codes.push(code.to_vec()));
        assert_eq!(codes, [b"AB-1".to_vec(), b"CD-2".to_vec()]);
    }

    #[test]
    fn an_overlong_code_is_dropped_and_counted_and_the_next_one_is_read() {
        let mut stream = vec![b'x'; MAX_CODE_BYTES + 1];
        stream.extend(b"\nAB-1\n");
        assert_eq!(codes([stream.as_slice()]), (vec![b"AB-1".to_vec()], 1));
    }

    #[test]
    fn the_longest_code_is_taken() {
        let longest = vec![b'x'; MAX_CODE_BYTES];
        let stream = [longest.as_slice(), b"\n"].concat();
        assert_eq!(codes([stream.as_slice()]), (vec![longest], 0));
    }

    #[test]
    fn an_idle_gap_also_ends_an_overlong_line() {
        let mut framer = Framer::default();
        let mut codes = Vec::new();
        framer.feed(&[b'x'; 5000], |_| ());
        framer.end_of_code(|code| codes.push(code.to_vec()));
        framer.feed(b"AB-1\r", |code| codes.push(code.to_vec()));
        assert_eq!((codes, framer.overlong()), (vec![b"AB-1".to_vec()], 1));
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
