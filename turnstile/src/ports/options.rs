//! How hardware is written in configuration and flags: `KIND:PLACE,key=value,…`. Only the form;
//! which keys there are is each driver's.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A text that names no hardware, and what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpecError(pub(crate) String);

/// The words of `PLACE,key=value,…`, to be taken one by one.
pub(crate) struct Options<'a> {
    /// What stands before the first comma, unless it is a `key=value` itself.
    pub place: Option<&'a str>,
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Options<'a> {
    /// Cuts the text into its words.
    pub fn parse(text: &'a str) -> Result<Self, SpecError> {
        let mut words = text.split(',').map(str::trim).peekable();
        let place = words.next_if(|word| !word.contains('='));
        let mut values = BTreeMap::new();
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                return Err(SpecError(format!("`{word}` is no `key=value`")));
            };
            if values.insert(key, value).is_some() {
                return Err(SpecError(format!("`{key}` is given twice")));
            }
        }
        let place = place.filter(|place| !place.is_empty());
        Ok(Self { place, values })
    }

    /// Takes the value of a key.
    pub fn take(&mut self, key: &str) -> Option<&'a str> {
        self.values.remove(key)
    }

    /// Takes a number, or what it is without one.
    pub fn number<T>(
        &mut self,
        key: &str,
        otherwise: Option<T>,
        range: RangeInclusive<T>,
    ) -> Result<T, SpecError>
    where
        T: FromStr + Display + PartialOrd,
    {
        let wanted = || format!("{} to {}", range.start(), range.end());
        let Some(text) = self.take(key) else {
            return otherwise
                .ok_or_else(|| SpecError(format!("`{key}=` is missing; it is {}", wanted())));
        };
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| SpecError(format!("{key} is `{text}`; it must be {}", wanted())))
    }

    /// Takes one of a few words; the first is meant where none is given.
    pub fn choice<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Result<T, SpecError> {
        let Some(text) = self.take(key) else {
            return Ok(words[0].1);
        };
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            SpecError(format!("{key} is `{text}`; it is {}", words.join(" or ")))
        })
    }

    /// Refuses keys that nobody took: a misspelt one would silently do nothing.
    pub fn finish(self) -> Result<(), SpecError> {
        match self.values.keys().next() {
            Some(key) => Err(SpecError(format!("`{key}` is not known here"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(result: Result<u8, SpecError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn a_place_and_its_options_are_taken_apart() {
        let mut options = Options::parse("/dev/ttyUSB0,channel=2, parity=even").unwrap();
        assert_eq!(options.place, Some("/dev/ttyUSB0"));
        assert_eq!(options.number("channel", Some(1u8), 1..=8), Ok(2));
        assert_eq!(options.number("unit", Some(1u8), 1..=8), Ok(1));
        let parity = options.choice("parity", &[("none", 0), ("even", 2)]);
        assert_eq!(parity, Ok(2));
        assert_eq!(options.finish(), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_said_by_name() {
        let twice = Options::parse("x,a=1,a=2").map(|_| 0);
        assert_eq!(error(twice), "`a` is given twice");
        assert_eq!(
            error(Options::parse("x,y").map(|_| 0)),
            "`y` is no `key=value`"
        );
        let mut options = Options::parse("x,channel=0,parity=both,colour=red").unwrap();
        assert_eq!(
            error(options.number("channel", Some(1), 1..=8)),
            "channel is `0`; it must be 1 to 8"
        );
        assert_eq!(
            error(options.number("line", None, 0..=9)),
            "`line=` is missing; it is 0 to 9"
        );
        assert_eq!(
            error(options.choice("parity", &[("none", 0), ("odd", 1)])),
            "parity is `both`; it is none or odd"
        );
        let left = options.finish().unwrap_err().to_string();
        assert_eq!(left, "`colour` is not known here");
    }
}
