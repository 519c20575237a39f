//! Memory that stays resident.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use stile_tests::museum::Museum;

use crate::figures::Figures;

/// How long a server is left alone before it counts as idle.
const SETTLE: Duration = Duration::from_secs(2);

/// A server with a venue and nothing to do.
pub fn idle_server(figures: &mut Figures) -> Result<()> {
    let folder = tempfile::tempdir_in(".").context("a folder to measure in")?;
    let museum = Museum::found(&folder.path().join("museum"))?;
    std::thread::sleep(SETTLE);
    let mib = resident_mib(museum.server.pid().context("a server that runs")?)?;
    figures.goal(
        "idle server, resident",
        format!("{mib:.1} MiB"),
        "≤ 20 MiB",
        mib <= 20.0,
    );
    Ok(())
}

/// Resident memory of a process, in MiB.
pub fn resident_mib(pid: u32) -> Result<f64> {
    of_status(pid, "VmRSS:")
}

/// The most that a process ever had resident, in MiB.
pub fn peak_mib(pid: u32) -> Result<f64> {
    of_status(pid, "VmHWM:")
}

fn of_status(pid: u32, name: &'static str) -> Result<f64> {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .context(name)?;
    Ok(kib.trim().parse::<f64>()? / 1024.0)
}
