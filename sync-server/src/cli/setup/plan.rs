//! The questions: everything is asked, and what is there is looked at, before anything is made.

use std::io::{BufRead, Write};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::PathBuf;

use jiff::tz::TimeZone;
use stile_core::ids::{GateId, VenueId};
use stile_sync_server::tls::{Chain, Names, Own};

use super::Setup;
use super::service::DATA;
use crate::cli::args::{DEFAULT_DATA, Place};
use crate::cli::ask::Ask;
use crate::cli::{CliError, open};

const PORT: u16 = 8470;

/// What is to be there when setup is done.
pub(super) struct Plan {
    /// Whom a new certificate names; none if there is a certificate.
    pub(super) names: Option<Names>,
    pub(super) port: u16,
    pub(super) venue: PlannedVenue,
    pub(super) gate: GateId,
    /// Whether gates call the server by an address of IPv6.
    is_v6: bool,
}

pub(super) struct PlannedVenue {
    pub(super) id: VenueId,
    /// Name and time zone of a venue that is to be made; none if it is there.
    pub(super) new: Option<(String, String)>,
}

impl Plan {
    /// Where the server listens: at every address of the machine.
    pub(super) fn listen(&self) -> String {
        match self.is_v6 {
            true => format!("[::]:{}", self.port),
            false => format!("0.0.0.0:{}", self.port),
        }
    }
}

/// The data folder, by its full path.
pub(super) fn place<R: BufRead, W: Write>(
    place: &Place,
    ask: &mut Ask<R, W>,
) -> Result<Place, CliError> {
    let data = match place.data.as_os_str() == DEFAULT_DATA {
        true => ask.ask("Data folder", Some(DATA), "--data", |answer| {
            match answer.starts_with('/') {
                true => Ok(PathBuf::from(answer)),
                false => Err(format!("a path from the root, such as {DATA}")),
            }
        })?,
        false => std::path::absolute(&place.data).map_err(|source| CliError::System {
            doing: "find the data folder",
            source,
        })?,
    };
    Ok(Place {
        data,
        master_key: place.master_key.clone(),
    })
}

/// Asks for what flags have not said.
pub(super) async fn plan<R: BufRead, W: Write>(
    place: &Place,
    setup: Setup,
    ask: &mut Ask<R, W>,
) -> Result<Plan, CliError> {
    let own = Own::in_folder(&place.data, None);
    let names = match own.is_there() {
        true => None,
        false => Some(names(&setup, ask)?),
    };
    let port = match setup.port {
        Some(port) => port,
        None => ask.ask("Port", Some(&PORT.to_string()), "--port", |answer| {
            let port = answer.parse::<u16>().ok().filter(|port| *port > 0);
            port.ok_or_else(|| "a number from 1 to 65535".to_owned())
        })?,
    };
    let known = match place.data.join("server.db").exists() {
        true => {
            let server = open(place, true).await?;
            let venues = server.venues().await;
            server.close().await;
            venues?.into_iter().map(|venue| venue.venue_id).collect()
        }
        false => Vec::new(),
    };
    let venue = venue(&setup, &known, ask)?;
    let gate = match setup.gate {
        Some(gate) => gate,
        None => ask.ask("First gate's id", Some("entrance"), "--gate", |answer| {
            answer.parse::<GateId>().map_err(|error| error.to_string())
        })?,
    };
    let named = match &names {
        Some(names) => names.texts(),
        None => Chain::load(&own.files().certificate)?.leaf.names,
    };
    let is_v6 = |name: &String| name.parse().is_ok_and(|address: IpAddr| address.is_ipv6());
    Ok(Plan {
        is_v6: named.iter().any(is_v6),
        names,
        port,
        venue,
        gate,
    })
}

fn names<R: BufRead, W: Write>(setup: &Setup, ask: &mut Ask<R, W>) -> Result<Names, CliError> {
    if !(setup.names.is_empty() && setup.addresses.is_empty()) {
        return Ok(Names::new(&setup.names, &setup.addresses)?);
    }
    let named = ask.ask(
        "Names that gates call this server by, with commas (Enter for none)",
        Some(""),
        "--name",
        |answer| {
            let names = split(answer);
            match names.is_empty() {
                true => Ok(names),
                false => match Names::new(&names, &[]) {
                    Ok(read) => Ok(read.dns().to_vec()),
                    Err(error) => Err(error.to_string()),
                },
            }
        },
    )?;
    let own = own_address().map(|address| address.to_string());
    let default = match (&own, named.is_empty()) {
        (Some(own), _) => Some(own.as_str()),
        (None, true) => None,
        (None, false) => Some(""),
    };
    let question = "Addresses that gates call this server by, with commas";
    ask.ask(question, default, "--address", |answer| {
        let read = |text: &String| text.parse().map_err(|_| format!("`{text}` is no address"));
        let addresses: Vec<IpAddr> = split(answer).iter().map(read).collect::<Result<_, _>>()?;
        Names::new(&named, &addresses).map_err(|error| error.to_string())
    })
}

fn split(answer: &str) -> Vec<String> {
    let parts = answer.split([',', '，']).map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The address that this machine has towards others. Nothing is sent: the system only says which
/// one it would use.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

fn venue<R: BufRead, W: Write>(
    setup: &Setup,
    known: &[VenueId],
    ask: &mut Ask<R, W>,
) -> Result<PlannedVenue, CliError> {
    let id = match &setup.venue {
        Some(id) => id.clone(),
        None => {
            let default = known.first().map(VenueId::to_string);
            let question = "Venue's id (a-z, 0-9 and -)";
            ask.ask(question, default.as_deref(), "--venue", |answer| {
                answer.parse::<VenueId>().map_err(|error| error.to_string())
            })?
        }
    };
    if known.contains(&id) {
        return Ok(PlannedVenue { id, new: None });
    }
    let name = match &setup.venue_name {
        Some(name) => name.clone(),
        None => ask.ask(
            "Venue's name",
            Some(id.as_str()),
            "--venue-name",
            |answer| Ok(answer.to_owned()),
        )?,
    };
    let is_zone = |text: &str| match TimeZone::get(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!(
            "`{text}` is no IANA time zone, such as Asia/Shanghai"
        )),
    };
    let time_zone = match &setup.time_zone {
        Some(zone) => {
            is_zone(zone).map_err(|why| CliError::Usage(format!("--time-zone: {why}")))?
        }
        None => {
            let system = TimeZone::system();
            // A server often runs on UTC, which no venue's days go by.
            let usual = system.iana_name().filter(|name| name.contains('/'));
            let usual = usual.filter(|name| !name.starts_with("Etc/"));
            ask.ask("Venue's time zone", usual, "--time-zone", is_zone)?
        }
    };
    let new = Some((name, time_zone));
    Ok(PlannedVenue { id, new })
}
