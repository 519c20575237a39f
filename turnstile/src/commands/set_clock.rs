//! `stile-gate set-clock`: a supervisor says what time it is, where no server can be asked or its
//! time is disputed. Asks the running gate, or does it in the folder of one that does not run. On
//! record either way.

use std::path::Path;
use std::sync::Arc;

use stile_core::device::{ClockError, Device, Identity};
use stile_core::ids::GateId;
use stile_core::time::EpochMillis;

use super::ask_pin::ask_pin;
use super::{CommandError, machine, parse_time};
use crate::control::{ControlError, Request, Response, ask};
use crate::pin::Pin;
use crate::platform::Linux;
use crate::tui::clock_error;
use crate::words::Words;

/// Sets the clock, with the reason for the record. The PIN is asked for.
pub fn set_clock(
    data: &Path,
    gate: Option<&GateId>,
    at: &str,
    reason: &str,
) -> Result<(), CommandError> {
    let words = Words::of(&Identity::load(data)?);
    let to = match words.typed_minute(at) {
        Some(to) => to,
        None => parse_time(at).map_err(|why| {
            CommandError::Usage(format!(
                "--at {at}: {why}, or 2026-10-01 09:00 in the venue"
            ))
        })?,
    };
    let pin = ask_pin("PIN of a supervisor")?;
    let request = Request::SetClock {
        pin: pin.clone(),
        to,
        reason: reason.to_owned(),
    };
    let now = match ask(data, &request) {
        Ok(Response::ClockSet { now }) => now,
        Ok(Response::Failed(why)) => return Err(CommandError::Failed(why)),
        Ok(other @ Response::Done { .. }) => {
            let what = format!("the gate speaks of something else: {other:?}");
            return Err(CommandError::Failed(what));
        }
        Err(ControlError::NotRunning(_)) => in_folder(data, gate, &pin, to, reason, &words)?,
        Err(error) => return Err(CommandError::Failed(error.to_string())),
    };
    println!(
        "the clock is set, and that is on record: it is {}",
        words.date_and_clock(now)
    );
    Ok(())
}

/// The folder's lock says that no gate starts meanwhile.
fn in_folder(
    data: &Path,
    gate: Option<&GateId>,
    pin: &Pin,
    to: EpochMillis,
    reason: &str,
    words: &Words,
) -> Result<EpochMillis, CommandError> {
    let device = Device::open(data, gate, Arc::new(Linux::new().map_err(machine)?))?;
    match device.set_clock(&pin.0, to, reason) {
        Ok(now) => Ok(now.at),
        Err(ClockError::Journal(error)) => Err(error.into()),
        Err(error) => Err(CommandError::Failed(clock_error(&error, words).en)),
    }
}
