//! What the back end pulls, the table that it all comes down to, and the comparison.

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use jiff::Timestamp;
use stile_core::protocol::{RecordHead, RecordStanding};
use stile_core::reason::Reason;
use stile_tests::api::Stream;
use stile_tests::comparison::Comparison;
use stile_tests::gate::{Gate, Said};
use stile_tests::journal;
use stile_tests::museum::ENTRANCE;

use crate::outage::Offline;
use crate::paper::{Ink, padded};
use crate::stage::Stage;
use crate::table::{self, Table};

/// Records of one pull.
const PULL: usize = 500;

/// Reasons that this set-up cannot produce truthfully, and why.
const NOT_SHOWN: [(Reason, &str); 2] = [
    (
        Reason::ClockUntrusted,
        "a machine with a wrong clock would have to be rebooted offline",
    ),
    (
        Reason::UnverifiableOffline,
        "this museum's v1 codes have a key for each ticket",
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
    let heads = check_ins
        .iter()
        .map(|pulled| serde_json::from_str(pulled.record.get()));
    let heads = heads.collect::<Result<Vec<RecordHead>, _>>()?;
    let admissions = heads.iter().filter(|head| head.is_check_in()).count();
    stage.paper.detail(&format!(
        "GET /v1/check-ins: {admissions} admissions, {} taken back later",
        check_ins.len() - admissions
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
    let table = Table {
        said: &said,
        log: &log,
        check_ins: admissions,
        uploads: stage.museum.network.uploads(),
        conflicts,
        pictures: stage.pictures.drawn() + offline.pictures,
    };
    table.print()?;
    table::figures(offline);
    stage.paper.remark(
        "A gate opens once the check-in is durable, so no admission can be faster than the disk.",
    );
    println!();
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
            .line(&format!("  {}  {why}", padded(reason.name(), 20)));
    }
    Ok(())
}
