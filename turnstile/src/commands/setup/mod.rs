//! `stile-gate setup`: from an empty board to a gate at work, by a few questions. May be run again:
//! what is there is the default, and nothing is overwritten without a question.

mod configuration;
mod devices;
mod service;

use std::io::{BufRead, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stile_core::device::Identity;
use stile_core::ids::GateId;
use stile_core::protocol::EnrolmentText;
use stile_core::reason::Language;

use super::ask::Ask;
use super::{CommandError, EnrolOptions, enrol, machine};
use crate::config::{DEFAULT_HOLD_MS, HoldMs, RelaySettings, Settings};
use crate::relay::RelaySpec;
use crate::scanner::{Input, ScannerSpec, queue};
use crate::threads;
use devices::Machine;

/// Where a gate keeps its data unless it is told.
pub const DEFAULT_DATA: &str = "/var/lib/stile-gate";

/// How long a scanner is waited for when it is to read the enrolment QR.
const READ_QR: Duration = Duration::from_secs(60);

/// What flags have answered already.
#[derive(Debug, Clone, Default)]
pub struct SetupOptions {
    /// The data folder.
    pub data: Option<PathBuf>,
    /// Defaults are taken without a question.
    pub yes: bool,
    /// A configuration that is there may be replaced.
    pub overwrite: bool,
    /// No service is installed.
    pub no_service: bool,
    /// The text of the enrolment QR.
    pub enrolment: Option<String>,
    /// What people call the device.
    pub name: Option<String>,
    /// What flags say of the configuration.
    pub settings: Settings,
}

/// Sets the gate up.
pub fn setup(options: SetupOptions) -> Result<(), CommandError> {
    let ask = Ask::new(stdin().lock(), stdout(), options.yes);
    Setup {
        ask,
        machine: Machine::default(),
        options,
    }
    .run()
}

struct Setup<R, W> {
    ask: Ask<R, W>,
    machine: Machine,
    options: SetupOptions,
}

impl<R: BufRead, W: Write> Setup<R, W> {
    fn run(mut self) -> Result<(), CommandError> {
        let data = self.data()?;
        let before = Settings::load(&data, None)?;
        let flags = std::mem::take(&mut self.options.settings);
        let scanners = self.scanners(flags.scanners, before.scanners)?;
        let identity = self.enrolled(&data, &scanners)?;
        let gate = self.gate(&identity, flags.gate, before.gate)?;
        let driver = self.relay(flags.relay.driver, before.relay.driver, &scanners)?;
        let hold_ms = self.hold(flags.relay.hold_ms, before.relay.hold_ms)?;
        let language = self.language(flags.language, before.language)?;
        let chosen = Settings {
            gate: Some(gate),
            scanners,
            idle_gap_ms: flags.idle_gap_ms,
            language,
            display: flags.display,
            relay: RelaySettings {
                driver: Some(driver),
                hold_ms: Some(hold_ms),
                ..RelaySettings::default()
            },
            ..Settings::default()
        };
        chosen.clone().finish()?;
        self.write(&data, &chosen)?;
        self.service(&data)
    }

    fn data(&mut self) -> Result<PathBuf, CommandError> {
        match self.options.data.take() {
            Some(data) => Ok(data),
            None => self.ask.ask(
                "Data folder",
                Some(DEFAULT_DATA),
                "--data",
                |answer| match answer.starts_with('/') {
                    true => Ok(PathBuf::from(answer)),
                    false => Err("a path from the root, such as /var/lib/stile-gate".into()),
                },
            ),
        }
    }

    fn scanners(
        &mut self,
        flags: Vec<ScannerSpec>,
        before: Vec<ScannerSpec>,
    ) -> Result<Vec<ScannerSpec>, CommandError> {
        if !flags.is_empty() {
            return Ok(flags);
        }
        if self.options.yes && !before.is_empty() {
            return Ok(before);
        }
        let serial = self.machine.serial_ports();
        let keyboards = self.machine.keyboards();
        let mut offers: Vec<_> = serial
            .iter()
            .map(|port| format!("serial:{}", port.display()))
            .collect();
        offers.extend(
            keyboards
                .iter()
                .map(|device| format!("hid:{}", device.display())),
        );
        offers.extend(["tcp:0.0.0.0:7001".into(), "stdin".into()]);
        offers.retain(|offer| offer.parse::<ScannerSpec>().is_ok());
        let default = before.first().map(ScannerSpec::to_string);
        let default = default.or_else(|| offers.first().cloned());
        let scanner = self.choose("Scanner", &offers, default, "--scanner", |text| {
            text.parse::<ScannerSpec>()
                .map_err(|error| error.to_string())
        })?;
        Ok(match before.split_first() {
            // Others beside the first stay.
            Some((_, others)) => std::iter::once(scanner)
                .chain(others.iter().cloned())
                .collect(),
            None => vec![scanner],
        })
    }

    fn enrolled(
        &mut self,
        data: &Path,
        scanners: &[ScannerSpec],
    ) -> Result<Identity, CommandError> {
        if Identity::exists(data) {
            let identity = Identity::load(data)?;
            self.ask.say(&format!(
                "Enrolled already: device {} of venue {} at {}.",
                identity.device_id, identity.venue_id, identity.server
            ));
            return Ok(identity);
        }
        let text = match self.options.enrolment.take() {
            Some(text) => text,
            None => self.enrolment_text(scanners)?,
        };
        let options = EnrolOptions {
            name: self.options.name.clone(),
            gate: None, // chosen from the server's answer
        };
        enrol(data, &text, &options)?;
        Ok(Identity::load(data)?)
    }

    fn enrolment_text(&mut self, scanners: &[ScannerSpec]) -> Result<String, CommandError> {
        if self.options.yes {
            // Nobody is there to hold a QR before the scanner.
            let missing = "with --yes nothing is asked: say the enrolment text with --enrol";
            return Err(CommandError::Usage(missing.into()));
        }
        let scanner = scanners.iter().find(|one| **one != ScannerSpec::Stdin);
        let question = match scanner {
            Some(_) => "Enrolment text (paste it, or press Enter and hold the QR to the scanner)",
            None => "Enrolment text",
        };
        loop {
            let default = scanner.map(|_| "");
            let text = self.ask.ask(question, default, "--enrol", |answer| {
                match answer.is_empty() || answer.parse::<EnrolmentText>().is_ok() {
                    true => Ok(answer.to_owned()),
                    false => {
                        Err("this is no enrolment text; the server's `enrol` prints one".into())
                    }
                }
            })?;
            match (text.is_empty(), scanner) {
                (true, Some(scanner)) => {
                    if let Some(text) = self.read_qr(scanner)? {
                        return Ok(text);
                    }
                    self.ask.say("  nothing that enrols was read");
                }
                (true, None) => self.ask.say("  this is no enrolment text"),
                (false, _) => return Ok(text),
            }
        }
    }

    /// Reads an enrolment QR from the scanner that was just chosen.
    fn read_qr(&mut self, spec: &ScannerSpec) -> Result<Option<String>, CommandError> {
        let scanner = spec.open(&Arc::default(), None).map_err(machine)?;
        self.ask
            .say(&format!("  reading from {} …", scanner.name()));
        let (inputs, readings) = queue();
        threads::spawn("scanner", move || scanner.run(inputs)).map_err(machine)?;
        let deadline = std::time::Instant::now() + READ_QR;
        loop {
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            match readings.recv_timeout(left) {
                Ok(Input::Reading(reading)) => {
                    let text = String::from_utf8_lossy(&reading.bytes).into_owned();
                    if text.parse::<EnrolmentText>().is_ok() {
                        return Ok(Some(text));
                    }
                    self.ask.say("  this is no enrolment QR");
                }
                Ok(Input::Ended(_)) | Err(_) => return Ok(None),
                Ok(_) => {}
            }
        }
    }

    fn gate(
        &mut self,
        identity: &Identity,
        flag: Option<GateId>,
        before: Option<GateId>,
    ) -> Result<GateId, CommandError> {
        let allowed: Vec<_> = identity
            .gates
            .iter()
            .map(|gate| gate.gate_id.to_string())
            .collect();
        let read = |text: &str| match allowed.iter().any(|gate| gate == text) {
            true => text.parse::<GateId>().map_err(|error| error.to_string()),
            false => Err(format!("this device may serve gate {}", allowed.join(", "))),
        };
        if let Some(flag) = flag {
            return read(flag.as_str())
                .map_err(|why| CommandError::Usage(format!("--gate: {why}")));
        }
        let before = before
            .map(|gate| gate.to_string())
            .filter(|gate| allowed.contains(gate));
        let default = before.or_else(|| allowed.first().cloned());
        match allowed.as_slice() {
            [only] => read(only).map_err(CommandError::Usage),
            _ => self.choose("Gate", &allowed, default, "--gate", read),
        }
    }

    fn relay(
        &mut self,
        flag: Option<RelaySpec>,
        before: Option<RelaySpec>,
        scanners: &[ScannerSpec],
    ) -> Result<RelaySpec, CommandError> {
        if let Some(relay) = flag {
            return Ok(relay);
        }
        let taken: Vec<_> = scanners.iter().map(ScannerSpec::to_string).collect();
        let serial = self.machine.serial_ports();
        let free = serial.iter().map(|port| port.display().to_string());
        let free: Vec<_> = free
            .filter(|port| !taken.iter().any(|spec| spec.contains(port)))
            .collect();
        let mut offers: Vec<_> = free.iter().map(|port| format!("lcus:{port}")).collect();
        offers.extend(free.iter().map(|port| format!("modbus-rtu:{port}")));
        let chips = self.machine.gpio_chips();
        offers.extend(
            chips
                .iter()
                .map(|chip| format!("gpio:{},line=17", chip.display())),
        );
        offers.push("log".into());
        offers.retain(|offer| offer.parse::<RelaySpec>().is_ok());
        // A wrong guess would write to somebody else's device: only the log is safe to assume.
        let default = before.map_or("log".into(), |relay| relay.to_string());
        self.choose("Relay", &offers, Some(default), "--relay", |text| {
            text.parse::<RelaySpec>().map_err(|error| error.to_string())
        })
    }

    fn hold(
        &mut self,
        flag: Option<HoldMs>,
        before: Option<HoldMs>,
    ) -> Result<HoldMs, CommandError> {
        if let Some(hold_ms) = flag {
            return Ok(hold_ms);
        }
        let default = before.map_or(DEFAULT_HOLD_MS, HoldMs::ms);
        let question = "How long the gate is held open, in ms";
        self.ask
            .ask(question, Some(&default.to_string()), "--hold-ms", |text| {
                text.parse()
            })
    }

    fn language(
        &mut self,
        flag: Option<Language>,
        before: Option<Language>,
    ) -> Result<Option<Language>, CommandError> {
        if flag.is_some() {
            return Ok(flag);
        }
        let default = match before {
            Some(Language::ZhCn) => "zh-CN",
            Some(Language::En) => "en",
            None => "both",
        };
        let question = "Language: zh-CN, en or both";
        self.ask
            .ask(question, Some(default), "--language", |text| match text {
                "zh-CN" => Ok(Some(Language::ZhCn)),
                "en" => Ok(Some(Language::En)),
                "both" => Ok(None),
                _ => Err("zh-CN, en or both".into()),
            })
    }

    /// Offers a few answers by number; any other that can be read is taken too.
    fn choose<T>(
        &mut self,
        what: &str,
        offers: &[String],
        default: Option<String>,
        flag: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, CommandError> {
        if !self.options.yes {
            for (n, offer) in offers.iter().enumerate() {
                self.ask.say(&format!("  {}  {offer}", n + 1));
            }
        }
        let question = format!("{what} (a number, or another one in words)");
        self.ask.ask(&question, default.as_deref(), flag, |answer| {
            let number = answer.parse::<usize>().ok();
            let offer = number.and_then(|n| offers.get(n.checked_sub(1)?));
            read(offer.map_or(answer, String::as_str))
        })
    }

    fn write(&mut self, data: &Path, chosen: &Settings) -> Result<(), CommandError> {
        let file = configuration::Change::of(data, chosen)?;
        if !file.is_needed() {
            self.ask
                .say(&format!("{} stays as it is.", file.path().display()));
            return Ok(());
        }
        if file.is_there() && !self.options.overwrite {
            let question = format!(
                "{} is there and says something else; replace it? The old one is kept beside it",
                file.path().display()
            );
            if self.options.yes || !self.ask.consents(&question, "--overwrite")? {
                return Err(CommandError::Usage(format!(
                    "{} was left as it is; --overwrite replaces it and keeps the old one beside it",
                    file.path().display()
                )));
            }
        }
        file.write()?;
        self.ask.say(&format!("Written: {}", file.path().display()));
        Ok(())
    }

    fn service(&mut self, data: &Path) -> Result<(), CommandError> {
        let program = std::env::current_exe().map_err(machine)?;
        if self.options.no_service {
            let line = format!(
                "Start it: {} --data {} run",
                program.display(),
                data.display()
            );
            self.ask.say(&line);
            return Ok(());
        }
        if service::can_install() {
            service::install(&program, data)?;
            self.ask.say(
                "The gate runs, and starts with the machine. See: systemctl status stile-gate",
            );
            return Ok(());
        }
        let lines = service::prepare(&program, data)?;
        self.ask
            .say("To have it start with the machine, under systemd and as root:");
        for line in lines {
            self.ask.say(&format!("  {line}"));
        }
        Ok(())
    }
}
