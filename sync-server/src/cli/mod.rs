//! The commands of `stile-server`, one function each. What they do is the library's; here flags
//! become its calls, and its answers become lines: what a script wants on stdout, and what a
//! person should know beside it on stderr.

mod acts;
mod alarms;
mod args;
mod ask;
mod attendance;
mod audit;
mod backup;
mod commands;
mod devices;
mod doctor;
mod import_key;
mod key_backup;
mod logs;
mod operators;
mod passphrase;
mod quarantine;
mod reconcile;
mod retention;
mod serve;
mod setup;
mod signing_keys;
mod sisters;
mod time_sync;
mod tls;
mod values;
mod webhooks;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use stile_core::fault;
use stile_sync_server::ServerError;
use stile_sync_server::clock::SystemClock;
use stile_sync_server::import::times::TimeError;
use stile_sync_server::server::{MasterKeySource, OpenError, Server};
use stile_sync_server::tls::{NameError, OwnError, PairError};

pub use args::Args;
use args::{Command, KeysCommand, MASTER_KEY_VARIABLE, Place};

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The data folder cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The server would not.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The address is taken or not this machine's.
    #[error("cannot listen on {address}{}", hint(.source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Plain HTTP would be open to the network.
    #[error(
        "{0} can be reached from the network, and without TLS codes and keys could be read on the \
         way. Make a certificate with `stile-server tls new`, or give one with --tls-cert and \
         --tls-key; or listen on 127.0.0.1 behind a proxy that does TLS; or give --insecure-http if \
         the network is trusted"
    )]
    NotLoopback(SocketAddr),
    /// Metrics would be open to the network.
    #[error(
        "{0} can be reached from the network, and metrics name venues and say how busy these are. \
         Give --metrics-listen an address of 127.0.0.1; or --metrics-open if whoever reaches {0} may \
         read them"
    )]
    MetricsNotLoopback(SocketAddr),
    /// The certificate or its key.
    #[error(transparent)]
    Pair(#[from] PairError),
    /// The CA of the venue's own.
    #[error(transparent)]
    OwnTls(#[from] OwnError),
    /// No certificate can be for that.
    #[error(transparent)]
    Names(#[from] NameError),
    /// TLS could not be set up.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// There is no such venue to fall back to.
    #[error("there are {0} venues here; say which one with --venue")]
    WhichVenue(usize),
    /// The secret is not written as the flag says.
    #[error("the secret is not written in {0}; say with --encoding how it is")]
    SecretEncoding(&'static str),
    /// A time that is none.
    #[error("--from: {0}")]
    Time(#[from] TimeError),
    /// It was not said what is to be done.
    #[error("{0}")]
    Usage(String),
    /// It went wrong, and the text says how.
    #[error("{0}")]
    Failed(String),
    /// Something of the system failed.
    #[error("cannot {doing}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; another program uses this port: stop it, or choose another port"
        }
        io::ErrorKind::AddrNotAvailable => "; this machine does not have that address",
        io::ErrorKind::PermissionDenied => "; ports below 1024 are for the system, take another",
        _ => "",
    }
}

/// Does what the command line says.
pub fn run(args: Args) -> Result<(), CliError> {
    logs::start(args.log_format);
    let (place, act) = (&args.place, acts::of(&args.command));
    match args.command {
        Command::Serve(serve) => serve::run(&args.place, &serve),
        Command::Openapi => commands::openapi(),
        Command::Doctor(command) => doctor::run(&args.place, &command),
        Command::Setup(command) => setup::run(&args.place, command),
        Command::Tls(command) => tls::run(&args.place, command),
        Command::Backup(command) => backup::backup(&args.place, &command),
        Command::Restore(command) => backup::restore(&args.place, &command),
        Command::Salvage(command) => commands::salvage(&args.place, &command),
        Command::Venue(command) => commands::run(place, act, commands::venue(command)),
        Command::Gate(command) => commands::run(place, act, commands::gate(command)),
        Command::Key(KeysCommand::Restore(command)) => key_backup::restore(place, &command),
        Command::Key(KeysCommand::Key(command)) => {
            commands::run(place, act, commands::key(place, command))
        }
        Command::Operator(command) => commands::run(place, act, operators::operator(command)),
        Command::Attendance(command) => commands::run(place, act, attendance::attendance(command)),
        Command::Device(command) => commands::run(place, act, devices::device(command)),
        Command::Webhook(command) => commands::run(place, act, webhooks::webhook(command)),
        Command::Reconcile(command) => commands::run(place, act, reconcile::reconcile(command)),
        Command::Alarms(command) => commands::run(place, act, alarms::alarms(command)),
        Command::Enrol(command) => commands::run(place, act, commands::enrol(place, command)),
        Command::Visitor(command) => commands::run(place, act, commands::visitor(command)),
        Command::Retention(command) => commands::run(place, act, retention::retention(command)),
        Command::Quarantine(command) => commands::run(place, act, quarantine::quarantine(command)),
        Command::Audit(command) => commands::run(place, act, audit::audit(command)),
    }
}

fn master_key(place: &Place) -> MasterKeySource {
    match std::env::var(MASTER_KEY_VARIABLE) {
        Ok(text) => MasterKeySource::Text(text.into()),
        Err(_) => {
            let file = place.master_key.clone();
            MasterKeySource::File(file.unwrap_or_else(|| place.data.join("master.key")))
        }
    }
}

/// Opens the server on its folder: for itself, or for a command beside it.
async fn open(place: &Place, for_commands: bool) -> Result<Server, CliError> {
    let key = master_key(place);
    if fault::clocks().is_some() {
        tracing::warn!("THE CLOCK IS A TEST'S, not this machine's");
    }
    let clock = Arc::new(SystemClock);
    let server = match for_commands {
        true => Server::open_for_commands(&place.data, key, clock).await?,
        false => Server::open(&place.data, key, clock).await?,
    };
    if let Some(file) = server.made_master_key() {
        eprintln!(
            "A new master key was made: {}. Without it the data cannot be read. Back it up now, \
             and keep that copy apart from copies of the data.",
            file.display()
        );
    }
    Ok(server)
}
