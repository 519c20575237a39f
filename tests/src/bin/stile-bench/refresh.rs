//! Visitors' phones ask for their codes again, while gates upload.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use stile_tests::museum::{TURNSTILE, VENUE};

use crate::figures::{Figures, Samples};
use crate::place::Place;
use crate::uploads::Prepared;

/// Codes that are asked for a second: 12,000 visitors on their way, each once a minute.
const PER_S: u32 = 200;
/// Tickets whose codes they are.
const TICKETS: usize = 200;

/// Uploads records, and meanwhile asks for one code after the other.
pub fn measure(place: &Place, records: usize, figures: &mut Figures) -> Result<()> {
    let device = place.device(TURNSTILE)?;
    let prepared = Prepared::new(place, &device, records)?;
    let uploading = AtomicBool::new(true);
    let (samples, rate) = std::thread::scope(|scope| {
        let uploads = scope.spawn(|| {
            let rate = prepared.send();
            uploading.store(false, Ordering::SeqCst);
            rate
        });
        let samples = refresh(place, &uploading);
        let rate = uploads.join().map_err(|_| anyhow!("the uploads' thread"))?;
        Ok::<_, anyhow::Error>((samples?, rate?))
    })?;
    figures.goal(
        &format!("one code refreshed, {PER_S} a second, while {rate:.0} records/s go up"),
        samples.summary(),
        "p99 ≤ 10 ms",
        samples.quantile(0.99) <= Duration::from_millis(10),
    );
    Ok(())
}

fn refresh(place: &Place, uploading: &AtomicBool) -> Result<Samples> {
    let api = &place.museum.api;
    let between = Duration::from_secs(1) / PER_S;
    let mut samples = Samples::default();
    let mut due = Instant::now();
    for ticket in place.good(0, TICKETS)?.iter().cycle() {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due += between;
        let (url, id) = (place.museum.server.url(), &ticket.ticket_id);
        let started = Instant::now();
        let answer = api
            .http()
            .get(format!("{url}/v1/tickets/{id}/code"))
            .query(&[("venue", VENUE), ("format", "G2")])
            .bearer_auth(api.key())
            .send()?
            .error_for_status()?;
        answer.bytes()?;
        // Only what was asked while gates uploaded.
        if !uploading.load(Ordering::SeqCst) {
            break;
        }
        samples.add(started.elapsed());
    }
    Ok(samples)
}
