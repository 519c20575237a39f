//! What a controller is told: a TOML file, and flags over it. A key that is not known, or a value
//! that makes no sense, is an error that names its line, since a misspelt one would silently do
//! nothing. `packaging/stile-gate.toml.example` shows every key.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use stile_core::ids::GateId;
use stile_core::reason::Language;

use crate::display::DisplaySpec;
use crate::feedback::FeedbackSettings;
use crate::inputs::InputSettings;
use crate::ports::{Ports, Urgency};
use crate::relay::{Inverted, Relay, RelayError, RelaySpec};
use crate::scanner::ScannerSpec;

/// The configuration's name in the data folder, where it is looked for unless another is named.
pub const CONFIG_FILE: &str = "stile-gate.toml";

/// How long a pulse keeps the relay open unless it is told, in ms: what a turnstile's board needs
/// to see it.
pub const DEFAULT_HOLD_MS: u64 = 500;

/// How long a pulse keeps the relay open, in ms: none opens no gate, and one held open longer lets
/// a second person in.
pub type HoldMs = Ms<1, 10_000>;
/// How long a line is quiet behind a code, in ms: at 9600 baud a character takes one and a busy
/// board may lose some; and a visitor waits for it after each reading.
pub type IdleGapMs = Ms<5, 2_000>;

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
    /// It is not text.
    #[error("{path}: line {line} is not UTF-8; write it as UTF-8 text")]
    NotText {
        /// The file.
        path: PathBuf,
        /// Where, from 1.
        line: usize,
    },
    /// Each scanner has one reader: two would each get some of its bytes.
    #[error("scanners: `{0}` is named twice; name each scanner once")]
    ScannerTwice(String),
}

/// A time in ms that is within bounds from the moment that it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ms<const LEAST: u64, const MOST: u64>(u64);

impl<const LEAST: u64, const MOST: u64> Ms<LEAST, MOST> {
    /// Takes a time that is within the bounds.
    pub fn new(ms: u64) -> Result<Self, String> {
        match (LEAST..=MOST).contains(&ms) {
            true => Ok(Self(ms)),
            false => Err(format!("it is {ms}; it must be {LEAST} to {MOST} ms")),
        }
    }

    /// The time, in ms.
    pub fn ms(self) -> u64 {
        self.0
    }

    /// The time.
    pub fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }

    /// The time that is set, or else this many ms.
    pub fn or(set: Option<Self>, default_ms: u64) -> Duration {
        set.map_or(Duration::from_millis(default_ms), Self::duration)
    }
}

impl<const LEAST: u64, const MOST: u64> FromStr for Ms<LEAST, MOST> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::new(text.parse().map_err(|_| format!("`{text}` is no number"))?)
    }
}

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for Ms<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(number: D) -> Result<Self, D::Error> {
        Self::new(u64::deserialize(number)?).map_err(D::Error::custom)
    }
}

/// What file or flags say; what neither says has a default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The gate to serve.
    pub gate: Option<GateId>,
    /// Where codes come from.
    #[serde(default, deserialize_with = "parsed_list")]
    pub scanners: Vec<ScannerSpec>,
    /// How long the line is quiet behind a code that has no line end, in ms.
    pub idle_gap_ms: Option<IdleGapMs>,
    /// The language of readable verdict lines.
    pub language: Option<Language>,
    /// A small display.
    #[serde(default, deserialize_with = "parsed")]
    pub display: Option<DisplaySpec>,
    /// What opens the gate.
    #[serde(default)]
    pub relay: RelaySettings,
    /// What opens it in the other direction.
    pub relay_out: Option<RelayOutSettings>,
    /// Lamps, buzzer, text and voice.
    #[serde(default)]
    pub feedback: FeedbackSettings,
    /// Passage sensor and emergency input.
    #[serde(default)]
    pub inputs: InputSettings,
}

/// What opens the gate, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelaySettings {
    /// The driver.
    #[serde(default, deserialize_with = "parsed")]
    pub driver: Option<RelaySpec>,
    /// How long a pulse keeps it open, in ms.
    pub hold_ms: Option<HoldMs>,
    /// The gate is shut while the relay is on.
    pub normally_closed: Option<bool>,
}

/// What opens the gate in the other direction.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelayOutSettings {
    /// The driver.
    #[serde(deserialize_with = "parsed_value")]
    pub driver: RelaySpec,
    /// The gate is shut while the relay is on.
    #[serde(default)]
    pub normally_closed: bool,
}

/// A relay and how the gate hangs on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wiring {
    /// The driver.
    pub driver: RelaySpec,
    /// The gate is shut while the relay is on.
    pub normally_closed: bool,
}

impl Wiring {
    /// Makes the driver; the gate is not touched.
    pub fn open(&self, ports: &Arc<Ports>) -> Result<Box<dyn Relay>, RelayError> {
        let relay = self.driver.open(ports, Urgency::First)?;
        Ok(match self.normally_closed {
            true => Box::new(Inverted(relay)),
            false => relay,
        })
    }
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
    /// What opens the gate inwards, or in its only direction.
    pub relay: Wiring,
    /// What opens it outwards, where that is another.
    pub relay_out: Option<Wiring>,
    /// How long a pulse keeps it open.
    pub hold: Duration,
    /// The language of readable verdict lines; both if none.
    pub language: Option<Language>,
    /// A small display, if there is one.
    pub display: Option<DisplaySpec>,
    /// Lamps, buzzer, text and voice.
    pub feedback: FeedbackSettings,
    /// Passage sensor and emergency input.
    pub inputs: InputSettings,
}

