//! `retention …`: what is removed when its time is over, and proof that it was.

use serde::Serialize;
use stile_sync_server::server::Server;
use stile_sync_server::store::{RetentionJob, RetentionRun};

use super::CliError;
use super::args::RetentionCommand;
use super::commands::print_json;

/// Runs that `status` shows: a month of them.
const SHOWN_RUNS: u32 = 30 * RetentionJob::ALL.len() as u32;

/// What `status` shows; times are epoch milliseconds.
#[derive(Serialize)]
struct Shown {
    /// Days that records, events and the audit log are kept.
    keep_days: u16,
    /// The newest first.
    runs: Vec<RetentionRun>,
}

/// `retention …`
pub fn retention(command: RetentionCommand) -> impl AsyncFnOnce(&Server) -> Result<(), CliError> {
    async move |server: &Server| match command {
        RetentionCommand::Run { clock_is_right } => {
            print_json(&server.run_retention(clock_is_right).await?)
        }
        RetentionCommand::Status => {
            let state = server.retention(SHOWN_RUNS).await?;
            print_json(&Shown {
                keep_days: state.keep_days,
                runs: state.runs,
            })
        }
        RetentionCommand::Set { days } => {
            server.set_keep_days(days).await?;
            eprintln!("Records, events and the audit log are kept for {days} days.");
            Ok(())
        }
    }
}
