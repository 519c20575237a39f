//! The gate days of the cases, each at two venues: in virtual time through core's public door and
//! the server's own handlers, and through running programs with a guard's keys on their screens.

mod case;
mod codes;
mod day;
mod furnishing;
mod report;
mod rotation;
mod running_venue;
mod venue;
mod virtual_venue;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use case::{Cases, Day};
use day::LeftOut;
use stile_core::time::EpochMillis;
use venue::Venue;
use virtual_venue::VirtualVenue;

fn cases() -> Result<Cases> {
    let folder = std::env::var_os("STILE_CASES").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("cases"),
        PathBuf::from,
    );
    let path = folder.join("gate-days.json");
    let text = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}", path.display()))
}

/// A program that is being started holds the locks of this process for a moment, and so those of
/// devices that live in it: venues of one kind are open at a time.
static ONE_KIND: Mutex<()> = Mutex::new(());

/// Carries out every day at a venue of its own, as many at a time as `side_by_side` says. Returns
/// the steps that nobody can take there, with their day's name.
fn carry_out_all<V: Venue>(
    side_by_side: usize,
    open: impl Fn(&Cases, &Day, EpochMillis) -> Result<V> + Sync,
) -> Result<Vec<(String, LeftOut)>> {
    let _turn = ONE_KIND.lock().unwrap_or_else(PoisonError::into_inner);
    let cases = cases()?;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut outcomes = Vec::new();
        while let Some(day) = cases.days.get(next.fetch_add(1, Ordering::Relaxed)) {
            let venue = day::opening(day).and_then(|at| open(&cases, day, at));
            let outcome = venue.and_then(|venue| day::carry_out(&cases, day, venue));
            outcomes.push((day.name.clone(), outcome));
        }
        outcomes
    };
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..side_by_side).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .flat_map(|outcomes| outcomes.expect("a day ends in a result"))
            .collect()
    });
    ensure!(!outcomes.is_empty(), "there are no days");
    let failed = outcomes.iter().filter_map(|(name, outcome)| {
        let error = outcome.as_ref().err()?;
        Some(format!("{name}: {error:#}"))
    });
    let failed: Vec<_> = failed.collect();
    ensure!(
        failed.is_empty(),
        "{} of {} days came out otherwise:\n{}",
        failed.len(),
        outcomes.len(),
        failed.join("\n")
    );
    let left_out = outcomes.into_iter().flat_map(|(name, steps)| {
        let steps = steps.unwrap_or_default().into_iter();
        steps.map(move |step| (name.clone(), step))
    });
    Ok(left_out.collect())
}

#[test]
fn every_gate_day_comes_out_as_it_is_written_in_virtual_time() -> Result<()> {
    let left_out = carry_out_all(1, |cases, _, at| VirtualVenue::open(&cases.venue, at))?;
    assert_eq!(left_out, []);
    Ok(())
}

/// Steps that nobody can take at running gates, each with the reason that the venue gives. Whoever
/// makes one possible takes it off this list.
const NOT_AT_RUNNING_GATES: [(&str, usize, &str); 0] = [];

#[cfg_attr(
    not(feature = "fault-points"),
    ignore = "its programs go by a clock that the test sets: run `make test`"
)]
#[test]
fn every_gate_day_comes_out_as_it_is_written_at_running_gates() -> Result<()> {
    let left_out = carry_out_all(3, running_venue::RunningVenue::open)?;
    let mut left_out: Vec<_> = left_out
        .iter()
        .map(|(day, step)| (day.as_str(), step.step, step.why.as_str()))
        .collect();
    left_out.sort_unstable();
    match std::env::var_os("STILE_CASES") {
        // Days that are not known here may have others.
        Some(_) => eprintln!("steps that nobody can take at running gates: {left_out:#?}"),
        None => assert_eq!(left_out, NOT_AT_RUNNING_GATES),
    }
    Ok(())
}
