//! Sessions: from a booking system's times to the day and windows that gates go by.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use stile_core::ids::{SessionId, VenueId};
use stile_core::protocol::{NewSession, TimeInput};
use stile_core::ticket::Session;
use stile_core::time::{EpochSeconds, ServiceDay};

use super::Server;
use super::venues::{check_text, check_zones, zone};
use crate::error::ServerError;
use crate::import::times::{TimeError, parse_json_time};
use crate::store::Change;

/// Admission begins this long before the start unless the back end says otherwise, in seconds.
const ADMIT_BEFORE_S: i64 = 30 * 60;
/// Longest session and longest admission, in seconds: more is a wrong date, and would stretch the
/// list's day.
const LONGEST_S: i64 = 48 * 3600;
/// A session that starts before this hour, local time, counts to the day before.
const NIGHT_ENDS_HOUR: i8 = 6;
/// How far a session's service day may lie from the date of its start, in days: more is a wrong
/// date.
const DAY_OFF: i32 = 2;

impl Server {
    /// Puts a session.
    pub async fn put_session(
        &self,
        venue: &VenueId,
        id: SessionId,
        session: NewSession,
    ) -> Result<(Session, Change), ServerError> {
        let mut put = self.put_sessions(venue, vec![(id, session)]).await?;
        let nothing = || Err(ServerError::internal("a session was put and not answered"));
        put.pop().unwrap_or_else(nothing)
    }

    /// Puts sessions in their order, all in one transaction; one that is wrong keeps none of the
    /// others back. Answers what became of each.
    pub async fn put_sessions(
        &self,
        venue: &VenueId,
        sessions: Vec<(SessionId, NewSession)>,
    ) -> Result<Vec<Result<(Session, Change), ServerError>>, ServerError> {
        let venue = self.venue(venue).await?;
        let zone = zone(&venue.time_zone)?;
        let read: Vec<_> = sessions
            .into_iter()
            .map(|(id, session)| session_of(id, session, &zone))
            .collect();
        let good = read.iter().flatten().cloned().collect();
        let changes = self.store.put_sessions(venue.number, good, self.now());
        let mut changes = changes.await?.into_iter();
        let nothing = || ServerError::internal("a session was put and not answered");
        Ok(read
            .into_iter()
            .map(|session| Ok((session?, changes.next().ok_or_else(nothing)?)))
            .collect())
    }

    /// The venue's sessions, of one day if one is given, by start.
    pub async fn sessions(
        &self,
        venue: &VenueId,
        day: Option<&ServiceDay>,
    ) -> Result<Vec<Session>, ServerError> {
        let number = self.keys(venue).await?.number;
        Ok(self.store.sessions(number, day).await?)
    }
}

fn session_of(id: SessionId, new: NewSession, zone: &TimeZone) -> Result<Session, ServerError> {
    check_text("name", &new.name)?;
    check_text("note", &new.note)?;
    check_zones(new.zones.len())?;
    check_zones(new.zone_capacities.len())?;
    let time = |field, input: &TimeInput| {
        point(input, zone).map_err(|error| ServerError::invalid(field, error))
    };
    let starts_at = time("starts_at", &new.starts_at)?;
    let ends_at = rolled(
        time("ends_at", &new.ends_at)?,
        &new.ends_at,
        starts_at,
        zone,
    );
    check_span("ends_at", "starts_at", starts_at, ends_at)?;
    let admit_from = match &new.admit_from {
        Some(input) => time("admit_from", input)?,
        None => EpochSeconds(starts_at.0 - ADMIT_BEFORE_S),
    };
    let admit_until = match &new.admit_until {
        Some(input) => time("admit_until", input)?,
        None => ends_at,
    };
    check_span("admit_until", "admit_from", admit_from, admit_until)?;
    Ok(Session {
        session_id: id,
        service_day: service_day(new.service_day, starts_at, zone)?,
        name: new.name,
        starts_at,
        ends_at,
        admit_from,
        admit_until,
        zones: new.zones,
        reentry: new.reentry,
        status: new.status,
        note: new.note,
        capacity: new.capacity,
        zone_capacities: new.zone_capacities,
    })
}

fn point(input: &TimeInput, zone: &TimeZone) -> Result<EpochSeconds, TimeError> {
    let value = match input {
        TimeInput::Epoch(seconds) => (*seconds).into(),
        TimeInput::Text(text) => text.as_str().into(),
    };
    parse_json_time(&value, zone)
}

/// A local end that is not after the start is one of the next day: 22:00 to 02:00.
fn rolled(
    end: EpochSeconds,
    input: &TimeInput,
    start: EpochSeconds,
    zone: &TimeZone,
) -> EpochSeconds {
    let tomorrow = || {
        let end = Timestamp::from_second(end.0)
            .ok()?
            .to_zoned_datetime(zone.clone());
        let tomorrow = end.checked_add(1.day()).ok()?;
        Some(EpochSeconds(tomorrow.timestamp().as_second()))
    };
    if end <= start && is_local(input) {
        tomorrow().unwrap_or(end)
    } else {
        end
    }
}

