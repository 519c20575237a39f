//! Commands that set things up, also beside a running server.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use data_encoding::HEXLOWER;
use serde::Serialize;
use stile_core::ids::VenueId;
use stile_core::policy::Policy;
use stile_core::protocol::{EraseVisitor, NewEnrolment, NewGate};
use stile_core::time::{EpochMillis, EpochSeconds};
use stile_sync_server::http;
use stile_sync_server::server::{Server, policy_warnings};
use stile_sync_server::store::{ApiKey, Scope, Venue};
use tokio::runtime::Builder;
use zeroize::Zeroizing;

use super::acts::{self, Said};
use super::args::{
    Enrol, GateCommand, KeyAdd, KeyCommand, Place, Salvage, VenueAdd, VenueCommand, VisitorCommand,
};
use super::{CliError, import_key, key_backup, open, signing_keys, sisters, tls};

const DAY_S: i64 = 24 * 3600;

/// Prints the OpenAPI document.
pub fn openapi() -> Result<(), CliError> {
    print(http::openapi_text().trim_end())
}

/// Keeps a damaged database aside and reads its records out.
pub fn salvage(place: &Place, command: &Salvage) -> Result<(), CliError> {
    let file = File::create_new(&command.out).map_err(|source| CliError::System {
        doing: "make the file for the records",
        source,
    })?;
    let mut out = BufWriter::new(file);
    let salvage = match Server::salvage(&place.data, &mut out) {
        Ok(salvage) => salvage,
        Err(error) => {
            // Nothing was read, so the file that was just made holds nothing.
            let _ = std::fs::remove_file(&command.out);
            return Err(error.into());
        }
    };
    print(&format!(
        "{} records and {} quarantined ones were read out to {}; the damaged database is kept as {}",
        salvage.records,
        salvage.quarantined,
        command.out.display(),
        salvage.kept_aside.display()
    ))?;
    eprintln!("Put the last backup back before the server starts again.");
    Ok(())
}

/// Runs a command on the server's folder, within the act that it is, if it is one.
pub fn run(
    place: &Place,
    act: Option<Said>,
    command: impl AsyncFnOnce(&Server) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| CliError::System {
        doing: "start",
        source,
    })?;
    runtime.block_on(async {
        let server = open(place, true).await?;
        let work = command(&server);
        let result = match act {
            None => work.await,
            Some(said) => match acts::begin(&server, said).await {
                Ok(acting) => server.act(&acting, work, acts::result).await,
                Err(error) => Err(error),
            },
        };
        server.close().await;
        result
    })
}

/// `venue …`
pub fn venue(command: VenueCommand) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| match command {
        VenueCommand::Add(add) => add_venue(server, add).await,
        VenueCommand::Show { id: Some(id) } => {
            print_json(&VenueShown::new(server.venue(&id).await?))
        }
        VenueCommand::Show { id: None } => {
            let venues = server.venues().await?;
            print_json(&venues.into_iter().map(VenueShown::new).collect::<Vec<_>>())
        }
    }
}

async fn add_venue(server: &Server, add: VenueAdd) -> Result<(), CliError> {
    let policy = Policy {
        formats: add.formats,
        opaque_shapes: add.opaque_shapes,
        ..Policy::default()
    };
    let venue = server
        .create_venue(add.id, &add.name, &add.time_zone, policy)
        .await?;
    eprintln!(
        "Created the venue {}, number {}.",
        venue.venue_id, venue.number.0
    );
    for warning in policy_warnings(&venue.policy) {
        eprintln!("Note: {warning}.");
    }
    Ok(())
}

/// `gate …`
pub fn gate(command: GateCommand) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| {
        let GateCommand::Add(add) = command;
        let venue = venue_meant(server, add.venue).await?;
        let gate = NewGate {
            name: add.name,
            direction: add.direction,
            checkpoint: add.checkpoint,
            zones: add.zones,
            unattended: add.unattended,
        };
        let (gate, _) = server.put_gate(&venue, add.id, gate).await?;
        eprintln!("The venue {venue} has the gate {}.", gate.gate_id);
        Ok(())
    }
}

/// `key …`
pub fn key(
    place: &Place,
    command: KeyCommand,
) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> + use<'_> {
    async move |server: &Server| match command {
        KeyCommand::Add(add) => add_key(server, add).await,
        KeyCommand::Import(import) => import_key::run(server, import).await,
        KeyCommand::Show { venue } => signing_keys::show(server, venue).await,
        KeyCommand::Rotate { role, venue } => signing_keys::rotate(server, role, venue).await,
        KeyCommand::RevokeSigning { role, kid, venue } => {
            signing_keys::revoke(server, role, kid, venue).await
        }
        KeyCommand::Backup(out) => key_backup::back_up(server, place, &out).await,
        KeyCommand::Minting { venue } => show_minting_key(server, venue).await,
        KeyCommand::Sister(command) => sisters::run(server, command).await,
        KeyCommand::List => {
            let keys = server.api_keys().await?;
            print_json(&keys.iter().map(KeyShown::new).collect::<Vec<_>>())
        }
        KeyCommand::Revoke { id } => {
            server.revoke_api_key(id).await?;
            eprintln!("The key {id} is revoked.");
            Ok(())
        }
    }
}

