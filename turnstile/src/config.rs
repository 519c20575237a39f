//! What a controller is told: a TOML file, and flags over it. A key that is not known is an error
//! that names its line, since a misspelt one would silently do nothing.
//!
//! ```toml
//! gate = "north"                  # one of the gates that the device may serve
//! scanners = ["tcp:127.0.0.1:7001"]
//! idle_gap_ms = 50                # for scanners that send no line end
//! language = "zh-CN"              # of the verdict lines; both languages without it
//! display = "serial:/dev/ttyS1"   # a small display; none without it
//!
//! [relay]
//! driver = "command:/usr/local/bin/relay"
//! hold_ms = 500
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use stile_core::ids::GateId;
use stile_core::reason::Language;

use crate::display::DisplaySpec;
use crate::relay::RelaySpec;
use crate::scanner::ScannerSpec;

/// The configuration's name in the data folder, where it is looked for unless another is named.
pub const CONFIG_FILE: &str = "stile-gate.toml";

/// How long a pulse keeps the relay open unless it is told, in ms: what a turnstile's board needs
/// to see it.
pub const DEFAULT_HOLD_MS: u64 = 500;
/// Longest pulse, in ms: a gate held open longer lets a second person in.
pub const MAX_HOLD_MS: u64 = 10_000;
/// Shortest idle gap, in ms: at 9600 baud a character takes one, and a busy board may lose some.
pub const MIN_IDLE_GAP_MS: u64 = 5;
/// Longest idle gap, in ms: a visitor waits for it after each reading.
pub const MAX_IDLE_GAP_MS: u64 = 2_000;

/// Why a configuration is not taken.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// It is not TOML of this kind. The message names line and column.
    #[error("{path}: {source}")]
    Toml {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: Box<toml::de::Error>,
    },
    /// A number outside of what makes sense.
    #[error("{key} is {value}; it must be {least} to {most}")]
    Range {
        /// Which.
        key: &'static str,
        /// What it is.
        value: u64,
        /// The least that is taken.
        least: u64,
        /// The most that is taken.
        most: u64,
    },
    /// Standard input can be read once.
    #[error("stdin is named twice as a scanner")]
    StdinTwice,
}

/// What file or flags say; what neither says has a default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The gate to serve.
    pub gate: Option<GateId>,
    /// Where codes come from.
    #[serde(default, deserialize_with = "scanners")]
    pub scanners: Vec<ScannerSpec>,
    /// How long the line is quiet behind a code that has no line end, in ms.
    pub idle_gap_ms: Option<u64>,
    /// The language of readable verdict lines.
    pub language: Option<Language>,
    /// A small display.
    #[serde(default, deserialize_with = "display")]
    pub display: Option<DisplaySpec>,
    /// What opens the gate.
    #[serde(default)]
    pub relay: RelaySettings,
}

/// What opens the gate, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelaySettings {
    /// The driver.
    #[serde(default, deserialize_with = "relay")]
    pub driver: Option<RelaySpec>,
    /// How long a pulse keeps it open, in ms.
    pub hold_ms: Option<u64>,
}

/// What a controller works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The gate to serve; the first that the device may serve if none.
    pub gate: Option<GateId>,
    /// Where codes come from.
    pub scanners: Vec<ScannerSpec>,
    /// How long the line is quiet behind a code that has no line end, if it may have none.
    pub idle_gap: Option<Duration>,
    /// What opens the gate.
    pub relay: RelaySpec,
    /// How long a pulse keeps it open.
    pub hold: Duration,
    /// The language of readable verdict lines; both if none.
    pub language: Option<Language>,
    /// A small display, if there is one.
    pub display: Option<DisplaySpec>,
}

impl Settings {
    /// Reads the file that is named, or else the data folder's own if there is one.
    pub fn load(data: &Path, named: Option<&Path>) -> Result<Self, ConfigError> {
        let path = named.map_or_else(|| data.join(CONFIG_FILE), Path::to_owned);
        match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).map_err(|source| ConfigError::Toml {
                path,
                source: Box::new(source),
            }),
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => {
                Ok(Self::default())
            }
            Err(source) => Err(ConfigError::Io { path, source }),
        }
    }

    /// These settings, and over them what the flags say.
    pub fn under(self, flags: Self) -> Self {
        Self {
            gate: flags.gate.or(self.gate),
            scanners: match flags.scanners.is_empty() {
                true => self.scanners,
                false => flags.scanners,
            },
            idle_gap_ms: flags.idle_gap_ms.or(self.idle_gap_ms),
            language: flags.language.or(self.language),
            display: flags.display.or(self.display),
            relay: RelaySettings {
                driver: flags.relay.driver.or(self.relay.driver),
                hold_ms: flags.relay.hold_ms.or(self.relay.hold_ms),
            },
        }
    }

    /// Checks the numbers and fills in the defaults.
    pub fn finish(self) -> Result<Config, ConfigError> {
        let scanners = match self.scanners.is_empty() {
            true => vec![ScannerSpec::Stdin],
            false => self.scanners,
        };
        let stdins = scanners.iter().filter(|one| **one == ScannerSpec::Stdin);
        if stdins.count() > 1 {
            return Err(ConfigError::StdinTwice);
        }
        let hold_ms = self.relay.hold_ms.unwrap_or(DEFAULT_HOLD_MS);
        let hold = in_range("relay.hold_ms", hold_ms, 0, MAX_HOLD_MS)?;
        let idle_gap = self
            .idle_gap_ms
            .map(|gap| in_range("idle_gap_ms", gap, MIN_IDLE_GAP_MS, MAX_IDLE_GAP_MS))
            .transpose()?;
        Ok(Config {
            gate: self.gate,
            scanners,
            idle_gap,
            relay: self.relay.driver.unwrap_or(RelaySpec::Log(None)),
            hold,
            language: self.language,
            display: self.display,
        })
    }
}