/// A local time is another moment in another zone.
fn is_local(input: &TimeInput) -> bool {
    let in_zone = |hours| point(input, &TimeZone::fixed(jiff::tz::offset(hours)));
    in_zone(0) != in_zone(1)
}

fn check_span(
    field: &'static str,
    after: &str,
    from: EpochSeconds,
    until: EpochSeconds,
) -> Result<(), ServerError> {
    if until <= from {
        return Err(ServerError::invalid(
            field,
            format!("must lie after {after}"),
        ));
    }
    if until.0 - from.0 > LONGEST_S {
        let problem = format!("lies more than {} hours after {after}", LONGEST_S / 3600);
        return Err(ServerError::invalid(field, problem));
    }
    Ok(())
}

fn service_day(
    stated: Option<ServiceDay>,
    starts_at: EpochSeconds,
    zone: &TimeZone,
) -> Result<ServiceDay, ServerError> {
    let no_date = |_| ServerError::invalid("starts_at", "lies outside the calendar");
    let start = Timestamp::from_second(starts_at.0)
        .map_err(no_date)?
        .to_zoned_datetime(zone.clone());
    let date = start.date();
    let Some(stated) = stated else {
        let night = start.hour() < NIGHT_ENDS_HOUR;
        let day = if night {
            date.yesterday().map_err(no_date)?
        } else {
            date
        };
        return ServiceDay::new(day.to_string()).map_err(ServerError::internal);
    };
    let off = |stated: Date| date.since(stated).map(|span| span.get_days().abs());
    match stated.as_str().parse().and_then(off) {
        Ok(days) if days <= DAY_OFF => Ok(stated),
        _ => Err(ServerError::invalid(
            "service_day",
            format!("lies more than {DAY_OFF} days from the date of starts_at, {date}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shanghai() -> TimeZone {
        TimeZone::get("Asia/Shanghai").unwrap()
    }

    fn new(starts_at: &str, ends_at: &str) -> NewSession {
        serde_json::from_value(serde_json::json!({ "starts_at": starts_at, "ends_at": ends_at }))
            .unwrap()
    }

    fn session(new: NewSession) -> Result<Session, ServerError> {
        session_of(SessionId::new("s").unwrap(), new, &shanghai())
    }

    #[test]
    fn admission_begins_half_an_hour_before_the_start_and_ends_with_the_session() {
        let session = session(new("2026-10-01 09:00", "2026-10-01 11:00")).unwrap();
        assert_eq!(session.starts_at, EpochSeconds(1_790_816_400));
        assert_eq!(session.admit_from.0, session.starts_at.0 - 1800);
        assert_eq!(
            (session.admit_until, session.service_day.as_str()),
            (session.ends_at, "2026-10-01")
        );
    }

    #[test]
    fn a_night_session_rolls_over_midnight_and_counts_to_its_evening() {
        let night = session(new("2026-10-01 22:00", "2026-10-01 02:00")).unwrap();
        assert_eq!(night.ends_at.0 - night.starts_at.0, 4 * 3600);
        assert_eq!(night.service_day.as_str(), "2026-10-01");
        let late = session(new("2026-10-02 00:30", "2026-10-02 02:00")).unwrap();
        assert_eq!(late.service_day.as_str(), "2026-10-01");
        let early = session(new("2026-10-02 06:00", "2026-10-02 08:00")).unwrap();
        assert_eq!(early.service_day.as_str(), "2026-10-02");
    }

    #[test]
    fn the_back_end_may_say_another_day_but_not_another_week() {
        let day = |day: &str| NewSession {
            service_day: Some(ServiceDay::new(day).unwrap()),
            ..new("2026-10-02 00:30", "2026-10-02 02:00")
        };
        assert_eq!(
            session(day("2026-10-02")).unwrap().service_day.as_str(),
            "2026-10-02"
        );
        assert!(session(day("2026-10-12")).is_err());
    }

    #[test]
    fn an_end_with_an_offset_is_taken_as_it_is_written() {
        let backwards = session(new("2026-10-01 22:00", "2026-10-01T02:00:00+08:00"));
        assert!(
            backwards
                .unwrap_err()
                .to_string()
                .starts_with("ends_at: must lie after")
        );
    }

    #[test]
    fn absurd_spans_are_refused_and_say_which() {
        let long = session(new("2026-10-01 09:00", "2026-10-04 09:00")).unwrap_err();
        assert!(long.to_string().starts_with("ends_at"), "{long}");
        let mut shut = new("2026-10-01 09:00", "2026-10-01 11:00");
        shut.admit_until = Some(TimeInput::Text("2026-10-01 08:00".into()));
        assert!(
            session(shut)
                .unwrap_err()
                .to_string()
                .starts_with("admit_until")
        );
    }
}
