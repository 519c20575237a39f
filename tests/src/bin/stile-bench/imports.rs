//! Tickets as a booking system sends them, in one CSV file over HTTP, against reading the file and
//! putting the same rows into the same table; and what memory the server takes for it.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use stile_tests::api::Imported;
use stile_tests::booking::{BookingDay, Header};
use stile_tests::museum::{Museum, VENUE};

use crate::figures::{Figures, time};
use crate::footprint::peak_mib;

/// Longest time for an import.
const PATIENCE: Duration = Duration::from_secs(1_800);
/// Rows of a transaction, as the server takes them.
const ROWS: usize = 1_000;
/// How many of the tickets are imported first: by then the pages that the writer keeps in memory
/// (64 MiB) are all taken, and whatever grows afterwards grows with the file.
const FEW: usize = 3;
/// How much more the server may take for all of them, as a share, and count as flat.
const FLAT: f64 = 1.1;

/// Imports a third of the tickets, then all of them, each into a server of its own.
pub fn measure(tickets: usize, figures: &mut Figures) -> Result<()> {
    let few = import(tickets / FEW, figures)?;
    let many = import(tickets, figures)?;
    figures.goal(
        &format!(
            "server's peak while it imports {} and {tickets}",
            tickets / FEW
        ),
        format!("{few:.0} and {many:.0} MiB"),
        "flat",
        many <= FLAT * few,
    );
    Ok(())
}

/// Imports tickets, and says how much memory the server had at most, in MiB.
fn import(tickets: usize, figures: &mut Figures) -> Result<f64> {
    let folder = tempfile::tempdir_in(".").context("a folder to measure in")?;
    let mut museum = Museum::found(&folder.path().join("museum"))?;
    let day = BookingDay::generate(Museum::timetable()?, tickets, 1);
    museum.api.put_timetable(&day.timetable)?;
    let file = museum.export(&day, Header::English)?;
    drop(day);
    let started = Instant::now();
    let imported: Imported = museum
        .api
        .http()
        .post(format!("{}/v1/tickets", museum.server.url()))
        .query(&[("venue", VENUE)])
        .bearer_auth(museum.api.key())
        .header("content-type", "text/csv; charset=utf-8")
        .timeout(PATIENCE)
        .body(File::open(&file)?)
        .send()?
        .error_for_status()?
        .json()?;
    let took = started.elapsed();
    ensure!(imported.refused_count == 0, "{:?}", imported.refused);
    let peak = peak_mib(museum.server.pid().context("a server that runs")?)?;
    museum.server.stop()?;
    let database = museum.server.data().join("server.db");
    let bare = by_hand(&file, &database, &folder.path().join("bare.db"))?;
    let ratio = took.as_secs_f64() / bare.as_secs_f64();
    figures.goal(
        &format!("import of {tickets} tickets by CSV over HTTP"),
        format!(
            "{}, {ratio:.1} × reading the file and inserting the rows alone ({})",
            time(took),
            time(bare)
        ),
        "≤ 1.5 ×",
        ratio <= 1.5,
    );
    Ok(peak)
}

/// Reads the file and puts the rows that the server made of it into a table of the same schema, in
/// the order of the file, as durably as the server does.
fn by_hand(file: &Path, made: &Path, bare: &Path) -> Result<Duration> {
    let from = Connection::open(made)?;
    let mut select = from.prepare("SELECT ticket_id, * FROM tickets")?;
    let columns = select.column_count() - 1;
    let mut rows: HashMap<String, Vec<Value>> = HashMap::new();
    let mut found = select.query([])?;
    while let Some(row) = found.next()? {
        let values = (1..=columns).map(|column| row.get(column));
        rows.insert(row.get(0)?, values.collect::<rusqlite::Result<_>>()?);
    }
    let to = Connection::open(bare)?;
    to.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;
         PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 4000;",
    )?;
    let mut schema = from.prepare(
        "SELECT sql FROM sqlite_schema WHERE tbl_name = 'tickets' AND sql IS NOT NULL
         ORDER BY type DESC",
    )?;
    for statement in schema.query_map([], |row| row.get::<_, String>(0))? {
        to.execute_batch(&statement?)?;
    }
    let places = vec!["?"; columns].join(",");
    let mut insert = to.prepare(&format!("INSERT INTO tickets VALUES ({places})"))?;

    let started = Instant::now();
    let mut lines = csv::Reader::from_path(file)?;
    to.execute_batch("BEGIN IMMEDIATE")?;
    for (n, line) in lines.records().enumerate() {
        if n > 0 && n % ROWS == 0 {
            to.execute_batch("COMMIT; BEGIN IMMEDIATE")?;
        }
        let line = line?;
        let id = line.get(0).context("a line without a ticket")?;
        let row = rows.get(id).context("a ticket that the server has not")?;
        insert.execute(params_from_iter(row))?;
    }
    to.execute_batch("COMMIT")?;
    Ok(started.elapsed())
}