impl Settings {
    /// Reads the file that is named, or else the data folder's own if there is one.
    pub fn load(data: &Path, named: Option<&Path>) -> Result<Self, ConfigError> {
        let path = named.map_or_else(|| data.join(CONFIG_FILE), Path::to_owned);
        match fs::read(&path) {
            Ok(bytes) => match str::from_utf8(&bytes) {
                Ok(text) => toml::from_str(text).map_err(|source| ConfigError::Toml {
                    path,
                    source: Box::new(source),
                }),
                Err(error) => {
                    let before = &bytes[..error.valid_up_to()];
                    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                    Err(ConfigError::NotText { path, line })
                }
            },
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
                normally_closed: flags.relay.normally_closed.or(self.relay.normally_closed),
            },
            relay_out: flags.relay_out.or(self.relay_out),
            // Too much for flags.
            feedback: self.feedback,
            inputs: self.inputs,
        }
    }

    /// Fills in the defaults, and checks what is no matter of one line.
    pub fn finish(self) -> Result<Config, ConfigError> {
        let scanners = match self.scanners.is_empty() {
            true => vec![ScannerSpec::Stdin],
            false => self.scanners,
        };
        for (n, scanner) in scanners.iter().enumerate() {
            if scanner.is_one() && scanners[..n].contains(scanner) {
                return Err(ConfigError::ScannerTwice(scanner.to_string()));
            }
        }
        Ok(Config {
            gate: self.gate,
            scanners,
            idle_gap: self.idle_gap_ms.map(Ms::duration),
            relay: Wiring {
                driver: self.relay.driver.unwrap_or(RelaySpec::Log(None)),
                normally_closed: self.relay.normally_closed.unwrap_or_default(),
            },
            relay_out: self.relay_out.map(|relay| Wiring {
                driver: relay.driver,
                normally_closed: relay.normally_closed,
            }),
            hold: Ms::or(self.relay.hold_ms, DEFAULT_HOLD_MS),
            language: self.language,
            display: self.display,
            feedback: self.feedback,
            inputs: self.inputs,
        })
    }
}

/// Reads what is written as a text.
pub(crate) fn parsed_value<'de, D, T>(text: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    String::deserialize(text)?.parse().map_err(D::Error::custom)
}

/// Reads what may be written as a text.
pub(crate) fn parsed<'de, D, T>(text: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    parsed_value(text).map(Some)
}

fn parsed_list<'de, D, T>(texts: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    let texts = Vec::<String>::deserialize(texts)?;
    let values = texts.iter().map(|text| text.parse());
    values.collect::<Result<_, _>>().map_err(D::Error::custom)
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
        let relay = RelaySpec::Command("/usr/local/bin/relay".into());
        assert_eq!(config.relay.driver, relay);
        assert!(!config.relay.normally_closed);
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
            let config = read(&text).unwrap().finish().unwrap();
            // It names every device there is, or none but scanner and relay.
            let (feedback, inputs) = (&config.feedback, &config.inputs);
            let named = [
                config.relay_out.is_some(),
                feedback.green.is_some() && feedback.red.is_some() && feedback.buzzer.is_some(),
                feedback.text.is_some() && feedback.voice.is_some(),
                inputs.passage.is_some() && inputs.emergency.is_some(),
            ];
            assert_eq!(named, [config.idle_gap.is_some(); 4]);
        }
    }

    #[test]
    fn without_a_file_there_are_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let config = Settings::load(folder.path(), None).unwrap().finish();
        let config = config.unwrap();
        assert_eq!(config.scanners, [ScannerSpec::Stdin]);
        assert_eq!(config.relay.driver, RelaySpec::Log(None));
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
            ("idle_gap_ms = 4", "line 1"),
            ("\nidle_gap_ms = 2001", "line 2"),
            ("[relay]\nhold_ms = 10001", "line 2"),
            ("[relay_out]\nnormally_closed = true", "line 1"),
            ("[feedback]\ngreen = \"lamp\"", "line 2"),
            (
                "[feedback.text]\nport = \"/dev/x\"\nencoding = \"big5\"",
                "line 3",
            ),
            ("[inputs]\n\nemergency = \"gpio:gpiochip0\"", "line 3"),
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
                hold_ms: Ms::new(2).ok(),
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
    fn a_number_that_makes_no_sense_is_told_with_its_bounds() {
        for ms in [0, 10_001] {
            let message = read(&format!("[relay]\nhold_ms = {ms}"));
            let message = message.unwrap_err().to_string();
            assert!(message.contains("it must be 1 to 10000 ms"), "{message}");
        }
    }

    #[test]
    fn each_scanner_is_named_once() {
        for scanner in ["stdin", "serial:/dev/ttyUSB0:9600", "tcp:127.0.0.1:7001"] {
            let twice = format!("scanners = [\"{scanner}\", \"tcp:127.0.0.1:1\", \"{scanner}\"]");
            let message = read(&twice).unwrap().finish().unwrap_err().to_string();
            assert!(
                message.contains(&format!("`{scanner}` is named twice")),
                "{message}"
            );
        }
    }

    #[test]
    fn a_file_that_is_no_text_is_told_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join(CONFIG_FILE),
            b"gate = \"a\"\n\n# \xb1\xb1\n",
        )
        .unwrap();
        let message = Settings::load(folder.path(), None).unwrap_err().to_string();
        assert!(message.contains("line 3 is not UTF-8"), "{message}");
    }
}
