//! `reconcile …`: a day's tickets as the booking system states them in a file, compared with what is
//! here.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use serde::Serialize;
use stile_core::ids::VenueId;
use stile_core::protocol::{DifferingTickets, Reconciliation};
use stile_core::time::ServiceDay;
use stile_sync_server::import::{
    Charset, Chunk, FileRules, Hashed, ImportFormat, ImportReport, LineFault, OUR_NAMES,
    read_tickets,
};
use stile_sync_server::server::{
    MOST_RECONCILIATIONS, Server, StatedFile, TicketSet, takes_documents,
};
use stile_sync_server::store::ReconciliationQuery;
use tokio::sync::{mpsc, oneshot};

use super::CliError;
use super::commands::{print_json, print_line, venue_meant};

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Reconcile {
    #[command(subcommand)]
    pub command: Option<ReconcileCommand>,
    /// The day.
    #[arg(value_name = "DAY", required = true)]
    pub day: Option<ServiceDay>,
    /// The file with all its tickets: .csv in UTF-8, .ndjson or .xlsx.
    #[arg(value_name = "FILE", required = true)]
    pub file: Option<PathBuf>,
    /// The venue; may be left out where there is one only.
    #[arg(long)]
    pub venue: Option<VenueId>,
}

#[derive(Debug, Subcommand)]
pub enum ReconcileCommand {
    /// Prints the sets that were stated or put, and looks at what became of them, the newest first,
    /// one JSON object a line.
    List {
        /// Those of this day alone.
        #[arg(long, value_name = "DAY")]
        day: Option<ServiceDay>,
        /// The venue; may be left out where there is one only.
        #[arg(long)]
        venue: Option<VenueId>,
    },
}

/// What a comparison prints.
#[derive(Serialize)]
struct Compared {
    #[serde(flatten)]
    reconciliation: Reconciliation,
    ticket_ids: DifferingTickets,
    lines: ImportReport,
}

/// A piece of a file, and where what is refused of it goes.
type Piece = (Chunk, oneshot::Sender<Vec<(u64, LineFault)>>);

/// `reconcile …`
pub fn reconcile(command: Reconcile) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| match command {
        Reconcile {
            command: Some(ReconcileCommand::List { day, venue }),
            ..
        } => list(server, day, venue).await,
        Reconcile {
            day: Some(day),
            file: Some(file),
            venue,
            ..
        } => compare(server, day, &file, venue).await,
        _ => Err(CliError::Usage("say the day and the file".into())),
    }
}

async fn list(
    server: &Server,
    day: Option<ServiceDay>,
    venue: Option<VenueId>,
) -> Result<(), CliError> {
    let venue = venue_meant(server, venue).await?;
    let mut query = ReconciliationQuery {
        service_day: day,
        before: None,
        limit: MOST_RECONCILIATIONS,
    };
    loop {
        let page = server.reconciliations(&venue, query.clone()).await?;
        let reconciliations = page.reconciliations;
        reconciliations.iter().try_for_each(print_line)?;
        query.before = reconciliations.last().map(|last| last.reconciliation_id);
        if !page.more {
            return Ok(());
        }
    }
}

async fn compare(
    server: &Server,
    day: ServiceDay,
    file: &Path,
    venue: Option<VenueId>,
) -> Result<(), CliError> {
    let venue = venue_meant(server, venue).await?;
    let mut set = server.begin_set(&venue, Some(day), true);
    let compared = read_and_compare(server, &venue, &mut set, file).await;
    server.end_set(&set).await?;
    print_json(&compared?)
}

async fn read_and_compare(
    server: &Server,
    venue: &VenueId,
    set: &mut TicketSet,
    file: &Path,
) -> Result<Compared, CliError> {
    let venue = server.venue(venue).await?;
    let (lines, sha256) = {
        let format = format_of(file)?;
        let opened = File::open(file).map_err(|source| CliError::System {
            doing: "read the file",
            source,
        })?;
        let zone = venue.time_zone.clone();
        let takes_documents = takes_documents(&venue.policy);
        let (pieces, mut coming) = mpsc::channel::<Piece>(1);
        let reading = tokio::task::spawn_blocking(move || {
            let zone = jiff::tz::TimeZone::get(&zone).map_err(|error| error.to_string())?;
            let rules = FileRules {
                time_zone: &zone,
                takes_documents,
                names: &OUR_NAMES,
                charset: Charset::UTF_8,
            };
            let mut input = Hashed::new(opened);
            let mut sink = |chunk| {
                let (answer, answered) = oneshot::channel();
                pieces.blocking_send((chunk, answer))?;
                Ok(answered.blocking_recv()?)
            };
            let read = read_tickets(&mut input, format, rules, &mut sink);
            let report = read.map_err(|error| error.to_string())?;
            Ok::<_, String>((report, input.finish()))
        });
        while let Some((chunk, answer)) = coming.recv().await {
            // The reader is there until it is answered.
            let _ = answer.send(server.stage_tickets(set, chunk).await?);
        }
        let read = reading.await.map_err(|error| error.to_string());
        read.and_then(|read| read).map_err(CliError::Failed)?
    };
    let stated = StatedFile {
        tickets: lines.accepted + lines.refused_count,
        refused: lines.refused_count,
        sha256,
    };
    let (reconciliation, ticket_ids) = server.reconcile(set, stated).await?;
    Ok(Compared {
        reconciliation,
        ticket_ids,
        lines,
    })
}

/// What a file is written in, by the end of its name.
fn format_of(file: &Path) -> Result<ImportFormat, CliError> {
    let end = file.extension().and_then(|end| end.to_str());
    match end.map(str::to_ascii_lowercase).as_deref() {
        Some("csv") => Ok(ImportFormat::Csv),
        Some("ndjson") => Ok(ImportFormat::Ndjson),
        Some("xlsx") => Ok(ImportFormat::Xlsx),
        _ => Err(CliError::Usage(
            "the file's name must end in .csv, .ndjson or .xlsx".into(),
        )),
    }
}
