//! `--keep`: server and gates run on without this program, and a person can go on scanning.

use anyhow::{Context, Result};
use stile_core::codes::Format;

use crate::folder;
use crate::paper::padded;
use crate::stage::{At, Stage};

/// How long the fresh codes are good, in seconds: the longest that a v1 code may be.
const TTL_S: u32 = 7_200;

/// Starts everything once more, detached, at the addresses that the gates know.
pub fn leave_running(mut stage: Stage<'_>) -> Result<()> {
    stage.paper.heading("Left running");
    let one = |ticket: &stile_tests::booking::Order| ticket.admits == 1;
    let ticket = stage.ticket_that(At::Turnstile, None, "for one", one)?;
    let minted = stage
        .museum
        .api
        .mint(&ticket.ticket_id, Format::V1, Some(TTL_S))?;
    let code = minted.code.context("the server gave no code")?;
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
    let mut lines = Vec::new();
    for gate in [&entrance, &turnstile] {
        let (pid, scanner, out) = gate.start_detached()?;
        pids.push(pid);
        lines.push((gate.name().to_owned(), scanner, out));
    }
    let stop = folder::note(&pids)?;
    let url = server.url();
    paper.line(&format!("{}  {url}", padded("server", 13)));
    paper.line(&format!(
        "{}  {}",
        padded("its API key", 13),
        museum.api.key()
    ));
    for (name, scanner, out) in &lines {
        paper.line(&format!(
            "{}  scanner tcp:{scanner}, its words in {}",
            padded(name, 13),
            out.display()
        ));
    }
    let (_, scanner, out) = lines.last().context("no gate is left running")?;
    println!(
        "\nA fresh code of {}, good for two hours:\n",
        ticket.holder_name
    );
    println!("  {code}\n");
    println!(
        "Scan it at {} and see what the gate says:\n",
        turnstile.name()
    );
    println!(
        "  bash -c 'echo \"{code}\" > /dev/tcp/{}/{}; sleep 0.5; tail -n 1 {}'\n",
        scanner.ip(),
        scanner.port(),
        out.display()
    );
    println!("The same code again is a repeat within three seconds, and used later.\n");
    println!("Pull the log as the booking system does:\n");
    println!(
        "  curl -H 'authorization: Bearer {}' '{url}/v1/records?limit=3'\n",
        museum.api.key()
    );
    println!("End everything with:\n");
    println!("  {stop}");
    Ok(())
}
