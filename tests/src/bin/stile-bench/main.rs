//! Measures what Stile promises to be fast at, and prints each figure beside its goal, with the
//! disk's own figure of the same run. No test depends on it: machines differ.

mod decision;
mod figures;
mod footprint;
mod lists;
mod place;
mod platform;
mod relay;
mod scans;
mod slow_disk;
mod uploads;

use anyhow::Result;
use clap::Parser;

use figures::Figures;
use place::Place;

/// What is measured at most.
#[derive(Debug, Parser)]
#[command(
    name = "stile-bench",
    about = "Measures Stile and prints each figure beside its goal"
)]
struct Options {
    /// Tickets of the day.
    #[arg(long, default_value_t = 100_000)]
    tickets: usize,
    /// Records to upload.
    #[arg(long, default_value_t = 200_000)]
    records: usize,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let mut figures = Figures::default();
    footprint::idle_server(&mut figures)?;
    let mut place = Place::set_up(options.tickets)?;
    let device = lists::fetch(&place, &mut figures)?;
    decision::measure(&place, &device, &mut figures)?;
    scans::durable(&place, &device, &mut figures)?;
    scans::while_a_list_is_applied(&place, &device, &mut figures)?;
    relay::measure(&mut place, &mut figures)?;
    slow_disk::measure(&mut place, &mut figures)?;
    // Last, since it uses every ticket up.
    uploads::measure(&place, &device, options.records, &mut figures)?;
    println!("{figures}");
    Ok(())
}
