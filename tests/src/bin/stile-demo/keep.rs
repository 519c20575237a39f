//! `--keep`: server and gates run on without this program, and a person can go on scanning.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use jiff::Timestamp;
use stile_core::codes::Format;
use stile_tests::booking::Order;

use crate::folder;
use crate::paper::{Paper, padded};
use crate::stage::{At, Stage};

/// How long the fresh code is good, in seconds: the longest that a v1 code may be.
const TTL_S: u32 = 7_200;

/// What runs on.
struct LeftRunning {
    url: String,
    key: String,
    /// Each gate's id, scanner line and file of verdicts.
    gates: Vec<(String, SocketAddr, PathBuf)>,
    stop: String,
}

/// Starts everything once more, detached, at the addresses that the gates know.
pub fn leave_running(mut stage: Stage<'_>) -> Result<()> {
    stage.paper.heading("Left running");
    let day = stage.day;
    let fits =
        |ticket: &Order| ticket.admits == 1 && ticket.session_id == day.timetable.busy().session_id;
    let ticket = stage.ticket_that(At::Turnstile, None, "for one", fits)?;
    let api = stage.museum.api.clone();
    let minted = api.mint(&ticket.ticket_id, Format::V1, Some(TTL_S))?;
    let code = minted.code.context("the server gave no code")?;
    let (_, until) = day.window(ticket).context("a ticket without a session")?;
    let until = day
        .timetable
        .zone
        .to_datetime(Timestamp::from_second(until.0)?);

    let Stage {
        paper,
        museum,
        gates,
        ..
    } = stage;
    let [mut entrance, mut turnstile] = gates;
    entrance.stop()?;
    turnstile.stop()?;
    let mut server = museum.server;
    server.stop()?;
    // The gates were enrolled at the network's address, which ends with this program.
    let address = museum.network.address();
    drop(museum.network);
    let mut pids = vec![server.start_detached(address)?];
    let mut stop = folder::note(&pids)?;
    let mut gates = Vec::new();
    for gate in [&entrance, &turnstile] {
        let (pid, scanner, out) = gate.start_detached()?;
        pids.push(pid);
        stop = folder::note(&pids)?;
        gates.push((gate.name().to_owned(), scanner, out));
    }
    let left = LeftRunning {
        url: server.url(),
        key: api.key().to_owned(),
        gates,
        stop,
    };
    let good = format!(
        "A fresh code of {}, whose session admits until {} ({}):",
        ticket.holder_name,
        until.strftime("%H:%M"),
        stile_tests::museum::TIME_ZONE
    );
    tell(&paper, &left, &good, &code)
}

fn tell(paper: &Paper, left: &LeftRunning, good: &str, code: &str) -> Result<()> {
    let LeftRunning { url, key, .. } = left;
    paper.line(&format!("{}  {url}", padded("server", 13)));
    paper.line(&format!("{}  {key}", padded("its API key", 13)));
    for (name, scanner, out) in &left.gates {
        paper.line(&format!(
            "{}  scanner tcp:{scanner}, its words in {}",
            padded(name, 13),
            out.display()
        ));
    }
    let (name, scanner, out) = left.gates.last().context("no gate is left running")?;
    println!("\n{good}\n\n  {code}\n");
    println!("Scan it at {name} and see what the gate says:\n");
    println!(
        "  bash -c 'echo \"{code}\" > /dev/tcp/{}/{}; sleep 0.5; tail -n 1 {}'\n",
        scanner.ip(),
        scanner.port(),
        out.display()
    );
    println!("The same code again is a repeat within three seconds, and used later.\n");
    println!("Pull the log as the booking system does:\n");
    println!("  curl -H 'authorization: Bearer {key}' '{url}/v1/records?limit=3'\n");
    println!("End everything with:\n\n  {}", left.stop);
    Ok(())
}
