//! Points and spans of time, as integers, UTC. Seconds for windows, milliseconds for scans.
//! No date strings are compared anywhere: a service day is a name, not a point in time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Seconds since 1970-01-01T00:00:00Z.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(transparent)]
#[schema(value_type = i64, example = 1790816400)]
pub struct EpochSeconds(pub i64);

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(transparent)]
#[schema(value_type = i64, example = 1790816400123_i64)]
pub struct EpochMillis(pub i64);

impl EpochSeconds {
    /// The same point in milliseconds; saturates, since codes may carry any number.
    pub fn millis(self) -> EpochMillis {
        EpochMillis(self.0.saturating_mul(1000))
    }
}

impl EpochMillis {
    /// The second that this point lies in.
    pub fn seconds(self) -> EpochSeconds {
        EpochSeconds(self.0.div_euclid(1000))
    }

    /// This point moved by a span in milliseconds, which may be negative.
    pub fn plus(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this point; negative when it lies after.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Why a text is no time of day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a time of day is written HH:MM, 00:00 to 23:59")]
pub struct TimeOfDayError;

/// A time on the clock of a venue, `HH:MM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeOfDay {
    hour: u8,
    minute: u8,
}

impl TimeOfDay {
    /// 21:00.
    pub const NINE_IN_THE_EVENING: Self = Self {
        hour: 21,
        minute: 0,
    };

    /// The hour, 0 to 23.
    pub fn hour(self) -> u8 {
        self.hour
    }

    /// The minute, 0 to 59.
    pub fn minute(self) -> u8 {
        self.minute
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.hour, self.minute)
    }
}

impl FromStr for TimeOfDay {
    type Err = TimeOfDayError;
    fn from_str(text: &str) -> Result<Self, TimeOfDayError> {
        let (hour, minute) = text.split_once(':').ok_or(TimeOfDayError)?;
        let number = |text: &str, end| {
            let is_written_so = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
            let number = is_written_so.then(|| text.parse::<u8>().ok()).flatten();
            number.filter(|number| *number < end).ok_or(TimeOfDayError)
        };
        Ok(Self {
            hour: number(hour, 24)?,
            minute: number(minute, 60)?,
        })
    }
}

impl TryFrom<String> for TimeOfDay {
    type Error = TimeOfDayError;
    fn try_from(text: String) -> Result<Self, TimeOfDayError> {
        text.parse()
    }
}

impl From<TimeOfDay> for String {
    fn from(time: TimeOfDay) -> Self {
        time.to_string()
    }
}

/// Why a text is no service day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a service day is written YYYY-MM-DD")]
pub struct ServiceDayError;

/// The venue's business date, `YYYY-MM-DD`. A name for a list and its records: whether a moment
/// belongs to it is asked of the list's `[day_from, day_until)`, never of this text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, format = Date, example = "2026-10-01")]
pub struct ServiceDay(String);

impl ServiceDay {
    /// Takes a date that exists in the Gregorian calendar.
    pub fn new(text: impl Into<String>) -> Result<Self, ServiceDayError> {
        let text = text.into();
        let shape = text.len() == 10
            && text.bytes().enumerate().all(|(i, b)| match i {
                4 | 7 => b == b'-',
                _ => b.is_ascii_digit(),
            });
        if !shape {
            return Err(ServiceDayError);
        }
        let number = |range: std::ops::Range<usize>| text[range].parse::<u32>().unwrap_or(0);
        let (year, month, day) = (number(0..4), number(5..7), number(8..10));
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            1..=12 => 31,
            _ => return Err(ServiceDayError),
        };
        if (1..=length).contains(&day) {
            Ok(Self(text))
        } else {
            Err(ServiceDayError)
        }
    }

    /// The date as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServiceDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ServiceDay {
    type Err = ServiceDayError;
    fn from_str(text: &str) -> Result<Self, ServiceDayError> {
        Self::new(text)
    }
}

impl TryFrom<String> for ServiceDay {
    type Error = ServiceDayError;
    fn try_from(text: String) -> Result<Self, ServiceDayError> {
        Self::new(text)
    }
}

impl From<ServiceDay> for String {
    fn from(day: ServiceDay) -> String {
        day.0
    }
}
