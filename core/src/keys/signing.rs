//! Ed25519 keys, each bound to its role by type: what the list key signs cannot be verified with
//! the code key, not even by mistake. Verification is strict: no small-order keys, S < L, one
//! spelling per key.

use std::fmt;
use std::marker::PhantomData;

use data_encoding::{BASE64, HEXLOWER};
use ed25519_dalek::Signer;
use sha2::{Digest, Sha256};

/// Length of a public key, in bytes.
pub const PUBLIC_KEY_BYTES: usize = 32;
/// Length of a signature, in bytes.
pub const SIGNATURE_BYTES: usize = 64;

/// Prefix under which a root key's fingerprint is taken.
const FINGERPRINT_DOMAIN: &[u8] = b"stile/root-fingerprint/v1\0";

/// What a key is for. Keys never share roles (sync-protocol, Trust).
pub trait Role: sealed::Sealed + 'static {
    /// The role's name in messages.
    const NAME: &'static str;
}

mod sealed {
    pub trait Sealed {}
}

/// The roles that keys have.
pub mod role {
    macro_rules! role {
        ($(#[$doc:meta])* $name:ident, $text:literal) => {
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub enum $name {}
            impl super::sealed::Sealed for $name {}
            impl super::Role for $name {
                const NAME: &'static str = $text;
            }
        };
    }

    role!(
        /// Pinned by the enrolment QR; signs key manifests only; may be kept offline.
        Root, "root"
    );
    role!(
        /// Signs whitelist manifests, revocations and device certificates.
        List, "list"
    );
    role!(
        /// Signs G2 and G3 codes.
        Code, "code"
    );
    role!(
        /// A device's own; signs its batches of records.
        Device, "device"
    );
}

/// Why bytes are no public key that may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not 32 bytes in base64.
    #[error("a public key is 32 bytes, written in base64 with padding")]
    Spelling,
    /// No point of the curve, or a second spelling of one.
    #[error("these 32 bytes are no Ed25519 public key")]
    NoPoint,
    /// A point of small order, for which signatures of any message can be made.
    #[error("this Ed25519 public key is of small order and proves nothing")]
    SmallOrder,
}

/// A private key of one role: zeroized when dropped, prints its role only.
#[derive(Clone)]
pub struct SigningKey<R: Role> {
    key: ed25519_dalek::SigningKey,
    role: PhantomData<fn() -> R>,
}

/// Signs key manifests.
pub type RootSigningKey = SigningKey<role::Root>;
/// Signs whitelist manifests, revocations and device certificates.
pub type ListSigningKey = SigningKey<role::List>;
/// Signs G2 and G3 codes.
pub type CodeSigningKey = SigningKey<role::Code>;
/// Signs a device's batches of records.
pub type DeviceSigningKey = SigningKey<role::Device>;

impl<R: Role> SigningKey<R> {
    /// Takes an Ed25519 seed of 32 random bytes that the caller made or unsealed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self {
            key: ed25519_dalek::SigningKey::from_bytes(seed),
            role: PhantomData,
        }
    }

    /// The seed, to be sealed by whoever keeps the key. Never log it.
    pub fn seed(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// The public key that belongs to it.
    pub fn verifying_key(&self) -> VerifyingKey<R> {
        VerifyingKey {
            key: self.key.verifying_key(),
            role: PhantomData,
        }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.key.sign(message).to_bytes()
    }
}

impl<R: Role> fmt::Debug for SigningKey<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, secret)", R::NAME)
    }
}

/// A public key of one role that was found fit for use when it was made.
pub struct VerifyingKey<R: Role> {
    key: ed25519_dalek::VerifyingKey,
    role: PhantomData<fn() -> R>,
}

/// Verifies key manifests.
pub type RootVerifyingKey = VerifyingKey<role::Root>;
/// Verifies whitelist manifests, revocations and device certificates.
pub type ListVerifyingKey = VerifyingKey<role::List>;
/// Verifies G2 and G3 codes.
pub type CodeVerifyingKey = VerifyingKey<role::Code>;
/// Verifies a device's batches of records.
pub type DeviceVerifyingKey = VerifyingKey<role::Device>;

impl<R: Role> VerifyingKey<R> {
    /// Takes a public key unless it is invalid, of small order, or spelled another way than the
    /// one that Ed25519 writes.
    pub fn from_bytes(bytes: &[u8; PUBLIC_KEY_BYTES]) -> Result<Self, KeyError> {
        let key = ed25519_dalek::VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::NoPoint)?;
        if key.to_edwards().compress().as_bytes() != bytes {
            return Err(KeyError::NoPoint);
        }
        if key.is_weak() {
            return Err(KeyError::SmallOrder);
        }
        Ok(Self {
            key,
            role: PhantomData,
        })
    }

    /// Takes a public key as JSON carries it: base64 with padding.
    pub fn from_base64(text: &str) -> Result<Self, KeyError> {
        let mut bytes = [0; PUBLIC_KEY_BYTES + 1];
        // 32 bytes are 44 characters, and 44 characters can be 33 bytes.
        if text.len() != BASE64.encode_len(PUBLIC_KEY_BYTES) {
            return Err(KeyError::Spelling);
        }
        let length = BASE64
            .decode_mut(text.as_bytes(), &mut bytes)
            .map_err(|_| KeyError::Spelling)?;
        let bytes = bytes[..length].try_into().map_err(|_| KeyError::Spelling)?;
        Self::from_bytes(bytes)
    }

    /// The key's bytes.
    pub fn as_bytes(&self) -> &[u8; PUBLIC_KEY_BYTES] {
        self.key.as_bytes()
    }

    /// The key as JSON carries it.
    pub fn to_base64(&self) -> String {
        BASE64.encode(self.as_bytes())
    }

    #[must_use]
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        self.key.verify_strict(message, &signature).is_ok()
    }
}

// By hand: derives would ask the same of the role, which is never held.
impl<R: Role> Clone for VerifyingKey<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Role> Copy for VerifyingKey<R> {}

impl<R: Role> PartialEq for VerifyingKey<R> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl<R: Role> Eq for VerifyingKey<R> {}

impl<R: Role> fmt::Debug for VerifyingKey<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({}, {})", R::NAME, self.to_base64())
    }
}

/// The fingerprint that an enrolment QR pins the root key by: SHA-256 of
/// `"stile/root-fingerprint/v1\0" | public key`, 64 lower-case hex digits.
pub fn root_fingerprint(key: &RootVerifyingKey) -> String {
    let hash = Sha256::new()
        .chain_update(FINGERPRINT_DOMAIN)
        .chain_update(key.as_bytes());
    HEXLOWER.encode(&hash.finalize())
}
