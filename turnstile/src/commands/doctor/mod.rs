//! `stile-gate doctor`: looks at all that a gate needs, and says of each in one line how it is and
//! what to do. Works beside a running controller, which keeps scanners, relays, lamps and inputs to
//! itself.

mod feedback;
mod finding;
mod hardware;
mod inputs;
mod network;
mod storage;

use std::io::{self, Write, stderr, stdin, stdout};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stile_core::device::Identity;
use stile_core::platform::Platform;

use super::ask::Ask;
use super::{CommandError, machine};
use crate::config::Settings;
use crate::platform::Linux;
use crate::status_file::StatusFile;
use finding::{Finding, Grade};

/// How long somebody may take to hold a code to a scanner, or to walk through a sensor.
const FOR_PEOPLE: Duration = Duration::from_secs(20);
/// What to do about a device that does nothing.
const SEE_TO_IT: &str = "check its cable, its power and its line in stile-gate.toml";

/// How to look.
#[derive(Debug, Clone, Default)]
pub struct DoctorOptions {
    /// Relays and lamps are moved without a question, and nobody is asked to hold a code to a
    /// scanner or to walk through a sensor.
    pub yes: bool,
    /// One JSON object per finding.
    pub json: bool,
}

/// Looks at everything and prints what it finds. An error if something fails.
pub fn doctor(
    data: &Path,
    settings: Settings,
    options: &DoctorOptions,
) -> Result<(), CommandError> {
    let config = settings.finish()?;
    let platform: Arc<dyn Platform> = Arc::new(Linux::new().map_err(machine)?);
    let mut failed = 0_usize;
    let mut tell = |findings: Vec<Finding>| {
        for finding in findings {
            failed += usize::from(finding.grade == Grade::Fail);
            // Whoever does not listen sees the exit code.
            let _ = print(&finding, options.json);
        }
    };
    tell(vec![storage::sync_time(data), storage::room(data)]);
    match Identity::load(data) {
        Ok(identity) => tell(network::network(&identity, &platform)),
        Err(error) => tell(vec![Finding::fail(
            "enrolment",
            error.to_string(),
            "run `stile-gate setup`",
        )]),
    }
    let file = StatusFile::read(data);
    if file.is_some_and(|file| file.is_alive(platform.moment())) {
        let why = "the running controller has it; stop it first to look at this";
        let left_out = |check| Finding::left_out(check, why);
        tell(
            ["scanner", "relay", "feedback", "input"]
                .map(left_out)
                .into(),
        );
    } else {
        // Questions do not mix with JSON.
        let out: Box<dyn Write> = match options.json {
            true => Box::new(stderr()),
            false => Box::new(stdout()),
        };
        let mut ask = Ask::new(stdin().lock(), out, options.yes);
        let ports = Arc::default();
        tell(hardware::scanners(&config, &ports, &mut ask));
        tell(hardware::relays(&config, &ports, &mut ask)?);
        tell(feedback::feedback(&config, &ports, &mut ask)?);
        tell(inputs::inputs(&config, &ports, &mut ask));
    }
    match failed {
        0 => Ok(()),
        1 => Err(CommandError::Failed("one check failed".into())),
        n => Err(CommandError::Failed(format!("{n} checks failed"))),
    }
}

fn print(finding: &Finding, json: bool) -> io::Result<()> {
    let line = match json {
        true => serde_json::to_string(finding)?,
        false => finding.line(),
    };
    writeln!(stdout(), "{line}")
}
