//! A gate as a process: from a line at the scanner to the relay's command, and its memory.

use std::time::Duration;

use anyhow::{Context, Result};
use stile_core::codes::Format;
use stile_tests::museum::ENTRANCE;

use crate::figures::{Figures, Samples};
use crate::footprint::resident_mib;
use crate::place::Place;
use crate::scans::{SCANS, STALL_SCANS};

/// Readings; each opens the relay for half a second, so they are few.
pub const READINGS: usize = 60;
/// As far apart as the relay's pulses: a reading waits for the one before to close.
const PAUSE: Duration = Duration::from_millis(600);

/// Reads lines at a gate that holds the whole list.
pub fn measure(place: &mut Place, figures: &mut Figures) -> Result<()> {
    let mut gate = place.museum.open_gate(ENTRANCE, &place.day.timetable)?;
    let mut samples = Samples::default();
    for code in place.codes(&place.good(SCANS + STALL_SCANS, READINGS)?, Format::G2)? {
        let said = gate.scan(&code)?;
        let us = said
            .line_to_relay_us
            .context("a good ticket that did not open the gate")?;
        samples.add(Duration::from_micros(us));
        std::thread::sleep(PAUSE);
    }
    figures.beside(
        "line at the scanner to the relay's command, G2",
        samples.summary(),
    );
    let mib = resident_mib(gate.pid().context("a gate that runs")?)?;
    let what = format!("gate with {} tickets, resident", place.day.tickets.len());
    figures.goal(&what, format!("{mib:.1} MiB"), "≤ 40 MiB", mib <= 40.0);
    gate.stop()
}
