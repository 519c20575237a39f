//! The server is gone: both gates go on, one is killed in mid-work, both admit one ticket. Then
//! it comes back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use stile_core::codes::Format;
use stile_core::record::Answer;
use stile_tests::disk::Probe;
use stile_tests::gate::Gate;
use stile_tests::journal;
use stile_tests::museum::{ENTRANCE, TURNSTILE, wait_until_drained};
use stile_tests::network::{Fault, Uploads};

use crate::crowd::Crowd;
use crate::pictures::Pictures;
use crate::stage::{At, Stage};

/// Readings at each gate, if the file has tickets enough: some hours of a busy gate.
const READINGS: usize = 1_200;
/// Of the tickets in the file, so many per reading at one gate are needed.
const TICKETS_PER_READING: usize = 20;
/// How often the disk is asked beside the gates: seldom enough not to be their load.
const DISK_PAUSE: Duration = Duration::from_millis(20);

/// The way from one gate to the other.
const WALK: Duration = Duration::from_millis(500);

/// What was measured while the server was gone.
pub struct Offline {
    /// From the line's end to the return of the relay's open command, per admission.
    pub line_to_relay: Vec<Duration>,
    /// The disk's own time for 4 KiB, meanwhile.
    pub disk: Vec<Duration>,
    /// Pictures that were drawn and read.
    pub pictures: usize,
}

/// The server is stopped.
pub fn server_gone(stage: &mut Stage<'_>) -> Result<Offline> {
    stage
        .paper
        .heading("The server is gone, and both gates go on");
    let readings = READINGS.min(stage.day.tickets.len() / TICKETS_PER_READING);
    let mut crowd = |plan, seed| {
        let (api, tickets) = (&stage.museum.api, &mut stage.tickets);
        Crowd::gather(api, stage.day, tickets, plan, readings, seed)
    };
    let (mut at_entrance, mut at_turnstile) = (crowd(ENTRANCE, 11)?, crowd(TURNSTILE, 12)?);
    let shared = stage.ticket_that(At::Turnstile, None, "for one", |ticket| ticket.admits == 1)?;
    let shared = stage.mint(shared, Format::V1)?;

    stage.museum.server.stop()?;
    stage.paper.say(&format!(
        "stile-server is stopped. Two crowds of {readings} visitors pass the two gates at the same \
         time: mostly good tickets of all four formats, tickets shown again, and any others of the \
         file. Each code is drawn and read by zbarimg first, rotating ones as the visitor's app \
         shows them at that moment."
    ));
    let folder = stage.museum.folder.join("qr");
    let mut pictures = [
        Pictures::new(folder.join("entrance"))?,
        Pictures::new(folder.join("turnstile"))?,
    ];
    let [entrance, turnstile] = &mut stage.gates;
    let heard = [entrance.heard.len(), turnstile.heard.len()];
    let started = Instant::now();
    let mut probe = Probe::new(&stage.museum.folder)?;
    let over = AtomicBool::new(false);
    let [of_entrance, of_turnstile] = &mut pictures;
    let (told, disk) = thread::scope(|scope| -> Result<_> {
        let disk = scope.spawn(|| ask_until(&over, &mut probe));
        let first = scope.spawn(|| at_entrance.walk(entrance, of_entrance, 0..at_entrance.len()));
        let told = with_a_power_cut(turnstile, &mut at_turnstile, of_turnstile);
        let first = first.join();
        over.store(true, Ordering::Relaxed);
        let disk = disk
            .join()
            .map_err(|_| anyhow!("the disk's thread has panicked"))??;
        first.map_err(|_| anyhow!("the first gate's thread has panicked"))??;
        Ok((told?, disk))
    })?;
    let took = started.elapsed();
    for line in told {
        stage.paper.detail(&line);
    }
    let said = stage
        .gates
        .iter()
        .zip(heard)
        .flat_map(|(gate, from)| &gate.heard[from..]);
    let (mut admitted, mut refused) = (0, 0);
    let mut line_to_relay = Vec::new();
    for one in said {
        match one.verdict {
            Answer::Admit => admitted += 1,
            Answer::Refuse => refused += 1,
        }
        line_to_relay.extend(one.line_to_relay_us.map(Duration::from_micros));
    }
    stage.paper.detail(&format!(
        "{} readings in {:.0} s, drawing and reading the pictures included: {admitted} admitted, \
         {refused} refused, each as the booking file says",
        admitted + refused,
        took.as_secs_f64(),
    ));
    both_admit(stage, &shared)?;
    for gate in &stage.gates {
        let status = gate.status()?;
        stage.paper.detail(&format!(
            "{}: {} records in its journal, {} of them wait for the server",
            gate.name(),
            status.records,
            status.unsent
        ));
    }
    let pictures = pictures.iter().map(Pictures::drawn).sum();
    Ok(Offline {
        line_to_relay,
        disk,
        pictures,
    })
}

