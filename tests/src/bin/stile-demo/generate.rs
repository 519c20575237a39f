//! `stile-demo generate`: a day's tickets as a booking system exports them, on standard output.

use std::io::{self, BufWriter};

use anyhow::Result;
use clap::{Args, ValueEnum};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use stile_tests::booking::{BookingDay, Header, Timetable, write_csv};
use stile_tests::museum::TIME_ZONE;

/// The hour whose slot is the busiest: the morning's rush.
const RUSH_HOUR: i8 = 10;

/// Which tickets.
#[derive(Debug, Args)]
pub struct Generate {
    /// The service day.
    #[arg(long, value_name = "YYYY-MM-DD")]
    day: Date,
    /// Another number makes other tickets.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Tickets.
    #[arg(long, default_value_t = 100_000)]
    tickets: usize,
    /// In which language the first line names the columns.
    #[arg(long, value_enum, default_value = "english")]
    header: HeaderLanguage,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum HeaderLanguage {
    English,
    Chinese,
}

/// Writes them.
pub fn generate(wanted: &Generate) -> Result<()> {
    let zone = TimeZone::get(TIME_ZONE)?;
    let rush = zone.to_timestamp(wanted.day.at(RUSH_HOUR, 0, 0, 0))?;
    let day = BookingDay::generate(Timetable::around(rush, zone)?, wanted.tickets, wanted.seed);
    let header = match wanted.header {
        HeaderLanguage::English => Header::English,
        HeaderLanguage::Chinese => Header::Chinese,
    };
    write_csv(&day, header, BufWriter::new(io::stdout().lock()))
}
