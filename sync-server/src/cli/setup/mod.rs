//! `setup`: from an empty machine to a server at work, by a few questions. May be run again: what
//! is there stays as it is, and what a run that failed has left undone is done.

mod making;
mod plan;
mod service;

use std::io::{BufRead, Write, stderr, stdin};
use std::net::IpAddr;
use std::path::Path;

use clap::Args as ClapArgs;
use stile_core::ids::{GateId, VenueId};
use tokio::runtime::Builder;

use super::CliError;
use super::args::Place;
use super::ask::Ask;
use super::time_sync::{SET_UP_NTP, TimeSync};
use making::Made;
use plan::Plan;
use service::Installed;

/// What flags answer already.
#[derive(Debug, Clone, ClapArgs)]
pub struct Setup {
    /// A name that gates call the server by, such as museum.lan.
    #[arg(long = "name", value_name = "NAME", value_delimiter = ',')]
    pub names: Vec<String>,
    /// An address that gates call the server by [default: this machine's].
    #[arg(long = "address", value_name = "ADDRESS", value_delimiter = ',')]
    pub addresses: Vec<IpAddr>,
    /// The port [default: 8470].
    #[arg(long)]
    pub port: Option<u16>,
    /// The venue's id: 1 to 32 of a-z, 0-9 and -.
    #[arg(long)]
    pub venue: Option<VenueId>,
    /// What people call the venue [default: its id].
    #[arg(long)]
    pub venue_name: Option<String>,
    /// The venue's IANA time zone, such as Asia/Shanghai [default: this machine's].
    #[arg(long, value_name = "ZONE")]
    pub time_zone: Option<String>,
    /// The first gate's id [default: entrance].
    #[arg(long)]
    pub gate: Option<GateId>,
    /// Takes defaults without a question.
    #[arg(long)]
    pub yes: bool,
    /// Installs no service.
    #[arg(long)]
    pub no_service: bool,
}

/// `setup`
pub fn run(place: &Place, setup: Setup) -> Result<(), CliError> {
    let mut ask = Ask::new(stdin().lock(), stderr(), setup.yes);
    let no_service = setup.no_service;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| CliError::System {
        doing: "start",
        source,
    })?;
    let place = plan::place(place, &mut ask)?;
    let plan = runtime.block_on(plan::plan(&place, setup, &mut ask))?;
    let made = runtime.block_on(making::make(&place, &plan, &mut ask))?;
    install(&place.data, &plan, no_service, &mut ask)?;
    // The service's user owns the folder from then on.
    let runs_as = match no_service {
        true => "",
        false => "runuser -u stile-server -- ",
    };
    let command = format!("{runs_as}stile-server --data {}", place.data.display());
    say_what_is_left(&command, &plan, &made, &mut ask);
    Ok(())
}

fn install<R: BufRead, W: Write>(
    data: &Path,
    plan: &Plan,
    no_service: bool,
    ask: &mut Ask<R, W>,
) -> Result<(), CliError> {
    let program = std::env::current_exe().map_err(|source| CliError::System {
        doing: "find this program",
        source,
    })?;
    let listen = plan.listen();
    if no_service {
        ask.say(&format!(
            "Start it: {} --data {} serve --listen {listen}",
            program.display(),
            data.display()
        ));
    } else if service::can_install() {
        match service::install(&program, data, &listen)? {
            Installed::Anew => ask.say("The service was installed, and starts with the machine."),
            Installed::Before => ask.say("The service is installed already, and stays."),
            Installed::Other(unit) => ask.say(&format!(
                "{} is there and says something else; it stays. Remove it and run setup again to \
                 have it anew.",
                unit.display()
            )),
        }
        ask.say("See how it is: systemctl status stile-server");
    } else {
        let lines = service::prepare(&program, data, &listen)?;
        ask.say("To have it start with the machine, under systemd and as root:");
        for line in lines {
            ask.say(&format!("  {line}"));
        }
    }
    Ok(())
}

fn say_what_is_left<R: BufRead, W: Write>(
    command: &str,
    plan: &Plan,
    made: &Made,
    ask: &mut Ask<R, W>,
) {
    ask.say("\nWhat is left to do:");
    let port = plan.port;
    ask.say(&format!(
        "- Back up {} and {}, each apart from copies of the data: without the first, copies \
         cannot be read; without the second, gates trust no successor of the certificate.",
        made.master_key, made.authority
    ));
    ask.say(&format!(
        "- Copy the keys to a stick, under a passphrase: {command} key backup FILE"
    ));
    ask.say(&format!(
        "- Open TCP port {port} to the gates and the booking system (ufw allow {port}/tcp, or \
         firewall-cmd --permanent --add-port={port}/tcp)."
    ));
    match TimeSync::of_this_machine() {
        TimeSync::Synchronised => ask.say("- This machine's clock is set by the network: nothing."),
        TimeSync::Alone => ask.say(&format!(
            "- This machine's clock is NOT set by the network: {SET_UP_NTP}."
        )),
        TimeSync::Unknown => ask.say(&format!(
            "- Nothing on this machine says whether its clock is set by the network: {SET_UP_NTP}."
        )),
    }
    ask.say(
        "- Enrol the first gate, once the server runs. This prints the text for \
         `stile-gate setup`, good for ten minutes:",
    );
    ask.say(&format!(
        "    {command} enrol --venue {} --gate {} --server {}",
        plan.venue.id, plan.gate, made.url
    ));
    ask.say(&format!("- See whether all is well: {command} doctor"));
}
