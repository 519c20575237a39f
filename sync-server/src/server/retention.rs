//! What is removed when its time is over: in small steps, each run kept, and nothing by a clock
//! that may be wrong.

use stile_core::ids::VenueNumber;
use stile_core::time::{EpochMillis, EpochSeconds};

use super::Server;
use super::lists::KEPT_AFTER_DAY_S;
use crate::acting::WHOLE_SERVER;
use crate::error::ServerError;
use crate::store::{KeptSince, RetentionJob, RetentionRun, RetentionState, Swept};

const DAY_S: i64 = 24 * 3600;
/// Days that records, events and the audit log are kept at least.
pub const LEAST_KEEP_DAYS: u16 = 180;
/// Rows that one step removes at most: a few ms of the one writer.
const STEP_ROWS: u32 = 200;
/// Days that the ids of records stay taken at least, so that a device that comes back after a year
/// is told that its records were here; and that what a webhook has yet to tell waits for it.
const ID_DAYS: u16 = 400;
/// Runs that are kept: 400 days of them.
const KEPT_RUNS: u32 = 400 * RetentionJob::ALL.len() as u32;
/// How far the clock may run ahead of what speaks for it, in seconds: a week without sessions, or
/// with the server switched off, is nothing special.
const BELIEVED_S: i64 = 7 * DAY_S;
/// How long a clock that leapt is watched, in seconds, before anything is removed by it.
const WATCHED_S: i64 = 3 * DAY_S;

impl Server {
    /// Removes what may be kept no longer, and keeps that it did. Where the clock is doubted it
    /// removes nothing, unless a person says that the clock is right.
    pub async fn run_retention(
        &self,
        clock_is_right: bool,
    ) -> Result<Vec<RetentionRun>, ServerError> {
        let state = self.retention(KEPT_RUNS).await?;
        let now = self.now();
        let held = match clock_is_right {
            true => None,
            false => doubt(now.seconds(), &state),
        };
        let mut runs = Vec::new();
        for job in RetentionJob::ALL {
            let removed = match held {
                None => self.run_job(job, now, state.keep_days).await?,
                Some(_) => 0,
            };
            let run = RetentionRun {
                at: now,
                job,
                removed,
                held: held.map(str::to_owned),
            };
            self.store
                .keep_retention_run(run.clone(), KEPT_RUNS)
                .await?;
            runs.push(run);
        }
        Ok(runs)
    }

    /// What retention goes by, with its newest runs.
    pub async fn retention(&self, runs: u32) -> Result<RetentionState, ServerError> {
        Ok(self.store.retention(runs).await?)
    }

    /// Sets how many days records, events and the audit log are kept.
    pub async fn set_keep_days(&self, days: u16) -> Result<(), ServerError> {
        if days < LEAST_KEEP_DAYS {
            let problem = format!("at least {LEAST_KEEP_DAYS}");
            return Err(ServerError::invalid("days", problem));
        }
        Ok(self.store.set_keep_days(days).await?)
    }

    async fn run_job(
        &self,
        job: RetentionJob,
        now: EpochMillis,
        keep_days: u16,
    ) -> Result<u64, ServerError> {
        let days_ago = |days: u16| now.plus(-i64::from(days) * DAY_S * 1_000);
        let kept = KeptSince {
            all: days_ago(keep_days),
            untold: days_ago(keep_days.max(ID_DAYS)),
        };
        let venues = match job.is_per_venue() {
            true => {
                let venues = self.store.venues().await?;
                venues.iter().map(|venue| venue.number).collect()
            }
            false => vec![WHOLE_SERVER],
        };
        let mut total = 0_u64;
        for venue in venues {
            loop {
                let Swept { removed, more } = self.step(job, venue, kept, now).await?;
                total = total.saturating_add(removed);
                if !more {
                    break;
                }
            }
        }
        Ok(total)
    }

    /// One step of a job, at a venue if it goes by venues.
    async fn step(
        &self,
        job: RetentionJob,
        venue: VenueNumber,
        kept: KeptSince,
        now: EpochMillis,
    ) -> Result<Swept, ServerError> {
        let store = &self.store;
        let ended_before = EpochSeconds(now.seconds().0.saturating_sub(KEPT_AFTER_DAY_S));
        let (all, ids) = (kept.all, kept.untold);
        Ok(match job {
            RetentionJob::Phones => whole(store.forget_holders(ended_before).await?),
            RetentionJob::DocumentKeys => whole(store.forget_document_keys(ended_before).await?),
            RetentionJob::Hashes => store.forget_hashes(ended_before, STEP_ROWS).await?,
            RetentionJob::Acts => store.forget_acts(all, now, STEP_ROWS).await?,
            RetentionJob::Records => store.forget_records(venue, kept, now, STEP_ROWS).await?,
            RetentionJob::Quarantine => store.forget_quarantined(venue, all, STEP_ROWS).await?,
            RetentionJob::Events => store.forget_events(venue, kept, now, STEP_ROWS).await?,
            RetentionJob::RecordIds => store.forget_record_ids(venue, ids, STEP_ROWS).await?,
        })
    }
}

fn whole(removed: u64) -> Swept {
    Swept {
        removed,
        more: false,
    }
}

/// What speaks against removing anything by the clock. Two things speak for it that it cannot make
/// up: sessions, which the booking system dates, and that it has not leapt since the last runs.
fn doubt(now: EpochSeconds, state: &RetentionState) -> Option<&'static str> {
    let is_past = |last_day: EpochSeconds| now.0.saturating_sub(last_day.0) > BELIEVED_S;
    if state.last_day_until.is_some_and(is_past) {
        return Some(
            "the clock is more than a week past the last session of any venue; if it is right, \
             say so: retention run --clock-is-right",
        );
    }
    // Newest first, with whether something was removed by the clock as it was then.
    let runs = || {
        state
            .runs
            .iter()
            .map(|run| (run.at.seconds().0, run.held.is_none()))
    };
    let later = std::iter::once((now.0, false)).chain(runs());
    let leapt = later
        .zip(runs())
        .any(|((later, is_believed), (earlier, _))| {
            let is_leap = later.saturating_sub(earlier) > BELIEVED_S;
            // One into the future was taken back since.
            is_leap && !is_believed && later <= now.0 && now.0.saturating_sub(later) < WATCHED_S
        });
    leapt.then_some(
        "the clock leapt by more than a week, or the server was off for as long; three days \
         later, or by retention run --clock-is-right, it goes on",
    )
}
