//! What is removed when its time is over: in small steps, each run kept, and nothing by a clock
//! that may be wrong.

use stile_core::time::{EpochMillis, EpochSeconds};

use super::Server;
use super::lists::KEPT_AFTER_DAY_S;
use crate::error::ServerError;
use crate::store::{RetentionJob, RetentionRun, RetentionState, Swept};

const DAY_S: i64 = 24 * 3600;
/// Days that the audit log is kept at least.
pub const LEAST_KEEP_DAYS: u16 = 180;
/// Rows that one step removes at most: a few ms of the one writer.
const STEP_ROWS: u32 = 200;
/// Runs that are kept: 400 days of them.
const KEPT_RUNS: u32 = 400 * 4;
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

    /// Sets how many days the audit log is kept.
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
        let ended_before = EpochSeconds(now.seconds().0.saturating_sub(KEPT_AFTER_DAY_S));
        let kept_since = now.plus(-i64::from(keep_days) * DAY_S * 1_000);
        let mut total = 0_u64;
        loop {
            let Swept { removed, more } = match job {
                RetentionJob::Phones => whole(self.store.forget_holders(ended_before).await?),
                RetentionJob::DocumentKeys => {
                    whole(self.store.forget_document_keys(ended_before).await?)
                }
                RetentionJob::Hashes => self.store.forget_hashes(ended_before, STEP_ROWS).await?,
                RetentionJob::Acts => self.store.forget_acts(kept_since, now, STEP_ROWS).await?,
            };
            total = total.saturating_add(removed);
            if !more {
                return Ok(total);
            }
        }
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
