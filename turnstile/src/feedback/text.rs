//! A text panel on a serial line (RS-485 LED rows): a template is filled with the verdict's
//! words, put in the panel's encoding, and written.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::{Cue, Feedback, FeedbackError, Signal, TextSettings};
use crate::config::Ms;
use crate::ports::{SerialWire, SpecError};

/// How long a verdict stays unless it is told, in ms: long enough to be read twice.
const DEFAULT_SHOWN_MS: u64 = 4_000;

/// What a panel takes text in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Encoding {
    /// UTF-8.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// GB 18030, which holds GBK and GB 2312: what most Chinese panels take.
    #[serde(rename = "gb18030")]
    Gb18030,
}

impl Encoding {
    fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 => text.into(),
            Self::Gb18030 => encoding_rs::GB18030.encode(text).0.into_owned(),
        }
    }
}

/// A text with `{zh}`, `{en}`, `{reason}` and `{remaining}` in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Zh,
    En,
    Reason,
    Remaining,
}

impl FromStr for Template {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            let Some((name, after)) = behind.split_once('}') else {
                return Err(SpecError(format!("`{text}` has a `{{` without its `}}`")));
            };
            pieces.push(Piece::Text(before.into()));
            pieces.push(match name {
                "zh" => Piece::Zh,
                "en" => Piece::En,
                "reason" => Piece::Reason,
                "remaining" => Piece::Remaining,
                _ => {
                    return Err(SpecError(format!(
                        "`{{{name}}}` is not known; there are {{zh}}, {{en}}, {{reason}} and \
                         {{remaining}}"
                    )));
                }
            });
            rest = after;
        }
        pieces.push(Piece::Text(rest.into()));
        Ok(Self(pieces))
    }
}

impl Template {
    /// The text for a signal.
    pub fn fill(&self, signal: &Signal) -> String {
        let sentence = signal.sentence.as_ref();
        let fill = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Zh => sentence.map_or_else(String::new, |one| one.zh_cn.clone()),
            Piece::En => sentence.map_or_else(String::new, |one| one.en.clone()),
            Piece::Reason => signal.reason.map_or("", |reason| reason.name()).into(),
            Piece::Remaining => signal.remaining.to_string(),
        };
        self.0.iter().map(fill).collect()
    }
}

/// What a panel shows, by the names of the cues. A cue that is not named has the built-in text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Templates(BTreeMap<&'static str, Template>);

impl<'de> Deserialize<'de> for Templates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(deserializer)?;
        let mut templates = BTreeMap::new();
        for (name, text) in texts {
            let cue = Cue::ALL.into_iter().find(|cue| cue.name() == name);
            let cue = cue.ok_or_else(|| {
                let names = Cue::ALL.map(Cue::name).join(", ");
                D::Error::custom(format!("`{name}` is no cue; there are {names}"))
            })?;
            templates.insert(cue.name(), text.parse().map_err(D::Error::custom)?);
        }
        Ok(Self(templates))
    }
}

impl Templates {
    /// The text for a signal.
    pub fn fill(&self, signal: &Signal) -> String {
        match self.0.get(signal.cue.name()) {
            Some(template) => template.fill(signal),
            None => built_in(signal),
        }
    }
}

fn built_in(signal: &Signal) -> String {
    let text = match (signal.cue, &signal.sentence) {
        (_, Some(sentence)) => &sentence.zh_cn,
        (Cue::FreePassage, None) => "免检通行",
        (Cue::SeeStaff, None) => "请联系工作人员",
        (Cue::Admit | Cue::Refuse | Cue::Rest, None) => "请出示门票码",
    };
    format!("{text}\r\n")
}

/// A panel.
pub struct TextPanel {
    name: String,
    wire: Arc<SerialWire>,
    encoding: Encoding,
    shown: Duration,
    templates: Templates,
}

impl TextPanel {
    /// A panel on a wire.
    pub fn new(settings: &TextSettings, wire: Arc<SerialWire>) -> Self {
        Self {
            name: format!("text {}", settings.port),
            wire,
            encoding: settings.encoding,
            shown: Ms::or(settings.shown_ms, DEFAULT_SHOWN_MS),
            templates: settings.templates.clone(),
        }
    }
}

impl Feedback for TextPanel {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn begin(&mut self, signal: &Signal) -> Result<Option<Duration>, FeedbackError> {
        let bytes = self.encoding.encode(&self.templates.fill(signal));
        let written = self.wire.write(&bytes);
        written.map_err(|source| FeedbackError::Io {
            device: self.name.clone(),
            source,
        })?;
        Ok(match signal.cue {
            Cue::FreePassage | Cue::Rest => None,
            Cue::Admit | Cue::Refuse | Cue::SeeStaff => Some(self.shown),
        })
    }

    fn go_on(&mut self) -> Result<Option<Duration>, FeedbackError> {
        self.begin(&Signal::plain(Cue::Rest))
    }
}

#[cfg(test)]
mod tests {
    use stile_core::reason::Reason;

    use super::*;
    use crate::words::Sentence;

    fn refused() -> Signal {
        Signal {
            reason: Some(Reason::TooEarly),
            sentence: Some(Sentence {
                zh_cn: "未到入场时间。".into(),
                en: "Too early.".into(),
            }),
            remaining: 2,
            ..Signal::plain(Cue::Refuse)
        }
    }

    #[test]
    fn a_template_is_filled_with_the_verdict() {
        let template: Template = "\u{2}{zh}|{en}|{reason}|{remaining}\u{3}".parse().unwrap();
        assert_eq!(
            template.fill(&refused()),
            "\u{2}未到入场时间。|Too early.|too_early|2\u{3}"
        );
    }

    #[test]
    fn a_template_with_an_unknown_word_is_refused() {
        for (text, problem) in [("{name}", "`{name}` is not known"), ("{zh", "without its")] {
            let error = text.parse::<Template>().unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn chinese_panels_are_given_their_own_encoding() {
        assert_eq!(Encoding::Gb18030.encode("请A"), [0xC7, 0xEB, b'A']);
        assert_eq!(Encoding::Utf8.encode("请A"), [0xE8, 0xAF, 0xB7, b'A']);
    }

    #[test]
    fn every_cue_has_a_text_of_its_own_until_another_is_set() {
        let set = "refuse = \"NO {reason}\"";
        let templates: Templates = toml::from_str(set).unwrap();
        assert_eq!(templates.fill(&refused()), "NO too_early");
        assert_eq!(Templates::default().fill(&refused()), "未到入场时间。\r\n");
        for cue in Cue::ALL {
            assert!(!templates.fill(&Signal::plain(cue)).trim().is_empty());
        }
        let error = toml::from_str::<Templates>("green = \"x\"").unwrap_err();
        assert!(error.to_string().contains("`green` is no cue"), "{error}");
    }
}
