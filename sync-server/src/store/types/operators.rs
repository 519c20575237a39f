//! Operators.

use stile_core::ids::OperatorId;
use stile_core::protocol::OperatorRole;

/// What is missing where a new operator is given no PIN.
pub const NO_PIN: &str = "PIN";
/// What is missing where a venue has as many operators as it may.
pub const NO_ROOM: &str = "room";

/// What an operator is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorUpdate {
    /// Who.
    pub operator_id: OperatorId,
    /// What people call them.
    pub name: String,
    /// What they may do.
    pub role: OperatorRole,
    /// The PHC string of their new PIN; without one, the PIN stays.
    pub pin_hash: Option<String>,
    /// The hash of their new staff QR; without one, it stays.
    pub badge_hash: Option<String>,
}
