//! The gate days of the cases, each at two venues: in virtual time through core's public door and
//! the server's own handlers, and through running programs with a guard's keys on their screens.

mod case;
mod codes;
mod day;
mod furnishing;
mod report;
mod venue;
mod virtual_venue;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use case::Cases;
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

#[test]
fn every_gate_day_comes_out_as_it_is_written() -> Result<()> {
    let cases = cases()?;
    assert!(!cases.days.is_empty());
    let failures: Vec<_> = cases
        .days
        .iter()
        .filter_map(|day| {
            let venue = day::opening(day).and_then(|at| VirtualVenue::open(&cases.venue, at));
            let outcome = venue.and_then(|venue| day::carry_out(&cases, day, venue));
            let error = outcome.err()?;
            Some(format!("{}: {error:#}", day.name))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {} days came out otherwise:\n{}",
        failures.len(),
        cases.days.len(),
        failures.join("\n")
    );
    Ok(())
}
