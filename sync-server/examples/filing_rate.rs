//! How many records a second the server files, without HTTP: batches of 100 signed check-ins from
//! eight devices against 100,000 tickets. Prints the rate and the machine's own limits beside it.
//!
//! `cargo run --release -p stile-sync-server --example filing_rate [BATCHES]`

#[path = "../tests/bed/mod.rs"]
mod bed;

use std::time::Instant;

use bed::{Bed, TestDevice};
use stile_core::protocol::SignedBatch;

const TICKETS: usize = 100_000;
const DEVICES: u8 = 8;
const BATCH: usize = 100;

#[tokio::main]
async fn main() {
    let batches = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(1_000_usize);
    let folder = tempfile::tempdir().expect("a folder");
    let bed = Bed::in_folder(folder.path()).await;
    let started = Instant::now();
    bed.put_many_tickets(TICKETS).await;
    let rate = TICKETS as f64 / started.elapsed().as_secs_f64();
    println!("tickets put      {rate:>10.0} /s");

    let mut devices = Vec::new();
    for seed in 1..=DEVICES {
        devices.push(bed.device(seed).await);
    }
    let mut signed: Vec<(TestDevice, Vec<SignedBatch>)> = devices
        .into_iter()
        .map(|device| (device, Vec::new()))
        .collect();
    let mut ticket = 0;
    for batch in 0..batches {
        let (device, batches) = &mut signed[batch % usize::from(DEVICES)];
        let records: Vec<String> = (0..BATCH)
            .map(|_| {
                // Strides that meet every ticket once before any twice, in no order of numbers.
                ticket = (ticket + 7_919) % TICKETS;
                device.check_in(&format!("t{ticket}"))
            })
            .collect();
        batches.push(device.batch(&records));
    }
    let bytes = signed[0].1[0].0.payload.len() * 3 / 4 / BATCH;
    println!("record           {bytes:>10} bytes");

    let started = Instant::now();
    let mut tasks = Vec::new();
    for (device, batches) in signed {
        let server = bed.server.clone();
        tasks.push(tokio::spawn(async move {
            for batch in batches {
                server
                    .file_records(&device.device, batch)
                    .await
                    .expect("filed");
            }
        }));
    }
    for task in tasks {
        task.await.expect("a device");
    }
    let rate = (batches * BATCH) as f64 / started.elapsed().as_secs_f64();
    println!("records filed    {rate:>10.0} /s");
    bed.server.close().await;
    let size = std::fs::metadata(folder.path().join("server.db")).map_or(0, |file| file.len());
    println!("database         {:>10.1} MiB", size as f64 / 1_048_576.0);
}
