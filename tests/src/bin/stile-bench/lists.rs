//! A whole day's list on its way from the server to a gate.

use std::io::Read;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use stile_core::device::Device;
use stile_core::protocol::TIME_HEADER;
use stile_core::time::EpochMillis;
use stile_tests::museum::TURNSTILE;

use crate::figures::{Figures, time};
use crate::place::Place;

/// Fetches the day's list into a new device: how long until it is applied and verified.
pub fn fetch(place: &Place, figures: &mut Figures) -> Result<Device> {
    let device = place.device(TURNSTILE)?;
    // The first answer also computes the list's digest, which every later one finds done.
    stream(place, &device, |_| Ok(()))?;
    let started = Instant::now();
    let mut list = device.begin_list(place.day.timetable.service_day()?);
    let mut waited = Duration::ZERO;
    let mut asked = Instant::now();
    stream(place, &device, |bytes| {
        waited += asked.elapsed();
        list.feed(bytes)?;
        asked = Instant::now();
        Ok(())
    })?;
    let rows = list.finish()?.tickets;
    let took = started.elapsed();
    let what = format!("list of {rows} tickets over HTTP, applied and verified");
    let measured = format!(
        "{}, of which {} waiting for the server",
        time(took),
        time(waited)
    );
    figures.goal(
        &what,
        measured,
        "≤ 0.5 s",
        took <= Duration::from_millis(500),
    );
    Ok(device)
}

/// Hands over the bytes of the day's list as they come, and tells the device the time.
pub fn stream(
    place: &Place,
    device: &Device,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let day = place.day.timetable.service_day()?;
    let url = format!("{}/v1/gate/whitelist/{day}", place.museum.server.url());
    let client = reqwest::blocking::Client::builder().no_proxy().build()?;
    let request = client.get(url).bearer_auth(device.identity().bearer());
    let mut answer = request.send()?.error_for_status()?;
    let header = answer
        .headers()
        .get(TIME_HEADER)
        .context("an answer without a time")?;
    let server = EpochMillis(header.to_str()?.parse()?);
    device.hear_server(server, 0)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match answer.read(&mut buffer)? {
            0 => return Ok(()),
            length => take(&buffer[..length])?,
        }
    }
}
