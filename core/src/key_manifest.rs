//! Which keys a venue trusts: signed by the root key, held by every device, never taken lower.
//! [`KeyManifest`] is what travels; [`KeyRing`] is what a gate looks keys up in. Says nothing of
//! when a manifest is fetched or kept.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{Kid, VenueId, VenueNumber};
use crate::keys::{
    CodeVerifyingKey, KeyError, Role, RootSigningKey, RootVerifyingKey, VerifyingKey, role,
};
use crate::signed::{Domain, Signed, SignedError};
use crate::time::{EpochMillis, EpochSeconds};

/// Why a manifest is not taken or not signed.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Its signature, size or spelling.
    #[error("key manifest: {0}")]
    Signed(#[from] SignedError),
    /// What is signed is no key manifest.
    #[error("key manifest: not the JSON that it should be: {0}")]
    Json(#[from] serde_json::Error),
    /// Two venues of one number, so that a code would name both.
    #[error("key manifest: venue number {} stands twice", .0.0)]
    NumberTwice(VenueNumber),
    /// Two keys of one kid.
    #[error("key manifest: {role} key {} of venue {venue} stands twice", kid.0)]
    KidTwice {
        /// The venue.
        venue: VenueId,
        /// The keys' role.
        role: String,
        /// Their kid.
        kid: Kid,
    },
    /// An Ed25519 key that could never verify anything; found before signing only.
    #[error("key manifest: {role} key {} of venue {venue}: {fault}", kid.0)]
    Unusable {
        /// The venue.
        venue: VenueId,
        /// The key's role.
        role: String,
        /// Its kid.
        kid: Kid,
        /// What is wrong with it.
        fault: KeyError,
    },
    /// One key for two roles; found before signing only.
    #[error("key manifest: the key of kid {} serves two roles", .0.0)]
    SharedRole(Kid),
}

/// A word of a list that may grow: those known here, and any other, kept as it came.
macro_rules! open_word {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
            /// A newer server's word, kept as it came.
            Other(String),
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($text => Self::$variant,)*
                    _ => Self::Other(text),
                }
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> String {
                match word {
                    $($name::$variant => $text.to_owned(),)*
                    $name::Other(text) => text,
                }
            }
        }
    };
}

open_word!(
    /// What a key in the manifest is for: `list`, `code`.
    KeyRole {
        /// Signs whitelist manifests, revocations and device certificates.
        List = "list",
        /// Signs G2 and G3 codes.
        Code = "code",
    }
);
open_word!(
    /// How a key signs: `Ed25519`. Keys of any other algorithm never verify.
    Algorithm {
        /// Ed25519, verified strictly.
        Ed25519 = "Ed25519",
    }
);

/// One key of a venue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ManifestKey {
    /// What it is for.
    #[schema(value_type = String, example = "code")]
    pub role: KeyRole,
    /// Its name within venue and role; never used twice.
    #[schema(example = 1)]
    pub kid: Kid,
    /// How it signs.
    #[schema(value_type = String, example = "Ed25519")]
    pub algorithm: Algorithm,
    /// The public key, base64 with padding.
    pub public_key: String,
    /// The first moment of its use.
    pub valid_from: EpochSeconds,
    /// The first moment after its use; open if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<EpochSeconds>,
    /// Never trusted again, whatever its times.
    #[serde(default)]
    pub revoked: bool,
}

impl ManifestKey {
    fn usable<R: Role>(&self) -> Option<Result<VerifyingKey<R>, KeyError>> {
        (self.algorithm == Algorithm::Ed25519).then(|| VerifyingKey::from_base64(&self.public_key))
    }
}

/// A venue whose codes are known here, to be told apart from forged ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SisterVenue {
    /// Its id.
    pub venue_id: VenueId,
    /// Its number in codes.
    pub number: VenueNumber,
    /// Its code keys.
    pub keys: Vec<ManifestKey>,
}

