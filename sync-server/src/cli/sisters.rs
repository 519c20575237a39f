//! `key sister …`: venues whose genuine codes gates answer with `wrong_venue`.

use jiff::tz::TimeZone;
use stile_core::time::EpochSeconds;
use stile_sync_server::ServerError;
use stile_sync_server::import::times::parse_time;
use stile_sync_server::server::Server;

use super::CliError;
use super::args::{SisterAdd, SisterCommand};
use super::commands::{print_json, venue_meant};

/// `key sister …`
pub async fn run(server: &Server, command: SisterCommand) -> Result<(), CliError> {
    match command {
        SisterCommand::Add(add) => put(server, add).await,
        SisterCommand::List { venue } => {
            let venue = venue_meant(server, venue).await?;
            print_json(&server.venue_codes(&venue).await?)
        }
        SisterCommand::Remove { sister, venue, kid } => {
            let venue = venue_meant(server, venue).await?;
            server.remove_sister(&venue, &sister, kid).await?;
            eprintln!("Gates of {venue} hear with their next list that {sister} has changed.");
            Ok(())
        }
    }
}

async fn put(server: &Server, add: SisterAdd) -> Result<(), CliError> {
    let venue = venue_meant(server, add.venue).await?;
    let sister = match (add.of, add.sister, add.number, add.kid, add.public_key) {
        (Some(of), ..) => {
            server.add_sister_of(&venue, &of).await?;
            of
        }
        (None, Some(sister), Some(number), Some(kid), Some(public_key)) => {
            let from = match add.from {
                None => EpochSeconds(0),
                Some(text) => {
                    let zone = server.venue(&venue).await?.time_zone;
                    let zone = TimeZone::get(&zone).map_err(|error| CliError::System {
                        doing: "read the venue's time zone",
                        source: std::io::Error::other(error),
                    })?;
                    parse_time(&text, &zone)?
                }
            };
            let named = (sister.clone(), number);
            server
                .add_sister_key(&venue, named, kid, &public_key, from)
                .await?;
            sister
        }
        // The flags see to it that all are there.
        _ => {
            let problem = "a sister venue needs its id, number, kid and public key";
            return Err(ServerError::InvalidBody(problem.to_owned()).into());
        }
    };
    eprintln!(
        "Gates of {venue} answer codes of {sister} with wrong_venue from their next list on."
    );
    Ok(())
}
