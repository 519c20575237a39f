//! Whole scans, durable when they return, beside the disk's own time for 4 KiB.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use stile_core::codes::Format;
use stile_core::device::Device;

use crate::figures::{Figures, Samples, time};
use crate::lists::stream;
use crate::place::Place;

/// Scans to time.
pub const SCANS: usize = 2_000;
/// The disk is asked for one page, as SQLite's are.
const PAGE: usize = 4096;
/// Pages that are written in turns, over and over: a file that does not grow.
const PAGES: u64 = 256;
/// Scans while lists are applied, as far apart as a fast queue's readings.
pub const STALL_SCANS: usize = 3_000;
const STALL_PAUSE: Duration = Duration::from_millis(1);

/// A file to ask the disk with.
struct Probe {
    file: File,
    turn: u64,
}

impl Probe {
    fn new(place: &Place) -> Result<Self> {
        let path = place.path("probe");
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .open(path)?;
        file.write_all_at(&vec![0; PAGE * PAGES as usize], 0)?;
        file.sync_all()?;
        Ok(Self { file, turn: 0 })
    }

    fn ask(&mut self) -> Result<Duration> {
        self.turn += 1;
        let page = [self.turn as u8; PAGE];
        let started = Instant::now();
        self.file
            .write_all_at(&page, (self.turn % PAGES) * PAGE as u64)?;
        self.file.sync_data()?;
        Ok(started.elapsed())
    }
}

/// A scan and the disk in turns.
pub fn durable(place: &Place, device: &Device, figures: &mut Figures) -> Result<()> {
    let mut probe = Probe::new(place)?;
    let (mut scans, mut disk) = (Samples::default(), Samples::default());
    for code in place.codes(&place.good(0, SCANS)?, Format::V1)? {
        disk.add(probe.ask()?);
        let started = Instant::now();
        let outcome = device.scan(code.as_bytes());
        scans.add(started.elapsed());
        anyhow::ensure!(outcome.record_id.is_some(), "a scan that was not kept");
    }
    let ratio = |share| scans.quantile(share).as_secs_f64() / disk.quantile(share).as_secs_f64();
    let measured = format!(
        "{} ({:.2} × and {:.2} × the disk)",
        scans.summary(),
        ratio(0.5),
        ratio(0.99)
    );
    let met = ratio(0.5) <= 1.15 && ratio(0.99) <= 1.4;
    figures.goal(
        "durable scan",
        measured,
        "p50 ≤ 1.15 ×, p99 ≤ 1.4 × one fdatasync",
        met,
    );
    figures.beside("fdatasync of 4 KiB", disk.summary());
    Ok(())
}

/// Scans while the day's list is applied again and again.
pub fn while_a_list_is_applied(
    place: &Place,
    device: &Device,
    figures: &mut Figures,
) -> Result<()> {
    let mut bytes = Vec::new();
    stream(place, device, |some| {
        bytes.extend_from_slice(some);
        Ok(())
    })?;
    let day = place.day.timetable.service_day()?;
    let codes = place.codes(&place.good(SCANS, STALL_SCANS)?, Format::V1)?;
    let done = AtomicBool::new(false);
    let (scans, applied) = std::thread::scope(|scope| -> Result<_> {
        let lists = scope.spawn(|| -> Result<u32> {
            let mut applied = 0;
            while !done.load(Ordering::Relaxed) {
                let mut list = device.begin_list(day.clone());
                for some in bytes.chunks(64 * 1024) {
                    list.feed(some)?;
                }
                list.finish()?;
                applied += 1;
            }
            Ok(applied)
        });
        let mut scans = Samples::default();
        for code in &codes {
            std::thread::sleep(STALL_PAUSE);
            let started = Instant::now();
            device.scan(code.as_bytes());
            scans.add(started.elapsed());
        }
        done.store(true, Ordering::Relaxed);
        Ok((
            scans,
            lists
                .join()
                .map_err(|_| anyhow::anyhow!("the lists' thread"))??,
        ))
    })?;
    let worst = scans.quantile(0.999);
    let what = format!("durable scan while the list is applied {applied} times");
    let measured = format!("{}, p99.9 {}", scans.summary(), time(worst));
    figures.goal(
        &what,
        measured,
        "p99.9 ≤ 6 ms",
        worst <= Duration::from_millis(6),
    );
    Ok(())
}
