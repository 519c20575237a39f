//! Scanners and relay: whether they are there and do something.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::finding::Finding;
use crate::commands::CommandError;
use crate::commands::ask::Ask;
use crate::config::Config;
use crate::relay::RelaySpec;
use crate::scanner::{Input, ScannerSpec, queue};
use crate::threads;

/// How long somebody may take to hold a code to a scanner.
const TEST_READ: Duration = Duration::from_secs(20);
/// What to do about a scanner.
const SEE_TO_SCANNER: &str = "check its cable, its power and its line in stile-gate.toml";

/// Opens each scanner, and waits for one reading if somebody is there to make it.
pub(super) fn scanners<R: BufRead, W: Write>(config: &Config, ask: &mut Ask<R, W>) -> Vec<Finding> {
    config
        .scanners
        .iter()
        .map(|spec| match spec {
            ScannerSpec::Stdin => Finding::left_out("scanner", "stdin is no device"),
            spec => scanner(spec, config, ask),
        })
        .collect()
}

fn scanner<R: BufRead, W: Write>(
    spec: &ScannerSpec,
    config: &Config,
    ask: &mut Ask<R, W>,
) -> Finding {
    let ports = Arc::default();
    let opened = spec.probe(&ports);
    let opened = opened.and_then(|()| spec.open(&ports, config.idle_gap));
    let scanner = match opened {
        Ok(scanner) => scanner,
        Err(error) => return Finding::fail("scanner", format!("{spec}: {error}"), SEE_TO_SCANNER),
    };
    if ask.is_silent() {
        return Finding::ok(
            "scanner",
            format!("{spec} is there; without --yes a code can be read"),
        );
    }
    ask.say(&format!(
        "Hold any code to {} within {} s …",
        scanner.name(),
        TEST_READ.as_secs()
    ));
    let (inputs, readings) = queue();
    if let Err(error) = threads::spawn("scanner", move || scanner.run(inputs)) {
        return Finding::left_out("scanner", format!("this machine: {error}"));
    }
    let deadline = Instant::now() + TEST_READ;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match readings.recv_timeout(left) {
            Ok(Input::Reading(reading)) => {
                let what = format!("{spec} has read a code of {} bytes", reading.bytes.len());
                return Finding::ok("scanner", what);
            }
            Ok(Input::Ended(_)) | Err(_) => {
                return Finding::fail(
                    "scanner",
                    format!("{spec} has read nothing"),
                    SEE_TO_SCANNER,
                );
            }
            Ok(_) => {}
        }
    }
}

/// Moves the relay once, if that is allowed.
pub(super) fn relay<R: BufRead, W: Write>(
    config: &Config,
    ask: &mut Ask<R, W>,
) -> Result<Finding, CommandError> {
    let spec = &config.relay.driver;
    if let RelaySpec::Log(_) = spec {
        return Ok(Finding::warn(
            "relay",
            format!("{spec} opens no gate"),
            "name one in stile-gate.toml",
        ));
    }
    if !ask.is_silent() && !ask.consents("Open the gate once? Mind who stands in it", "--yes")? {
        return Ok(Finding::left_out("relay", format!("{spec} was not moved")));
    }
    let relay = config.relay.open(&Arc::default());
    let moved = relay.and_then(|mut relay| {
        let opened = relay.open();
        sleep(config.hold);
        // Closed in any case; the first trouble is told.
        let closed = relay.close();
        opened.and(closed)
    });
    Ok(match moved {
        Ok(()) => Finding::ok(
            "relay",
            format!("{spec} opened and closed; did the gate move?"),
        ),
        Err(error) => Finding::fail(
            "relay",
            error.to_string(),
            "check its cable, its power and its line in stile-gate.toml",
        ),
    })
}
