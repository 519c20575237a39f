//! A venue's signing keys as operators see them: which signs now, which comes next, which is over.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::Kid;
use crate::key_manifest::KeyRole;
use crate::time::EpochSeconds;

/// What a key that can be rotated signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SigningRole {
    /// Lists, device certificates and revocations.
    List,
    /// G2 and G3 codes.
    Code,
}

impl SigningRole {
    /// Both.
    pub const ALL: [Self; 2] = [Self::List, Self::Code];

    /// The role in the key manifest.
    pub fn in_manifest(self) -> KeyRole {
        match self {
            Self::List => KeyRole::List,
            Self::Code => KeyRole::Code,
        }
    }
}

impl fmt::Display for SigningRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "list",
            Self::Code => "code",
        })
    }
}

/// A text names no role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("list or code; the root is pinned by every device and cannot be rotated")]
pub struct SigningRoleError;

impl FromStr for SigningRole {
    type Err = SigningRoleError;

    fn from_str(text: &str) -> Result<Self, SigningRoleError> {
        let found = Self::ALL.into_iter().find(|role| role.to_string() == text);
        found.ok_or(SigningRoleError)
    }
}

/// How a signing key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SigningKeyState {
    /// Gates hear of it already; it signs from `valid_from` on.
    Next,
    /// It signs.
    Signing,
    /// It signs nothing any more, and what it signed before is good.
    Retired,
    /// Nothing that it ever signed is good.
    Revoked,
}

/// A signing key of a venue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SigningKeyView {
    /// What it signs.
    pub role: SigningRole,
    /// Its name in the role; never given twice.
    pub kid: Kid,
    /// How it stands now.
    pub state: SigningKeyState,
    /// The public key, base64.
    pub public_key: String,
    /// From when on it signs.
    pub valid_from: EpochSeconds,
    /// When it stops; open if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<EpochSeconds>,
}

/// `GET /v1/keys`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SigningKeys {
    /// The venue's keys as its newest key manifest names them, by role and kid.
    pub keys: Vec<SigningKeyView>,
}

/// `POST /v1/keys/{role}/{kid}/revoke`: what it costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SigningKeyRevoked {
    /// The key that signs from now on.
    pub signing: SigningKeyView,
    /// Valid tickets whose day is not over: each may have a code out that is refused from now on as
    /// `unknown_key`, and needs a new one.
    pub tickets: u64,
}
