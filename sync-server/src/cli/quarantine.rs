//! `quarantine`: the records that were set aside for a person, one a line.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::value::RawValue;
use stile_core::ids::{DeviceId, VenueId};
use stile_core::protocol::QuarantineCause;
use stile_core::time::EpochMillis;
use stile_sync_server::server::Server;

use super::CliError;
use super::args::Quarantine;
use super::commands::no_stdout;

/// A record as it is printed, with its bytes as the device wrote them.
#[derive(Serialize)]
struct Line<'a> {
    venue: &'a VenueId,
    received_at: EpochMillis,
    device_id: &'a DeviceId,
    cause: QuarantineCause,
    record: &'a RawValue,
}

/// `quarantine`
pub fn quarantine(command: Quarantine) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| {
        let venues = match command.venue {
            Some(venue) => vec![venue],
            None => {
                let venues = server.venues().await?.into_iter();
                venues.map(|venue| venue.venue_id).collect()
            }
        };
        let mut out = BufWriter::new(io::stdout().lock());
        for venue in &venues {
            for one in server.quarantine(venue).await? {
                // Of what is no JSON any more, that it is there can be said and no more.
                let record = serde_json::from_slice(&one.bytes).unwrap_or(RawValue::NULL);
                let line = Line {
                    venue,
                    received_at: one.received_at,
                    device_id: &one.device_id,
                    cause: one.cause,
                    record,
                };
                serde_json::to_writer(&mut out, &line)
                    .map_err(io::Error::from)
                    .and_then(|()| out.write_all(b"\n"))
                    .map_err(no_stdout)?;
            }
        }
        out.flush().map_err(no_stdout)
    }
}
