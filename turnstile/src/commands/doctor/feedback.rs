//! Lamps, buzzer, text and voice: each is given the signals of an admission and of a refusal, one
//! device after the other, so that somebody can see and hear which of them does something.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::thread::sleep;

use super::SEE_TO_IT;
use super::finding::Finding;
use crate::commands::CommandError;
use crate::commands::ask::Ask;
use crate::config::Config;
use crate::feedback::{Cue, Feedback, FeedbackError, Signal, devices};
use crate::ports::Ports;
use crate::words::Sentence;

/// What is shown: each lamp has its own of the two.
const SHOWN: [Cue; 2] = [Cue::Admit, Cue::Refuse];

/// Signals on each device, if that is allowed.
pub(super) fn feedback<R: BufRead, W: Write>(
    config: &Config,
    ports: &Arc<Ports>,
    ask: &mut Ask<R, W>,
) -> Result<Vec<Finding>, CommandError> {
    let devices = devices(&config.feedback, ports);
    if devices.is_empty() {
        return Ok(Vec::new());
    }
    let question = "Show an admission and a refusal on each of lamps, buzzer, text and voice?";
    let allowed = ask.is_silent() || ask.consents(question, "--yes")?;
    let findings = devices.into_iter().map(|device| match device {
        Err(error) => Finding::fail("feedback", error.to_string(), SEE_TO_IT),
        Ok(device) if !allowed => {
            Finding::left_out("feedback", format!("{} was given no signal", device.name()))
        }
        Ok(mut device) => {
            let name = device.name();
            ask.say(&format!("Watch and listen to {name} …"));
            match show_all(device.as_mut()) {
                Ok(true) => Finding::ok(
                    "feedback",
                    format!("{name} was given admission and refusal; were they seen or heard?"),
                ),
                Ok(false) => Finding::warn(
                    "feedback",
                    format!("{name} has nothing to show of an admission or a refusal"),
                    "put its clips into the folder of its language",
                ),
                Err(error) => Finding::fail("feedback", format!("{name}: {error}"), SEE_TO_IT),
            }
        }
    });
    Ok(findings.collect())
}

/// Shows each signal to its end. False if the device has nothing for any of them.
fn show_all(device: &mut dyn Feedback) -> Result<bool, FeedbackError> {
    let shown = SHOWN
        .into_iter()
        .try_fold(false, |any, cue| Ok(show(device, cue)? || any));
    // Dark in any case; the first trouble is told.
    let dark = device.begin(&Signal::plain(Cue::Rest));
    shown.and_then(|shown| dark.map(|_| shown))
}

fn show(device: &mut dyn Feedback, cue: Cue) -> Result<bool, FeedbackError> {
    let signal = Signal {
        sentence: Some(Sentence::new("测试", "Test")),
        ..Signal::plain(cue)
    };
    let mut due = device.begin(&signal)?;
    let shows = due.is_some();
    while let Some(wait) = due {
        sleep(wait);
        due = device.go_on()?;
    }
    Ok(shows)
}
