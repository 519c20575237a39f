//! API keys of back ends: what they may be used for, how they are made, and how they are shown.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::VenueId;
use crate::time::{EpochMillis, EpochSeconds};

/// Names an API key for people; says nothing of its text, and nothing of how many there are: it is
/// random, below 2^48.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(transparent)]
pub struct ApiKeyId(pub i64);

impl fmt::Display for ApiKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What an API key may be used for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
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
    fn from_str(text: &str) -> Result<Self, ScopeError> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.name() == text)
            .ok_or(ScopeError)
    }
}

/// `POST /v1/api-keys`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewApiKey {
    /// What people call it.
    pub name: String,
    /// What it may be used for; no more than the key that makes it.
    pub scopes: Vec<Scope>,
    /// The venues that it is good for; no others than those of the key that makes it. Without
    /// any, the venue that the request is about.
    #[serde(default)]
    pub venues: Vec<VenueId>,
    /// The first moment at which it is no longer good. Not later than that of the key that makes
    /// it, and that one by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<EpochSeconds>,
}

/// An API key at the venue that was asked about. Of other venues that it may be good for, nothing
/// is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiKeyView {
    /// Its id.
    pub api_key_id: ApiKeyId,
    /// What people call it.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// The key that made it; none if the command line did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<ApiKeyId>,
    /// When it was made.
    pub created_at: EpochMillis,
    /// The first moment at which it is no longer good, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<EpochSeconds>,
    /// When it was last used here, to the minute; none if it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<EpochMillis>,
    /// Since when it is no longer good here, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<EpochMillis>,
}

/// `GET /v1/api-keys`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiKeys {
    /// The oldest first; those that are revoked or have ended are among them.
    pub api_keys: Vec<ApiKeyView>,
}

/// The answer to `POST /v1/api-keys`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeApiKey {
    /// The key.
    #[serde(flatten)]
    pub api_key: ApiKeyView,
    /// The text that requests carry. It is in this one answer and never again.
    pub text: String,
}

impl fmt::Debug for MadeApiKey {
    /// Without the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeApiKey")
            .field("api_key", &self.api_key)
            .finish_non_exhaustive()
    }
}
