//! `key show`, `key rotate` and `key revoke-signing`: the keys that a venue signs lists and codes with.

use std::time::Duration;

use jiff::tz::TimeZone;
use stile_core::ids::{Kid, VenueId};
use stile_core::protocol::SigningRole;
use stile_core::time::EpochSeconds;
use stile_sync_server::server::{KEYS_LOOKED_AT, Server, local_time};

use super::CliError;
use super::commands::{print_line, venue_meant};

/// How long it takes at most until a server that runs beside the command signs with other keys: it
/// looks that often, and a request that began before is over by then.
const NOTICED: Duration = KEYS_LOOKED_AT.saturating_add(Duration::from_secs(1));

/// `key show`
pub async fn show(server: &Server, venue: Option<VenueId>) -> Result<(), CliError> {
    let venue = venue_meant(server, venue).await?;
    let keys = server.signing_keys(&venue).await?.keys;
    keys.iter().try_for_each(print_line)
}

/// `key rotate`
pub async fn rotate(
    server: &Server,
    role: SigningRole,
    venue: Option<VenueId>,
) -> Result<(), CliError> {
    let venue = venue_meant(server, venue).await?;
    let next = server.rotate_key(&venue, role).await?;
    print_line(&next)?;
    let zone = server.venue(&venue).await?.time_zone;
    eprintln!(
        "The {role} key {} is made, and gates hear of it now. It signs from {} on; what the old one \
         signed stays good. Copy the keys anew: stile-server key backup FILE",
        next.kid.0,
        moment(next.valid_from, &zone)
    );
    if role == SigningRole::Code {
        eprintln!(
            "Sister venues know its codes once they are told: `key sister list` prints what."
        );
    }
    Ok(())
}

/// `key revoke-signing`
pub async fn revoke(
    server: &Server,
    role: SigningRole,
    kid: Kid,
    venue: Option<VenueId>,
) -> Result<(), CliError> {
    let venue = venue_meant(server, venue).await?;
    let revoked = server.revoke_signing_key(&venue, role, kid).await?;
    print_line(&revoked)?;
    eprintln!(
        "WARNING: the {role} key {} is revoked. Gates refuse all that it signed as soon as they hear of \
         it; one without a network goes on taking it until then. The key {} signs from now on.",
        kid.0, revoked.signing.kid.0
    );
    if role == SigningRole::Code {
        eprintln!(
            "WARNING: {} valid tickets may have a G2 or G3 code out that is refused now as \
             unknown_key. Mint their codes anew and send them to the visitors; until then staff look \
             tickets up. Gates that have not heard of the new key refuse its codes as well.",
            revoked.tickets
        );
    }
    eprintln!("Copy the keys anew: stile-server key backup FILE");
    // Whoever mints codes anew right after this must get them from the new key.
    eprintln!(
        "Waiting {} s until a running server has noticed.",
        NOTICED.as_secs()
    );
    tokio::time::sleep(NOTICED).await;
    Ok(())
}

/// A moment in the venue's zone, for people.
fn moment(at: EpochSeconds, zone: &str) -> String {
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    local_time(at.millis(), &zone)
}
