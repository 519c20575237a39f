//! A clock that a program goes by and a test sets: a file that the program looks into.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use stile_core::time::EpochMillis;

/// A machine has been up so long when its day's venue opens, in ms.
const UP_MS: i64 = 3_600_000;

/// A machine's clocks: the wall clock, which can be set wrong, and the time since boot, which
/// runs true.
#[derive(Debug)]
pub struct SetClock {
    path: PathBuf,
    booted_at: EpochMillis,
    true_time: EpochMillis,
    off_ms: i64,
}

impl SetClock {
    /// A machine's clocks in a file, at the true time.
    pub fn at(path: PathBuf, now: EpochMillis) -> Result<Self> {
        let clock = Self {
            path,
            booted_at: now.plus(-UP_MS),
            true_time: now,
            off_ms: 0,
        };
        clock.put()?;
        Ok(clock)
    }

    /// Moves the true time; it never runs backwards.
    pub fn move_to(&mut self, at: EpochMillis) -> Result<()> {
        self.true_time = self.true_time.max(at);
        self.put()
    }

    /// Sets the wall clock off the true time.
    pub fn set_wall_off(&mut self, off_ms: i64) -> Result<()> {
        self.off_ms = off_ms;
        self.put()
    }

    /// What the wall clock shows.
    pub fn wall(&self) -> EpochMillis {
        self.true_time.plus(self.off_ms)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn put(&self) -> Result<()> {
        let aside = self.path.with_extension("new");
        let boot_ms = self.true_time.since(self.booted_at);
        fs::write(&aside, format!("{} {boot_ms}", self.wall().0))?;
        Ok(fs::rename(aside, &self.path)?)
    }
}

/// What a program says in its log when it goes by such a clock.
const SAID: &str = "A TEST'S, not this machine's";

/// Makes sure by its log that a program goes by the test's clock.
pub fn goes_by_it(log: &Path) -> Result<()> {
    let said = fs::read_to_string(log).with_context(|| format!("{}", log.display()))?;
    ensure!(
        said.contains(SAID),
        "a program goes by the machine's clock; those for tests are built by: cargo build \
         --workspace --bins --features stile-turnstile/fault-points,stile-tests/fault-points"
    );
    Ok(())
}
