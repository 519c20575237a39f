//! The disk's own time for what every check-in waits for: 4 KiB, written and made durable.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

/// A page of SQLite.
const PAGE: usize = 4096;
/// Pages written in turns, over and over: a file that does not grow, as a write-ahead log.
const PAGES: u64 = 256;

/// A file to ask the disk with.
#[derive(Debug)]
pub struct Probe {
    file: File,
    turn: u64,
}

impl Probe {
    /// A probe in a folder, whose disk is meant.
    pub fn new(folder: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .open(folder.join("probe"))?;
        file.write_all_at(&vec![0; PAGE * PAGES as usize], 0)?;
        file.sync_all()?;
        Ok(Self { file, turn: 0 })
    }

    /// Writes 4 KiB and makes them durable with `fdatasync`. Returns how long it took.
    pub fn ask(&mut self) -> Result<Duration> {
        self.turn += 1;
        let page = [self.turn as u8; PAGE];
        let started = Instant::now();
        self.file
            .write_all_at(&page, (self.turn % PAGES) * PAGE as u64)?;
        self.file.sync_data()?;
        Ok(started.elapsed())
    }
}
