//! `make demo`: a museum's day on real programs and real input, told to its IT people. Each claim
//! is checked as it is made; one that does not hold ends the demo with its reason and status 1.

mod changes;
mod closing;
mod crowd;
mod folder;
mod generate;
mod keep;
mod next_door;
mod opening;
mod outage;
mod paper;
mod pictures;
mod refusals;
mod stage;
mod table;
mod visitors;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::{Parser, Subcommand};

use stage::Stage;

/// Shows a day at two gates, with the network lost and found, and proves that no check-in was
/// lost or doubled.
#[derive(Debug, Parser)]
#[command(name = "stile-demo", version)]
struct Arguments {
    /// Tickets of the day.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(5_000..))]
    tickets: u32,
    /// Another number makes other tickets.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Leave server and gates running at the end, and say how to scan.
    #[arg(long)]
    keep: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Only writes a day's tickets as a booking system exports them, to standard output.
    Generate(generate::Generate),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(Command::Generate(wanted)) = &arguments.command {
        return match generate::generate(wanted) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error:#}");
                ExitCode::FAILURE
            }
        };
    }
    match show(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("\nThe demo has stopped: {error:#}");
            eprintln!("Logs of server and gates: {}/*.log", folder::PATH);
            ExitCode::FAILURE
        }
    }
}

fn show(arguments: &Arguments) -> Result<bool> {
    let started = Instant::now();
    let paper = paper::Paper::new();
    opening::introduce(&paper);
    let folder = folder::fresh()?;
    let opened = opening::open(&paper, &folder, arguments.tickets as usize, arguments.seed)?;
    let day = opened.day;
    let mut stage = Stage::new(paper, opened.museum, &day, opened.gates, opened.spare)?;
    visitors::good(&mut stage)?;
    let next_door = next_door::NextDoor::found(&stage.museum, &day.timetable)?;
    refusals::from_the_file(&mut stage, &next_door)?;
    changes::during_the_day(&mut stage, &next_door)?;
    changes::line_cut(&mut stage)?;
    let offline = outage::server_gone(&mut stage)?;
    outage::server_back(&mut stage)?;
    let is_whole = closing::close(&mut stage, &offline, started)?;
    if arguments.keep && is_whole {
        keep::leave_running(stage)?;
    }
    Ok(is_whole)
}
