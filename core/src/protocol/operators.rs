//! Operators: who signs in at the gates and who may override. They are set on the server, per
//! venue, and travel with the settings, PINs as salted argon2id only.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::OperatorId;

/// Shortest PIN, in digits.
pub const MIN_PIN_DIGITS: usize = 4;
/// Longest PIN, in digits.
pub const MAX_PIN_DIGITS: usize = 12;

/// What an operator may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperatorRole {
    /// Serves a gate.
    Guard,
    /// Serves a gate, overrides refusals, sets the clock.
    Supervisor,
}

/// An operator as gates hold one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Operator {
    /// Who.
    pub operator_id: OperatorId,
    /// What people call them; empty if nothing.
    #[serde(default)]
    pub name: String,
    /// What they may do.
    pub role: OperatorRole,
    /// Their PIN as a PHC string of argon2id with a salt of its own.
    pub pin_hash: String,
    /// SHA-256 in hex of the text of their staff QR, if they have one: 128 random bits and more,
    /// so that a plain hash gives nothing away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub badge_hash: Option<String>,
}

/// `PUT /v1/operators/{operator_id}`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewOperator {
    /// What people call them.
    #[serde(default)]
    pub name: String,
    /// What they may do.
    pub role: OperatorRole,
    /// Their PIN, 4 to 12 digits; it is hashed on arrival and never shown again. Without one, the
    /// PIN stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// Whether they get a new staff QR; its text is in the answer, once.
    #[serde(default)]
    pub new_badge: bool,
}

impl std::fmt::Debug for NewOperator {
    /// Without the PIN.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewOperator")
            .field("name", &self.name)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// An operator as the back end sees one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OperatorView {
    /// Who.
    pub operator_id: OperatorId,
    /// What people call them.
    pub name: String,
    /// What they may do.
    pub role: OperatorRole,
    /// Whether they have a staff QR.
    pub has_badge: bool,
    /// The text of a new staff QR, in the one answer that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub badge: Option<String>,
}

/// `GET /v1/operators`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Operators {
    /// In the order of their ids.
    pub operators: Vec<OperatorView>,
}
