//! What may stand at each place of a format's texts. One description serves both questions: does
//! a text have this shape, and could a text of an opaque shape have it.

use std::ops::RangeInclusive;

/// A set of ASCII characters, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CharSet(u128);

impl CharSet {
    pub(super) const NONE: Self = Self(0);
    const DIGIT: Self = Self::NONE.with(b"0123456789");
    const BASE32: Self = Self::NONE.with(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
    pub(super) const ALPHANUMERIC: Self =
        Self::DIGIT.with(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    const BASE64URL: Self = Self::ALPHANUMERIC.with(b"_-");
    /// 0x20 ..= 0x7E.
    const PRINTABLE: Self = Self((u128::MAX << 0x20) & !(1 << 0x7F));

    /// This set and these characters; what is not ASCII is left out.
    pub(super) const fn with(self, characters: &[u8]) -> Self {
        let (mut bits, mut i) = (self.0, 0);
        while i < characters.len() {
            if characters[i] < 128 {
                bits |= 1 << characters[i];
            }
            i += 1;
        }
        Self(bits)
    }

    pub(super) const fn holds(self, character: u8) -> bool {
        character < 128 && self.0 >> character & 1 == 1
    }

    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn len(self) -> u32 {
        self.0.count_ones()
    }
}

/// The shapes that are the same at every venue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// `G3` and 160 of `A–Z2–7`.
    G3,
    /// `G2` and 146 of `A–Z2–7`.
    G2,
    /// 1 … 64 characters, `-`, ten digits, `-`, 43 of `A–Za–z0–9_-`.
    V1,
    /// An identity card's number: 17 digits and a digit, `X` or `x`.
    IdentityCard,
}

/// `-`, ten digits, `-`, 43 of signature: what stands at the end of a v1 code.
pub(super) const V1_TAIL: usize = 1 + V1_EXPIRY + 1 + V1_SIGNATURE;
/// Digits of a v1 code's expiry.
pub(super) const V1_EXPIRY: usize = 10;
/// Characters of a v1 code's signature.
pub(super) const V1_SIGNATURE: usize = 43;

impl Known {
    pub(super) const ALL: [Self; 4] = [Self::G3, Self::G2, Self::V1, Self::IdentityCard];

    pub(super) const fn lengths(self) -> RangeInclusive<usize> {
        match self {
            Self::G3 => 162..=162,
            Self::G2 => 148..=148,
            Self::V1 => 1 + V1_TAIL..=64 + V1_TAIL,
            Self::IdentityCard => 18..=18,
        }
    }

    /// What may stand at `place` (from 0) of a text of `length` characters, a length of this
    /// shape.
    pub(super) const fn at(self, place: usize, length: usize) -> CharSet {
        let from_end = length.saturating_sub(place);
        match (self, place) {
            (Self::G3 | Self::G2, 0) => CharSet::NONE.with(b"G"),
            (Self::G3, 1) => CharSet::NONE.with(b"3"),
            (Self::G2, 1) => CharSet::NONE.with(b"2"),
            (Self::G3 | Self::G2, _) => CharSet::BASE32,
            (Self::V1, _) if from_end > V1_TAIL => CharSet::PRINTABLE,
            (Self::V1, _) if from_end == V1_TAIL || from_end == V1_SIGNATURE + 1 => {
                CharSet::NONE.with(b"-")
            }
            (Self::V1, _) if from_end > V1_SIGNATURE => CharSet::DIGIT,
            (Self::V1, _) => CharSet::BASE64URL,
            (Self::IdentityCard, 17) => CharSet::DIGIT.with(b"Xx"),
            (Self::IdentityCard, _) => CharSet::DIGIT,
        }
    }

    pub(super) fn fits(self, text: &str) -> bool {
        self.lengths().contains(&text.len())
            && text
                .bytes()
                .enumerate()
                .all(|(place, b)| self.at(place, text.len()).holds(b))
    }
}