/// What the root key signs: the keys of a venue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyManifest {
    /// The venue.
    pub venue_id: VenueId,
    /// Its number in codes.
    pub number: VenueNumber,
    /// The server's generation, decimal.
    #[serde(with = "crate::decimal")]
    #[schema(value_type = String, example = "0")]
    pub generation: u64,
    /// Counts up with each change of the keys, decimal.
    #[serde(with = "crate::decimal")]
    #[schema(value_type = String, example = "3")]
    pub version: u64,
    /// When it was signed.
    pub issued_at: EpochMillis,
    /// When a newer one must have come.
    pub not_after: EpochSeconds,
    /// The venue's keys, revoked ones included.
    pub keys: Vec<ManifestKey>,
    /// Venues whose codes are refused as `wrong_venue` instead of `unknown_key`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sister_venues: Vec<SisterVenue>,
}

/// How an offered manifest stands to the held one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Higher: take it.
    Newer,
    /// The held one again: nothing to do.
    Same,
    /// Lower: refuse it.
    Lower,
    /// Equal (generation, version) with other content: refuse it and raise an alarm.
    Contradicts,
    /// Another venue's: refuse it.
    OtherVenue,
}

impl KeyManifest {
    /// Checks and signs a manifest.
    pub fn sign(&self, kid: Kid, root: &RootSigningKey) -> Result<Signed, ManifestError> {
        self.check()?;
        self.check_keys(&root.verifying_key())?;
        let payload = serde_json::to_vec(self)?;
        Ok(Signed::sign(&Domain::KEY_MANIFEST, &payload, kid, root)?)
    }

    /// Verifies a manifest and reads it. Keys that cannot be used here are no fault: they never
    /// verify.
    pub fn open(signed: &Signed, root: &RootVerifyingKey) -> Result<Self, ManifestError> {
        let payload = signed.verify(&Domain::KEY_MANIFEST, root)?;
        let manifest: Self = serde_json::from_slice(&payload)?;
        manifest.check()?;
        Ok(manifest)
    }

    /// How this manifest stands to the one that is held. Only [`Offer::Newer`] is taken.
    pub fn compared_to(&self, held: &Self) -> Offer {
        let order = |manifest: &Self| (manifest.generation, manifest.version);
        if self.venue_id != held.venue_id {
            return Offer::OtherVenue;
        }
        match order(self).cmp(&order(held)) {
            std::cmp::Ordering::Greater => Offer::Newer,
            std::cmp::Ordering::Less => Offer::Lower,
            std::cmp::Ordering::Equal if self == held => Offer::Same,
            std::cmp::Ordering::Equal => Offer::Contradicts,
        }
    }

    /// The offered manifest if it is newer than this one, else this one.
    pub fn or_newer(self, offered: Option<Self>) -> Self {
        match offered {
            Some(offered) if offered.compared_to(&self) == Offer::Newer => offered,
            _ => self,
        }
    }

    /// Each venue with its number and keys, the own one first.
    fn venues(&self) -> impl Iterator<Item = (&VenueId, VenueNumber, &[ManifestKey])> {
        let own = (&self.venue_id, self.number, self.keys.as_slice());
        let sisters = self.sister_venues.iter();
        std::iter::once(own)
            .chain(sisters.map(|sister| (&sister.venue_id, sister.number, &sister.keys[..])))
    }

    /// Names must name one thing.
    fn check(&self) -> Result<(), ManifestError> {
        let mut numbers = BTreeSet::new();
        for (venue, number, keys) in self.venues() {
            if !numbers.insert(number) {
                return Err(ManifestError::NumberTwice(number));
            }
            let mut names = BTreeSet::new();
            for key in keys {
                if !names.insert((&key.role, key.kid)) {
                    return Err(ManifestError::KidTwice {
                        venue: venue.clone(),
                        role: key.role.clone().into(),
                        kid: key.kid,
                    });
                }
            }
        }
        Ok(())
    }

