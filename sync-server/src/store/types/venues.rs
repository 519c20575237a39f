//! The server, its venues and their secrets.

use stile_core::ids::{Kid, VenueId, VenueNumber};
use stile_core::policy::Policy;
use stile_core::signed::Signed;
use stile_core::time::{EpochMillis, EpochSeconds};

/// What holds for the whole server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// UTC seconds at which the data was put back from a backup; 0 at first.
    pub generation: u64,
    /// What the master key is checked against, once it was kept.
    pub vault_check: Option<Vec<u8>>,
}

/// What putting something did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// It was not there before.
    Created,
    /// It was there, with other content.
    Changed,
    /// It was there as it is.
    Unchanged,
}

/// A venue.
#[derive(Debug, Clone, PartialEq)]
pub struct Venue {
    /// Its id.
    pub venue_id: VenueId,
    /// Its number in codes and in the store.
    pub number: VenueNumber,
    /// What people call it.
    pub name: String,
    /// IANA name of its time zone.
    pub time_zone: String,
    /// What it decided for itself.
    pub policy: Policy,
    /// When it was created.
    pub created_at: EpochMillis,
}

/// A venue to be created.
#[derive(Debug, Clone)]
pub struct NewVenue {
    /// Its id.
    pub venue_id: VenueId,
    /// What people call it.
    pub name: String,
    /// IANA name of its time zone.
    pub time_zone: String,
    /// Its policy.
    pub policy: Policy,
    /// When.
    pub created_at: EpochMillis,
    /// Its secrets, sealed.
    pub secrets: Vec<SealedSecret>,
}

/// What a secret is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SecretKind {
    /// Ed25519 seed that signs key manifests.
    Root,
    /// Ed25519 seed that signs lists and certificates.
    List,
    /// Ed25519 seed that signs codes.
    Code,
    /// Ticket and rotation keys are derived from it.
    Issuer,
    /// Ticket numbers are derived from it.
    Numbering,
    /// Cursors are signed with it.
    Cursor,
    /// Devices' bearers are derived from it.
    Bearer,
    /// A booking system signs its v1 codes with it. Imported, not made.
    V1Shared,
}

impl SecretKind {
    /// Every kind that a venue is made with.
    pub const ALL: [Self; 7] = [
        Self::Root,
        Self::List,
        Self::Code,
        Self::Issuer,
        Self::Numbering,
        Self::Cursor,
        Self::Bearer,
    ];

    /// The kind of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter().chain([Self::V1Shared]);
        all.find(|kind| kind.name() == name)
    }

    /// Its stable name in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::List => "list",
            Self::Code => "code",
            Self::Issuer => "issuer",
            Self::Numbering => "numbering",
            Self::Cursor => "cursor",
            Self::Bearer => "bearer",
            Self::V1Shared => "v1_shared",
        }
    }
}

/// A secret as it is stored: encrypted under the master key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecret {
    /// What it is for.
    pub kind: SecretKind,
    /// Its name in its role; 0 for what is no signing key of a role with several.
    pub kid: Kid,
    /// The sealed bytes.
    pub sealed: Vec<u8>,
}

/// What becomes of private keys beside a new manifest.
#[derive(Debug, Clone, Default)]
pub struct KeyChange {
    /// Made.
    pub added: Vec<SealedSecret>,
    /// Needed no more.
    pub destroyed: Vec<(SecretKind, Kid)>,
}

impl KeyChange {
    /// One more key.
    pub fn adding(secret: SealedSecret) -> Self {
        Self {
            added: vec![secret],
            destroyed: Vec::new(),
        }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.destroyed.is_empty()
    }
}

/// A key manifest as it was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKeyManifest {
    /// Its version.
    pub version: u64,
    /// The generation that it was signed in.
    pub generation: u64,
    /// When a newer one must be there.
    pub not_after: EpochSeconds,
    /// What was signed.
    pub signed: Signed,
}
