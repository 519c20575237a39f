//! Signed statements that travel in JSON: the bytes as they were signed, in base64, verified as
//! sent before anything parses them. Each kind of statement has a prefix of its own and one role
//! that may sign it; codes sign in a form of their own (see [`crate::codes`]).

use std::fmt;
use std::marker::PhantomData;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::Kid;
use crate::keys::{Role, SIGNATURE_BYTES, SigningKey, VerifyingKey, role};

/// A kind of statement: what stands before its bytes when they are signed, who signs it, and how
/// large it may be.
pub struct Domain<R: Role> {
    prefix: &'static str,
    max_bytes: usize,
    role: PhantomData<fn() -> R>,
}

impl<R: Role> Domain<R> {
    /// `prefix` ends with NUL, so that none is the start of another's; `max_bytes` bounds the
    /// statement, so that nobody without the key can make a gate decode more.
    const fn new(prefix: &'static str, max_bytes: usize) -> Self {
        Self {
            prefix,
            max_bytes,
            role: PhantomData,
        }
    }

    /// The largest statement of this kind, in bytes before base64.
    pub const fn max_bytes(&self) -> usize {
        self.max_bytes
    }
}

impl<R: Role> fmt::Debug for Domain<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Domain({}, {})",
            self.prefix.trim_end_matches('\0'),
            R::NAME
        )
    }
}

impl Domain<role::Root> {
    /// A venue's key manifest; room for a thousand sister venues' keys.
    pub const KEY_MANIFEST: Self = Self::new("stile/key-manifest/v1\0", 256 * 1024);
}

impl Domain<role::List> {
    /// The manifest of a day's whitelist.
    pub const WHITELIST: Self = Self::new("stile/whitelist/v1\0", 64 * 1024);
    /// A device's certificate.
    pub const CERTIFICATE: Self = Self::new("stile/certificate/v1\0", 16 * 1024);
    /// The word that a device is revoked.
    pub const REVOCATION: Self = Self::new("stile/revocation/v1\0", 4 * 1024);
}

impl Domain<role::Device> {
    /// A batch of records: 500 of the longest, and what stands around them.
    pub const RECORDS: Self = Self::new("stile/records/v1\0", 4 * 1024 * 1024);
    /// The word of a device that its server forgot.
    pub const RETURN: Self = Self::new("stile/return/v1\0", 16 * 1024);
}

/// Why a signed statement is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignedError {
    /// Larger than its kind may be.
    #[error("the statement is larger than the {0} bytes that its kind may have")]
    TooLarge(usize),
    /// A field that is not base64 as it should be.
    #[error("{0} must be base64 with padding, of the right length")]
    Spelling(&'static str),
    /// Signed by another key, under another prefix, or changed since.
    #[error("the signature is wrong")]
    BadSignature,
}

/// Bytes and a signature over them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Signed {
    /// The bytes that are signed, base64 with padding.
    pub payload: String,
    /// Names the key in its role; 0 where whoever verifies has one key only (root, device).
    #[schema(example = 1)]
    pub kid: Kid,
    /// Ed25519 over the kind's prefix and the bytes; 64 bytes, base64 with padding.
    pub signature: String,
}

impl Signed {
    /// Signs bytes as a statement of a kind.
    pub fn sign<R: Role>(
        domain: &Domain<R>,
        payload: &[u8],
        kid: Kid,
        key: &SigningKey<R>,
    ) -> Result<Self, SignedError> {
        if payload.len() > domain.max_bytes {
            return Err(SignedError::TooLarge(domain.max_bytes));
        }
        let message = [domain.prefix.as_bytes(), payload].concat();
        let signature = BASE64.encode(&key.sign(&message));
        Ok(Self {
            payload: BASE64.encode(payload),
            kid,
            signature,
        })
    }

    /// Verifies the signature over the bytes as they were sent, and gives them to be parsed.
    pub fn verify<R: Role>(
        &self,
        domain: &Domain<R>,
        key: &VerifyingKey<R>,
    ) -> Result<Vec<u8>, SignedError> {
        if self.payload.len() > BASE64.encode_len(domain.max_bytes) {
            return Err(SignedError::TooLarge(domain.max_bytes));
        }
        let spelling = |_| SignedError::Spelling("payload");
        let payload = BASE64.decode(self.payload.as_bytes()).map_err(spelling)?;
        let signature = self.signature_bytes()?;
        let message = [domain.prefix.as_bytes(), &payload].concat();
        if !key.verify(&message, &signature) {
            return Err(SignedError::BadSignature);
        }
        Ok(payload)
    }

    fn signature_bytes(&self) -> Result<[u8; SIGNATURE_BYTES], SignedError> {
        let spelling = SignedError::Spelling("signature");
        if self.signature.len() != BASE64.encode_len(SIGNATURE_BYTES) {
            return Err(spelling);
        }
        let bytes = BASE64
            .decode(self.signature.as_bytes())
            .map_err(|_| spelling)?;
        bytes.try_into().map_err(|_| spelling)
    }
}
