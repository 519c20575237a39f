//! Symmetric secrets: what the server derives ticket keys, rotation keys and ticket numbers from,
//! and the keys so derived, of which a gate is given only those of its own tickets.

use std::fmt;

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::ids::{TicketId, TicketNumber, VenueId};

/// Length of every secret here but a shared key, in bytes.
pub const SECRET_BYTES: usize = 32;

/// HKDF salt of ticket keys (code-formats, v1).
const TICKET_SALT: &[u8] = b"stile/v1";
/// HKDF salt of rotation keys (code-formats, G3).
const ROTATION_SALT: &[u8] = b"stile/rot";

macro_rules! unprintable {
    ($name:ident) => {
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(secret)"))
            }
        }
    };
}

macro_rules! derived_key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Zeroize, ZeroizeOnDrop)]
        pub struct $name([u8; SECRET_BYTES]);

        impl $name {
            /// Takes the key as a whitelist row gives it.
            pub fn from_bytes(bytes: &[u8; SECRET_BYTES]) -> Self {
                Self(*bytes)
            }

            /// The key's bytes, for the whitelist row or the sealed store. Never log them.
            pub fn as_bytes(&self) -> &[u8; SECRET_BYTES] {
                &self.0
            }
        }

        /// In constant time.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.0.ct_eq(&other.0).into()
            }
        }

        impl Eq for $name {}

        unprintable!($name);
    };
}

derived_key!(
    /// K_t: makes and verifies the v1 codes of one ticket at one revision.
    TicketKey
);
derived_key!(
    /// K_r: makes and verifies the rotating tags of one ticket at one revision.
    RotationKey
);

derived_key!(
    /// The day's key under which documents are hashed. Goes with the list, kept like a secret.
    DocumentKey
);

/// A venue's secret that ticket and rotation keys are derived from. Stays on the server, and with
/// a booking system that mints v1 codes by itself.
#[derive(Clone)]
pub struct IssuerSecret {
    bytes: Zeroizing<[u8; SECRET_BYTES]>,
    // Extracted once, since the salts never change: a day's list needs two expansions a ticket.
    ticket: Hkdf<Sha256>,
    rotation: Hkdf<Sha256>,
}

impl IssuerSecret {
    /// Takes 32 random bytes that the caller made or unsealed.
    pub fn from_bytes(bytes: &[u8; SECRET_BYTES]) -> Self {
        Self {
            bytes: Zeroizing::new(*bytes),
            ticket: extract(TICKET_SALT, bytes),
            rotation: extract(ROTATION_SALT, bytes),
        }
    }

    /// The secret's bytes, to be sealed by the server. Never log them.
    pub fn as_bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.bytes
    }

    /// What a booking system mints v1 codes with: K_t = HMAC-SHA256(this, info | 0x01), which is
    /// HKDF's expand. No rotating secret follows from it.
    pub fn minting_key(&self) -> Zeroizing<[u8; SECRET_BYTES]> {
        let (mut prk, _) = Hkdf::<Sha256>::extract(Some(TICKET_SALT), &*self.bytes);
        let mut key = Zeroizing::new([0; SECRET_BYTES]);
        key.copy_from_slice(&prk);
        prk.as_mut_slice().zeroize();
        key
    }

    /// K_t of a ticket: info is `venue_id ":" ticket_id`, from revision 1 on followed by
    /// `":" revision`.
    pub fn ticket_key(&self, venue: &VenueId, ticket: &TicketId, revision: u8) -> TicketKey {
        let (venue, ticket) = (venue.as_str().as_bytes(), ticket.as_str().as_bytes());
        if revision == 0 {
            return TicketKey(expand(&self.ticket, &[venue, b":", ticket]));
        }
        let revision = revision.to_string();
        TicketKey(expand(
            &self.ticket,
            &[venue, b":", ticket, b":", revision.as_bytes()],
        ))
    }

    /// K_r of a ticket: info is `venue_id ":" ticket_number ":" revision`, in decimal ASCII, also
    /// at revision 0.
    pub fn rotation_key(&self, venue: &VenueId, ticket: TicketNumber, revision: u8) -> RotationKey {
        let numbers = format!(":{ticket}:{revision}");
        RotationKey(expand(
            &self.rotation,
            &[venue.as_str().as_bytes(), numbers.as_bytes()],
        ))
    }
}

unprintable!(IssuerSecret);

fn extract(salt: &[u8], ikm: &[u8]) -> Hkdf<Sha256> {
    let (mut prk, hkdf) = Hkdf::<Sha256>::extract(Some(salt), ikm);
    prk.as_mut_slice().zeroize();
    hkdf
}

fn expand(hkdf: &Hkdf<Sha256>, info: &[&[u8]]) -> [u8; SECRET_BYTES] {
    let mut key = [0; SECRET_BYTES];
    hkdf.expand_multi_info(info, &mut key)
        .expect("32 bytes are one block of HKDF-SHA256, which gives up to 255");
    key
}

/// A venue's secret that ticket numbers are derived from, so that they are the same after a
/// restore, and tell nothing of the ticket id.
#[derive(Clone)]
pub struct NumberingSecret {
    bytes: Zeroizing<[u8; SECRET_BYTES]>,
    keyed: Hmac<Sha256>,
}

impl NumberingSecret {
    /// Takes 32 random bytes that the caller made or unsealed.
    pub fn from_bytes(bytes: &[u8; SECRET_BYTES]) -> Self {
        Self {
            bytes: Zeroizing::new(*bytes),
            keyed: keyed(bytes),
        }
    }

    /// The secret's bytes, to be sealed by the server. Never log them.
    pub fn as_bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.bytes
    }

    /// The first 8 bytes of HMAC-SHA256(secret, venue NUL ticket id), big endian, top bit cleared;
    /// 1 in place of 0.
    pub fn ticket_number(&self, venue: &VenueId, ticket: &TicketId) -> TicketNumber {
        let mut mac = self.keyed.clone();
        mac.update(venue.as_str().as_bytes());
        mac.update(&[0]);
        mac.update(ticket.as_str().as_bytes());
        let tag = mac.finalize();
        let first = tag
            .as_bytes()
            .iter()
            .take(8)
            .fold(0_u64, |n, b| n << 8 | u64::from(*b));
        TicketNumber::new((first & i64::MAX as u64).max(1))
            .expect("the top bit is cleared and 0 was replaced")
    }
}

unprintable!(NumberingSecret);

/// Why bytes are no shared key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a shared key must not be empty")]
pub struct EmptyKey;

/// The one secret with which an older booking system signs all its v1 codes. Only the upstream
/// server holds it; devices and hubs never do.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SharedKey(Vec<u8>);

impl SharedKey {
    /// Takes the key as the booking system uses it, of any length but none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EmptyKey> {
        if bytes.is_empty() {
            Err(EmptyKey)
        } else {
            Ok(Self(bytes.to_vec()))
        }
    }

    /// The key's bytes, to verify with or to be sealed by the server. Never log them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

unprintable!(SharedKey);

/// HMAC-SHA256, ready for its message.
pub(crate) fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes a key of any length")
}
