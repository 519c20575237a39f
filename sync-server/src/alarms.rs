//! The rules of alarms that need no storage: which days must have tickets by now, and how long a
//! booking system has been silent. Venues have clocks; what they show is asked of their zone.

use std::collections::BTreeSet;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Error, SignedDuration, Timestamp, ToSpan};
use stile_core::time::{EpochMillis, ServiceDay, TimeOfDay};

/// Days that are looked back for silence at most: more than any venue is closed for.
pub const SILENCE_DAYS: i32 = 400;

/// The date that it is at a venue.
pub fn date(now: EpochMillis, zone: &TimeZone) -> Result<Date, Error> {
    let now = Timestamp::from_millisecond(now.0)?;
    Ok(now.to_zoned_datetime(zone.clone()).date())
}

/// The service day of a date.
pub fn day_of(date: Date) -> Option<ServiceDay> {
    ServiceDay::new(date.to_string()).ok()
}

/// The dates for which there must be tickets: the one that it is, and the next one once the time
/// has come for that. Asked at any moment, so that it does not matter whether anybody asked at
/// that time.
pub fn due_dates(now: EpochMillis, zone: &TimeZone, due: TimeOfDay) -> Result<Vec<Date>, Error> {
    let today = date(now, zone)?;
    let (hour, minute) = (due.hour().cast_signed(), due.minute().cast_signed());
    let due = today
        .at(hour, minute, 0, 0)
        .to_zoned_datetime(zone.clone())?;
    let mut dates = vec![today];
    if due.timestamp().as_millisecond() <= now.0 {
        dates.push(today.tomorrow()?);
    }
    Ok(dates)
}

/// Milliseconds of opening days from one moment to a later one: silence on a day on which the
/// venue is closed says nothing.
pub fn open_ms_between(
    from: EpochMillis,
    until: EpochMillis,
    zone: &TimeZone,
    is_open: &BTreeSet<ServiceDay>,
) -> Result<i64, Error> {
    let (from, until) = (
        Timestamp::from_millisecond(from.0)?,
        Timestamp::from_millisecond(until.0)?,
    );
    let last = until.to_zoned_datetime(zone.clone()).date();
    let first = from.to_zoned_datetime(zone.clone()).date();
    let mut date = first.max(last.checked_sub(SILENCE_DAYS.days())?);
    let mut open = SignedDuration::ZERO;
    while date <= last {
        let next = date.tomorrow()?;
        if day_of(date).is_some_and(|day| is_open.contains(&day)) {
            let begins = date.to_zoned_datetime(zone.clone())?.timestamp().max(from);
            let ends = next.to_zoned_datetime(zone.clone())?.timestamp().min(until);
            open += ends.duration_since(begins).max(SignedDuration::ZERO);
        }
        date = next;
    }
    Ok(i64::try_from(open.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> EpochMillis {
        EpochMillis(text.parse::<Timestamp>().unwrap().as_millisecond())
    }

    fn zone(name: &str) -> TimeZone {
        TimeZone::get(name).unwrap()
    }

    fn dates(now: &str, zone_name: &str) -> Vec<String> {
        let due = due_dates(at(now), &zone(zone_name), TimeOfDay::NINE_IN_THE_EVENING);
        due.unwrap().iter().map(Date::to_string).collect()
    }

    #[test]
    fn tomorrow_is_due_from_nine_in_the_evening_by_the_clock_of_the_venue() {
        let shanghai = |now| dates(now, "Asia/Shanghai");
        assert_eq!(shanghai("2026-10-01T12:59:59Z"), ["2026-10-01"]);
        assert_eq!(
            shanghai("2026-10-01T13:00:00Z"),
            ["2026-10-01", "2026-10-02"]
        );
        // Past midnight it is that day itself.
        assert_eq!(shanghai("2026-10-01T16:00:00Z"), ["2026-10-02"]);
        // The clocks of Berlin go back on the 25th of October, those of New York a week later.
        assert_eq!(
            dates("2026-10-25T20:00:00Z", "Europe/Berlin"),
            ["2026-10-25", "2026-10-26"]
        );
        assert_eq!(dates("2026-10-25T19:59:59Z", "Europe/Berlin").len(), 1);
        assert_eq!(dates("2026-10-24T19:00:00Z", "Europe/Berlin").len(), 2);
    }

    #[test]
    fn only_opening_days_count_as_silence_and_a_day_has_the_hours_that_it_has() {
        let open = |days: &[&str]| -> BTreeSet<ServiceDay> {
            days.iter()
                .map(|day| ServiceDay::new(*day).unwrap())
                .collect()
        };
        let hours = |from, until, days: &[&str]| {
            let zone = zone("Europe/Berlin");
            open_ms_between(at(from), at(until), &zone, &open(days)).unwrap() / 3_600_000
        };
        // Sunday 25 October 2026 has 25 hours there, and Monday is closed.
        let (sunday, tuesday) = ("2026-10-25", "2026-10-27");
        let (from, until) = ("2026-10-24T22:00:00Z", "2026-10-27T01:00:00Z");
        assert_eq!(hours(from, until, &[sunday, tuesday]), 25 + 2);
        assert_eq!(hours(from, until, &[sunday]), 25);
        assert_eq!(hours(from, until, &[]), 0);
        assert_eq!(hours(until, from, &[sunday, tuesday]), 0);
    }

    #[test]
    fn a_time_beyond_every_calendar_is_an_error() {
        let zone = zone("Asia/Shanghai");
        for time in [i64::MIN, i64::MAX] {
            let due = TimeOfDay::NINE_IN_THE_EVENING;
            assert!(due_dates(EpochMillis(time), &zone, due).is_err());
        }
    }
}
