//! G3: a signed payload with a tag that rotates every 30 seconds, so that a screenshot is soon
//! worth nothing: `"G3" + base32(payload | signature | counter_low | tag)`. The server signs, the
//! visitor's app rotates, the gate verifies both.

use data_encoding::BASE32_NOPAD;
use hmac::Mac;

use super::payload::{Payload, PayloadError, SIGNED_BYTES, SignedBytes, Version};
use super::{Format, Malformed};
use crate::keys::{CodeSigningKey, CodeVerifyingKey, RotationKey};
use crate::time::{EpochMillis, EpochSeconds};

const PREFIX: &str = "G3";
/// Prefix under which tags are made.
const TAG_DOMAIN: &[u8] = b"gate-rot/v1\0";
/// Bytes of the signature that a tag is bound to.
const BOUND_BYTES: usize = 16;
/// Length of a tag, in bytes.
const TAG_BYTES: usize = 8;
/// Length of a whole code, in bytes.
const CODE_BYTES: usize = SIGNED_BYTES + 1 + TAG_BYTES;

/// How long a counter lasts, in seconds: short enough that a screenshot sent to a friend is stale.
const STEP_S: i64 = 30;
/// The oldest counter that is taken, from that of now.
const OLDEST: i64 = -2;
/// The newest counter that is taken, from that of now.
const NEWEST: i64 = 1;
/// A clock known no better than this, in ms, gets one counter more on either side.
const WIDE_ABOVE_MS: i64 = 30_000;

/// What a gate makes of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TagVerdict {
    /// Genuine and of now.
    Good,
    /// Not made with this key for this signature and a counter near now.
    BadTag,
    /// Genuine, and its counter lies ahead.
    NotYet,
    /// Genuine, and its counter lies behind: a screenshot, or a phone whose clock is slow.
    Expired,
}

/// A parsed G3 code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotatingCode {
    text: String,
    signed: SignedBytes,
    counter_low: u8,
    tag: [u8; TAG_BYTES],
}

impl RotatingCode {
    /// Parses a text that has the shape.
    pub(super) fn parse(text: &str) -> Result<Self, Malformed> {
        let body = text.strip_prefix(PREFIX).ok_or(Malformed::NoShape)?;
        let mut bytes = [0; CODE_BYTES];
        if BASE32_NOPAD.decode_len(body.len()) != Ok(CODE_BYTES) {
            return Err(Malformed::NoShape);
        }
        BASE32_NOPAD
            .decode_mut(body.as_bytes(), &mut bytes)
            .map_err(|_| Malformed::Spelling(Format::G3))?;
        let [head @ .., counter_low, t0, t1, t2, t3, t4, t5, t6, t7] = bytes;
        let signed = SignedBytes::parse(Version::G3, &head)
            .map_err(|fault| Malformed::Field(Format::G3, fault))?;
        let tag = [t0, t1, t2, t3, t4, t5, t6, t7];
        Ok(Self {
            text: text.to_owned(),
            signed,
            counter_low,
            tag,
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

    /// Verifies the signature, strictly, over `"gate-code/v3\0" | payload`.
    #[must_use]
    pub fn verify_signature(&self, key: &CodeVerifyingKey) -> bool {
        self.signed.verify(key)
    }

    /// Verifies the tag against the one counter in −128 … +127 around now's that has the code's
    /// low byte, in constant time; then judges how far that counter is from now's.
    pub fn judge_tag(&self, key: &RotationKey, now: EpochMillis, u_ms: i64) -> TagVerdict {
        let current = now.0.div_euclid(STEP_S * 1000);
        let ahead = (i64::from(self.counter_low) - current).rem_euclid(256);
        let away = if ahead > 127 { ahead - 256 } else { ahead };
        let genuine = u32::try_from(current.saturating_add(away)).is_ok_and(|counter| {
            tagged(key, &self.signed, counter)
                .verify_truncated_left(&self.tag)
                .is_ok()
        });
        let slack = i64::from(u_ms > WIDE_ABOVE_MS);
        if !genuine {
            TagVerdict::BadTag
        } else if away < OLDEST - slack {
            TagVerdict::Expired
        } else if away > NEWEST + slack {
            TagVerdict::NotYet
        } else {
            TagVerdict::Good
        }
    }
}

/// A G3 without its tag: the 91 bytes that the visitor's app is given once, with the rotation key.
/// Worthless at a gate by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedPayload(SignedBytes);

impl SignedPayload {
    /// Takes payload and signature as the server gave them. The signature is not verified.
    pub fn from_bytes(bytes: &[u8; SIGNED_BYTES]) -> Result<Self, PayloadError> {
        SignedBytes::parse(Version::G3, bytes).map(Self)
    }

    /// Payload and signature.
    pub fn as_bytes(&self) -> &[u8; SIGNED_BYTES] {
        self.0.as_bytes()
    }

    /// The fields.
    pub fn payload(&self) -> &Payload {
        self.0.payload()
    }
}

/// Signs a payload, whose ttl must be 0.
pub fn sign(key: &CodeSigningKey, payload: &Payload) -> Result<SignedPayload, PayloadError> {
    SignedBytes::sign(Version::G3, key, payload).map(SignedPayload)
}

/// The code to be shown at `t`. Times outside the counter's 32 bits (before 1970, after 6053)
/// show the nearest counter, which no gate takes.
pub fn rotate(signed: &SignedPayload, key: &RotationKey, t: EpochSeconds) -> String {
    let counter = t.0.div_euclid(STEP_S).clamp(0, i64::from(u32::MAX));
    let counter = u32::try_from(counter).unwrap_or(u32::MAX);
    let tag = tagged(key, &signed.0, counter).finalize();
    let mut bytes = Vec::with_capacity(CODE_BYTES);
    bytes.extend_from_slice(signed.as_bytes());
    bytes.extend(counter.to_be_bytes().last());
    bytes.extend(tag.as_bytes().iter().take(TAG_BYTES));
    let mut text = PREFIX.to_owned();
    BASE32_NOPAD.encode_append(&bytes, &mut text);
    text
}

/// HMAC-SHA256(K_r, `"gate-rot/v1\0" | signature[0..16] | be32(counter)`), not yet finished.
fn tagged(key: &RotationKey, signed: &SignedBytes, counter: u32) -> hmac::Hmac<sha2::Sha256> {
    let mut mac = crate::keys::keyed(key.as_bytes());
    mac.update(TAG_DOMAIN);
    mac.update(&signed.signature()[..BOUND_BYTES]);
    mac.update(&counter.to_be_bytes());
    mac
}
