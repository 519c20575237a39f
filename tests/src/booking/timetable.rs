//! A museum's timetable, built around a moment so that a session is admitting then: hourly slots
//! round the clock and a night session over midnight, all of one service day, and a session on
//! the day before and on the day after.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use stile_core::ids::{SessionId, Zone};
use stile_core::protocol::{NewSession, TimeInput};
use stile_core::ticket::{Reentry, SessionStatus};
use stile_core::time::{EpochSeconds, ServiceDay};

use super::MAIN_ZONE;

/// The hour at which the first slot of a service day starts.
const FIRST_HOUR: i8 = 6;
/// Minutes before its start at which a session begins to admit, unless it says otherwise.
const ADMIT_BEFORE_MIN: i64 = 30;

/// One session, in the venue's local time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Its id: the service day and when it starts.
    pub session_id: SessionId,
    /// What people call it.
    pub name: String,
    /// The business date that it counts to.
    pub day: Date,
    /// Whether it takes place.
    pub status: SessionStatus,
    /// Why it does not.
    pub note: String,
    starts: DateTime,
    ends: DateTime,
    admits: (EpochSeconds, EpochSeconds),
}

impl Slot {
    fn new(
        day: Date,
        id: &str,
        name: &str,
        starts: DateTime,
        hours: i64,
        zone: &TimeZone,
    ) -> Result<Self> {
        let ends = starts.checked_add(hours.hours())?;
        let second = |time: DateTime| -> Result<_> {
            Ok(EpochSeconds(zone.to_timestamp(time)?.as_second()))
        };
        let opens = starts.checked_sub(ADMIT_BEFORE_MIN.minutes())?;
        Ok(Self {
            session_id: SessionId::new(format!("{}-{id}", day.strftime("%Y%m%d")))?,
            name: name.to_owned(),
            day,
            status: SessionStatus::Open,
            note: String::new(),
            starts,
            ends,
            admits: (second(opens)?, second(ends)?),
        })
    }

    /// The window in which it admits, `[from, until)`, by the server's defaults.
    pub fn admits(&self) -> (EpochSeconds, EpochSeconds) {
        self.admits
    }

    /// Whether it admits at this moment.
    pub fn admits_at(&self, now: EpochSeconds) -> bool {
        (self.admits.0..self.admits.1).contains(&now)
    }

    /// From when to when, as it stands on a poster: `22:00–02:00`.
    pub fn hours(&self) -> String {
        format!(
            "{}–{}",
            self.starts.strftime("%H:%M"),
            self.ends.strftime("%H:%M")
        )
    }

    /// The body of `PUT /v1/sessions/{session_id}`, as a booking system with a date column and
    /// two time columns has it: an end that is not after the start rolls over midnight, and the
    /// service day is left to the server's rule.
    pub fn request(&self) -> NewSession {
        let local = |time: DateTime| {
            let text = format!(
                "{} {}",
                self.starts.strftime("%Y-%m-%d"),
                time.strftime("%H:%M")
            );
            TimeInput::Text(text)
        };
        NewSession {
            service_day: None,
            name: self.name.clone(),
            starts_at: local(self.starts),
            ends_at: local(self.ends),
            admit_from: None,
            admit_until: None,
            zones: Zone::new(MAIN_ZONE).into_iter().collect(),
            reentry: Reentry::None,
            status: self.status,
            note: self.note.clone(),
            capacity: None,
            zone_capacities: BTreeMap::new(),
        }
    }
}

/// Sessions of three days.
#[derive(Debug, Clone)]
pub struct Timetable {
    /// The venue's time zone.
    pub zone: TimeZone,
    /// The service day that is now.
    pub day: Date,
    /// Hourly slots from 06:00 to 06:00, each admitting from half an hour before.
    pub slots: Vec<Slot>,
    /// 22:00–02:00, beside the slots.
    pub night: Slot,
    /// A guided tour that was called off.
    pub called_off: Slot,
    /// One session of the day before.
    pub day_before: Slot,
    /// One session of the day after, late enough that its day has not begun.
    pub day_after: Slot,
    /// A session a week on, which no gate holds yet.
    pub next_week: Slot,
    busy: usize,
}

impl Timetable {
    /// The timetable in force at a moment.
    pub fn around(now: Timestamp, zone: TimeZone) -> Result<Self> {
        let local = zone.to_datetime(now);
        // The first slot admits from 05:30; until then the day before has not ended.
        let opens = (i64::from(FIRST_HOUR) * 60 - ADMIT_BEFORE_MIN).minutes();
        let day = local.checked_sub(opens)?.date();
        Self::of(day, EpochSeconds(now.as_second()), zone)
    }

