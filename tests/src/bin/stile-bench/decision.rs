//! How long a decision takes: from the bytes of a reading to the verdict. Nothing is written, so
//! that no disk cools the caches down between two readings.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use stile_core::codes::{Code, Format, VenueShapes, parse};
use stile_core::device::Device;
use stile_core::keys::CodeSigningKey;
use stile_core::verdict::Verdict;
use stile_tests::booking::Kind;

use crate::figures::{Figures, Samples};
use crate::place::Place;

/// Readings of each format.
const READINGS: usize = 2_000;

/// Decides readings of each format on the whole list.
pub fn measure(place: &Place, device: &Device, figures: &mut Figures) -> Result<()> {
    let ed25519 = ed25519()?;
    for format in [Format::V1, Format::Opaque, Format::G2, Format::G3] {
        let codes = match format {
            Format::Opaque => printed_codes(place),
            _ => place.codes(&place.good(0, READINGS)?, format)?,
        };
        let mut samples = Samples::default();
        for code in &codes {
            let started = Instant::now();
            let verdict = device.verdict(code.as_bytes())?;
            samples.add(started.elapsed());
            anyhow::ensure!(
                matches!(verdict, Verdict::Admit(_)),
                "a good code: {verdict:?}"
            );
        }
        let own = |share| match format {
            Format::G2 | Format::G3 => samples
                .quantile(share)
                .saturating_sub(ed25519.quantile(share)),
            _ => samples.quantile(share),
        };
        let met = own(0.5) <= Duration::from_micros(5) && own(0.99) <= Duration::from_micros(10);
        let signed = matches!(format, Format::G2 | Format::G3);
        let with = if signed { ", Ed25519 included" } else { "" };
        let goal = match signed {
            true => "p50 ≤ 5 µs, p99 ≤ 10 µs beside Ed25519",
            false => "p50 ≤ 5 µs, p99 ≤ 10 µs",
        };
        figures.goal(
            &format!("decision, {format}{with}"),
            samples.summary(),
            goal,
            met,
        );
    }
    figures.beside("Ed25519 by itself, strict", ed25519.summary());
    Ok(())
}

/// Order codes that the booking system printed on tickets of today.
fn printed_codes(place: &Place) -> Vec<String> {
    let busy = &place.day.timetable.busy().session_id;
    let today = place.day.tickets.iter().filter(|ticket| {
        ticket.kind == Kind::Plain && ticket.session_id == *busy && ticket.admits == 1
    });
    today
        .filter_map(|ticket| ticket.code.clone())
        .take(READINGS)
        .collect()
}

fn ed25519() -> Result<Samples> {
    let key = CodeSigningKey::from_seed(&[7; 32]);
    let payload = stile_core::codes::Payload {
        kid: stile_core::ids::Kid(1),
        venue_number: stile_core::ids::VenueNumber(1),
        ticket_number: stile_core::ids::TicketNumber::new(1).context("1 is a ticket number")?,
        not_before: stile_core::time::EpochSeconds(0),
        window_min: 1,
        issued_at: stile_core::time::EpochSeconds(0),
        ttl_5min: 1,
        admits: 1,
        last_four: None,
        revision: 0,
    };
    let text = stile_core::codes::g2::mint(&key, &payload)?;
    let Code::G2(code) = parse(text.as_bytes(), &VenueShapes::default())? else {
        anyhow::bail!("no G2 code")
    };
    let public = key.verifying_key();
    let mut samples = Samples::default();
    for _ in 0..READINGS {
        let started = Instant::now();
        anyhow::ensure!(code.verify_signature(&public), "a genuine code");
        samples.add(started.elapsed());
    }
    Ok(samples)
}
