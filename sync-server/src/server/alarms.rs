//! Alarms: looked for in what holds now, never in what happened at a moment, so that a server that
//! was down then, or a clock that was wrong, misses none and leaves none behind.

use std::collections::BTreeSet;

use jiff::ToSpan;
use jiff::tz::TimeZone;
use stile_core::ids::VenueId;
use stile_core::protocol::Alarms;
use stile_core::time::{EpochMillis, ServiceDay};

use super::venues::zone;
use super::{Server, at_most};
use crate::alarms::{SILENCE_DAYS, date, day_of, due_dates, open_ms_between};
use crate::error::ServerError;
use crate::store::{Alarm, AlarmChange, AlarmDetail, AlarmKind, AlarmQuery, DayOutlook, Venue};

/// Alarms of one answer, unless it asks for fewer or more.
pub const ALARMS: u32 = 100;
/// Alarms of one answer at most.
pub const MOST_ALARMS: u32 = 1_000;
/// What an alarm about the whole venue is about.
pub(super) const WHOLE_VENUE: &str = "venue";
/// The booking system wrote by a clock that ran further ahead than this, in ms: that says nothing.
const AHEAD_MS: i64 = 3_600_000;

/// What is found at one moment, beside the alarms that are open.
pub(super) struct Findings {
    open: Vec<Alarm>,
    changes: Vec<AlarmChange>,
}

impl Findings {
    /// The things of the open alarms of a kind.
    fn open_of(&self, kind: AlarmKind) -> Vec<String> {
        let of_kind = self.open.iter().filter(|alarm| alarm.kind == kind);
        of_kind.map(|alarm| alarm.thing.clone()).collect()
    }

    /// Whether an alarm is open.
    pub fn is_open(&self, kind: AlarmKind, thing: &str) -> bool {
        let mut open = self.open.iter();
        open.any(|alarm| alarm.kind == kind && alarm.thing == thing)
    }

    /// Nothing is wrong any more with all things of a kind but these.
    pub fn are_over_but(&mut self, kind: AlarmKind, stays: impl Fn(&str) -> bool) {
        for thing in self.open_of(kind) {
            if !stays(&thing) {
                self.is_over(kind, &thing);
            }
        }
    }

    /// Something is wrong.
    pub fn stands(&mut self, kind: AlarmKind, thing: &str, detail: AlarmDetail) {
        if !self.is_open(kind, thing) {
            self.changes.push(AlarmChange {
                kind,
                thing: thing.to_owned(),
                open: Some(detail),
            });
        }
    }

    /// Nothing is wrong, or nothing any more.
    pub fn is_over(&mut self, kind: AlarmKind, thing: &str) {
        if self.is_open(kind, thing) {
            self.changes.push(AlarmChange {
                kind,
                thing: thing.to_owned(),
                open: None,
            });
        }
    }
}

impl Server {
    /// Looks at all venues, opens and ends alarms, and says how many of them.
    pub async fn check_alarms(&self) -> Result<u64, ServerError> {
        let mut changed = 0;
        for venue in self.store.venues().await? {
            match self.check_venue(&venue).await {
                Ok(of_venue) => changed += of_venue,
                Err(error) => {
                    tracing::warn!(venue = %venue.venue_id, %error, "alarms are looked for again");
                }
            }
        }
        Ok(changed)
    }

    async fn check_venue(&self, venue: &Venue) -> Result<u64, ServerError> {
        let (zone, now) = (zone(&venue.time_zone)?, self.now());
        let mut findings = self.findings(venue).await?;
        self.look_for_tickets(venue, &zone, now, &mut findings)
            .await?;
        self.look_at_feed(venue, &zone, now, &mut findings).await?;
        self.look_at_sets(venue, &zone, now, &mut findings).await?;
        self.look_at_habit(venue, now, &mut findings).await?;
        self.settle(venue, findings, now).await
    }

    /// What is open, to find what has changed.
    pub(super) async fn findings(&self, venue: &Venue) -> Result<Findings, ServerError> {
        let query = AlarmQuery {
            ended: false,
            before: None,
            limit: u32::MAX,
        };
        Ok(Findings {
            open: self.store.alarms(venue.number, query).await?,
            changes: Vec::new(),
        })
    }

