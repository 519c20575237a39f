//! Records on their way up, in signed batches of 100, over HTTP to a real server.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::value::RawValue;
use stile_core::clock::Trust;
use stile_core::codes::Format;
use stile_core::device::Device;
use stile_core::ids::{Kid, LogId, RecordId};
use stile_core::protocol::{Batch, Filed, RecordsAnswer, SignedBatch};
use stile_core::record::{Answer, Mode, Record, Scan, Via, What};
use stile_core::signed::{Domain, Signed};
use stile_core::ticket::Direction;
use stile_core::time::EpochMillis;
use stile_tests::booking::{Kind, Order};

use crate::figures::Figures;
use crate::place::Place;

/// Records in a batch.
const BATCH: usize = 100;
/// Gates that send at the same time.
const CONNECTIONS: usize = 8;

/// Batches that are made and signed, and nothing else to do before they are sent.
pub struct Prepared<'d> {
    bodies: Mutex<VecDeque<Vec<u8>>>,
    count: usize,
    url: String,
    device: &'d Device,
}

impl<'d> Prepared<'d> {
    /// Makes records of a device of the place.
    pub fn new(place: &Place, device: &'d Device, count: usize) -> Result<Self> {
        Ok(Self {
            bodies: Mutex::new(batches(place, device, count)?),
            count,
            url: format!("{}/v1/gate/records", place.museum.server.url()),
            device,
        })
    }

    /// Sends them as fast as the server takes them; says how many records a second that is.
    pub fn send(&self) -> Result<f64> {
        let started = Instant::now();
        std::thread::scope(|scope| -> Result<()> {
            let senders: Vec<_> = (0..CONNECTIONS)
                .map(|_| scope.spawn(|| self.send_on_one_connection()))
                .collect();
            for sender in senders {
                sender
                    .join()
                    .map_err(|_| anyhow::anyhow!("a sender's thread"))??;
            }
            Ok(())
        })?;
        Ok(self.count as f64 / started.elapsed().as_secs_f64())
    }

    fn send_on_one_connection(&self) -> Result<()> {
        let client = reqwest::blocking::Client::builder().no_proxy().build()?;
        loop {
            let next = self.bodies.lock().ok().and_then(|mut all| all.pop_front());
            let Some(body) = next else { return Ok(()) };
            let request = client
                .post(&self.url)
                .bearer_auth(self.device.identity().bearer())
                .header("content-type", "application/json")
                .body(body);
            let answer: RecordsAnswer = request.send()?.error_for_status()?.json()?;
            let all = answer.results.iter();
            anyhow::ensure!(
                all.clone().count() == BATCH
                    && all.clone().all(|one| one.result == Filed::Accepted),
                "a record that was not accepted"
            );
        }
    }
}

/// Makes and signs the batches first, then sends them.
pub fn measure(place: &Place, device: &Device, count: usize, figures: &mut Figures) -> Result<()> {
    let rate = Prepared::new(place, device, count)?.send()?;
    let what = format!("upload of {count} records in batches of {BATCH}, sender on the same cores");
    figures.goal(
        &what,
        format!("{rate:.0} records/s"),
        "≥ 200,000 records/s",
        rate >= 2e5,
    );
    Ok(())
}

/// Every ticket of the day once, as admissions; then as refusals.
fn batches(place: &Place, device: &Device, count: usize) -> Result<VecDeque<Vec<u8>>> {
    let key = device
        .identity()
        .signing_key()
        .context("the device's key")?;
    let mut random = 0_u64;
    let log_id = LogId(uuid::Uuid::from_u128(1));
    let known: Vec<_> = place
        .day
        .tickets
        .iter()
        .filter(|ticket| !matches!(ticket.kind, Kind::Cancelled(_)))
        .collect();
    let mut bodies = VecDeque::with_capacity(count / BATCH);
    let mut sequence = 0;
    for _ in 0..count / BATCH {
        let mut records = Vec::with_capacity(BATCH);
        for _ in 0..BATCH {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let order = known[sequence as usize % known.len()];
            let admits = (sequence as usize) < known.len();
            sequence += 1;
            let record = record(device, log_id, sequence, random, order, admits)?;
            records.push(RawValue::from_string(serde_json::to_string(&record)?)?);
        }
        let batch = Batch {
            device_id: device.identity().device_id.clone(),
            records: records.iter().map(AsRef::as_ref).collect(),
        };
        let payload = serde_json::to_vec(&batch)?;
        let signed = Signed::sign(&Domain::RECORDS, &payload, Kid(0), &key)?;
        bodies.push_back(serde_json::to_vec(&SignedBatch(signed))?);
    }
    Ok(bodies)
}

fn record(
    device: &Device,
    log_id: LogId,
    sequence: u64,
    random: u64,
    order: &Order,
    admits: bool,
) -> Result<Record> {
    let at = EpochMillis(jiff::Timestamp::now().as_millisecond());
    let identity = device.identity();
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&random.to_be_bytes());
    Ok(Record {
        id: RecordId::at(at, bytes),
        log_id,
        sequence,
        venue_id: identity.venue_id.clone(),
        device_id: identity.device_id.clone(),
        gate_id: device.gate_id().clone(),
        checkpoint: "entry".parse()?,
        at,
        u_ms: 3,
        trust: Trust::Anchored,
        what: What::Scan(Scan {
            via: Via::Code,
            direction: Direction::In,
            ticket_id: Some(order.ticket_id.parse()?),
            ticket_number: None,
            session_id: Some(order.session_id.clone()),
            service_day: None,
            format: Some(Format::V1),
            kid: None,
            text_hash: Some(format!("{random:032x}")),
            verdict: if admits {
                Answer::Admit
            } else {
                Answer::Refuse
            },
            reason: (!admits).then_some(stile_core::reason::Reason::AlreadyUsed),
            persons: u8::from(admits),
            mode: Mode::Online,
            claim: None,
            operator: None,
            decision_us: 6,
            flags: Vec::new(),
            source: order.source.to_owned(),
            age_group: order.age_group.to_owned(),
        }),
    })
}
