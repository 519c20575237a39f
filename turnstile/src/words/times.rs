//! Dates and times of day in the venue, as a guard reads and types them.

use jiff::Timestamp;
use jiff::civil::Date;
use stile_core::time::EpochMillis;

use super::{Sentence, Words};

impl Words {
    /// The time of day in the venue, to the minute.
    pub fn minute(&self, at: EpochMillis) -> String {
        let mut clock = self.clock(at);
        clock.truncate("HH:MM".len());
        clock
    }

    /// The time of day, as a verdict's line starts with it.
    pub fn clock(&self, at: EpochMillis) -> String {
        match self.zoned(at) {
            Some(at) => at.strftime("%H:%M:%S").to_string(),
            None => "--:--:--".into(),
        }
    }

    /// Date, hour and minute, as a person sets a clock.
    pub fn date_and_minute(&self, at: EpochMillis) -> String {
        match self.zoned(at) {
            Some(at) => at.strftime("%Y-%m-%d %H:%M").to_string(),
            None => String::new(),
        }
    }

    /// The time that a person wrote as date, hour and minute; none if there is no such time.
    pub fn typed_minute(&self, text: &str) -> Option<EpochMillis> {
        let at = jiff::civil::DateTime::strptime("%Y-%m-%d %H:%M", text.trim()).ok()?;
        let at = at.to_zoned_datetime(self.zone.clone()).ok()?;
        Some(EpochMillis(at.timestamp().as_millisecond()))
    }

    /// Date and time of day, for what is read the next morning.
    pub fn date_and_clock(&self, at: EpochMillis) -> String {
        match self.zoned(at) {
            Some(at) => at.strftime("%Y-%m-%d %H:%M:%S").to_string(),
            None => format!("{} ms", at.0),
        }
    }

    fn zoned(&self, at: EpochMillis) -> Option<jiff::ZonedDateTime> {
        let at = Timestamp::from_millisecond(at.0).ok()?;
        Some(at.to_zoned_datetime(self.zone.clone()))
    }

    pub(super) fn date(&self, at: EpochMillis) -> Option<Date> {
        self.zoned(at).map(|at| at.date())
    }

    /// A time of day, with its date if that is not the day spoken of.
    pub(super) fn moment(&self, at: EpochMillis, spoken_of: Option<Date>) -> Sentence {
        let Some(zoned) = self.zoned(at) else {
            return Sentence::new("未知时间", "an unknown time");
        };
        let clock = zoned.strftime("%H:%M").to_string();
        if spoken_of == Some(zoned.date()) {
            return Sentence::new(clock.clone(), clock);
        }
        let date = date_words(zoned.date(), spoken_of);
        Sentence::new(
            format!("{}{clock}", date.zh_cn),
            format!("{clock} on {}", date.en),
        )
    }
}

/// A date, with its year if that is not the year of the day spoken of.
pub(super) fn date_words(date: Date, spoken_of: Option<Date>) -> Sentence {
    let same_year = spoken_of.is_some_and(|other| other.year() == date.year());
    let (zh_cn, en) = match same_year {
        true => ("%-m月%-d日", "%-d %B"),
        false => ("%Y年%-m月%-d日", "%-d %B %Y"),
    };
    Sentence::new(
        date.strftime(zh_cn).to_string(),
        date.strftime(en).to_string(),
    )
}
