//! The names that things have, each as a type of its own, so that a ticket id is never
//! passed where a session id is meant. Shapes are checked once, here, when a text arrives.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Why a text is not the id that it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} must be {shape}")]
pub struct IdError {
    kind: &'static str,
    shape: &'static str,
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $shape:literal, $pattern:tt, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schema(value_type = String, pattern = $pattern)]
        pub struct $name(String);

        impl $name {
            /// Takes the text if it has the shape of this id.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                let check: fn(&str) -> bool = $check;
                if check(&text) {
                    Ok(Self(text))
                } else {
                    Err(IdError { kind: $kind, shape: $shape })
                }
            }

            /// The text as it is written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

/// `[A-Za-z0-9_-]{1,64}`: the shape of ids that also stand in codes and paths.
fn plain_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// 1 to 64 bytes without control characters: names that people give and scanners never read.
fn printable(text: &str) -> bool {
    (1..=64).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// An id of the plain shape.
macro_rules! plain_text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        text_id!(
            $(#[$doc])*
            $name, $kind, "1 to 64 of A-Z, a-z, 0-9, _ and -", "^[A-Za-z0-9_-]{1,64}$", plain_id
        );
    };
}

text_id!(
    /// A museum or site: `[a-z0-9-]{1,32}`.
    VenueId, "venue id", "1 to 32 of a-z, 0-9 and -", "^[a-z0-9-]{1,32}$",
    |text| (1..=32).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
);
plain_text_id!(
    /// The booking system's id of a ticket (its reservation id): `[A-Za-z0-9_-]{1,64}`.
    TicketId, "ticket_id"
);
plain_text_id!(
    /// A timed-entry slot: `[A-Za-z0-9_-]{1,64}`.
    SessionId, "session_id"
);
plain_text_id!(
    /// One door: `[A-Za-z0-9_-]{1,64}`.
    GateId, "gate_id"
);
plain_text_id!(
    /// An enrolled PDA or controller, named by the server: `[A-Za-z0-9_-]{1,64}`.
    DeviceId, "device_id"
);
plain_text_id!(
    /// A part of the venue that a ticket opens: `[A-Za-z0-9_-]{1,64}`.
    Zone, "zone"
);
plain_text_id!(
    /// What one admission is good for: `[A-Za-z0-9_-]{1,64}`; by default `entry`.
    Checkpoint, "checkpoint"
);
text_id!(
    /// A booking order, as it stands on the visitor's confirmation: 1 to 64 bytes, no control
    /// characters.
    OrderNumber, "order_number", "1 to 64 bytes without control characters", r"^[^\x00-\x1f\x7f-\x9f]{1,64}$", printable
);

plain_text_id!(
    /// Somebody who works at the venue's gates: `[A-Za-z0-9_-]{1,64}`.
    OperatorId, "operator_id"
);

text_id!(
    /// An invitation to enrol, by what stands for its token: `[a-z2-7]{8}`.
    EnrolmentId, "enrolment_id", "8 of a-z and 2-7", "^[a-z2-7]{8}$",
    |text| text.len() == 8 && text.bytes().all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b))
);

impl Default for Checkpoint {
    /// The one that every venue has: `entry`.
    fn default() -> Self {
        Self("entry".to_owned())
    }
}

/// The number of a venue in G2 and G3 codes: unique on a server, 2 bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(transparent)]
#[schema(value_type = u16)]
pub struct VenueNumber(pub u16);

/// Names one key of a venue within its role; never used twice.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(transparent)]
#[schema(value_type = u8, maximum = 255)]
pub struct Kid(pub u8);

/// The number of a ticket, 1 ..= 2^63 − 1, unique in its venue, derived by the server from the
/// ticket id. A decimal string in JSON, since it can exceed 2^53.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, example = "81985529216486895")]
pub struct TicketNumber(u64);

impl TicketNumber {
    /// Takes a number in 1 ..= 2^63 − 1.
    pub fn new(number: u64) -> Option<Self> {
        (1..=i64::MAX as u64)
            .contains(&number)
            .then_some(Self(number))
    }

    /// The number itself.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The number as SQLite's and PostgreSQL's signed integer.
    pub fn as_i64(self) -> i64 {
        self.0 as i64
    }

    /// Takes a number that a database gave back.
    pub fn from_i64(number: i64) -> Option<Self> {
        u64::try_from(number).ok().and_then(Self::new)
    }
}

impl fmt::Display for TicketNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for TicketNumber {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        let canonical = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        canonical
            .then(|| text.parse().ok())
            .flatten()
            .and_then(Self::new)
            .ok_or(IdError {
                kind: "ticket_number",
                shape: "a decimal string, 1 to 2^63-1",
            })
    }
}

impl From<TicketNumber> for String {
    fn from(number: TicketNumber) -> String {
        number.0.to_string()
    }
}

/// The last four digits of a phone or document number: `0000` to `9999`, written with all four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, example = "5678")]
pub struct LastFour(u16);

impl LastFour {
    /// Takes 0 to 9999.
    pub fn new(digits: u16) -> Option<Self> {
        (digits <= 9999).then_some(Self(digits))
    }

    /// Takes exactly four ASCII digits.
    pub fn from_digits(text: &str) -> Option<Self> {
        (text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse().ok())
            .flatten()
            .and_then(Self::new)
    }

    /// The digits as a number.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for LastFour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}", self.0)
    }
}

impl TryFrom<String> for LastFour {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::from_digits(&text).ok_or("last_four is four digits")
    }
}

impl From<LastFour> for String {
    fn from(digits: LastFour) -> String {
        digits.to_string()
    }
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                text.parse().map(Self)
            }
        }
    };
}

uuid_id!(
    /// A record's own id: UUIDv7, made on the device with the record and never again, so that a
    /// repeated upload is known as such. Time order keeps the server's index warm.
    RecordId
);
uuid_id!(
    /// One journal's life on one machine: random, made with the journal.
    LogId
);

impl RecordId {
    /// A UUIDv7 from the record's time and ten random bytes.
    pub fn at(ms: crate::time::EpochMillis, random: [u8; 10]) -> Self {
        let ms = u64::try_from(ms.0).unwrap_or(0);
        Self(uuid::Builder::from_unix_timestamp_millis(ms, &random).into_uuid())
    }

    /// The time in it, which begins it.
    pub fn made_at(&self) -> crate::time::EpochMillis {
        let [a, b, c, d, e, f, ..] = *self.0.as_bytes();
        crate::time::EpochMillis(i64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }
}
