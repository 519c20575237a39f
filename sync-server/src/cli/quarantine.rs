//! `quarantine …`: the records that were set aside for a person, and what the person makes of them.

use std::io::{self, BufWriter, Write};

use clap::{Args as ClapArgs, Subcommand};
use serde::Serialize;
use serde_json::value::RawValue;
use stile_core::ids::{DeviceId, RecordId, VenueId};
use stile_core::protocol::{Judged, QuarantineCause, QuarantineChoice, QuarantineJudged};
use stile_core::time::EpochMillis;
use stile_sync_server::ServerError;
use stile_sync_server::server::Server;

use super::CliError;
use super::commands::{no_stdout, venue_meant};

#[derive(Debug, Subcommand)]
pub enum QuarantineCommand {
    /// Prints those that wait for a person or for their ticket, one JSON object a line.
    List {
        /// The records of this venue alone [default: those of all venues].
        #[arg(long)]
        venue: Option<VenueId>,
        /// Of this device alone.
        #[arg(long)]
        device: Option<DeviceId>,
    },
    /// Takes records into the log, where they count from now on.
    Accept(Judge),
    /// Keeps records out of the log. They are kept as long as others, and listed no more.
    Dismiss(Judge),
}

#[derive(Debug, ClapArgs)]
pub struct Judge {
    /// The ids of the records.
    #[arg(
        value_name = "RECORD",
        required_unless_present = "device",
        conflicts_with = "device"
    )]
    pub records: Vec<RecordId>,
    /// This device's: to accept, those that wait because it is revoked or was forgotten; to
    /// dismiss, all that wait.
    #[arg(long)]
    pub device: Option<DeviceId>,
    /// The venue; may be left out where there is one only.
    #[arg(long)]
    pub venue: Option<VenueId>,
}

/// Records of a venue that are printed at most.
const MAX_PRINTED: u32 = 10_000;

/// A record as it is printed, with its bytes as the device wrote them.
#[derive(Serialize)]
struct Line<'a> {
    venue: &'a VenueId,
    received_at: EpochMillis,
    device_id: &'a DeviceId,
    cause: QuarantineCause,
    record: &'a RawValue,
}

/// `quarantine …`
pub fn quarantine(command: QuarantineCommand) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| match command {
        QuarantineCommand::List { venue, device } => list(server, venue, device).await,
        QuarantineCommand::Accept(judge) => {
            let (venue, choice) = choice(server, judge).await?;
            let accept = async |choice| server.accept_quarantined(&venue, choice).await;
            report(&choice, each(&choice, accept).await?)
        }
        QuarantineCommand::Dismiss(judge) => {
            let (venue, choice) = choice(server, judge).await?;
            let dismiss = async |choice| server.dismiss_quarantined(&venue, choice).await;
            report(&choice, each(&choice, dismiss).await?)
        }
    }
}

async fn list(
    server: &Server,
    venue: Option<VenueId>,
    device: Option<DeviceId>,
) -> Result<(), CliError> {
    let venues = match venue {
        Some(venue) => vec![venue],
        None => {
            let venues = server.venues().await?.into_iter();
            venues.map(|venue| venue.venue_id).collect()
        }
    };
    let mut out = BufWriter::new(io::stdout().lock());
    for venue in &venues {
        let waiting = server.quarantine(venue, device.clone(), MAX_PRINTED);
        for one in waiting.await?.records {
            let line = Line {
                venue,
                received_at: one.received_at,
                device_id: &one.device_id,
                cause: one.cause,
                record: &one.record,
            };
            serde_json::to_writer(&mut out, &line)
                .map_err(io::Error::from)
                .and_then(|()| out.write_all(b"\n"))
                .map_err(no_stdout)?;
        }
    }
    out.flush().map_err(no_stdout)
}

async fn choice(server: &Server, judge: Judge) -> Result<(VenueId, QuarantineChoice), CliError> {
    let choice = QuarantineChoice {
        records: judge.records,
        device_id: judge.device,
    };
    Ok((venue_meant(server, judge.venue).await?, choice))
}

/// Judges piece by piece until all that the choice means is judged.
async fn each(
    choice: &QuarantineChoice,
    judge: impl AsyncFn(QuarantineChoice) -> Result<QuarantineJudged, ServerError>,
) -> Result<QuarantineJudged, CliError> {
    let mut all = QuarantineJudged::default();
    loop {
        let QuarantineJudged { results, more } = judge(choice.clone()).await?;
        all.results.extend(results);
        if !more {
            return Ok(all);
        }
    }
}

/// Says how many came to what, and names those that stay.
fn report(choice: &QuarantineChoice, judged: QuarantineJudged) -> Result<(), CliError> {
    let count = |result| {
        judged
            .results
            .iter()
            .filter(|one| one.result == result)
            .count()
    };
    let say = |count: usize, what: &str| {
        if count > 0 {
            eprintln!("{count} {what}");
        }
    };
    say(
        count(Judged::Accepted),
        "accepted: in the log, where they count",
    );
    say(
        count(Judged::Dismissed),
        "dismissed: kept, and out of the log",
    );
    say(
        count(Judged::WaitsForTicket),
        "wait for their ticket, and are accepted by themselves when it arrives",
    );
    let stay = || {
        judged
            .results
            .iter()
            .filter(|one| one.result == Judged::CannotBeAccepted)
    };
    say(
        stay().count(),
        "cannot be accepted: another venue's, or their id or place in the log is another \
         record's. Dismiss them: stile-server quarantine dismiss",
    );
    for one in stay() {
        eprintln!("  {}", one.id);
    }
    let missing = choice.records.iter();
    let missing = missing.filter(|id| !judged.results.iter().any(|one| one.id == **id));
    let missing: Vec<_> = missing.map(ToString::to_string).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return Err(CliError::Failed(format!("not in quarantine: {missing}")));
    }
    if judged.results.is_empty() {
        eprintln!("Nothing of it waits.");
    }
    Ok(())
}
