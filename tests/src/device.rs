//! A device played by hand: enrolled like any, it makes records and signs batches as it is told,
//! also such as no gate would send.

use std::fmt;

use anyhow::{Context, Result, ensure};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use reqwest::blocking::Client;
use serde_json::value::RawValue;
use stile_core::clock::Trust;
use stile_core::codes::Format;
use stile_core::ids::{Checkpoint, DeviceId, GateId, Kid, LogId, RecordId, VenueId};
use stile_core::keys::DeviceSigningKey;
use stile_core::protocol::{
    Batch, EnrolAnswer, EnrolRequest, EnrolmentText, RecordsAnswer, SignedBatch, TicketView,
};
use stile_core::record::{Answer, Mode, Record, Scan, Via, What};
use stile_core::signed::{Domain, Signed};
use stile_core::ticket::Direction;
use stile_core::time::EpochMillis;
use uuid::Builder;

use crate::museum::{Museum, Plan};
use crate::network::RECORDS;

/// The kid of device keys: a device has one.
const KID: Kid = Kid(0);

/// See the module.
pub struct Device {
    http: Client,
    url: String,
    bearer: String,
    key: DeviceSigningKey,
    device_id: DeviceId,
    venue_id: VenueId,
    gate_id: GateId,
    log_id: LogId,
    sequence: u64,
    random: ChaCha8Rng,
}

/// Keys and bearers are not for logs.
impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.device_id)
    }
}

impl Device {
    /// Enrols one to serve a gate, straight at the server. Another seed makes another device.
    pub fn enrol(museum: &Museum, plan: Plan, seed: u64) -> Result<Self> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let text: EnrolmentText = museum.invite(plan)?.parse()?;
        let key = DeviceSigningKey::from_seed(&random.random());
        let http = museum.api.http().clone();
        let request = EnrolRequest {
            token: text.token,
            name: plan.name.to_owned(),
            model: "by hand".to_owned(),
            public_key: key.verifying_key().to_base64(),
        };
        let url = museum.server.url();
        let answer = http
            .post(format!("{url}/v1/gate/enrol"))
            .json(&request)
            .send()?;
        let answer: EnrolAnswer = answer.error_for_status()?.json()?;
        Ok(Self {
            http,
            url,
            bearer: answer.bearer,
            key,
            device_id: answer.device_id,
            venue_id: answer.venue_id,
            gate_id: plan.id.parse()?,
            log_id: LogId(Builder::from_random_bytes(random.random()).into_uuid()),
            sequence: 0,
            random,
        })
    }

    /// The next record of its log: an admission of one person.
    pub fn admission(&mut self, ticket: &TicketView, at: EpochMillis) -> Result<String> {
        self.sequence += 1;
        let record = Record {
            id: RecordId::at(at, self.random.random()),
            log_id: self.log_id,
            sequence: self.sequence,
            venue_id: self.venue_id.clone(),
            device_id: self.device_id.clone(),
            gate_id: self.gate_id.clone(),
            checkpoint: Checkpoint::new("entry")?,
            at,
            u_ms: 0,
            trust: Trust::Anchored,
            what: What::Scan(Scan {
                via: Via::Code,
                direction: Direction::In,
                ticket_id: Some(ticket.ticket_id.clone()),
                ticket_number: Some(ticket.ticket_number),
                session_id: Some(ticket.session_id.clone()),
                service_day: Some(ticket.service_day.clone()),
                format: Some(Format::V1),
                kid: None,
                text_hash: None,
                verdict: Answer::Admit,
                reason: None,
                persons: 1,
                mode: Mode::Isolated,
                claim: None,
                operator: None,
                decision_us: 1,
                flags: Vec::new(),
                source: String::new(),
                age_group: String::new(),
            }),
        };
        Ok(serde_json::to_string(&record)?)
    }

    /// The body of an upload of these records, signed.
    pub fn signed(&self, records: &[String]) -> Result<String> {
        let raw = |text: &String| serde_json::from_str::<Box<RawValue>>(text);
        let raw = records.iter().map(raw).collect::<Result<Vec<_>, _>>()?;
        let batch = Batch {
            device_id: self.device_id.clone(),
            records: raw.iter().map(|text| &**text).collect(),
        };
        let payload = serde_json::to_vec(&batch)?;
        let signed = Signed::sign(&Domain::RECORDS, &payload, KID, &self.key)?;
        Ok(serde_json::to_string(&SignedBatch(signed))?)
    }

    /// Sends a body to the route of records. Returns status and body of the answer.
    pub fn post(&self, body: String) -> Result<(u16, String)> {
        let request = self
            .http
            .post(format!("{}{RECORDS}", self.url))
            .bearer_auth(&self.bearer);
        let answer = request
            .header("content-type", "application/json")
            .body(body)
            .send()?;
        Ok((answer.status().as_u16(), answer.text()?))
    }

    /// Sends records in one batch, which the server must take.
    pub fn send(&self, records: &[String]) -> Result<RecordsAnswer> {
        let (status, body) = self.post(self.signed(records)?)?;
        ensure!(status == 200, "the batch was answered {status}: {body}");
        serde_json::from_str(&body).with_context(|| format!("the answer is {body}"))
    }
}
