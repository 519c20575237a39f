//! What setup makes, each thing unless it is there: the database with its master key, certificate
//! and CA, venue, gate, and an API key. Each step is on disk before the next one begins.

use std::io::{BufRead, Write};

use stile_core::ids::VenueId;
use stile_core::policy::Policy;
use stile_core::protocol::{Act, NewGate};
use stile_sync_server::clock::{Clock, SystemClock};
use stile_sync_server::random::SystemRandom;
use stile_sync_server::server::Server;
use stile_sync_server::store::{ApiKey, Scope};
use stile_sync_server::tls::{Chain, Own};

use super::plan::Plan;
use crate::cli::acts::{self, Said};
use crate::cli::args::{MASTER_KEY_VARIABLE, Place};
use crate::cli::ask::Ask;
use crate::cli::commands::print;
use crate::cli::{CliError, open, tls};

/// What the person who installs is told of.
pub(super) struct Made {
    /// Where the master key is.
    pub(super) master_key: String,
    /// Where the CA with its key is.
    pub(super) authority: String,
    /// The server's address as gates reach it.
    pub(super) url: String,
}

/// Makes what is not there.
pub(super) async fn make<R: BufRead, W: Write>(
    place: &Place,
    plan: &Plan,
    ask: &mut Ask<R, W>,
) -> Result<Made, CliError> {
    let was_there = place.data.join("server.db").exists();
    let server = open(place, true).await?;
    ask.say(&match was_there {
        true => format!("The database in {} stays.", place.data.display()),
        false => format!("A database was made in {}.", place.data.display()),
    });
    let result = furnish(&server, place, plan, ask).await;
    server.close().await;
    result
}

async fn furnish<R: BufRead, W: Write>(
    server: &Server,
    place: &Place,
    plan: &Plan,
    ask: &mut Ask<R, W>,
) -> Result<Made, CliError> {
    let (own, chain) = certificate(place, plan, ask)?;
    venue(server, plan, ask).await?;
    gate(server, plan, ask).await?;
    api_key(server, &plan.venue.id, ask).await?;
    let host = chain.leaf.names.first().map_or("127.0.0.1", String::as_str);
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    };
    let file = place.master_key.clone();
    let file = file.unwrap_or_else(|| place.data.join("master.key"));
    let master_key = match std::env::var_os(MASTER_KEY_VARIABLE) {
        Some(_) => format!("the master key ({MASTER_KEY_VARIABLE})"),
        None => file.display().to_string(),
    };
    Ok(Made {
        master_key,
        authority: own.authority_file().display().to_string(),
        url: format!("https://{host}:{}", plan.port),
    })
}

fn certificate<R: BufRead, W: Write>(
    place: &Place,
    plan: &Plan,
    ask: &mut Ask<R, W>,
) -> Result<(Own, Chain), CliError> {
    let own = Own::in_folder(&place.data, None);
    let Some(names) = &plan.names else {
        let chain = Chain::load(&own.files().certificate)?;
        ask.say(&format!(
            "The certificate for {} stays; `tls renew` changes its names.",
            chain.leaf.names.join(", ")
        ));
        return Ok((own, chain));
    };
    let now = SystemClock.now().seconds();
    let pair = own.make(names, now, &SystemRandom)?;
    tls::say_made(&own, &pair.chain, now);
    Ok((own, pair.chain))
}

async fn venue<R: BufRead, W: Write>(
    server: &Server,
    plan: &Plan,
    ask: &mut Ask<R, W>,
) -> Result<(), CliError> {
    let id = &plan.venue.id;
    let Some((name, time_zone)) = &plan.venue.new else {
        ask.say(&format!("The venue {id} stays."));
        return Ok(());
    };
    let said = Said::at_server(Act::VenueAdd, id.to_string());
    let work = async {
        let policy = Policy::default();
        Ok(server
            .create_venue(id.clone(), name, time_zone, policy)
            .await?)
    };
    let venue = acted(server, said, work).await?;
    ask.say(&format!(
        "The venue {id} ({}, {}) was made.",
        venue.name, venue.time_zone
    ));
    Ok(())
}

async fn gate<R: BufRead, W: Write>(
    server: &Server,
    plan: &Plan,
    ask: &mut Ask<R, W>,
) -> Result<(), CliError> {
    let (venue, id) = (&plan.venue.id, &plan.gate);
    let gates = server.gates(venue).await?;
    if gates.iter().any(|gate| gate.gate_id == *id) {
        ask.say(&format!("The gate {id} stays."));
        return Ok(());
    }
    let said = Said::at_venue(Act::GatePut, venue.clone(), id.to_string());
    let gate = NewGate {
        name: String::new(),
        direction: Default::default(),
        checkpoint: None,
        zones: Vec::new(),
        unattended: false,
    };
    let work = async { Ok(server.put_gate(venue, id.clone(), gate).await?) };
    acted(server, said, work).await?;
    ask.say(&format!(
        "The gate {id} was made: an entrance to all zones; `gate add {id} …` changes it."
    ));
    Ok(())
}

async fn api_key<R: BufRead, W: Write>(
    server: &Server,
    venue: &VenueId,
    ask: &mut Ask<R, W>,
) -> Result<(), CliError> {
    let now = server.now().seconds();
    let is_admin = |key: &&ApiKey| {
        let at_venue = |place: &stile_sync_server::store::KeyVenue| {
            place.venue_id == *venue && place.revoked_at.is_none()
        };
        key.revoked_at.is_none()
            && key.scopes.contains(&Scope::Admin)
            && key.expires_at.is_none_or(|at| at > now)
            && key.venues.iter().any(at_venue)
    };
    if let Some(key) = server.api_keys().await?.iter().find(is_admin) {
        ask.say(&format!(
            "The API key {} ({}) stays, and is not shown again; `key add` makes another.",
            key.id, key.name
        ));
        return Ok(());
    }
    let said = Said::at_server(Act::ApiKeyMake, None::<String>);
    let venues = [venue.clone()];
    let work = async {
        let made = server.add_api_key(&venues, &[Scope::Admin], "setup", None);
        Ok(made.await?)
    };
    let (id, text) = acted(server, said, work).await?;
    ask.say(&format!(
        "The API key {id}, with which the booking system does everything at {venue}. Keep its \
         text, it is shown this once:"
    ));
    print(text.as_str())
}

/// Carries out an act with its row in the audit log.
async fn acted<T>(
    server: &Server,
    said: Said,
    work: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    let acting = acts::begin(server, said).await?;
    server.act(&acting, work, acts::result).await
}
