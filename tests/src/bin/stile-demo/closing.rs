//! What the back end pulls, the table that it all comes down to, and the comparison.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use jiff::Timestamp;
use stile_core::protocol::RecordStanding;
use stile_core::reason::Reason;
use stile_core::record::Answer;
use stile_tests::api::Stream;
use stile_tests::comparison::Comparison;
use stile_tests::gate::{Gate, Said};
use stile_tests::journal;
use stile_tests::museum::ENTRANCE;

use crate::outage::Offline;
use crate::paper::{Ink, padded};
use crate::stage::Stage;

/// Records of one pull.
const PULL: usize = 500;

/// Reasons that this set-up cannot produce truthfully, and why.
const NOT_SHOWN: [(Reason, &str); 4] = [
    (
        Reason::WrongVenue,
        "needs a sister museum named in the key manifest, which no command does yet",
    ),
    (
        Reason::ClockUntrusted,
        "needs a gate that was rebooted without a network and with a wrong clock",
    ),
    (
        Reason::UnverifiableOffline,
        "needs v1 codes signed with a booking system's shared key, not taken yet",
    ),
    (
        Reason::Superseded,
        "needs a ticket that was issued again, which the API does not do yet",
    ),
];

/// Pulls, compares, prints. Returns whether nothing was lost and nothing doubled.
pub fn close(stage: &mut Stage<'_>, offline: &Offline, started: Instant) -> Result<bool> {
    stage.paper.heading("The booking system pulls the log");
    let (log, pieces) = stage.museum.api.pull_all(Stream::Records, PULL)?;
    stage.paper.detail(&format!(
        "GET /v1/records?after=<cursor>&limit={PULL}: {} records in {pieces} pieces",
        log.len()
    ));
    let (check_ins, _) = stage.museum.api.pull_all(Stream::CheckIns, PULL)?;
    stage.paper.detail(&format!(
        "GET /v1/check-ins: {} admissions",
        check_ins.len()
    ));
    let conflicts = conflicts(stage)?;

    let gates: Vec<&Gate> = stage.gates.iter().chain([&stage.spare]).collect();
    let journals = gates
        .iter()
        .map(|gate| journal::read(gate.data()))
        .collect::<Result<Vec<_>>>()?;
    let said: Vec<&[Said]> = gates.iter().map(|gate| gate.heard.as_slice()).collect();
    let found = Comparison::of(&journals, &said, &log)?;

    stage.paper.heading("Closing table");
    table(stage, &said, &check_ins, &log, conflicts);
    figures(stage, offline);
    not_shown(stage)?;
    stage.paper.detail(&format!(
        "{} records in the gates' journals, {} in the pulled log, compared byte by byte; the demo \
         took {} s",
        found.journalled,
        found.pulled,
        started.elapsed().as_secs()
    ));
    let ink = if found.is_whole() {
        Ink::Admit
    } else {
        Ink::Refuse
    };
    println!("\n{}", stage.paper.ink(ink, &found.to_string()));
    Ok(found.is_whole())
}

/// Prints the conflicts; there must be one, which the entrance has won.
fn conflicts(stage: &Stage<'_>) -> Result<usize> {
    let conflicts = stage.museum.api.conflicts()?.conflicts;
    let [conflict] = conflicts.as_slice() else {
        bail!(
            "{} conflicts, and one ticket was admitted twice",
            conflicts.len()
        );
    };
    stage.paper.detail(&format!(
        "GET /v1/conflicts: 1; ticket {}:",
        conflict.ticket_id
    ));
    let mut winner = None;
    for admission in &conflict.admissions {
        let zone = &stage.day.timetable.zone;
        let at = zone.to_datetime(Timestamp::from_millisecond(admission.at.0)?);
        let standing = match admission.standing {
            RecordStanding::Winner => {
                winner = Some(admission.gate_id.as_str());
                "fitted"
            }
            RecordStanding::Loser => "one too many",
        };
        let at = at.strftime("%H:%M:%S%.3f");
        stage
            .paper
            .detail(&format!("    {at} at {}: {standing}", admission.gate_id));
    }
    ensure!(
        winner == Some(ENTRANCE.id),
        "the conflict was won by {winner:?}"
    );
    Ok(conflicts.len())
}

