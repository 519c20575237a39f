//! `doctor`: looks at all that a server needs, and says of each in one line how it is and what to
//! do. Changes nothing; works beside a running server and without one.

mod backup;
mod database;
mod finding;
mod keys;
mod port;
mod storage;
mod tls;

use std::path::Path;

use clap::Args as ClapArgs;
use stile_core::time::EpochSeconds;
use stile_sync_server::clock::{Clock, SystemClock};
use tokio::runtime::Builder;

use super::args::Place;
use super::commands::print;
use super::time_sync::{SET_UP_NTP, TimeSync};
use super::tls::PairArgs;
use super::{CliError, master_key};
use finding::{Finding, Grade};

const DAY_S: i64 = 24 * 3600;

/// How to look.
#[derive(Debug, ClapArgs)]
pub struct Doctor {
    /// One JSON object per finding.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub tls: PairArgs,
}

/// Looks at everything and prints what it finds. An error if something fails.
pub fn run(place: &Place, doctor: &Doctor) -> Result<(), CliError> {
    let data = &place.data;
    let now = SystemClock.now().seconds();
    if !data.is_dir() {
        let what = format!("there is no folder {}", data.display());
        let todo = "say with --data where it is, or run `stile-server setup`";
        return tell(&[Finding::fail("data", what, todo)], doctor.json);
    }
    let mut findings = storage::findings(data);
    findings.extend(database::findings(data, &master_key(place)));
    let (pair, found) = tls::findings(data, &doctor.tls, now);
    findings.extend(found);
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| CliError::System {
        doing: "start",
        source,
    })?;
    findings.extend(runtime.block_on(port::findings(data, pair.as_ref())));
    findings.push(clock());
    findings.push(backup::finding(data, now));
    findings.push(keys::finding(data, now));
    tell(&findings, doctor.json)
}

fn tell(findings: &[Finding], json: bool) -> Result<(), CliError> {
    for finding in findings {
        let line = match json {
            true => serde_json::to_string(finding)
                .map_err(|error| super::commands::no_stdout(std::io::Error::other(error)))?,
            false => finding.line(),
        };
        print(&line)?;
    }
    let failed = |finding: &&Finding| finding.grade == Grade::Fail;
    match findings.iter().filter(failed).count() {
        0 => Ok(()),
        1 => Err(CliError::Failed("one check failed".into())),
        n => Err(CliError::Failed(format!("{n} checks failed"))),
    }
}

fn clock() -> Finding {
    match TimeSync::of_this_machine() {
        TimeSync::Synchronised => Finding::ok("clock", "set by the network"),
        TimeSync::Alone => Finding::warn("clock", "not set by the network", SET_UP_NTP),
        TimeSync::Unknown => Finding::warn(
            "clock",
            "nothing on this machine says whether the network sets it",
            SET_UP_NTP,
        ),
    }
}

/// Whole days from one moment to another.
fn days(from: EpochSeconds, until: EpochSeconds) -> i64 {
    until.0.saturating_sub(from.0).div_euclid(DAY_S)
}

/// A file that may not be there.
fn read_if_there(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}
