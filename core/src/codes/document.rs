//! Identity documents as credentials: an identity card's number with its check digit (GB 11643),
//! or a passport's behind a prefix that the venue configures. The list knows a document by a keyed
//! hash of the day alone; its number is never stored, logged or shown, also not as a hash of the
//! text in a record.

use std::fmt;
use std::ops::RangeInclusive;

use hmac::Mac;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use crate::ids::LastFour;
use crate::keys::DocumentKey;

/// Length of a document's hash in the list, in bytes: enough not to collide in a day.
pub const DOCUMENT_HASH_BYTES: usize = 5;

/// Characters of a passport's number: from the shortest passports to travel permits.
pub(super) const PASSPORT_LENGTH: RangeInclusive<usize> = 5..=12;

/// Length of an identity card's number.
const ID_CARD_LENGTH: usize = 18;

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentType {
    /// A resident identity card: 18 characters.
    IdCard,
    /// A passport or travel permit.
    Passport,
}

impl DocumentType {
    /// The type's name in hashes and the API: `id-card`, `passport`.
    pub fn name(self) -> &'static str {
        match self {
            Self::IdCard => "id-card",
            Self::Passport => "passport",
        }
    }
}

/// Why a text is no document's number. Never repeats the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The shape of an identity card's number, with another check digit.
    #[error("an identity card's number whose check digit is wrong")]
    CheckDigit,
    /// No number of either kind.
    #[error(
        "a document is an identity card's 18 characters or a passport's 5 to 12 of A-Z and 0-9"
    )]
    Shape,
}

/// A document's number, in the one spelling that is hashed: upper case. Zeroized, never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Document {
    kind: DocumentType,
    number: Zeroizing<String>,
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Document({}, secret)", self.kind.name())
    }
}

impl Document {
    /// Takes a number as a person or a file writes it: an identity card's if it has that shape,
    /// else a passport's. A final `x` counts as `X`, small letters as capitals.
    pub fn new(text: &str) -> Result<Self, DocumentError> {
        if has_card_shape(text) {
            return Self::id_card(text);
        }
        Self::passport(text)
    }

    /// Takes an identity card's number.
    pub fn id_card(text: &str) -> Result<Self, DocumentError> {
        if !has_card_shape(text) {
            return Err(DocumentError::Shape);
        }
        let number = Zeroizing::new(text.to_ascii_uppercase());
        if number.bytes().last() != Some(check_digit(number.as_bytes())) {
            return Err(DocumentError::CheckDigit);
        }
        let kind = DocumentType::IdCard;
        Ok(Self { kind, number })
    }

    /// Takes a passport's number, without the venue's prefix.
    pub fn passport(text: &str) -> Result<Self, DocumentError> {
        let plain = text.bytes().all(|b| b.is_ascii_alphanumeric());
        if !plain || !PASSPORT_LENGTH.contains(&text.len()) {
            return Err(DocumentError::Shape);
        }
        Ok(Self {
            kind: DocumentType::Passport,
            number: Zeroizing::new(text.to_ascii_uppercase()),
        })
    }

    /// What it is.
    pub fn kind(&self) -> DocumentType {
        self.kind
    }

    /// Its last four, where all are digits: what the list may hold of it.
    pub fn last_four(&self) -> Option<LastFour> {
        let from = self.number.len().checked_sub(4)?;
        self.number.get(from..).and_then(LastFour::from_digits)
    }

    /// HMAC-SHA256(day key, type `:` number)[0..5]: what the list carries of it. The type is
    /// `id-card` or `passport`, the number is in capitals and without prefix.
    pub fn hash(&self, key: &DocumentKey) -> [u8; DOCUMENT_HASH_BYTES] {
        let mut mac = crate::keys::keyed(key.as_bytes());
        mac.update(self.kind.name().as_bytes());
        mac.update(b":");
        mac.update(self.number.as_bytes());
        let tag = mac.finalize();
        let mut hash = [0; DOCUMENT_HASH_BYTES];
        hash.copy_from_slice(&tag.as_bytes()[..DOCUMENT_HASH_BYTES]);
        hash
    }
}

/// 17 digits and a digit, `X` or `x`.
fn has_card_shape(text: &str) -> bool {
    text.len() == ID_CARD_LENGTH
        && text
            .bytes()
            .enumerate()
            .all(|(place, b)| b.is_ascii_digit() || (place == 17 && matches!(b, b'X' | b'x')))
}

/// ISO 7064 MOD 11-2 over the first 17 digits, as GB 11643 has it: weights 2^(17 − place) mod 11.
fn check_digit(digits: &[u8]) -> u8 {
    let sum = digits.iter().take(17).fold(0_u32, |sum, digit| {
        (sum + u32::from(digit.wrapping_sub(b'0'))) * 2 % 11
    });
    b"10X98765432"[sum as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_example_of_the_standard_has_its_check_digit() {
        for number in [
            "11010519491231002X",
            "11010519491231002x",
            "440524188001010014",
        ] {
            let document = Document::new(number).unwrap();
            assert_eq!(document.kind(), DocumentType::IdCard);
        }
        assert_eq!(
            Document::new("110105194912310021"),
            Err(DocumentError::CheckDigit)
        );
    }

    #[test]
    fn a_document_prints_nothing_of_its_number() {
        let printed = format!("{:?}", Document::new("440524188001010014").unwrap());
        assert_eq!(printed, "Document(id-card, secret)");
    }

    #[test]
    fn small_letters_are_the_same_document() {
        let key = DocumentKey::from_bytes(&[7; 32]);
        let [small, large] = ["e12345678", "E12345678"].map(|text| Document::new(text).unwrap());
        assert_eq!(small.hash(&key), large.hash(&key));
        assert_eq!(large.last_four(), LastFour::new(5678));
        assert_eq!(
            Document::new("11010519491231002X").unwrap().last_four(),
            None
        );
    }
}
