//! Opaque codes: what a booking system without signatures prints. The venue declares their shapes,
//! and the list carries their hashes; nothing in the text itself is verified.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::cleanup::MAX_CODE_BYTES;
use super::document::PASSPORT_LENGTH;
use super::shapes::{CharSet, Known};
use crate::ids::VenueId;

/// Length of an opaque code's hash in the list, in bytes.
pub const HASH_BYTES: usize = 16;

/// The shortest code that a shape may allow: anything shorter is met by chance.
const MIN_LENGTH: u16 = 4;

/// Prefix under which opaque codes are hashed.
const HASH_DOMAIN: &[u8] = b"stile/opaque/v1\0";

/// Why a shape cannot be declared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// A character that clean-up or a scanner would take for its own.
    #[error("{0} may hold printable ASCII only, without space, \\ and ]")]
    Character(&'static str),
    /// Lengths that no code can have.
    #[error("length must be [from, to] with 4 <= from <= to <= 256")]
    Length,
    /// Nothing follows the prefix, so that all codes would be one.
    #[error("the alphabet must not be empty, and the length must exceed that of the prefix")]
    Constant,
    /// Texts of this shape could be taken for another format's.
    #[error("texts of this shape could be {0}: choose a narrower alphabet or length")]
    CouldBe(&'static str),
}

/// A shape as it is written.
#[derive(Serialize, Deserialize)]
struct WrittenShape {
    #[serde(default)]
    prefix: String,
    alphabet: String,
    length: [u16; 2],
}

/// A shape of opaque codes: a prefix, then characters of an alphabet. No text of it can be
/// another format's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "WrittenShape", into = "WrittenShape")]
pub struct OpaqueShape {
    /// What every code starts with; may be empty.
    #[schema(example = "MUS")]
    prefix: String,
    /// The characters that may follow the prefix.
    #[schema(example = "0123456789abcdef-")]
    alphabet: String,
    /// The shortest and the longest code, prefix included.
    #[schema(example = json!([47, 47]))]
    length: [u16; 2],
    #[serde(skip)]
    #[schema(ignore)]
    characters: CharSet,
}

impl OpaqueShape {
    /// Takes a shape unless it is absurd or a text of it could have another format's shape.
    pub fn new(prefix: &str, alphabet: &str, length: [u16; 2]) -> Result<Self, ShapeError> {
        let plain = |text: &str| {
            text.bytes()
                .all(|b| b.is_ascii_graphic() && !matches!(b, b'\\' | b']'))
        };
        if !plain(prefix) {
            return Err(ShapeError::Character("prefix"));
        }
        if !plain(alphabet) {
            return Err(ShapeError::Character("alphabet"));
        }
        let [from, to] = length;
        if from < MIN_LENGTH || from > to || usize::from(to) > MAX_CODE_BYTES {
            return Err(ShapeError::Length);
        }
        if alphabet.is_empty() || usize::from(from) <= prefix.len() {
            return Err(ShapeError::Constant);
        }
        let shape = Self {
            prefix: prefix.to_owned(),
            alphabet: alphabet.to_owned(),
            length,
            characters: CharSet::NONE.with(alphabet.as_bytes()),
        };
        match Known::ALL.into_iter().find(|known| shape.could_be(*known)) {
            None => Ok(shape),
            Some(known) => Err(ShapeError::CouldBe(match known {
                Known::G3 => "G3 codes",
                Known::G2 => "G2 codes",
                Known::V1 => "v1 codes",
                Known::IdentityCard => "numbers of identity cards",
            })),
        }
    }

    /// What every code starts with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The characters that may follow the prefix.
    pub fn alphabet(&self) -> &str {
        &self.alphabet
    }

    /// The shortest and the longest code, prefix included.
    pub fn length(&self) -> [u16; 2] {
        self.length
    }

    /// The most bits of chance that the shortest code can hold. Under 64 a list can be turned back
    /// into codes by trial, and the console warns.
    pub fn random_bits(&self) -> u32 {
        let places = usize::from(self.length[0]).saturating_sub(self.prefix.len());
        (places as f64 * f64::from(self.characters.len()).log2()) as u32
    }

    /// Whether some text of this shape could be a passport behind a prefix. The server refuses
    /// such a pair.
    pub fn could_be_passport(&self, prefix: &str) -> bool {
        let [from, to] = self.length.map(usize::from);
        let letters = CharSet::ALPHANUMERIC;
        let at = |place: usize| match prefix.as_bytes().get(place) {
            Some(b) => CharSet::NONE.with(&[*b]),
            None => letters,
        };
        PASSPORT_LENGTH
            .map(|number| prefix.len() + number)
            .filter(|length| (from..=to).contains(length))
            .any(|length| (0..length).all(|place| self.at(place).meets(at(place))))
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        let [from, to] = self.length.map(usize::from);
        (from..=to).contains(&text.len())
            && text
                .strip_prefix(&self.prefix)
                .is_some_and(|rest| rest.bytes().all(|b| self.characters.holds(b)))
    }

    /// Whether some text has both this shape and the known one: exact, since in both each place is
    /// free of the others.
    fn could_be(&self, known: Known) -> bool {
        let [from, to] = self.length.map(usize::from);
        let lengths = known.lengths();
        (from.max(*lengths.start())..=to.min(*lengths.end()))
            .any(|length| (0..length).all(|place| self.at(place).meets(known.at(place, length))))
    }

    fn at(&self, place: usize) -> CharSet {
        match self.prefix.as_bytes().get(place) {
            Some(b) => CharSet::NONE.with(&[*b]),
            None => self.characters,
        }
    }
}

impl TryFrom<WrittenShape> for OpaqueShape {
    type Error = ShapeError;
    fn try_from(written: WrittenShape) -> Result<Self, ShapeError> {
        Self::new(&written.prefix, &written.alphabet, written.length)
    }
}

impl From<OpaqueShape> for WrittenShape {
    fn from(shape: OpaqueShape) -> Self {
        Self {
            prefix: shape.prefix,
            alphabet: shape.alphabet,
            length: shape.length,
        }
    }
}

/// A text of one of the venue's opaque shapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpaqueCode(String);

impl OpaqueCode {
    pub(super) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text after clean-up.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The hash that the list knows it by.
    pub fn hash(&self, venue: &VenueId) -> [u8; HASH_BYTES] {
        hash(venue, &self.0)
    }
}

/// SHA-256(`"stile/opaque/v1\0" | venue_id | 0 | code`)[0..16]: what the list carries of a code.
/// `code` is the text after clean-up.
pub fn hash(venue: &VenueId, code: &str) -> [u8; HASH_BYTES] {
    let full = Sha256::new()
        .chain_update(HASH_DOMAIN)
        .chain_update(venue.as_str())
        .chain_update([0])
        .chain_update(code)
        .finalize();
    let mut hash = [0; HASH_BYTES];
    hash.copy_from_slice(&full[..HASH_BYTES]);
    hash
}
