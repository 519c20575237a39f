//! The `[inputs]` of the configuration.

use std::time::Duration;

use serde::Deserialize;

use super::InputSpec;
use crate::config::{Ms, parsed};

/// How long a contact's level must stay unless it is told, in ms: cheap contacts bounce for half
/// of it.
const DEFAULT_DEBOUNCE_MS: u64 = 20;
/// How long after the gate has closed somebody may still be seen to pass unless it is told, in
/// ms: a person with a pram.
const DEFAULT_PASSAGE_TIMEOUT_MS: u64 = 5_000;

/// What the gate is told beside codes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputSettings {
    /// The passage sensor: on while somebody passes.
    #[serde(default, deserialize_with = "parsed")]
    pub passage: Option<InputSpec>,
    /// The emergency input: the gate stands open while it is on.
    #[serde(default, deserialize_with = "parsed")]
    pub emergency: Option<InputSpec>,
    /// How long a level must stay to count, in ms.
    pub debounce_ms: Option<Ms<0, 1_000>>,
    /// How long after the gate has closed somebody may still be seen to pass, in ms.
    pub passage_timeout_ms: Option<Ms<500, 60_000>>,
}

impl InputSettings {
    /// How long a level must stay to count.
    pub fn debounce(&self) -> Duration {
        Ms::or(self.debounce_ms, DEFAULT_DEBOUNCE_MS)
    }

    /// How long after the gate has closed somebody may still be seen to pass.
    pub fn passage_timeout(&self) -> Duration {
        Ms::or(self.passage_timeout_ms, DEFAULT_PASSAGE_TIMEOUT_MS)
    }
}
