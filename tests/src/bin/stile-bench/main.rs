//! Measures what Stile promises to be fast at, and prints each figure beside its goal, with the
//! disk's own figure of the same run. No test depends on it: machines differ.

mod decision;
mod downloads;
mod figures;
mod footprint;
mod imports;
mod lists;
mod place;
mod platform;
mod refresh;
mod relay;
mod scans;
mod slow_disk;
mod uploads;

use anyhow::Result;
use clap::{Parser, ValueEnum};

use figures::Figures;
use place::Place;

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// A gate and a server on a usual day, from the idle server to the upload.
    Day,
    /// A large file of tickets.
    Imports,
    /// A long log, as a file.
    Downloads,
    /// Codes that are asked for again while gates upload.
    Refresh,
}

/// What is measured.
#[derive(Debug, Parser)]
#[command(
    name = "stile-bench",
    about = "Measures Stile and prints each figure beside its goal"
)]
struct Options {
    /// Parts to measure [default: all]
    parts: Vec<Part>,
    /// Tickets of the day.
    #[arg(long, default_value_t = 100_000)]
    tickets: usize,
    /// Records to upload.
    #[arg(long, default_value_t = 200_000)]
    records: usize,
    /// Tickets of the large file.
    #[arg(long, default_value_t = 1_000_000)]
    imported: usize,
    /// Records of the long log.
    #[arg(long, default_value_t = 1_000_000)]
    logged: usize,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let mut figures = Figures::default();
    let measures = |part| options.parts.is_empty() || options.parts.contains(&part);
    if measures(Part::Day) {
        day(&options, &mut figures)?;
    }
    if measures(Part::Refresh) {
        let place = Place::set_up(options.tickets)?;
        refresh::measure(&place, options.records, &mut figures)?;
    }
    if measures(Part::Downloads) {
        downloads::measure(options.logged, &mut figures)?;
    }
    if measures(Part::Imports) {
        imports::measure(options.imported, &mut figures)?;
    }
    println!("{figures}");
    Ok(())
}

fn day(options: &Options, figures: &mut Figures) -> Result<()> {
    footprint::idle_server(figures)?;
    let mut place = Place::set_up(options.tickets)?;
    let device = lists::fetch(&place, figures)?;
    decision::measure(&place, &device, figures)?;
    scans::durable(&place, &device, figures)?;
    scans::while_a_list_is_applied(&place, &device, figures)?;
    relay::measure(&mut place, figures)?;
    slow_disk::measure(&mut place, figures)?;
    // Last, since it uses every ticket up.
    uploads::measure(&place, &device, options.records, figures)
}
