//! The demo's folder: everything lies under it, and it is new each time. Programs that an earlier
//! demo left running are ended first, by their process ids and only if they are still those.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use stile_tests::gate::GATE;
use stile_tests::programs::wait_until;
use stile_tests::server::SERVER;

/// The folder, under the current one.
pub const PATH: &str = ".stile/demo";
/// Process ids of what was left running, one per line.
const PIDS: &str = "pids";
/// How long they may take to stop.
const STOP_TIME: std::time::Duration = std::time::Duration::from_secs(40);

/// A new folder; what an earlier demo left is ended and removed.
pub fn fresh() -> Result<PathBuf> {
    let folder = PathBuf::from(PATH);
    end_leftovers(&folder)?;
    match fs::remove_dir_all(&folder) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).context(format!("{PATH} cannot be removed")),
    }
    fs::create_dir_all(&folder).with_context(|| format!("{PATH} cannot be made"))?;
    Ok(folder)
}

/// Notes what is left running, for the next start. Returns the command that ends it.
pub fn note(pids: &[u32]) -> Result<String> {
    let lines: Vec<_> = pids.iter().map(u32::to_string).collect();
    fs::write(PathBuf::from(PATH).join(PIDS), lines.join("\n") + "\n")?;
    Ok(format!("kill $(cat {PATH}/{PIDS})"))
}

fn end_leftovers(folder: &std::path::Path) -> Result<()> {
    let Ok(text) = fs::read_to_string(folder.join(PIDS)) else {
        return Ok(());
    };
    let pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    for pid in pids.into_iter().filter(|pid| is_ours(*pid)) {
        if let Some(process) = Pid::from_raw(pid) {
            // It may end by itself in between.
            let _ = kill_process(process, Signal::TERM);
        }
        wait_until(
            &format!("process {pid} of an earlier demo has ended"),
            STOP_TIME,
            || Ok(!is_ours(pid)),
        )?;
    }
    Ok(())
}

/// Whether a process is a server or gate on this folder: ids are used again by others.
fn is_ours(pid: i32) -> bool {
    let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else {
        return false;
    };
    let words: Vec<_> = line
        .split(|byte| *byte == 0)
        .map(String::from_utf8_lossy)
        .collect();
    let is_program = words.first().is_some_and(|program| {
        let name = std::path::Path::new(&**program).file_name();
        name.is_some_and(|name| name == SERVER || name == GATE)
    });
    let here = fs::read_link(format!("/proc/{pid}/cwd")).ok() == std::env::current_dir().ok();
    is_program && here && words.iter().any(|word| word.starts_with(PATH))
}