fn in_range(key: &'static str, value: u64, least: u64, most: u64) -> Result<Duration, ConfigError> {
    if !(least..=most).contains(&value) {
        return Err(ConfigError::Range {
            key,
            value,
            least,
            most,
        });
    }
    Ok(Duration::from_millis(value))
}

fn scanners<'de, D: Deserializer<'de>>(text: D) -> Result<Vec<ScannerSpec>, D::Error> {
    let texts = Vec::<String>::deserialize(text)?;
    let scanners = texts.iter().map(|text| text.parse());
    scanners.collect::<Result<_, _>>().map_err(D::Error::custom)
}

fn relay<'de, D: Deserializer<'de>>(text: D) -> Result<Option<RelaySpec>, D::Error> {
    let text = Option::<String>::deserialize(text)?;
    text.map(|text| text.parse())
        .transpose()
        .map_err(D::Error::custom)
}

fn display<'de, D: Deserializer<'de>>(text: D) -> Result<Option<DisplaySpec>, D::Error> {
    let text = Option::<String>::deserialize(text)?;
    text.map(|text| text.parse())
        .transpose()
        .map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(CONFIG_FILE), text).unwrap();
        Settings::load(folder.path(), None)
    }

    #[test]
    fn a_file_says_what_its_documentation_says() {
        let text = r#"
            gate = "north"
            scanners = ["stdin", "tcp:127.0.0.1:7001"]
            idle_gap_ms = 50
            language = "zh-CN"
            display = "tcp:127.0.0.1:7010"
            [relay]
            driver = "command:/usr/local/bin/relay"
            hold_ms = 700
        "#;
        let config = read(text).unwrap().finish().unwrap();
        assert_eq!(config.gate.unwrap().as_str(), "north");
        assert_eq!(config.scanners.len(), 2);
        assert_eq!(config.idle_gap, Some(Duration::from_millis(50)));
        assert_eq!(config.language, Some(Language::ZhCn));
        assert_eq!(config.display, "tcp:127.0.0.1:7010".parse().ok());
        assert_eq!(
            config.relay,
            RelaySpec::Command("/usr/local/bin/relay".into())
        );
        assert_eq!(config.hold, Duration::from_millis(700));
    }

    #[test]
    fn the_example_that_is_packed_with_the_program_is_a_configuration() {
        let example = include_str!("../../packaging/stile-gate.toml.example");
        // Also with each line in that stands there to be taken in.
        for text in [example.to_owned(), example.replace("\n# ", "\n")] {
            let keys = text
                .lines()
                .filter(|line| line.contains('=') || line.starts_with('['));
            let text: String = keys.map(|line| format!("{line}\n")).collect();
            read(&text).unwrap().finish().unwrap();
        }
    }

    #[test]
    fn without_a_file_there_are_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let config = Settings::load(folder.path(), None).unwrap().finish();
        let config = config.unwrap();
        assert_eq!(config.scanners, [ScannerSpec::Stdin]);
        assert_eq!(config.relay, RelaySpec::Log(None));
        assert_eq!(config.hold, Duration::from_millis(DEFAULT_HOLD_MS));
    }

    #[test]
    fn a_file_that_is_named_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("elsewhere.toml");
        assert!(matches!(
            Settings::load(folder.path(), Some(&named)),
            Err(ConfigError::Io { .. })
        ));
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let error = read("gate = \"north\"\n\n[relay]\nhold = 500\n").unwrap_err();
        let message = error.to_string();
        assert!(message.contains("line 4"), "{message}");
        assert!(message.contains("`hold`"), "{message}");
    }

    #[test]
    fn a_wrong_value_is_named_with_its_line() {
        for (text, line) in [
            ("gate = \"no rth\"", "line 1"),
            ("language = \"zh-CN\"\nscanners = [\"usb\"]", "line 2"),
            ("\n[relay]\ndriver = \"gpio\"", "line 3"),
            ("language = \"fr\"", "line 1"),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains(line), "{message}");
        }
    }

    #[test]
    fn flags_stand_over_the_file() {
        let file = read("gate = \"north\"\nscanners = [\"stdin\"]\n[relay]\nhold_ms = 1").unwrap();
        let flags = Settings {
            gate: GateId::new("south").ok(),
            relay: RelaySettings {
                hold_ms: Some(2),
                ..RelaySettings::default()
            },
            ..Settings::default()
        };
        let config = file.under(flags).finish().unwrap();
        assert_eq!(config.gate.unwrap().as_str(), "south");
        assert_eq!(config.hold, Duration::from_millis(2));
        assert_eq!(config.scanners, [ScannerSpec::Stdin]);
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        for text in [
            "idle_gap_ms = 4",
            "idle_gap_ms = 2001",
            "[relay]\nhold_ms = 10001",
        ] {
            let refused = read(text).unwrap().finish();
            assert!(matches!(refused, Err(ConfigError::Range { .. })), "{text}");
        }
    }

    #[test]
    fn stdin_is_one_scanner() {
        let twice = read("scanners = [\"stdin\", \"stdin\"]").unwrap().finish();
        assert!(matches!(twice, Err(ConfigError::StdinTwice)));
    }
}
