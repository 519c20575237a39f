//! `stile-gate run`: the gate at work, until a signal or the end of its scanners.

use std::io;
use std::path::Path;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use stile_core::device::Device;
use stile_core::platform::Platform;
use stile_core::record::FreePassageCause;
use stile_core::ticket::Direction;

use super::{CommandError, machine};
use crate::asker::ServerAsker;
use crate::config::{Config, Settings, Wiring};
use crate::control::Control;
use crate::controller::Controller;
use crate::display::{Display, Panel};
use crate::event::Event;
use crate::fault;
use crate::feedback::{Cue, Feedbacks, Signals};
use crate::heartbeats::{Heartbeats, Loop};
use crate::inputs::{self, Passages};
use crate::platform::Linux;
use crate::ports::Ports;
use crate::printer::{Lines, Printer, Style};
use crate::relay::{Promised, PulseEvent, Pulses};
use crate::scanner::{Input, Inputs, Scanner, queue};
use crate::status_file::StatusFile;
use crate::sync_loop::SyncLoop;
use crate::systemd::Notifier;
use crate::threads;
use crate::tui::{self, Tui};
use crate::watchdog::{LastAct, Watchdog};
use crate::words::Words;

/// How often the records that wait are counted for a display, in seconds: it reads the whole
/// journal.
const COUNT_EVERY_S: u64 = 5;

/// How to run.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// What flags and file say together.
    pub settings: Settings,
    /// One JSON object per reading and event on standard output.
    pub json: bool,
    /// The guard's screen on the terminal.
    pub tui: bool,
}

/// Runs the gate.
pub fn run(data: &Path, options: RunOptions) -> Result<(), CommandError> {
    let config = options.settings.finish()?;
    if options.tui {
        tui::check(&config, options.json).map_err(|why| CommandError::Usage(why.to_string()))?;
    }
    let platform: Arc<dyn Platform> = Arc::new(Linux::new().map_err(machine)?);
    let device = match Device::open(data, config.gate.as_ref(), Arc::clone(&platform)) {
        Ok(device) => Arc::new(device),
        Err(error) => return Err(shut(error.into(), &config)),
    };
    let style = Style {
        json: options.json,
        language: config.language,
    };
    let words = Words::at(&device);
    let tui = options.tui.then(|| Tui::new(words.clone()));
    let printer = match &tui {
        Some(tui) => tui.printer(),
        None => Printer::start(words.clone(), style, io::stdout()),
    };
    let printer = printer.map_err(machine)?;
    let display = config.display.clone();
    let display = display.map(|spec| Display::start(spec, words, config.language));
    let display = display.transpose().map_err(machine)?;
    let panel = display.as_ref().map(|display| display.panel().clone());
    let lines = printer.lines();
    let result = work(data, &config, device, platform, lines, panel, tui);
    display.into_iter().for_each(Display::finish);
    printer.finish();
    let stopped = result?;
    if options.tui {
        // The terminal is the shell's again.
        println!("stile-gate: {stopped}");
    }
    Ok(())
}

/// A gate that cannot start must not stand open, as a power cut may have left it. Only where
/// another controller is at work is the relay none of ours.
fn shut(error: CommandError, config: &Config) -> CommandError {
    if !matches!(error, CommandError::Locked(_)) {
        close_relays(config);
    }
    error
}

/// Closes the relays beside whatever else may have them.
fn close_relays(config: &Config) {
    let ports = Arc::default();
    for wiring in std::iter::once(&config.relay).chain(&config.relay_out) {
        if let Err(trouble) = wiring.open(&ports).and_then(|mut relay| relay.close()) {
            tracing::error!("{trouble}");
        }
    }
}