fn table(
    stage: &Stage<'_>,
    said: &[&[Said]],
    check_ins: &[stile_core::protocol::PulledRecord],
    log: &[stile_core::protocol::PulledRecord],
    conflicts: usize,
) {
    let row = |what: &str, count: &dyn std::fmt::Display, source: &str| {
        println!("  {}{:>9}   {source}", padded(what, 32), count.to_string());
    };
    let all: Vec<&Said> = said.iter().copied().flatten().collect();
    let count = |fits: fn(&Said) -> bool| all.iter().filter(|said| fits(said)).count();
    let mut refused: BTreeMap<Reason, usize> = BTreeMap::new();
    for reason in log.iter().filter_map(reason_of) {
        *refused.entry(reason).or_default() += 1;
    }
    row("readings", &all.len(), "heard from the gates");
    row(
        "  of them repeats",
        &count(|said| said.repeat),
        "heard from the gates",
    );
    row(
        "  without a record",
        &count(|said| said.record_id.is_none() && !said.repeat),
        "storage full, gate shut",
    );
    row("scans", &log.len(), "in the pulled log");
    row("admitted", &check_ins.len(), "in the pulled check-ins");
    row(
        "refused",
        &refused.values().sum::<usize>(),
        "in the pulled log",
    );
    for (reason, count) in &refused {
        row(&format!("  {reason}"), count, "");
    }
    let uploads = stage.museum.network.uploads();
    row("uploaded", &uploads.accepted, "the server's own answers");
    row("replayed", &uploads.replayed, "the server's own answers");
    row(
        "set aside",
        &uploads.quarantined,
        "the server's own answers",
    );
    row("conflicts", &conflicts, "GET /v1/conflicts");
    row(
        "QR pictures drawn and read",
        &stage.pictures.drawn(),
        "and one more for each reading offline",
    );
}

/// Why a record refused, if it did.
fn reason_of(pulled: &stile_core::protocol::PulledRecord) -> Option<Reason> {
    #[derive(serde::Deserialize)]
    struct Head {
        verdict: Answer,
        reason: Option<Reason>,
    }
    let head: Head = serde_json::from_str(pulled.record.get()).ok()?;
    head.reason.filter(|_| head.verdict == Answer::Refuse)
}

fn figures(stage: &Stage<'_>, offline: &Offline) {
    println!();
    let row = |what: &str, samples: &[Duration]| {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        let at = |share: usize| {
            sorted.get((sorted.len() * share / 100).min(sorted.len().saturating_sub(1)))
        };
        let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
        println!(
            "  {}p50 {:>7.2} ms   p99 {:>7.2} ms   ({} samples)",
            padded(what, 52),
            ms(at(50)),
            ms(at(99)),
            samples.len()
        );
    };
    row(
        "line at the scanner to the relay's command",
        &offline.line_to_relay,
    );
    row(
        "fdatasync of 4 KiB, same disk, before and after",
        &offline.disk,
    );
    stage.paper.remark(
        "A gate opens once the check-in is durable, so no admission can be faster than the disk.",
    );
    println!();
}

/// Each reason was shown, or it is said why not.
fn not_shown(stage: &Stage<'_>) -> Result<()> {
    let shown = |reason: Reason| stage.shown.contains(&reason.name());
    let all = Reason::ALL.iter();
    let count = all.clone().filter(|reason| shown(**reason)).count();
    stage.paper.detail(&format!(
        "{count} of {} reasons were shown. Not these:",
        Reason::ALL.len()
    ));
    for reason in all.filter(|reason| !shown(**reason)) {
        let why = NOT_SHOWN.iter().find(|(not_shown, _)| not_shown == reason);
        let Some((_, why)) = why else {
            bail!("{reason} was to be shown and was not");
        };
        stage
            .paper
            .detail(&format!("    {}  {why}", padded(reason.name(), 20)));
    }
    Ok(())
}