    /// Keys must be of use, and have one role each.
    fn check_keys(&self, root: &RootVerifyingKey) -> Result<(), ManifestError> {
        let root = root.to_base64();
        let mut roles = BTreeMap::new();
        for (venue, _, keys) in self.venues() {
            for key in keys {
                if let Some(Err(fault)) = key.usable::<role::Code>() {
                    return Err(ManifestError::Unusable {
                        venue: venue.clone(),
                        role: key.role.clone().into(),
                        kid: key.kid,
                        fault,
                    });
                }
                let role = roles.entry(key.public_key.as_str()).or_insert(&key.role);
                if *role != &key.role || key.public_key == root {
                    return Err(ManifestError::SharedRole(key.kid));
                }
            }
        }
        Ok(())
    }
}

/// A key that can verify, with the times of its use.
#[derive(Debug, Clone, Copy)]
pub struct TimedKey<R: Role> {
    /// The key.
    pub key: VerifyingKey<R>,
    valid_from: EpochSeconds,
    valid_until: Option<EpochSeconds>,
}

impl<R: Role> TimedKey<R> {
    fn of(key: &ManifestKey) -> Option<Self> {
        if key.revoked {
            return None;
        }
        let (valid_from, valid_until) = (key.valid_from, key.valid_until);
        Some(Self {
            key: key.usable()?.ok()?,
            valid_from,
            valid_until,
        })
    }

    /// Whether a statement issued at `t` may be signed by it: `[valid_from, valid_until)`.
    pub fn is_valid_at(&self, t: EpochSeconds) -> bool {
        self.valid_from <= t && self.valid_until.is_none_or(|until| t < until)
    }
}

fn usable_keys<R: Role>(
    keys: &[ManifestKey],
    role: KeyRole,
) -> impl Iterator<Item = (Kid, TimedKey<R>)> {
    keys.iter()
        .filter(move |key| key.role == role)
        .filter_map(|key| Some((key.kid, TimedKey::of(key)?)))
}

/// A code's key, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeKey<'a> {
    /// What the code's signature is verified with.
    pub verifying_key: &'a CodeVerifyingKey,
    /// A sister venue's: a genuine code of it is `wrong_venue`.
    pub is_sister: bool,
}

/// The manifest's keys that can verify something, ready for look-up.
#[derive(Debug, Clone)]
pub struct KeyRing {
    venue: VenueNumber,
    list: BTreeMap<Kid, TimedKey<role::List>>,
    code: BTreeMap<(VenueNumber, Kid), TimedKey<role::Code>>,
}

impl KeyRing {
    /// Takes the usable keys of a manifest. Revoked ones and those of other algorithms are as if
    /// they were not there.
    pub fn new(manifest: &KeyManifest) -> Self {
        Self {
            venue: manifest.number,
            list: usable_keys(&manifest.keys, KeyRole::List).collect(),
            code: manifest
                .venues()
                .flat_map(|(_, number, keys)| {
                    usable_keys(keys, KeyRole::Code).map(move |(kid, key)| ((number, kid), key))
                })
                .collect(),
        }
    }

    /// No keys at all: what a revoked device has.
    pub fn empty(venue: VenueNumber) -> Self {
        Self {
            venue,
            list: BTreeMap::new(),
            code: BTreeMap::new(),
        }
    }

    /// The key that (venue number, kid) names, if it was valid at the code's `issued_at`.
    pub fn code_key(
        &self,
        venue: VenueNumber,
        kid: Kid,
        issued_at: EpochSeconds,
    ) -> Option<CodeKey<'_>> {
        let key = self
            .code
            .get(&(venue, kid))
            .filter(|key| key.is_valid_at(issued_at))?;
        Some(CodeKey {
            verifying_key: &key.key,
            is_sister: venue != self.venue,
        })
    }

    /// The list key of a kid. When the statement was issued stands in the statement: verify it
    /// with [`TimedKey::key`] first, then ask [`TimedKey::is_valid_at`].
    pub fn list_key(&self, kid: Kid) -> Option<&TimedKey<role::List>> {
        self.list.get(&kid)
    }
}