async fn show_minting_key(server: &Server, venue: Option<VenueId>) -> Result<(), CliError> {
    let venue = venue_meant(server, venue).await?;
    let key = server.minting_key(&venue).await?;
    eprintln!("The key to mint v1 codes of {venue} with; keep it where secrets are kept:");
    print(&Zeroizing::new(HEXLOWER.encode(&*key)))
}

async fn add_key(server: &Server, add: KeyAdd) -> Result<(), CliError> {
    let now = server.now().seconds();
    let days = add.expires_days.map(i64::from);
    let expires_at = days.map(|days| EpochSeconds(now.0.saturating_add(days * DAY_S)));
    let made = server.add_api_key(&add.venues, &add.scopes, &add.name, expires_at);
    let (id, text) = made.await?;
    eprintln!("The key {id}; keep its text, it is shown this once:");
    print(text.as_str())
}

/// `enrol`
pub fn enrol(
    place: &Place,
    command: Enrol,
) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> + use<'_> {
    async move |server: &Server| {
        // As it has to be said again where there are several.
        let named = command.venue.as_ref();
        let named = named.map_or_else(String::new, |venue| format!(" --venue {venue}"));
        let venue = venue_meant(server, command.venue).await?;
        let pin = tls::pin_for(place, command.tls_cert, &command.server)?;
        let request = NewEnrolment {
            gates: command.gates,
            server: Some(command.server.clone()),
            confirm: !command.no_confirm,
        };
        let invited = server.new_enrolment(&venue, request, &command.server, pin);
        let enrolment = invited.await?;
        eprintln!("The text of the enrolment QR, good once and for ten minutes:");
        print(&enrolment.text)?;
        if !command.no_confirm {
            eprintln!(
                "The device then shows six digits. If you read them there, it is the right one: \
                 stile-server device confirm {} DIGITS{named}",
                enrolment.enrolment_id
            );
        }
        Ok(())
    }
}

/// `visitor …`
pub fn visitor(command: VisitorCommand) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| {
        let VisitorCommand::Erase {
            tickets,
            order,
            venue,
        } = command;
        let venue = venue_meant(server, venue).await?;
        let whose = EraseVisitor {
            ticket_ids: tickets,
            order_number: order,
        };
        print_json(&server.erase_visitor(&venue, whose).await?)
    }
}

/// The venue that a command names, else the only one.
pub async fn venue_meant(server: &Server, named: Option<VenueId>) -> Result<VenueId, CliError> {
    if let Some(venue) = named {
        return Ok(venue);
    }
    let mut venues = server.venues().await?;
    match (venues.pop(), venues.is_empty()) {
        (Some(only), true) => Ok(only.venue_id),
        (last, _) => Err(CliError::WhichVenue(
            venues.len() + usize::from(last.is_some()),
        )),
    }
}

#[derive(Serialize)]
struct VenueShown {
    venue_id: VenueId,
    number: u16,
    name: String,
    time_zone: String,
    policy: Policy,
}

impl VenueShown {
    fn new(venue: Venue) -> Self {
        Self {
            venue_id: venue.venue_id,
            number: venue.number.0,
            name: venue.name,
            time_zone: venue.time_zone,
            policy: venue.policy,
        }
    }
}

/// An API key for whoever has the server's folder. Times are epoch seconds.
#[derive(Serialize)]
struct KeyShown<'k> {
    id: i64,
    name: &'k str,
    venues: Vec<KeyVenueShown<'k>>,
    scopes: &'k [Scope],
    made_by: Option<i64>,
    created_at: i64,
    expires_at: Option<i64>,
    revoked_at: Option<i64>,
}

#[derive(Serialize)]
struct KeyVenueShown<'k> {
    venue_id: &'k VenueId,
    last_used_at: Option<i64>,
    revoked_at: Option<i64>,
}

impl<'k> KeyShown<'k> {
    fn new(key: &'k ApiKey) -> Self {
        let seconds = |at: Option<EpochMillis>| at.map(|at| at.seconds().0);
        let venues = key.venues.iter().map(|venue| KeyVenueShown {
            venue_id: &venue.venue_id,
            last_used_at: seconds(venue.last_used_at),
            revoked_at: seconds(venue.revoked_at),
        });
        Self {
            id: key.id.0,
            name: &key.name,
            venues: venues.collect(),
            scopes: &key.scopes,
            made_by: key.made_by.map(|id| id.0),
            created_at: key.created_at.seconds().0,
            expires_at: key.expires_at.map(|at| at.0),
            revoked_at: seconds(key.revoked_at),
        }
    }
}

pub fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::other);
    print(&text.map_err(no_stdout)?)
}

/// Prints a value as one line of JSON.
pub fn print_line(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string(value).map_err(io::Error::other);
    print(&text.map_err(no_stdout)?)
}

/// Prints a line that scripts may wait for.
pub fn print(line: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(no_stdout)
}

pub fn no_stdout(source: io::Error) -> CliError {
    CliError::System {
        doing: "write to stdout",
        source,
    }
}
