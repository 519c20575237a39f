//! Points in time as booking systems and spreadsheets write them: epoch seconds, RFC 3339, or
//! local date and time in the venue's zone. What a time is used for is not known here.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use stile_core::time::EpochSeconds;

use super::text::fold_width;

/// 2000-01-01T00:00:00Z. What is earlier is no admission but a spreadsheet's day number (46296),
/// a date without separators (20261001), or a typo.
const EARLIEST: i64 = 946_684_800;

/// 2100-01-01T00:00:00Z. What is later is milliseconds, or a date without separators; and the
/// four bytes that a G2 code has for a time end soon after.
const LATEST: i64 = 4_102_444_800;

/// Why a text is no point in time. Never holds the text: with its columns shifted, a file has
/// phone numbers where times should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// None of the three ways to write one.
    #[error(
        "not a time; write epoch seconds, 2026-10-01T09:30:00+08:00, \
         or the venue's local time as 2026-10-01 09:30"
    )]
    Unreadable,
    /// Written well, but not in the calendar or not on the clock, such as 30 February or 25:00.
    #[error("no such date or time of day")]
    NoSuchDate,
    /// A local time that the clocks skip when summer time begins.
    #[error("this local time does not exist in the venue's time zone; the clocks skip it")]
    Skipped,
    /// Before 2000 or after 2099.
    #[error("not between the years 2000 and 2099; epoch times are in seconds")]
    OutOfRange,
}

/// Reads a time from text:
/// - epoch seconds, as decimal digits;
/// - RFC 3339 with `Z` or an offset, a fraction of a second being cut off;
/// - local date and time in `time_zone`: `2026-10-01 09:30`, also with `T`, with seconds, with
///   `/` and without leading zeros, as spreadsheets write them. `24:00` is the day's end. Of
///   times that come twice the first is meant; those that do not exist are an error.
///
/// Full-width digits and signs count as their ASCII counterparts, outer spaces do not count.
pub fn parse_time(text: &str, time_zone: &TimeZone) -> Result<EpochSeconds, TimeError> {
    let text = fold_width(text.trim());
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than fit are past any year.
        return in_range(text.parse().unwrap_or(i64::MAX));
    }
    let mut cursor = Cursor { rest: &text };
    let written = cursor.date_time().ok_or(TimeError::Unreadable)?;
    let offset = match cursor.offset().ok_or(TimeError::Unreadable)? {
        Some(seconds) => Offset::from_seconds(seconds).map_err(|_| TimeError::NoSuchDate)?,
        None => local_offset(written.checked()?, time_zone)?,
    };
    let timestamp = offset
        .to_timestamp(written.checked()?)
        .map_err(|_| TimeError::OutOfRange)?;
    in_range(timestamp.as_second())
}

/// Reads a time from a JSON value: an integer is epoch seconds, a string as in [`parse_time`].
pub fn parse_json_time(
    value: &serde_json::Value,
    time_zone: &TimeZone,
) -> Result<EpochSeconds, TimeError> {
    match value {
        serde_json::Value::String(text) => parse_time(text, time_zone),
        serde_json::Value::Number(number) => {
            in_range(number.as_i64().ok_or(TimeError::Unreadable)?)
        }
        _ => Err(TimeError::Unreadable),
    }
}

fn in_range(seconds: i64) -> Result<EpochSeconds, TimeError> {
    if (EARLIEST..LATEST).contains(&seconds) {
        Ok(EpochSeconds(seconds))
    } else {
        Err(TimeError::OutOfRange)
    }
}

/// The offset that the zone's clocks show at this local time, the earlier time of two.
fn local_offset(local: DateTime, time_zone: &TimeZone) -> Result<Offset, TimeError> {
    match time_zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => Ok(offset),
        AmbiguousOffset::Fold { before, .. } => Ok(before),
        AmbiguousOffset::Gap { .. } => Err(TimeError::Skipped),
    }
}

/// Numbers as they are written, in the calendar or not.
struct Written {
    date: [i16; 3],
    time: [i16; 3],
}

impl Written {
    fn checked(&self) -> Result<DateTime, TimeError> {
        let [year, month, day] = self.date;
        let [hour, minute, second] = self.time;
        // Two digits each, so these fit.
        let small = |number: i16| i8::try_from(number).unwrap_or(i8::MAX);
        let date = Date::new(year, small(month), small(day)).map_err(|_| TimeError::NoSuchDate)?;
        if self.time == [24, 0, 0] {
            let next = date.tomorrow().map_err(|_| TimeError::OutOfRange)?;
            return Ok(next.at(0, 0, 0, 0));
        }
        jiff::civil::Time::new(small(hour), small(minute), small(second), 0)
            .map(|time| date.to_datetime(time))
            .map_err(|_| TimeError::NoSuchDate)
    }
}

/// What is left to read.
struct Cursor<'t> {
    rest: &'t str,
}

