//! A gate whose storage takes 20 ms to be sure of anything: from a line at the scanner to the
//! relay's command, with the server well, slow, hanging and gone, and while a list is applied.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use stile_core::codes::Format;
use stile_core::policy::CLAIM_DEADLINE_UNATTENDED_MS;
use stile_tests::gate::{GATE, Gate};
use stile_tests::museum::{SPARE, wait_for_today};
use stile_tests::network::Fault;
use stile_tests::programs::program;

use crate::figures::{Figures, Samples};
use crate::place::Place;
use crate::relay;
use crate::scans::{SCANS, STALL_SCANS};

/// What one wait for the disk takes beyond the machine's own, in ms; slow_sync.c has it too.
const SYNC_MS: u64 = 20;
/// What a scan may take beyond that, and beyond the deadline of a claim, in ms.
const BEYOND_MS: u64 = 10;
/// Readings in each state of the server: the second worst of them is the p99.
const READINGS: usize = 100;
/// Between two readings: the record of the opening, on disk, lies between them.
const PAUSE: Duration = Duration::from_millis(60);
/// A server that is too slow for any claim.
const TOO_LATE: Duration = Duration::from_secs(2);

/// Measures each state in turn.
pub fn measure(place: &mut Place, figures: &mut Figures) -> Result<()> {
    let shim = build_shim(&place.path("slow_sync.so"))?;
    let mut gate = place.museum.enrol(SPARE)?;
    let mut command = Command::new(program(GATE)?);
    command.env("LD_PRELOAD", shim);
    gate.start_as(command)?;
    wait_for_today(&gate, &place.day.timetable)?;
    let skipped = SCANS + STALL_SCANS + relay::READINGS;
    let tickets = place.good(skipped, 5 * READINGS)?;
    let codes = place.codes(&tickets, Format::G2)?;
    let mut rounds = codes.chunks(READINGS);
    let mut round = || rounds.next().context("codes for every round");

    let deadline_ms = u64::from(CLAIM_DEADLINE_UNATTENDED_MS.1);
    let with_claim = Duration::from_millis(deadline_ms + SYNC_MS + BEYOND_MS);
    let without = Duration::from_millis(SYNC_MS + BEYOND_MS);

    scan(&mut gate, round()?, "server well", with_claim, figures)?;

    let network = &place.museum.network;
    network.plan(|path, _| (path == "/v1/gate/claims").then_some(Fault::Late(TOO_LATE)));
    scan(
        &mut gate,
        round()?,
        "claims answered too late",
        with_claim,
        figures,
    )?;
    network.mend();

    let done = AtomicBool::new(false);
    std::thread::scope(|scope| -> Result<()> {
        let changes = scope.spawn(|| -> Result<()> {
            let mut night = place.day.timetable.night.clone();
            for turn in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                night.note = format!("change {turn}");
                place.museum.api.put_session(&night)?;
                std::thread::sleep(Duration::from_millis(500));
            }
            Ok(())
        });
        let measured = scan(
            &mut gate,
            round()?,
            "a list being applied",
            with_claim,
            figures,
        );
        done.store(true, Ordering::Relaxed);
        let changed = changes
            .join()
            .ok()
            .context("the thread that changes the list")?;
        measured.and(changed)
    })?;

    network.cut();
    // The gate finds out by its polls; until then it may still ask.
    gate.wait_for_event("offline", Duration::from_secs(120))?;
    scan(&mut gate, round()?, "server gone", without, figures)?;
    network.mend();
    gate.stop()
}

fn scan(
    gate: &mut Gate,
    codes: &[String],
    state: &str,
    goal: Duration,
    figures: &mut Figures,
) -> Result<()> {
    let mut samples = Samples::default();
    for code in codes {
        let said = gate.scan(code)?;
        let us = said
            .line_to_relay_us
            .context("a good ticket that did not open the gate")?;
        samples.add(Duration::from_micros(us));
        std::thread::sleep(PAUSE);
    }
    let worst = samples.quantile(0.99);
    figures.goal(
        &format!("line to relay, fsync + {SYNC_MS} ms, {state}"),
        samples.summary(),
        &format!("p99 ≤ {} ms", goal.as_millis()),
        worst <= goal,
    );
    Ok(())
}

/// Builds what slows the gate's disk down, with the C compiler that SQLite was built with.
fn build_shim(to: &Path) -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin/stile-bench/slow_sync.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .arg(to)
        .arg(&source)
        .status()
        .context("there is no C compiler: cc")?;
    ensure!(built.success(), "{} was not built", source.display());
    Ok(to.canonicalize()?)
}
