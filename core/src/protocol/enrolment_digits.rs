//! The six digits by which an operator knows that the device in front of them is the one that asks:
//! both sides derive them, and a device with another key shows others (ADR 46).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use utoipa::ToSchema;

use crate::keys::DeviceVerifyingKey;

/// Stands before what the digits are derived from.
const DOMAIN: &[u8] = b"stile/enrolment-digits/v1\0";
/// How many values six digits have.
const VALUES: u64 = 1_000_000;

/// Six digits: `123 456` for people, `123456` in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, pattern = "^ *([0-9] *){6}$", example = "123456")]
pub struct EnrolmentDigits(u32);

/// A text is not six digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("six digits are wanted, as the device shows them: 123 456")]
pub struct EnrolmentDigitsError;

impl EnrolmentDigits {
    /// The digits of a device's key by a token, under a root of this fingerprint (64 hex digits):
    /// SHA-256 of the domain, SHA-256 of the token's text, the fingerprint's 32 bytes and the key's
    /// 32; its first eight bytes, big endian, modulo a million. None if the fingerprint is none.
    pub fn derive(token: &str, root_fingerprint: &str, key: &DeviceVerifyingKey) -> Option<Self> {
        Self::derive_from_hash(&Sha256::digest(token).into(), root_fingerprint, key)
    }

    /// The same for who has kept no more than SHA-256 of the token's text.
    pub fn derive_from_hash(
        token_hash: &[u8; 32],
        root_fingerprint: &str,
        key: &DeviceVerifyingKey,
    ) -> Option<Self> {
        let root = data_encoding::HEXLOWER_PERMISSIVE.decode(root_fingerprint.as_bytes());
        let root: [u8; 32] = root.ok()?.try_into().ok()?;
        let digest = Sha256::new()
            .chain_update(DOMAIN)
            .chain_update(token_hash)
            .chain_update(root)
            .chain_update(key.as_bytes())
            .finalize();
        let first = digest.first_chunk::<8>()?;
        u32::try_from(u64::from_be_bytes(*first) % VALUES)
            .ok()
            .map(Self)
    }

    /// Whether they are these; how long that takes tells nothing of either.
    pub fn matches(self, other: Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Display for EnrolmentDigits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03} {:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

impl fmt::Debug for EnrolmentDigits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EnrolmentDigits(…)")
    }
}

impl FromStr for EnrolmentDigits {
    type Err = EnrolmentDigitsError;

    fn from_str(text: &str) -> Result<Self, EnrolmentDigitsError> {
        let digits: String = text.chars().filter(|c| *c != ' ').collect();
        let is_six = digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_digit());
        match digits.parse() {
            Ok(value) if is_six => Ok(Self(value)),
            _ => Err(EnrolmentDigitsError),
        }
    }
}

impl TryFrom<String> for EnrolmentDigits {
    type Error = EnrolmentDigitsError;

    fn try_from(text: String) -> Result<Self, EnrolmentDigitsError> {
        text.parse()
    }
}

impl From<EnrolmentDigits> for String {
    fn from(digits: EnrolmentDigits) -> Self {
        format!("{:06}", digits.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_read_as_people_type_them_and_nothing_else_is() {
        for text in ["042007", "042 007", " 04 20 07 "] {
            assert_eq!(text.parse(), Ok(EnrolmentDigits(42_007)), "{text}");
        }
        for text in [
            "",
            "42007",
            "0420070",
            "04200x",
            "+42007",
            "042-007",
            "०४२००७",
        ] {
            assert_eq!(
                text.parse::<EnrolmentDigits>(),
                Err(EnrolmentDigitsError),
                "{text}"
            );
        }
    }

    #[test]
    fn they_are_shown_in_two_groups_with_their_zeros_and_never_in_logs() {
        let digits = EnrolmentDigits(42_007);
        assert_eq!(digits.to_string(), "042 007");
        assert_eq!(String::from(digits), "042007");
        assert!(!format!("{digits:?}").contains('7'));
    }
}
