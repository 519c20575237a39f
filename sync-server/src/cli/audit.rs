//! `audit`: the audit log, one act a line.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use stile_core::ids::VenueId;
use stile_core::protocol::AuditEntry;
use stile_sync_server::server::Server;

use super::CliError;
use super::args::Audit;
use super::commands::no_stdout;

/// An act as it is printed; without a venue where it was about the server.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    venue: Option<&'a VenueId>,
    #[serde(flatten)]
    act: AuditEntry,
}

/// `audit`
pub fn audit(command: Audit) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| {
        let logs: Vec<Option<VenueId>> = match command.venue {
            Some(venue) => vec![Some(venue)],
            None => {
                let venues = server.venues().await?.into_iter();
                let venues = venues.map(|venue| Some(venue.venue_id));
                std::iter::once(None).chain(venues).collect()
            }
        };
        let mut out = BufWriter::new(io::stdout().lock());
        for venue in &logs {
            let venue = venue.as_ref();
            let printed = server.audit_through(venue, |act| {
                serde_json::to_writer(&mut out, &Line { venue, act })?;
                out.write_all(b"\n")
            });
            printed.await?.map_err(no_stdout)?;
        }
        out.flush().map_err(no_stdout)
    }
}
