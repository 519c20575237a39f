//! G2: a signed, self-contained code, `"G2" + base32(payload | signature)`. A stolen device can
//! read such codes and make none.

use data_encoding::BASE32_NOPAD;

use super::payload::{Payload, PayloadError, SIGNED_BYTES, SignedBytes, Version};
use super::window::{CodeRules, Window, now_range, shifted};
use super::{Format, Malformed};
use crate::keys::{CodeSigningKey, CodeVerifyingKey};
use crate::time::EpochMillis;

const PREFIX: &str = "G2";

/// A parsed G2 code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCode {
    text: String,
    signed: SignedBytes,
}

impl SignedCode {
    /// Parses a text that has the shape.
    pub(super) fn parse(text: &str) -> Result<Self, Malformed> {
        let body = text.strip_prefix(PREFIX).ok_or(Malformed::NoShape)?;
        let mut bytes = [0; SIGNED_BYTES];
        if BASE32_NOPAD.decode_len(body.len()) != Ok(SIGNED_BYTES) {
            return Err(Malformed::NoShape);
        }
        BASE32_NOPAD
            .decode_mut(body.as_bytes(), &mut bytes)
            .map_err(|_| Malformed::Spelling(Format::G2))?;
        let signed = SignedBytes::parse(Version::G2, &bytes)
            .map_err(|fault| Malformed::Field(Format::G2, fault))?;
        Ok(Self {
            text: text.to_owned(),
            signed,
        })
    }

    /// The text after clean-up.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The fields. Unverified.
    pub fn payload(&self) -> &Payload {
        self.signed.payload()
    }

    /// Verifies the signature, strictly, over `"gate-code/v2\0" | payload`.
    #[must_use]
    pub fn verify_signature(&self, key: &CodeVerifyingKey) -> bool {
        self.signed.verify(key)
    }

    /// `[issued_at − leeway, issued_at + ttl + leeway)`.
    pub fn window(&self, now: EpochMillis, u_ms: i64, rules: &CodeRules) -> Window {
        let (earliest, latest) = now_range(now, u_ms);
        let (payload, leeway) = (self.payload(), i64::from(rules.leeway_s));
        if latest < shifted(payload.issued_at, -leeway) {
            Window::NotYet
        } else if earliest >= shifted(payload.issued_at, payload.ttl_s() + leeway) {
            Window::Expired
        } else {
            Window::Good
        }
    }
}

/// Mints the code of a payload.
pub fn mint(key: &CodeSigningKey, payload: &Payload) -> Result<String, PayloadError> {
    let signed = SignedBytes::sign(Version::G2, key, payload)?;
    let mut text = PREFIX.to_owned();
    BASE32_NOPAD.encode_append(signed.as_bytes(), &mut text);
    Ok(text)
}
