//! `stile-gate explain`: what the gate would answer to a code, and how it comes to it. Changes
//! nothing, also beside a running controller.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use stile_core::device::{Device, Explained};
use stile_core::ids::GateId;
use stile_core::platform::Platform;
use stile_core::reason::Reason;
use stile_core::time::EpochMillis;
use stile_core::verdict::{Tried, Verdict};

use super::{CommandError, machine, name_of};
use crate::platform::Linux;
use crate::status_file::StatusFile;
use crate::words::Words;

/// Reads a time: epoch seconds, or RFC 3339 with its zone.
pub fn parse_time(text: &str) -> Result<EpochMillis, String> {
    if let Ok(seconds) = text.parse::<i64>() {
        return Ok(EpochMillis(seconds.saturating_mul(1000)));
    }
    text.parse::<jiff::Timestamp>()
        .map(|at| EpochMillis(at.as_millisecond()))
        .map_err(|_| {
            "a time is epoch seconds or RFC 3339, such as 2026-10-01T09:00:00+08:00".into()
        })
}

/// Prints each row that was tried, and the answer.
pub fn explain(
    data: &Path,
    gate: Option<&GateId>,
    code: &str,
    at: Option<EpochMillis>,
) -> Result<(), CommandError> {
    let platform = Arc::new(Linux::new().map_err(machine)?);
    let moment = platform.moment();
    let device = Device::open_to_look(data, gate, platform)?;
    // Whether the server can be asked, the controller at work knows.
    if let Some(status) = StatusFile::read(data).filter(|status| status.is_alive(moment)) {
        device.set_reachable(status.live.online);
    }
    let explained = device
        .explain(code.as_bytes(), at)
        .map_err(|error| CommandError::Storage(error.to_string()))?;
    let words = Words::of(device.identity());
    print(&explained, &words, device.gate_id(), &mut io::stdout())
        .map_err(|error| CommandError::Storage(format!("standard output: {error}")))
}

fn print(
    explained: &Explained,
    words: &Words,
    gate: &GateId,
    out: &mut impl Write,
) -> io::Result<()> {
    let at = explained.now.at;
    writeln!(out, "gate     {gate}")?;
    writeln!(
        out,
        "time     {} ± {} ms, {}",
        words.date_and_clock(at),
        explained.now.u_ms,
        name_of(&explained.now.trust)
    )?;
    match (&explained.format, &explained.malformed) {
        (Some(format), _) => writeln!(out, "format   {format}")?,
        (None, Some(why)) => writeln!(out, "format   none: {why}")?,
        (None, None) => {}
    }
    for Tried { row, saw, refusal } in &explained.rows {
        let names: Vec<_> = reasons_of(*row).map(Reason::name).collect();
        let names = names.join(", ");
        match refusal {
            None => writeln!(out, "row {row:2}   {names:<34}passed")?,
            Some(refusal) => writeln!(
                out,
                "row {row:2}   {names:<34}refused: {}\n         {}",
                refusal.reason,
                words.refused(refusal, at).text(None)
            )?,
        }
        let saw: Vec<_> = saw
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        writeln!(out, "         {}", saw.join("; "))?;
    }
    if let Some(ticket) = &explained.ticket {
        let digits = ticket.last_four.map(|digits| digits.to_string());
        let parts = [
            ticket.session.as_str(),
            &ticket.label,
            &ticket.holder_mask,
            digits.as_deref().unwrap_or_default(),
        ];
        let shown: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        writeln!(
            out,
            "ticket   {}, admits {}",
            shown.join(", "),
            ticket.admits
        )?;
    }
    match &explained.verdict {
        Verdict::Admit(admission) => writeln!(
            out,
            "verdict  admit {}; {} more may enter after that",
            admission.persons, admission.remaining
        ),
        Verdict::Refuse(refusal) => writeln!(out, "verdict  refuse: {}", refusal.reason),
    }
}

fn reasons_of(row: u8) -> impl Iterator<Item = Reason> {
    Reason::ALL
        .iter()
        .copied()
        .filter(move |reason| reason.row() == row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_epoch_seconds_or_rfc_3339() {
        assert_eq!(parse_time("1790816400"), Ok(EpochMillis(1_790_816_400_000)));
        assert_eq!(
            parse_time("2026-10-01T09:00:00+08:00"),
            Ok(EpochMillis(1_790_816_400_000))
        );
        for text in ["", "09:00", "2026-10-01T09:00:00", "tomorrow"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_row_that_is_tried_has_a_name() {
        for row in 1..=22 {
            assert!(reasons_of(row).next().is_some(), "row {row}");
        }
    }
}
