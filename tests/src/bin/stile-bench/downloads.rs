//! The whole log as a file, in lines of JSON and in CSV, against reading the same rows and writing
//! them as JSON; and what memory the server takes for it.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::value::RawValue;
use stile_tests::museum::{TURNSTILE, VENUE};

use crate::figures::Figures;
use crate::footprint::peak_mib;
use crate::place::Place;
use crate::uploads::Prepared;

/// Records that a device makes; the rest of the log are copies of their rows.
const MADE: usize = 10_000;
/// Longest time for a download.
const PATIENCE: Duration = Duration::from_secs(1_800);
/// How much more the server may take for a whole log than for its beginning, in MiB, and count as
/// flat.
const FLAT_MIB: f64 = 16.0;

/// A row as it is written.
#[derive(Serialize)]
struct Line {
    received_at: i64,
    standing: Option<String>,
    after_cancel: bool,
    taken_back: bool,
    late_after_final: bool,
    record: Box<RawValue>,
}

/// Fills a log, and takes it.
pub fn measure(records: usize, figures: &mut Figures) -> Result<()> {
    let mut place = Place::set_up(2 * MADE)?;
    let device = place.device(TURNSTILE)?;
    Prepared::new(&place, &device, MADE)?.send()?;
    place.museum.server.stop()?;
    let database = place.museum.server.data().join("server.db");
    fill(&database, records)?;
    let bare = by_hand(&database, records)?;
    figures.beside(
        "reading a log's rows and writing them as JSON, one thread, no network",
        format!("{bare:.0} records/s"),
    );
    for (name, accept) in [
        ("lines of JSON", "application/x-ndjson"),
        ("CSV", "text/csv"),
    ] {
        place.museum.server.start()?;
        let pid = place.museum.server.pid().context("a server that runs")?;
        take(&place, accept, Some(MADE))?;
        let few = peak_mib(pid)?;
        let started = Instant::now();
        let lines = take(&place, accept, None)?;
        let rate = records as f64 / started.elapsed().as_secs_f64();
        // With a head, or a line at the end.
        ensure!(lines == records + 1, "{lines} lines of {records} records");
        let many = peak_mib(pid)?;
        place.museum.server.stop()?;
        let ratio = rate / bare;
        figures.goal(
            &format!("log of {records} records as {name} over HTTP"),
            format!("{rate:.0} records/s, {ratio:.2} × reading and writing alone"),
            "≥ 0.8 ×",
            ratio >= 0.8,
        );
        figures.goal(
            &format!("server's peak for {MADE} and {records} records as {name}"),
            format!("{few:.0} and {many:.0} MiB"),
            "flat",
            many - few <= FLAT_MIB,
        );
    }
    Ok(())
}

/// Copies the rows of a log until there are so many.
fn fill(database: &Path, records: usize) -> Result<()> {
    let log = Connection::open(database)?;
    let copies = records / MADE;
    log.execute_batch(&format!(
        "BEGIN;
         WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < {copies})
         INSERT INTO records (place, received_at, check_in, standing, record, number, service_day,
                              checkpoint, after_cancel, taken_back, of_ticket, undoes,
                              late_after_final)
         SELECT place + n * {MADE}, received_at, check_in, standing, record, number, service_day,
                checkpoint, after_cancel, taken_back, of_ticket, undoes, late_after_final
           FROM n CROSS JOIN records WHERE (place & ((1 << 47) - 1)) <= {MADE};
         UPDATE positions SET last = {records};
         COMMIT;"
    ))?;
    let there: usize = log.query_row("SELECT count(*) FROM records", [], |row| row.get(0))?;
    ensure!(
        there == records,
        "{there} records where there should be {records}"
    );
    Ok(())
}

/// Records a second, read and written as JSON by one thread.
fn by_hand(database: &Path, records: usize) -> Result<f64> {
    let log = Connection::open(database)?;
    let mut select = log.prepare(
        "SELECT received_at, standing, after_cancel, taken_back, late_after_final, record
         FROM records ORDER BY place",
    )?;
    let started = Instant::now();
    let mut out = io::BufWriter::new(io::sink());
    let mut rows = select.query([])?;
    let mut written = 0;
    while let Some(row) = rows.next()? {
        let line = Line {
            received_at: row.get(0)?,
            standing: row.get(1)?,
            after_cancel: row.get(2)?,
            taken_back: row.get(3)?,
            late_after_final: row.get(4)?,
            record: RawValue::from_string(String::from_utf8(row.get(5)?)?)?,
        };
        serde_json::to_writer(&mut out, &line)?;
        out.write_all(b"\n")?;
        written += 1;
    }
    ensure!(written == records, "{written} records were read");
    Ok(records as f64 / started.elapsed().as_secs_f64())
}

/// Takes the log, or its beginning, and says how many lines it has.
fn take(place: &Place, accept: &str, limit: Option<usize>) -> Result<usize> {
    let api = &place.museum.api;
    let request = api
        .http()
        .get(format!("{}/v1/records", place.museum.server.url()))
        .query(&[("venue", VENUE)])
        .query(&limit.map(|limit| [("limit", limit)]))
        .bearer_auth(api.key())
        .header("accept", accept)
        .timeout(PATIENCE);
    let mut answer = request.send()?.error_for_status()?;
    let (mut lines, mut buffer) = (0, vec![0; 256 * 1024]);
    loop {
        match answer.read(&mut buffer)? {
            0 => return Ok(lines),
            length => {
                let ends = buffer[..length].iter().filter(|byte| **byte == b'\n');
                lines += ends.count();
            }
        }
    }
}
