//! What a new list changes beside its tickets: sessions, gates, policy, operators. Said as it
//! arrives, with the time since when it holds.

use serde::Serialize;

use crate::time::EpochMillis;
use crate::whitelist::HeldList;

/// A part of a list's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingsPart {
    /// Sessions of the day.
    Sessions,
    /// The venue's gates.
    Gates,
    /// Its policy.
    Policy,
    /// Who signs in.
    Operators,
}

/// A list that is in use now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListTaken {
    /// Its tickets, tombstones included.
    pub tickets: u64,
    /// What is another than in the list that it replaced; nothing where it replaced none.
    pub changed: Vec<SettingsPart>,
    /// Since when its settings hold.
    pub since: EpochMillis,
}

/// What differs between two lists of a day.
pub(super) fn changed(old: &HeldList, new: &HeldList) -> Vec<SettingsPart> {
    let parts = [
        (SettingsPart::Sessions, old.sessions() == new.sessions()),
        (SettingsPart::Gates, old.gates() == new.gates()),
        (SettingsPart::Policy, old.policy() == new.policy()),
        (SettingsPart::Operators, old.operators() == new.operators()),
    ];
    let other = parts.into_iter().filter(|(_, same)| !same);
    other.map(|(part, _)| part).collect()
}
