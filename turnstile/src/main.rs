//! `stile-gate`: reads flags, calls one command, and turns its error into a message and an exit
//! code.

use std::fs::File;
use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

use clap::{Args, Parser, Subcommand};
use stile_core::ids::GateId;
use stile_core::reason::Language;
use stile_core::time::EpochMillis;
use stile_turnstile::commands::{
    self, CommandError, DoctorOptions, EnrolOptions, RunOptions, SetupOptions,
};
use stile_turnstile::config::{HoldMs, IdleGapMs, RelaySettings, Settings};
use stile_turnstile::display::DisplaySpec;
use stile_turnstile::relay::RelaySpec;
use stile_turnstile::scanner::ScannerSpec;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

/// The environment variable that sets what is logged, as `info` or `stile_turnstile=debug`.
const LOG_VARIABLE: &str = "STILE_LOG";
/// What is logged otherwise. That a schema is up to date is no news.
const LOG_DEFAULT: &str = "info,refinery_core=warn";

/// The log's file in the data folder, while the screen has the terminal.
const LOG_FILE: &str = "stile-gate.log";

/// A gate that admits visitors when the network is gone.
#[derive(Debug, Parser)]
#[command(name = "stile-gate", version, about)]
struct Cli {
    /// The folder that holds what the gate knows and has recorded.
    #[arg(long, global = true, env = "STILE_GATE_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// The configuration; by default stile-gate.toml in the data folder, if it is there.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make this machine a device of a venue.
    Enrol {
        /// The text of the enrolment QR, in quotes.
        text: String,
        /// What people call the device; by default the machine's name.
        #[arg(long)]
        name: Option<String>,
        /// The gate to serve, if the enrolment allows several.
        #[arg(long, value_name = "ID")]
        gate: Option<GateId>,
    },
    /// Ask a few questions and set this machine up as a gate; may be run again.
    Setup(Box<SetupFlags>),
    /// Serve the gate until a signal, or until its scanners have ended.
    Run(RunFlags),
    /// Say how the gate is.
    Status {
        /// As one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Look at storage, network, clock, scanners, relays, lamps and inputs, and say what to do.
    Doctor {
        /// Move relays and lamps without asking, and wait for no code and no passage.
        #[arg(long)]
        yes: bool,
        /// One JSON object per finding.
        #[arg(long)]
        json: bool,
    },
    /// Let the running gate stand open for everybody, and put that on record.
    Open {
        /// Why.
        #[arg(long)]
        reason: String,
    },
    /// End what `open` began: each visitor is judged again.
    Shut,
    /// Set the clock by a supervisor's word, and put that on record. Asks for the PIN, or reads it
    /// from standard input.
    SetClock {
        /// The time: 2026-10-01 09:00 in the venue, RFC 3339, or epoch seconds.
        #[arg(long, value_name = "TIME")]
        at: String,
        /// Why.
        #[arg(long)]
        reason: String,
    },
    /// Write every record that is not known to be on the server, as NDJSON.
    Export {
        /// A new file; by default standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Say what the gate would answer to a code and why. Changes nothing.
    Explain {
        /// The code.
        #[arg(allow_hyphen_values = true)]
        code: String,
        /// At another time: epoch seconds or RFC 3339.
        #[arg(long, value_name = "TIME", value_parser = commands::parse_time)]
        at: Option<EpochMillis>,
        /// The gate, if the device may serve several.
        #[arg(long, value_name = "ID")]
        gate: Option<GateId>,
    },
}

#[derive(Debug, Args)]
struct SetupFlags {
    /// Ask nothing: what no flag says has its default.
    #[arg(long)]
    yes: bool,
    /// Replace a configuration that is there; the old one is kept beside it.
    #[arg(long)]
    overwrite: bool,
    /// Install no service.
    #[arg(long)]
    no_service: bool,
    /// The text of the enrolment QR, in quotes.
    #[arg(long = "enrol", value_name = "TEXT")]
    enrolment: Option<String>,
    /// What people call the device; by default the machine's name.
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    gate: GateFlags,
}

impl SetupFlags {
    fn options(self, data: Option<PathBuf>) -> SetupOptions {
        SetupOptions {
            data,
            yes: self.yes,
            overwrite: self.overwrite,
            no_service: self.no_service,
            enrolment: self.enrolment,
            name: self.name,
            settings: self.gate.settings(),
        }
    }
}

#[derive(Debug, Args)]
struct RunFlags {
    #[command(flatten)]
    gate: GateFlags,
    /// One JSON object per reading and event on standard output.
    #[arg(long)]
    json: bool,
    /// The guard's screen on this terminal; scanners come by lines of their own.
    #[arg(long)]
    tui: bool,
}

/// What `stile-gate.toml` says too.
#[derive(Debug, Args)]
struct GateFlags {
    /// The gate to serve, if the device may serve several.
    #[arg(long, value_name = "ID")]
    gate: Option<GateId>,
    /// Where codes come from: stdin, tcp:ADDRESS:PORT, serial:PORT or hid:DEVICE; may be given
    /// several times.
    #[arg(long = "scanner", value_name = "SCANNER")]
    scanners: Vec<ScannerSpec>,
    /// How long a scanner's line is quiet behind a code without a line end, in ms.
    #[arg(long, value_name = "MS")]
    idle_gap_ms: Option<IdleGapMs>,
    /// What opens the gate: log, log:FILE, command:PROGRAM, lcus:PORT, modbus-rtu:PORT,
    /// modbus-tcp:HOST or gpio:CHIP,line=N.
    #[arg(long, value_name = "RELAY")]
    relay: Option<RelaySpec>,
    /// How long a pulse keeps the relay open, in ms; 500 by default.
    #[arg(long, value_name = "MS")]
    hold_ms: Option<HoldMs>,
    /// The language of verdict lines: zh-CN or en; both by default.
    #[arg(long, value_parser = language)]
    language: Option<Language>,
    /// A small display: serial:PATH[:BAUD], tcp:HOST:PORT or file:PATH.
    #[arg(long, value_name = "DISPLAY")]
    display: Option<DisplaySpec>,
}

impl GateFlags {
    fn settings(self) -> Settings {
        Settings {
            gate: self.gate,
            scanners: self.scanners,
            idle_gap_ms: self.idle_gap_ms,
            language: self.language,
            display: self.display,
            relay: RelaySettings {
                driver: self.relay,
                hold_ms: self.hold_ms,
                ..RelaySettings::default()
            },
            ..Settings::default()
        }
    }
}

fn language(text: &str) -> Result<Language, &'static str> {
    match text {
        "zh-CN" => Ok(Language::ZhCn),
        "en" => Ok(Language::En),
        _ => Err("the languages are zh-CN and en"),
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter =
        EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new(LOG_DEFAULT));
    let log_file = log_file(&cli);
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(log_file.is_none() && stderr().is_terminal())
        .with_writer(match log_file {
            Some(file) => BoxMakeWriter::new(Mutex::new(file)),
            None => BoxMakeWriter::new(stderr),
        })
        .with_target(false)
        .init();
    match call(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stile-gate: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Where the log goes while the screen has the terminal: a file of the data folder, begun anew at
/// each start. A log that is led elsewhere stays where it is led.
fn log_file(cli: &Cli) -> Option<File> {
    let is_on_screen = matches!(&cli.command, Command::Run(flags) if flags.tui);
    let data = cli
        .data
        .as_ref()
        .filter(|_| is_on_screen && stderr().is_terminal())?;
    // Without one, the log is written over the screen: better than no log.
    File::create(data.join(LOG_FILE)).ok()
}

fn call(cli: Cli) -> Result<(), CommandError> {
    if let Command::Setup(flags) = cli.command {
        return commands::setup(flags.options(cli.data));
    }
    let data = cli.data.ok_or_else(|| {
        CommandError::Usage("say where the gate's folder is: --data DIR, or STILE_GATE_DATA".into())
    })?;
    let settings = || Settings::load(&data, cli.config.as_deref());
    match cli.command {
        Command::Enrol { text, name, gate } => {
            commands::enrol(&data, &text, &EnrolOptions { name, gate })
        }
        // Taken above: it may find its folder by asking.
        Command::Setup(flags) => commands::setup(flags.options(Some(data))),
        Command::Run(flags) => {
            let options = RunOptions {
                settings: settings()?.under(flags.gate.settings()),
                json: flags.json,
                tui: flags.tui,
            };
            commands::run(&data, options)
        }
        Command::Status { json } => commands::status(&data, settings()?.gate.as_ref(), json),
        Command::Doctor { yes, json } => {
            commands::doctor(&data, settings()?, &DoctorOptions { yes, json })
        }
        Command::Open { reason } => commands::open(&data, &reason),
        Command::Shut => commands::shut(&data),
        Command::SetClock { at, reason } => {
            commands::set_clock(&data, settings()?.gate.as_ref(), &at, &reason)
        }
        Command::Export { out } => commands::export(&data, out.as_deref()),
        Command::Explain { code, at, gate } => {
            let gate = gate.or(settings()?.gate);
            commands::explain(&data, gate.as_ref(), &code, at)
        }
    }
}
