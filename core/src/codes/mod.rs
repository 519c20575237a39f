//! The texts in QR codes: clean-up, shapes, parsing, verification, windows and minting of v1, G2,
//! G3, opaque codes and documents. Knows no list and no policy: whether a good code's ticket is admitted is
//! asked elsewhere.

mod cleanup;
pub mod document;
pub mod g2;
pub mod g3;
pub mod opaque;
mod payload;
mod shapes;
pub mod v1;
mod window;

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use cleanup::{MAX_CODE_BYTES, clean};
pub use document::{Document, DocumentError, DocumentType};
pub use g2::SignedCode;
pub use g3::{RotatingCode, TagVerdict};
pub use opaque::{OpaqueCode, OpaqueShape, ShapeError};
pub use payload::{PAYLOAD_BYTES, Payload, PayloadError};
pub use v1::V1Code;
pub use window::{CodeRules, MAX_UNCERTAINTY_MS, Window};

use crate::ids::TicketId;
use shapes::Known;

/// The formats of codes. A venue's policy lists those that it takes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
pub enum Format {
    /// The booking system's HMAC code.
    #[serde(rename = "v1")]
    V1,
    /// Signed and self-contained.
    G2,
    /// Signed, with a rotating tag.
    G3,
    /// A booking system's own code without a signature, known by look-up alone.
    #[serde(rename = "opaque")]
    Opaque,
    /// An identity document, known by look-up alone.
    #[serde(rename = "document")]
    Document,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "v1",
            Self::G2 => "G2",
            Self::G3 => "G3",
            Self::Opaque => "opaque",
            Self::Document => "document",
        })
    }
}

/// Why a text is no code. Says what is wrong and never repeats the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Nothing was left after clean-up.
    #[error("the text is empty")]
    Empty,
    /// More than [`MAX_CODE_BYTES`] were left after clean-up.
    #[error("the text is longer than {MAX_CODE_BYTES} bytes")]
    TooLong,
    /// A byte outside 0x20 ..= 0x7E.
    #[error("the text holds something other than printable ASCII")]
    NotPrintable,
    /// No shape that this venue takes.
    #[error("the text has the shape of no code")]
    NoShape,
    /// The shape of a format, and a second spelling of its bytes.
    #[error("{0} code: trailing bits are not zero, so it is a second spelling")]
    Spelling(Format),
    /// A v1 code whose ticket id is none.
    #[error("v1 code: its ticket id holds something other than A-Z, a-z, 0-9, _ and -")]
    TicketId,
    /// A G2 or G3 code with a field out of its range.
    #[error("{0} code: {1}")]
    Field(Format, PayloadError),
    /// The shape of a document's number, and none.
    #[error("document: {0}")]
    Document(DocumentError),
}

/// A code as it was read, parsed in full and not yet verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// See [`v1`].
    V1(V1Code),
    /// See [`g2`].
    G2(SignedCode),
    /// See [`g3`].
    G3(RotatingCode),
    /// See [`opaque`].
    Opaque(OpaqueCode),
    /// See [`document`].
    Document(Document),
}

impl Code {
    /// The format that its shape settled.
    pub fn format(&self) -> Format {
        match self {
            Self::V1(_) => Format::V1,
            Self::G2(_) => Format::G2,
            Self::G3(_) => Format::G3,
            Self::Opaque(_) => Format::Opaque,
            Self::Document(_) => Format::Document,
        }
    }

    /// The text after clean-up. There is one spelling of each code, so it can be hashed. None of
    /// a document: its number is written nowhere, and a hash of it could be guessed by whoever
    /// has the device.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::V1(code) => Some(code.text()),
            Self::G2(code) => Some(code.text()),
            Self::G3(code) => Some(code.text()),
            Self::Opaque(code) => Some(code.text()),
            Self::Document(_) => None,
        }
    }

    /// The ticket's id, which v1 codes carry. Unverified.
    pub fn ticket_id(&self) -> Option<&TicketId> {
        match self {
            Self::V1(code) => Some(code.ticket_id()),
            Self::G2(_) | Self::G3(_) | Self::Opaque(_) | Self::Document(_) => None,
        }
    }

    /// The fields that G2 and G3 codes carry, the ticket number among them. Unverified.
    pub fn payload(&self) -> Option<&Payload> {
        match self {
            Self::G2(code) => Some(code.payload()),
            Self::G3(code) => Some(code.payload()),
            Self::V1(_) | Self::Opaque(_) | Self::Document(_) => None,
        }
    }
}

/// The shapes that differ between venues.
#[derive(Debug, Clone, Copy, Default)]
pub struct VenueShapes<'a> {
    /// Its opaque codes'.
    pub opaque: &'a [OpaqueShape],
    /// Whether it takes documents at all.
    pub documents: bool,
    /// What its readers put before a passport's number; without one it takes no passports.
    pub passport_prefix: Option<&'a str>,
}

/// Cleans a reading up and parses it in full. The shape decides the format, in the order G3, G2,
/// v1, document, the venue's opaque shapes; once a shape fits, any later fault is [`Malformed`].
pub fn parse(reading: &[u8], shapes: &VenueShapes<'_>) -> Result<Code, Malformed> {
    let text = clean(reading)?;
    if Known::G3.fits(text) {
        return RotatingCode::parse(text).map(Code::G3);
    }
    if Known::G2.fits(text) {
        return SignedCode::parse(text).map(Code::G2);
    }
    if Known::V1.fits(text) {
        return V1Code::parse(text).map(Code::V1);
    }
    if shapes.documents {
        if Known::IdentityCard.fits(text) {
            let document = Document::id_card(text).map_err(Malformed::Document)?;
            return Ok(Code::Document(document));
        }
        let prefix = shapes.passport_prefix.filter(|prefix| !prefix.is_empty());
        let number = prefix.and_then(|prefix| text.strip_prefix(prefix));
        if let Some(Ok(document)) = number.map(Document::passport) {
            return Ok(Code::Document(document));
        }
    }
    if shapes.opaque.iter().any(|shape| shape.fits(text)) {
        return Ok(Code::Opaque(OpaqueCode::new(text)));
    }
    Err(Malformed::NoShape)
}
