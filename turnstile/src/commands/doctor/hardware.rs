//! Scanners and relays: whether they are there and do something.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Instant;

use super::finding::Finding;
use super::{FOR_PEOPLE, SEE_TO_IT};
use crate::commands::CommandError;
use crate::commands::ask::Ask;
use crate::config::{Config, Wiring};
use crate::ports::Ports;
use crate::relay::RelaySpec;
use crate::scanner::{Input, ScannerSpec, queue};
use crate::threads;

/// Opens each scanner, and waits for one reading if somebody is there to make it.
pub(super) fn scanners<R: BufRead, W: Write>(
    config: &Config,
    ports: &Arc<Ports>,
    ask: &mut Ask<R, W>,
) -> Vec<Finding> {
    config
        .scanners
        .iter()
        .map(|spec| match spec {
            ScannerSpec::Stdin => Finding::left_out("scanner", "stdin is no device"),
            spec => scanner(spec, config, ports, ask),
        })
        .collect()
}

fn scanner<R: BufRead, W: Write>(
    spec: &ScannerSpec,
    config: &Config,
    ports: &Arc<Ports>,
    ask: &mut Ask<R, W>,
) -> Finding {
    let opened = spec.probe(ports);
    let opened = opened.and_then(|()| spec.open(ports, config.idle_gap));
    let scanner = match opened {
        Ok(scanner) => scanner,
        Err(error) => return Finding::fail("scanner", format!("{spec}: {error}"), SEE_TO_IT),
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
        FOR_PEOPLE.as_secs()
    ));
    let (inputs, readings) = queue();
    if let Err(error) = threads::spawn("scanner", move || scanner.run(inputs)) {
        return Finding::left_out("scanner", format!("this machine: {error}"));
    }
    let deadline = Instant::now() + FOR_PEOPLE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match readings.recv_timeout(left) {
            Ok(Input::Reading(reading)) => {
                let what = format!("{spec} has read a code of {} bytes", reading.bytes.len());
                return Finding::ok("scanner", what);
            }
            Ok(Input::Ended(_)) | Err(_) => {
                return Finding::fail("scanner", format!("{spec} has read nothing"), SEE_TO_IT);
            }
            Ok(_) => {}
        }
    }
}

/// Moves each relay once, if that is allowed.
pub(super) fn relays<R: BufRead, W: Write>(
    config: &Config,
    ports: &Arc<Ports>,
    ask: &mut Ask<R, W>,
) -> Result<Vec<Finding>, CommandError> {
    let gate = relay(&config.relay, "the gate", config, ports, ask)?;
    let out = config.relay_out.as_ref();
    let out = out.map(|wiring| relay(wiring, "the gate's way out", config, ports, ask));
    Ok([Some(gate), out.transpose()?]
        .into_iter()
        .flatten()
        .collect())
}

fn relay<R: BufRead, W: Write>(
    wiring: &Wiring,
    what: &str,
    config: &Config,
    ports: &Arc<Ports>,
    ask: &mut Ask<R, W>,
) -> Result<Finding, CommandError> {
    let spec = &wiring.driver;
    if let RelaySpec::Log(_) = spec {
        return Ok(Finding::warn(
            "relay",
            format!("{spec} opens no gate"),
            "name one in stile-gate.toml",
        ));
    }
    let question = format!("Open {what} once? Mind who stands in it");
    if !ask.is_silent() && !ask.consents(&question, "--yes")? {
        return Ok(Finding::left_out("relay", format!("{spec} was not moved")));
    }
    let moved = wiring.open(ports).and_then(|mut relay| {
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
        Err(error) => Finding::fail("relay", error.to_string(), SEE_TO_IT),
    })
}