fn work(
    data: &Path,
    config: &Config,
    device: Arc<Device>,
    platform: Arc<dyn Platform>,
    lines: &Lines,
    panel: Option<Panel>,
    tui: Option<Tui>,
) -> Result<Event, CommandError> {
    let words = Words::at(&device);
    let notifier = Arc::new(Notifier::from_environment().map_err(machine)?);
    let beats = Arc::new(Heartbeats::default());
    let ports = Arc::new(Ports::default());
    let feedback = Feedbacks::start(&config.feedback, &ports, words, &lines.tell());
    let feedback = feedback.map_err(|error| CommandError::Failed(error.to_string()))?;
    let passages = Arc::new(Passages::new(config.hold + config.inputs.passage_timeout()));
    let pulse_events = PulseEvents {
        device: Arc::clone(&device),
        lines: lines.clone(),
        feedback: feedback.signals().clone(),
        is_held: false,
        passages: config
            .inputs
            .passage
            .as_ref()
            .map(|_| Arc::clone(&passages)),
    };
    let pulses = pulses(config, &ports, pulse_events)?;
    let scanners = open_scanners(config, &ports)?;
    let (inputs, readings) = queue();
    stop_on_signals(inputs.clone(), pulses.promised()).map_err(machine)?;
    let control = Control::start(data, Arc::clone(&device), inputs.clone());
    if let Err(error) = &control {
        // The gate admits all the same.
        lines.event(Event::StorageTrouble {
            what: format!("commands such as `stile-gate open` do not reach this gate: {error}"),
        });
    }

    let names: Vec<_> = scanners.iter().map(|scanner| scanner.name()).collect();
    let mut status = StatusFile {
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        gate_id: device.gate_id().clone(),
        scanners: names.clone(),
        relay: config.relay.driver.to_string(),
        started_at: platform.moment().wall,
        written_at: platform.moment().wall,
        written_boot_ms: 0,
        boot_id: String::new(),
        live: device.live_status(),
    };
    lines.event(Event::Ready {
        gate_id: device.gate_id().clone(),
        scanners: names,
        relay: config.relay.driver.to_string(),
    });
    if let Some(salvage) = device.salvage() {
        lines.event(Event::JournalSalvaged {
            kept_aside: salvage.kept_aside.clone(),
            records: salvage.records,
        });
    }
    let found = device.amiss();
    let amiss = [
        found.is_copied.then_some(Event::FolderCopied),
        found.journal_gone.then_some(Event::JournalGone),
        (found.lists_dropped > 0).then_some(Event::ListsDropped {
            lists: found.lists_dropped,
        }),
    ];
    for event in amiss.into_iter().flatten() {
        lines.event(event);
    }
    let (folder, clock) = (data.to_owned(), Arc::clone(&platform));
    let (sync_beats, manager) = (Arc::clone(&beats), Arc::clone(&notifier));
    let mut said = String::new();
    let (outbox, screen) = (Arc::clone(&device), panel.clone());
    let mut seconds = 0_u64;
    let every_second = move |live| {
        fault::hang_point(Loop::Sync);
        sync_beats.beat(Loop::Sync);
        if let Some(screen) = &screen {
            let is_due = seconds.is_multiple_of(COUNT_EVERY_S);
            let counted = is_due.then(|| outbox.status().ok()).flatten();
            screen.status(&live, counted.map(|status| status.unsent));
            seconds += 1;
        }
        status.live = live;
        status.stamp(clock.moment());
        let line = status.line();
        if said != line {
            manager.status(&line);
            said = line;
        }
        // On a full disk the file grows old, which says as much.
        let _ = status.write(&folder);
    };
    device.set_asker(Arc::new(ServerAsker::start(
        &device,
        Arc::clone(&platform),
    )?));
    let sync = SyncLoop::start(Arc::clone(&device), platform, lines.tell(), every_second)?;
    inputs::start(&config.inputs, &ports, pulses.holder(), &passages, &inputs).map_err(machine)?;
    if config.inputs.emergency.is_none() {
        // One that was on when its input was taken away would hold the gate open for ever.
        let ended = device.end_free_passage(FreePassageCause::Emergency);
        ended.map_err(|error| CommandError::Storage(error.to_string()))?;
    }
    let count = scanners.len();
    start_scanners(scanners, &inputs).map_err(machine)?;
    let tell = lines.tell();
    let wirings = config.clone();
    let close_anyway = move || close_relays(&wirings);
    let watchdog = Watchdog::start(
        Arc::clone(&beats),
        pulses.turns(),
        LastAct {
            shutter: pulses.shutter(),
            close_anyway: Arc::new(close_anyway),
        },
        Arc::clone(&notifier),
        tell,
    );
    let watchdog = watchdog.map_err(machine)?;
    notifier.ready();

    let wake = sync.wake().clone();
    let signals = feedback.signals().clone();
    let on_record = {
        let wake = wake.clone();
        move || wake.record()
    };
    let shown = tui.map(|tui| {
        tui.show(
            &device,
            config.language,
            (inputs, pulses.promised()),
            on_record,
        )
    });
    let (guard, showing) = shown.transpose().map_err(machine)?.unzip();
    let shutter = pulses.shutter();
    let controller = Controller {
        device,
        pulses,
        lines: lines.clone(),
        beats,
        guard,
        on_outcome: Box::new(move |outcome| {
            signals.outcome(outcome);
            if let Some(panel) = &panel {
                panel.outcome(outcome);
            }
        }),
        on_record: Box::new(move || wake.record()),
    };
    controller.run(&readings, count);
    // The gate is shut: whoever quit may go.
    drop(showing);
    feedback.finish();
    drop(watchdog);
    notifier.stopping();
    sync.stop();
    StatusFile::remove(data);
    let stopped = Event::Stopped {
        shut: shutter.is_closed(),
    };
    lines.event(stopped.clone());
    Ok(stopped)
}

