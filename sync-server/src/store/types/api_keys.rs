//! API keys, without their texts.

pub use stile_core::protocol::{ApiKeyId, Scope};

use stile_core::ids::VenueId;
use stile_core::time::{EpochMillis, EpochSeconds};

/// An API key, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its name for programs.
    pub id: ApiKeyId,
    /// What people call it.
    pub name: String,
    /// The venues that it was made for, by id.
    pub venues: Vec<KeyVenue>,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// The key that made it; none if the command line did.
    pub made_by: Option<ApiKeyId>,
    /// When it was made.
    pub created_at: EpochMillis,
    /// The first moment at which it is no longer good, if ever.
    pub expires_at: Option<EpochSeconds>,
    /// When it was revoked at all venues, if it was.
    pub revoked_at: Option<EpochMillis>,
}

/// What an API key is at one of its venues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyVenue {
    /// The venue.
    pub venue_id: VenueId,
    /// When it was last used there, to the minute.
    pub last_used_at: Option<EpochMillis>,
    /// When it was revoked there, if it was.
    pub revoked_at: Option<EpochMillis>,
}

impl ApiKey {
    /// Whether its scopes allow this; `admin` allows everything.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    /// The venues where it is not revoked.
    pub fn good_at(&self) -> impl Iterator<Item = &VenueId> {
        let is_good = |venue: &&KeyVenue| venue.revoked_at.is_none();
        let venues = match self.revoked_at {
            None => self.venues.as_slice(),
            Some(_) => &[],
        };
        venues.iter().filter(is_good).map(|venue| &venue.venue_id)
    }

    /// What it is at a venue, if it was made for that.
    pub fn at(&self, venue: &VenueId) -> Option<&KeyVenue> {
        self.venues.iter().find(|at| at.venue_id == *venue)
    }
}

/// An API key to be added.
#[derive(Debug, Clone)]
pub struct NewApiKey {
    /// Its name for programs.
    pub id: ApiKeyId,
    /// SHA-256 of its text.
    pub hash: [u8; 32],
    /// What people call it.
    pub name: String,
    /// The venues that it is good for.
    pub venues: Vec<VenueId>,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// The key that makes it; none if the command line does.
    pub made_by: Option<ApiKeyId>,
    /// When.
    pub created_at: EpochMillis,
    /// The first moment at which it is no longer good, if ever.
    pub expires_at: Option<EpochSeconds>,
}