    /// Carries out what was found.
    pub(super) async fn settle(
        &self,
        venue: &Venue,
        findings: Findings,
        now: EpochMillis,
    ) -> Result<u64, ServerError> {
        if findings.changes.is_empty() {
            return Ok(0);
        }
        for change in &findings.changes {
            let (venue, kind, thing) = (&venue.venue_id, change.kind, &change.thing);
            match change.open {
                Some(_) => tracing::warn!(%venue, %kind, thing, "alarm"),
                None => tracing::info!(%venue, %kind, thing, "the alarm is over"),
            }
        }
        let changed = self
            .store
            .change_alarms(venue.number, findings.changes, now);
        Ok(changed.await?)
    }

    /// Days that must have tickets by now, and have none.
    async fn look_for_tickets(
        &self,
        venue: &Venue,
        zone: &TimeZone,
        now: EpochMillis,
        findings: &mut Findings,
    ) -> Result<(), ServerError> {
        let kind = AlarmKind::NoTicketsTomorrow;
        let due = due_dates(now, zone, venue.policy.alarms.tickets_due);
        let mut missing = BTreeSet::new();
        for date in due.map_err(ServerError::internal)? {
            let Some(day) = day_of(date) else { continue };
            let outlook = self.store.day_outlook(venue.number, &day).await?;
            let last_week = date.checked_sub(1.week()).ok().and_then(day_of);
            if self.is_missing(venue, outlook, last_week).await? {
                let detail = AlarmDetail {
                    service_day: Some(day.clone()),
                    sessions: Some(outlook.open_sessions),
                    ..AlarmDetail::default()
                };
                findings.stands(kind, day.as_str(), detail);
                missing.insert(day.to_string());
            }
        }
        findings.are_over_but(kind, |thing| missing.contains(thing));
        Ok(())
    }

    /// Whether a day has nobody to admit that should have: its sessions take place and have no
    /// ticket; or it has none at all, where the same weekday of the week before had.
    async fn is_missing(
        &self,
        venue: &Venue,
        outlook: DayOutlook,
        last_week: Option<ServiceDay>,
    ) -> Result<bool, ServerError> {
        match (outlook.sessions, last_week) {
            (0, Some(day)) => {
                let before = self.store.day_outlook(venue.number, &day).await?;
                Ok(before.open_sessions > 0)
            }
            (0, None) => Ok(false),
            _ => Ok(outlook.open_sessions > 0 && !outlook.has_tickets),
        }
    }

    /// A booking system that has written no ticket for too long. Its next write ends the alarm, or
    /// that the venue wants none.
    async fn look_at_feed(
        &self,
        venue: &Venue,
        zone: &TimeZone,
        now: EpochMillis,
        findings: &mut Findings,
    ) -> Result<(), ServerError> {
        let kind = AlarmKind::FeedSilent;
        let longest_ms = i64::from(venue.policy.alarms.feed_silent_h) * 3_600_000;
        let written_at = self.store.ticket_feed(venue.number).await?;
        let Some(written_at) = written_at.filter(|_| longest_ms > 0) else {
            findings.is_over(kind, WHOLE_VENUE);
            return Ok(());
        };
        if written_at.since(now) > AHEAD_MS {
            self.store.restart_ticket_feed(venue.number, now).await?;
        }
        if now.since(written_at) <= longest_ms {
            findings.is_over(kind, WHOLE_VENUE);
            return Ok(());
        }
        let today = date(now, zone).map_err(ServerError::internal)?;
        let first = today.checked_sub(SILENCE_DAYS.days());
        let first = first.map_err(ServerError::internal)?;
        let (Some(first), Some(last)) = (day_of(first), day_of(today)) else {
            return Ok(());
        };
        let open = self.store.open_days(venue.number, &first, &last).await?;
        let open = open.into_iter().collect();
        let silent = open_ms_between(written_at, now, zone, &open);
        if silent.map_err(ServerError::internal)? > longest_ms {
            let detail = AlarmDetail {
                since: Some(written_at),
                ..AlarmDetail::default()
            };
            findings.stands(kind, WHOLE_VENUE, detail);
        }
        Ok(())
    }

    /// The venue's alarms: those that are open, or all.
    pub async fn alarms(&self, venue: &VenueId, query: AlarmQuery) -> Result<Alarms, ServerError> {
        let number = self.keys(venue).await?.number;
        let limit = query.limit.clamp(1, MOST_ALARMS);
        let one_more = AlarmQuery {
            limit: limit + 1,
            ..query
        };
        let alarms = self.store.alarms(number, one_more).await?;
        let (alarms, more) = at_most(limit as usize, alarms);
        Ok(Alarms { alarms, more })
    }
}