impl Cursor<'_> {
    /// Date, a `T` or spaces, time of day.
    fn date_time(&mut self) -> Option<Written> {
        let year = self.number(4, 4)?;
        let separator = self.one_of(&['-', '/'])?;
        let month = self.number(1, 2)?;
        self.one_of(&[separator])?;
        let day = self.number(1, 2)?;
        if self.one_of(&['T', 't']).is_none() {
            self.one_of(&[' '])?;
            self.rest = self.rest.trim_start_matches(' ');
        }
        let hour = self.number(1, 2)?;
        self.one_of(&[':'])?;
        let minute = self.number(2, 2)?;
        let mut second = 0;
        if self.one_of(&[':']).is_some() {
            second = self.number(2, 2)?;
            if self.one_of(&['.']).is_some() {
                self.number(1, 9)?;
            }
        }
        Some(Written {
            date: [year, month, day],
            time: [hour, minute, second],
        })
    }

    /// The offset in seconds, or nothing where the text ends; none of both is unreadable.
    fn offset(&mut self) -> Option<Option<i32>> {
        self.rest = self.rest.trim_start_matches(' ');
        if self.rest.is_empty() {
            return Some(None);
        }
        let seconds = if self.one_of(&['Z', 'z']).is_some() {
            0
        } else {
            let sign = if self.one_of(&['+', '-'])? == '-' {
                -1
            } else {
                1
            };
            let hours = self.number(2, 2)?;
            self.one_of(&[':']);
            let minutes = self.number(2, 2).filter(|minutes| *minutes < 60)?;
            sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60)
        };
        self.rest.is_empty().then_some(Some(seconds))
    }

    /// The number that stands here with `least` to `most` digits. Only the first four count,
    /// which is all but a fraction's.
    fn number(&mut self, least: usize, most: usize) -> Option<i16> {
        let digits = self
            .rest
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        if digits < least {
            return None;
        }
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        Some(
            number
                .bytes()
                .take(4)
                .fold(0, |sum, digit| sum * 10 + i16::from(digit - b'0')),
        )
    }

    fn one_of(&mut self, choices: &[char]) -> Option<char> {
        let next = self
            .rest
            .chars()
            .next()
            .filter(|next| choices.contains(next))?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str, zone: &str) -> Result<i64, TimeError> {
        parse_time(text, &TimeZone::get(zone).unwrap()).map(|seconds| seconds.0)
    }

    #[test]
    fn every_way_to_write_a_time_gives_the_same_second() {
        for text in [
            "1790818200",
            " 1790818200 ",
            "2026-10-01T09:30:00+08:00",
            "2026-10-01T01:30:00Z",
            "2026-10-01t01:30:00z",
            "2026-10-01T01:30:00.999Z",
            "2026-09-30T21:30:00-0400",
            "2026-10-01 09:30:00 +08:00",
            "2026-10-01 09:30",
            "2026-10-01T09:30",
            "2026-10-01 09:30:00",
            "2026/10/01 09:30",
            "2026/10/1 9:30",
            "2026/10/1  9:30:00",
            "２０２６／１０／１　９：３０",
        ] {
            assert_eq!(time(text, "Asia/Shanghai"), Ok(1_790_818_200), "{text}");
        }
    }

    #[test]
    fn an_integer_in_json_is_epoch_seconds() {
        let zone = TimeZone::UTC;
        let read = |value| parse_json_time(&value, &zone);
        assert_eq!(
            read(serde_json::json!(1_790_818_200)),
            Ok(EpochSeconds(1_790_818_200))
        );
        assert_eq!(
            read(serde_json::json!("1790818200")),
            Ok(EpochSeconds(1_790_818_200))
        );
        assert_eq!(
            read(serde_json::json!(1_790_818_200.5)),
            Err(TimeError::Unreadable)
        );
        assert_eq!(read(serde_json::json!(null)), Err(TimeError::Unreadable));
    }

    #[test]
    fn a_local_time_that_does_not_exist_is_refused() {
        assert_eq!(
            time("2026-03-29 02:30", "Europe/Berlin"),
            Err(TimeError::Skipped)
        );
        assert_eq!(
            time("2026-03-29T02:30:00+01:00", "Europe/Berlin"),
            Ok(1_774_747_800)
        );
    }

    #[test]
    fn of_a_local_time_that_comes_twice_the_first_is_meant() {
        let first = time("2026-10-25T02:30:00+02:00", "UTC").unwrap();
        assert_eq!(time("2026-10-25 02:30", "Europe/Berlin"), Ok(first));
    }

    #[test]
    fn twenty_four_hours_is_the_end_of_the_day() {
        assert_eq!(
            time("2026-12-31 24:00", "UTC"),
            time("2027-01-01 00:00", "UTC")
        );
        assert_eq!(time("2026-12-31 24:01", "UTC"), Err(TimeError::NoSuchDate));
    }

    #[test]
    fn dates_that_are_in_no_calendar_are_refused() {
        for text in [
            "2026-02-30 09:30",
            "2026-13-01 09:30",
            "2026-10-01 25:00",
            "2026-10-01 9:60",
        ] {
            assert_eq!(time(text, "UTC"), Err(TimeError::NoSuchDate), "{text}");
        }
    }

    #[test]
    fn milliseconds_day_numbers_and_compact_dates_are_not_taken_for_seconds() {
        for text in [
            "1790818200000",
            "46296",
            "20261001",
            "202610010930",
            "0",
            "99999999999999999999",
        ] {
            assert_eq!(time(text, "UTC"), Err(TimeError::OutOfRange), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_says_how_to_write_one() {
        for text in [
            "",
            "-5",
            "noon",
            "2026-10-01",
            "09:30",
            "2026-10/01 09:30",
            "2026-10-01 9.30",
            "10/01/2026 09:30",
            "2026-10-01 09:30 PM",
            "2026-10-01T09:30:00+08:00x",
            "2026-10-01T09:30:00+8",
            "2026-10-01T09:30:00+08:60",
            "2026-10-01 09:30:00.",
        ] {
            let error = time(text, "UTC").unwrap_err();
            assert_eq!(error, TimeError::Unreadable, "{text}");
            assert!(error.to_string().contains("2026-10-01 09:30"));
        }
    }
}
