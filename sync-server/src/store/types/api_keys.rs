//! API keys and what they may be used for.

use std::fmt;

use serde::{Deserialize, Serialize};
use stile_core::ids::VenueId;
use stile_core::time::{EpochMillis, EpochSeconds};

/// Names an API key for people; says nothing of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ApiKeyId(pub i64);

impl fmt::Display for ApiKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What an API key may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// Sessions and tickets.
    #[serde(rename = "tickets:write")]
    TicketsWrite,
    /// Codes.
    #[serde(rename = "codes:mint")]
    CodesMint,
    /// Records, check-ins and conflicts.
    #[serde(rename = "records:read")]
    RecordsRead,
    /// Everything.
    #[serde(rename = "admin")]
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 4] = [
        Self::TicketsWrite,
        Self::CodesMint,
        Self::RecordsRead,
        Self::Admin,
    ];

    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::TicketsWrite => "tickets:write",
            Self::CodesMint => "codes:mint",
            Self::RecordsRead => "records:read",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a scope is one of tickets:write, codes:mint, records:read, admin")]
pub struct ScopeError;

impl std::str::FromStr for Scope {
    type Err = ScopeError;
    fn from_str(text: &str) -> std::result::Result<Self, ScopeError> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.name() == text)
            .ok_or(ScopeError)
    }
}

/// An API key, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its name for programs.
    pub id: ApiKeyId,
    /// What people call it.
    pub name: String,
    /// The venues that it is good for, by id.
    pub venues: Vec<VenueId>,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: EpochMillis,
    /// The first moment at which it is no longer good, if ever.
    pub expires_at: Option<EpochSeconds>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<EpochMillis>,
}

impl ApiKey {
    /// Whether its scopes allow this; `admin` allows everything.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }
}

/// An API key to be added.
#[derive(Debug, Clone)]
pub struct NewApiKey {
    /// SHA-256 of its text.
    pub hash: [u8; 32],
    /// What people call it.
    pub name: String,
    /// The venues that it is good for.
    pub venues: Vec<VenueId>,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// When.
    pub created_at: EpochMillis,
    /// The first moment at which it is no longer good, if ever.
    pub expires_at: Option<EpochSeconds>,
}