    fn of(day: Date, now: EpochSeconds, zone: TimeZone) -> Result<Self> {
        let slot = |day: Date, id: &str, name: &str, hour: i8, hours| {
            Slot::new(day, id, name, day.at(hour, 0, 0, 0), hours, &zone)
        };
        let mut slots = Vec::new();
        for hour in 0..24_i64 {
            let starts = day.at(FIRST_HOUR, 0, 0, 0).checked_add(hour.hours())?;
            let name = format!(
                "{} 场 / slot {}",
                starts.strftime("%H:%M"),
                starts.strftime("%H:%M")
            );
            slots.push(Slot::new(
                day,
                &starts.strftime("%H%M").to_string(),
                &name,
                starts,
                1,
                &zone,
            )?);
        }
        let yesterday = day.yesterday()?;
        let tomorrow = day.tomorrow()?;
        let week = day.checked_add(7.days())?;
        let busy = slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.admits_at(now))
            .max_by_key(|(_, slot)| slot.admits().1)
            .map(|(at, _)| at)
            .context("no slot of the day admits at this moment")?;
        let mut called_off = slots[busy].clone();
        called_off.session_id = SessionId::new(format!("{}-tour", day.strftime("%Y%m%d")))?;
        called_off.name = "导览团 / guided tour".into();
        called_off.status = SessionStatus::Cancelled;
        called_off.note = "讲解员生病 / the guide is ill".into();
        Ok(Self {
            day,
            night: slot(day, "night", "夜场 / night session", 22, 4)?,
            called_off,
            day_before: slot(yesterday, "1000", "昨日 10:00 场 / yesterday, 10:00", 10, 1)?,
            day_after: slot(tomorrow, "2000", "明日 20:00 场 / tomorrow, 20:00", 20, 1)?,
            next_week: slot(week, "1000", "下周 10:00 场 / next week, 10:00", 10, 1)?,
            slots,
            busy,
            zone,
        })
    }

    /// The slot that admits now, and for longest: at least half an hour.
    pub fn busy(&self) -> &Slot {
        &self.slots[self.busy]
    }

    /// Every session.
    pub fn all(&self) -> impl Iterator<Item = &Slot> {
        let others = [
            &self.night,
            &self.called_off,
            &self.day_before,
            &self.day_after,
            &self.next_week,
        ];
        self.slots.iter().chain(others)
    }

    /// The session of that id.
    pub fn session(&self, id: &SessionId) -> Option<&Slot> {
        self.all().find(|slot| slot.session_id == *id)
    }

    /// The service day that is now, as the API names it.
    pub fn service_day(&self) -> Result<ServiceDay> {
        Ok(ServiceDay::new(self.day.to_string())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shanghai() -> TimeZone {
        TimeZone::get("Asia/Shanghai").unwrap()
    }

    #[test]
    fn at_any_minute_of_a_day_a_slot_admits_for_half_an_hour_or_more() {
        let midnight: Timestamp = "2026-10-01T00:00:00+08:00".parse().unwrap();
        for minute in 0..24 * 60 {
            let now = midnight + minute.minutes();
            let timetable = Timetable::around(now, shanghai()).unwrap();
            let (from, until) = timetable.busy().admits();
            assert!(from.0 <= now.as_second(), "{now}");
            assert!(until.0 - now.as_second() >= 30 * 60, "{now}");
        }
    }

    #[test]
    fn at_any_minute_of_a_day_the_other_days_have_ended_or_not_begun() {
        let midnight: Timestamp = "2026-10-01T00:00:00+08:00".parse().unwrap();
        for minute in 0..24 * 60 {
            let now = midnight + minute.minutes();
            let timetable = Timetable::around(now, shanghai()).unwrap();
            // A day reaches from 6 h before its first admission to 1 h after its last.
            let ended = timetable.day_before.admits().1.0 + 3_600;
            let begins = timetable.day_after.admits().0.0 - 6 * 3_600;
            assert!(ended < now.as_second() && now.as_second() < begins, "{now}");
        }
    }

    #[test]
    fn the_night_session_ends_on_the_next_date_and_keeps_its_service_day() {
        let late: Timestamp = "2026-10-02T01:00:00+08:00".parse().unwrap();
        let timetable = Timetable::around(late, shanghai()).unwrap();
        assert_eq!(timetable.day.to_string(), "2026-10-01");
        assert_eq!(timetable.night.hours(), "22:00–02:00");
        let now = EpochSeconds(late.as_second());
        assert!(timetable.night.admits_at(now));
        assert_eq!(
            timetable.session(&timetable.night.session_id),
            Some(&timetable.night)
        );
    }
}
