//! The closing table, and the figures beside it.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use anyhow::{Result, ensure};
use stile_core::ids::RecordId;
use stile_core::protocol::PulledRecord;
use stile_core::reason::Reason;
use stile_core::record::Answer;
use stile_tests::gate::Said;
use stile_tests::network::Uploads;

use crate::outage::Offline;
use crate::paper::padded;

/// What the table is made of.
pub struct Table<'t> {
    /// What each gate said.
    pub said: &'t [&'t [Said]],
    /// The pulled log.
    pub log: &'t [PulledRecord],
    /// Admissions in the pulled check-ins.
    pub check_ins: usize,
    /// What the server said of records.
    pub uploads: Uploads,
    /// Conflicts.
    pub conflicts: usize,
    /// Pictures drawn and read.
    pub pictures: usize,
}

/// What the table reads of a record.
#[derive(serde::Deserialize)]
struct Head {
    id: RecordId,
    /// None of what only carries out an admission from before a crash.
    verdict: Option<Answer>,
    reason: Option<Reason>,
}

impl Table<'_> {
    /// Prints it. Its sums must come out.
    pub fn print(&self) -> Result<()> {
        let heads = self
            .log
            .iter()
            .map(|pulled| serde_json::from_str(pulled.record.get()));
        let heads: Vec<Head> = heads.collect::<Result<_, _>>()?;
        let all: Vec<&Said> = self.said.iter().copied().flatten().collect();
        let repeats = all.iter().filter(|said| said.repeat).count();
        let shut = all
            .iter()
            .filter(|said| said.record_id.is_none() && !said.repeat)
            .count();
        let heard: HashSet<RecordId> = all.iter().filter_map(|said| said.record_id).collect();
        let unheard = heads
            .iter()
            .filter(|head| !heard.contains(&head.id))
            .count();
        let admitted = heads
            .iter()
            .filter(|head| head.verdict == Some(Answer::Admit))
            .count();
        let resumed = heads.iter().filter(|head| head.verdict.is_none()).count();
        let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
        for reason in heads.iter().filter_map(|head| head.reason) {
            *refused.entry(reason.name()).or_default() += 1;
        }
        row("readings answered", all.len(), "said by the gates");
        row(
            "  the same reading once more",
            repeats,
            "no record of its own",
        );
        row("  storage full", shut, "no record, and the gate shut");
        row(
            "recorded, then killed",
            unheard,
            "in the log, and no word was heard",
        );
        row("scans", heads.len() - resumed, "in the pulled log");
        row("admitted", admitted, "in the pulled log");
        row(
            "refused",
            heads.len() - resumed - admitted,
            "in the pulled log",
        );
        for reason in Reason::ALL {
            if let Some(count) = refused.get(reason.name()) {
                row(&format!("  {reason}"), *count, "");
            }
        }
        row(
            "opened after the kill",
            resumed,
            "for an admission from before",
        );
        let Uploads {
            accepted,
            replayed,
            quarantined,
            ..
        } = self.uploads;
        row("uploaded", accepted, "by the server's answers");
        row("replayed", replayed, "by the server's answers");
        row("set aside", quarantined, "by the server's answers");
        row("conflicts", self.conflicts, "GET /v1/conflicts");
        row("QR pictures", self.pictures, "drawn, and read by zbarimg");
        ensure!(
            all.len() - repeats - shut + unheard == heads.len(),
            "the gates' answers and the log do not add up"
        );
        ensure!(
            admitted == self.check_ins,
            "the log has {admitted} admissions, the check-ins {}",
            self.check_ins
        );
        ensure!(
            accepted == heads.len() as u64,
            "the server says that it stored {accepted}"
        );
        Ok(())
    }
}

fn row(what: &str, count: impl std::fmt::Display, source: &str) {
    println!(
        "{}",
        format!("  {}{count:>9}   {source}", padded(what, 32)).trim_end()
    );
}

/// Prints how fast the gates were, beside the disk.
pub fn figures(offline: &Offline) {
    println!();
    times(
        "line at the scanner to the relay's command",
        &offline.line_to_relay,
    );
    times("fdatasync of 4 KiB, same disk, meanwhile", &offline.disk);
}

fn times(what: &str, samples: &[Duration]) {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1);
    let ms = |share: usize| {
        let time = sorted.get(last * share / 100).copied().unwrap_or_default();
        time.as_secs_f64() * 1e3
    };
    println!(
        "  {}p50 {:>7.2} ms   p99 {:>7.2} ms   ({} samples)",
        padded(what, 46),
        ms(50),
        ms(99),
        samples.len()
    );
}