/// The crowd at the turnstile, which loses its power in the middle, with a reading under way.
fn with_a_power_cut(
    gate: &mut Gate,
    crowd: &mut Crowd<'_>,
    pictures: &mut Pictures,
) -> Result<Vec<String>> {
    let middle = crowd.len() * 6 / 10;
    crowd.walk(gate, pictures, 0..middle)?;
    let before = gate.heard.len();
    let caught = crowd.put_on_the_line(gate, pictures, middle)?;
    let micros = ChaCha8Rng::seed_from_u64(std::process::id().into()).random_range(0..4_000);
    thread::sleep(Duration::from_micros(micros));
    gate.kill()?;
    let kept = journal::read(gate.data())?;
    let heard: Vec<_> = gate
        .heard
        .iter()
        .filter_map(|said| said.record_id)
        .collect();
    let last: Last = serde_json::from_str(&kept.last().context("an empty journal")?.record)?;
    // What it said before the kill names its record; a record that nobody heard of is the one
    // that was under way.
    let was_written = gate.heard.len() > before || !heard.contains(&last.id);
    crowd.settle(&caught, was_written && last.verdict == Answer::Admit);
    gate.start()?;
    let said = crowd.come_again(gate, &caught)?;
    crowd.walk(gate, pictures, middle + 1..crowd.len())?;
    Ok(vec![
        format!(
            "{} was ended by SIGKILL with a reading under way, and started again;",
            gate.name()
        ),
        match was_written {
            true => {
                "that reading had been written down before the power went: the same code again is"
                    .into()
            }
            false => {
                "that reading had not been written down, and the gate had stayed shut: it is now"
                    .to_owned()
            }
        } + &format!(" {}", said.outcome()),
        "it still has its list and knows whom it has admitted: the crowd's answers stay right"
            .into(),
    ])
}

/// What the journal's last record says.
#[derive(serde::Deserialize)]
struct Last {
    id: stile_core::ids::RecordId,
    verdict: Answer,
}

fn ask_until(over: &AtomicBool, probe: &mut Probe) -> Result<Vec<Duration>> {
    let mut samples = Vec::new();
    while !over.load(Ordering::Relaxed) {
        samples.push(probe.ask()?);
        thread::sleep(DISK_PAUSE);
    }
    Ok(samples)
}

/// One ticket at both gates, neither of which can know of the other.
fn both_admit(stage: &mut Stage<'_>, code: &str) -> Result<()> {
    let read = stage.pictures.through(&[code])?;
    for at in [At::Entrance, At::Turnstile] {
        thread::sleep(WALK);
        let said = stage.gate(at).scan(&read[0])?;
        ensure!(said.opens, "{} answered {}", at.plan().id, said.outcome());
    }
    stage
        .paper
        .detail("one ticket for one person was shown at the main entrance and then at the turnstile: neither can know of the other, both admitted it");
    Ok(())
}

/// The server is started again.
pub fn server_back(stage: &mut Stage<'_>) -> Result<()> {
    stage.paper.heading("The server is back");
    stage.paper.say(
        "It starts on the same data. The line is bad at first: it breaks three times just after \
         the server has stored a batch, before the gate hears of it. The gates send those again, \
         and the server knows each record by its id.",
    );
    stage.museum.network.on_uploads(&[Fault::LoseAnswer; 3]);
    let before = stage.museum.network.uploads();
    let started = Instant::now();
    stage.museum.server.start()?;
    wait_until_drained(&[&stage.gates[0], &stage.gates[1]])?;
    let after = stage.museum.network.uploads();
    let Uploads {
        accepted, replayed, ..
    } = after;
    stage.paper.detail(&format!(
        "both outboxes are empty {:.1} s after the server's start; the server says: {} stored, \
         {} stored before",
        started.elapsed().as_secs_f64(),
        accepted - before.accepted,
        replayed - before.replayed,
    ));
    ensure!(replayed > before.replayed, "no batch was sent twice");
    ensure!(
        after.quarantined == 0,
        "{} records were set aside",
        after.quarantined
    );
    Ok(())
}