/// What the relay's doings are told to.
struct PulseEvents {
    device: Arc<Device>,
    lines: Lines,
    feedback: Signals,
    is_held: bool,
    /// Where a sensor watches.
    passages: Option<Arc<Passages>>,
}

impl PulseEvents {
    fn on(&mut self, event: PulseEvent) {
        let failed = |what| self.lines.event(Event::RelayFailed { what });
        match event {
            PulseEvent::Pulsed(admission) => {
                if let Some(passages) = &self.passages {
                    passages.expect(admission);
                }
            }
            // The printer says why.
            PulseEvent::OpenFailed => self.feedback.cue(Cue::SeeStaff),
            PulseEvent::Closed => {
                fault::hang_point(Loop::Relay);
                if std::mem::take(&mut self.is_held) {
                    self.feedback.cue(Cue::Rest);
                    self.lines.event(Event::LetGo);
                }
                self.device.gate_closed();
            }
            PulseEvent::Cancelled(openings) => {
                self.lines.event(Event::OpeningsCancelled { openings });
            }
            PulseEvent::CloseFailed(error) => failed(format!("the gate may stand open: {error}")),
            PulseEvent::HeldOpen => {
                self.is_held = true;
                self.feedback.cue(Cue::FreePassage);
                self.lines.event(Event::HeldOpen);
            }
            PulseEvent::HoldFailed(error) => failed(format!("the gate may be shut: {error}")),
            PulseEvent::Lost(error) => self.lines.event(Event::RelayLost {
                what: error.to_string(),
            }),
            PulseEvent::Back => self.lines.event(Event::RelayBack),
        }
    }
}

fn pulses(
    config: &Config,
    ports: &Arc<Ports>,
    mut events: PulseEvents,
) -> Result<Pulses, CommandError> {
    let mut wirings = vec![&config.relay];
    wirings.extend(&config.relay_out);
    let gates = &events.device.identity().gates;
    let own = gates
        .iter()
        .find(|gate| gate.gate_id == *events.device.gate_id());
    if own.is_some_and(|gate| gate.direction == Direction::Out) {
        // Pulses go to the gate's own direction.
        wirings.reverse();
    }
    let open = |wiring: &Wiring| wiring.open(ports);
    let relays = wirings.into_iter().map(open).collect::<Result<_, _>>();
    let relays = relays.map_err(|error| CommandError::Failed(error.to_string()))?;
    Pulses::start(relays, config.hold, move |event| events.on(event)).map_err(machine)
}

fn open_scanners(
    config: &Config,
    ports: &Arc<Ports>,
) -> Result<Vec<Box<dyn Scanner>>, CommandError> {
    let open = |spec: &crate::scanner::ScannerSpec| {
        spec.open(ports, config.idle_gap)
            .map_err(|error| CommandError::Failed(format!("scanner {spec}: {error}")))
    };
    config.scanners.iter().map(open).collect()
}

fn start_scanners(scanners: Vec<Box<dyn Scanner>>, inputs: &Inputs) -> io::Result<()> {
    for scanner in scanners {
        let inputs = inputs.clone();
        threads::spawn("scanner", move || scanner.run(inputs))?;
    }
    Ok(())
}

/// The first signal ends the gate in order; those after it change nothing.
fn stop_on_signals(inputs: Inputs, promised: Promised) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    threads::spawn("signals", move || {
        for _ in signals.forever() {
            promised.stop();
            inputs.put(Input::Stop);
        }
    })?;
    Ok(())
}
