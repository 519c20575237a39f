//! `alarms …`: what needs a person at a venue.

use clap::Subcommand;
use stile_core::ids::VenueId;
use stile_sync_server::server::{MOST_ALARMS, Server};
use stile_sync_server::store::AlarmQuery;

use super::CliError;
use super::commands::{print_line, venue_meant};

#[derive(Debug, Subcommand)]
pub enum AlarmsCommand {
    /// Prints the alarms that are open, the newest first, one JSON object a line.
    List {
        /// Those that have ended as well, as far as they are kept.
        #[arg(long)]
        all: bool,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
}

/// `alarms …`
pub fn alarms(command: AlarmsCommand) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| {
        let AlarmsCommand::List { all, venue } = command;
        let venue = venue_meant(server, venue).await?;
        let mut query = AlarmQuery {
            ended: all,
            before: None,
            limit: MOST_ALARMS,
        };
        loop {
            let page = server.alarms(&venue, query).await?;
            page.alarms.iter().try_for_each(print_line)?;
            query.before = page.alarms.last().map(|alarm| alarm.alarm_id);
            if !page.more {
                return Ok(());
            }
        }
    }
}
