//! Cursors of the pulled log, the admissions feed and the audit log: opaque to who holds them,
//! signed, and bound to venue, stream, filter and generation.

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use stile_core::ids::VenueNumber;

use crate::error::ServerError;
use crate::log_filter::MARK_BYTES;
use crate::store::{LogStream, Position};
use crate::venue_keys::Secret;

/// Prefix under which cursors are signed.
const DOMAIN: &[u8] = b"stile/cursor/v1\0";
/// Layout, stream, generation, position.
const BODY_BYTES: usize = 1 + 1 + 8 + 8;
const TAG_BYTES: usize = 16;
/// Of the whole of a stream.
const LAYOUT: u8 = 1;
/// Of what a filter leaves of it, whose mark stands behind the position.
const FILTERED_LAYOUT: u8 = 2;

/// What a cursor goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// A stream of the log, or what a filter of this mark leaves of it.
    Log(LogStream, Option<[u8; MARK_BYTES]>),
    /// The admissions feed.
    Feed,
    /// The audit log.
    Audit,
}

/// What makes and reads the cursors of one venue and stream in one generation.
pub(crate) struct Cursors<'a> {
    pub secret: &'a Secret,
    pub venue: VenueNumber,
    pub stream: Stream,
    pub generation: u64,
}

impl Cursors<'_> {
    /// The cursor behind a position.
    pub(crate) fn write(&self, position: Position) -> String {
        let mut bytes = self.body(self.generation, position).to_vec();
        bytes.extend(self.mark().iter().flatten());
        let tag = self.tag(&bytes).finalize();
        bytes.extend(tag.as_bytes().iter().take(TAG_BYTES));
        BASE64URL_NOPAD.encode(&bytes)
    }

    /// The position that a cursor stands behind; of another generation:
    /// [`ServerError::CursorRestarted`], of another filter:
    /// [`ServerError::CursorOfOtherFilters`].
    pub(crate) fn read(&self, cursor: &str) -> Result<Position, ServerError> {
        let bytes = BASE64URL_NOPAD
            .decode(cursor.as_bytes())
            .map_err(|_| ServerError::InvalidCursor)?;
        let (signed, tag) = bytes
            .split_last_chunk::<TAG_BYTES>()
            .ok_or(ServerError::InvalidCursor)?;
        if self.tag(signed).verify_truncated_left(tag).is_err() {
            return Err(ServerError::InvalidCursor);
        }
        let (body, mark) = signed
            .split_first_chunk::<BODY_BYTES>()
            .ok_or(ServerError::InvalidCursor)?;
        let [
            layout,
            stream,
            g0,
            g1,
            g2,
            g3,
            g4,
            g5,
            g6,
            g7,
            position @ ..,
        ] = *body;
        let layout_bytes = match layout {
            LAYOUT => 0,
            FILTERED_LAYOUT => MARK_BYTES,
            _ => return Err(ServerError::InvalidCursor),
        };
        if stream != self.stream() || mark.len() != layout_bytes {
            return Err(ServerError::InvalidCursor);
        }
        if mark != self.mark().as_ref().map_or(&[][..], |mark| mark) {
            return Err(ServerError::CursorOfOtherFilters);
        }
        if u64::from_be_bytes([g0, g1, g2, g3, g4, g5, g6, g7]) != self.generation {
            return Err(ServerError::CursorRestarted {
                start: self.write(Position(0)),
            });
        }
        Ok(Position(u64::from_be_bytes(position)))
    }

    fn body(&self, generation: u64, Position(position): Position) -> [u8; BODY_BYTES] {
        let [g0, g1, g2, g3, g4, g5, g6, g7] = generation.to_be_bytes();
        let [p0, p1, p2, p3, p4, p5, p6, p7] = position.to_be_bytes();
        let layout = match self.mark() {
            None => LAYOUT,
            Some(_) => FILTERED_LAYOUT,
        };
        let stream = self.stream();
        [
            layout, stream, g0, g1, g2, g3, g4, g5, g6, g7, p0, p1, p2, p3, p4, p5, p6, p7,
        ]
    }

    fn stream(&self) -> u8 {
        match self.stream {
            Stream::Log(LogStream::Records, _) => 1,
            Stream::Log(LogStream::CheckIns, _) => 2,
            Stream::Feed => 3,
            Stream::Audit => 4,
        }
    }

    fn mark(&self) -> Option<[u8; MARK_BYTES]> {
        match self.stream {
            Stream::Log(_, mark) => mark,
            Stream::Feed | Stream::Audit => None,
        }
    }

    fn tag(&self, signed: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(&self.secret[..]).expect("HMAC takes any key");
        mac.update(DOMAIN);
        mac.update(&self.venue.0.to_be_bytes());
        mac.update(signed);
        mac
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zeroize::Zeroizing;

    use super::*;

    fn cursors(secret: &Secret) -> Cursors<'_> {
        Cursors {
            secret,
            venue: VenueNumber(7),
            stream: Stream::Log(LogStream::Records, None),
            generation: 1_790_000_000,
        }
    }

    #[test]
    fn a_cursor_is_good_for_its_own_venue_stream_and_secret_alone() {
        let (secret, other) = (Zeroizing::new([1; 32]), Zeroizing::new([2; 32]));
        let cursor = cursors(&secret).write(Position(42));
        assert_eq!(cursors(&secret).read(&cursor).ok(), Some(Position(42)));
        for stranger in [
            Cursors {
                venue: VenueNumber(8),
                ..cursors(&secret)
            },
            Cursors {
                stream: Stream::Log(LogStream::CheckIns, None),
                ..cursors(&secret)
            },
            cursors(&other),
        ] {
            assert!(matches!(
                stranger.read(&cursor),
                Err(ServerError::InvalidCursor)
            ));
        }
    }

    #[test]
    fn a_cursor_is_good_for_its_own_filter_alone() {
        let secret = Zeroizing::new([1; 32]);
        let filtered = |mark| Cursors {
            stream: Stream::Log(LogStream::Records, mark),
            ..cursors(&secret)
        };
        let marks = [None, Some([1; 8]), Some([2; 8])];
        for given in marks {
            let cursor = filtered(given).write(Position(42));
            for asked in marks {
                let read = filtered(asked).read(&cursor);
                if given == asked {
                    assert_eq!(read.ok(), Some(Position(42)));
                } else {
                    assert!(matches!(read, Err(ServerError::CursorOfOtherFilters)));
                }
            }
        }
    }

    #[test]
    fn a_cursor_of_another_generation_says_where_to_start() {
        let secret = Zeroizing::new([1; 32]);
        let before = Cursors {
            generation: 0,
            ..cursors(&secret)
        }
        .write(Position(42));
        let Err(ServerError::CursorRestarted { start }) = cursors(&secret).read(&before) else {
            panic!("it must be restarted");
        };
        assert_eq!(cursors(&secret).read(&start).ok(), Some(Position(0)));
    }

    proptest! {
        #[test]
        fn no_other_text_is_a_cursor(text in ".{0,80}", cut in 0_usize..46, flip in 0_usize..46) {
            let secret = Zeroizing::new([1; 32]);
            let cursors = cursors(&secret);
            prop_assert!(cursors.read(&text).is_err());
            let good = cursors.write(Position(42));
            prop_assert!(cursors.read(&good[..cut]).is_err());
            let mut bytes = good.into_bytes();
            bytes[flip] = if bytes[flip] == b'A' { b'B' } else { b'A' };
            let flipped = String::from_utf8(bytes).unwrap();
            prop_assert!(cursors.read(&flipped).is_err());
        }
    }
}
