//! The audit log, as it is read.

use super::Position;
use crate::acting::ActRow;

/// A piece of an audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPage {
    /// In ascending order of their positions.
    pub acts: Vec<ActRow>,
    /// Behind which the next piece starts.
    pub next: Position,
    /// Whether there was more at that moment.
    pub more: bool,
}
