//! The `[feedback]` of the configuration.

use std::path::PathBuf;

use serde::Deserialize;
use stile_core::reason::Language;

use super::{Encoding, Templates};
use crate::config::{Ms, parsed, parsed_value};
use crate::ports::SerialSpec;
use crate::relay::RelaySpec;

/// What the visitor sees and hears. Lamps and buzzer hang on relays of any kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedbackSettings {
    /// The green lamp.
    #[serde(default, deserialize_with = "parsed")]
    pub green: Option<RelaySpec>,
    /// The red lamp.
    #[serde(default, deserialize_with = "parsed")]
    pub red: Option<RelaySpec>,
    /// The buzzer.
    #[serde(default, deserialize_with = "parsed")]
    pub buzzer: Option<RelaySpec>,
    /// The text panel.
    pub text: Option<TextSettings>,
    /// The voice.
    pub voice: Option<VoiceSettings>,
}

/// A panel that shows what comes over its serial line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextSettings {
    /// Its port: `PATH[:BAUD]` or `usb=…`.
    #[serde(deserialize_with = "parsed_value")]
    pub port: SerialSpec,
    /// What it takes text in.
    #[serde(default)]
    pub encoding: Encoding,
    /// How long a verdict stays, in ms.
    pub shown_ms: Option<Ms<500, 60_000>>,
    /// What it shows.
    #[serde(default)]
    pub templates: Templates,
}

/// Recorded clips and what plays them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoiceSettings {
    /// The program that plays a clip, and its arguments; the clip's path is put behind them.
    pub player: Vec<String>,
    /// The folder with a folder of clips for each language.
    pub folder: PathBuf,
    /// The languages, in the order in which they speak.
    #[serde(default = "both_languages")]
    pub languages: Vec<Language>,
}

fn both_languages() -> Vec<Language> {
    vec![Language::ZhCn, Language::En]
}
