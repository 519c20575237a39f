//! Stopping, in good order and in the middle of work: nothing that was answered is lost.

use std::collections::HashSet;
use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};
use stile_core::keys::DeviceSigningKey;
use stile_core::protocol::{EnrolAnswer, EnrolRequest, EnrolmentText};
use uuid::Uuid;

use crate::program::{Program, Serving};
use crate::site::{Gatekeeper, Site, client, csv, read};

/// A set-up server program and what its clients need.
struct Day {
    program: Program,
    admin: String,
}

impl Day {
    fn new() -> Self {
        let program = Program::new();
        program.add_venue();
        program.run(&["gate", "add", "north"]);
        let admin = program.add_key("admin");
        Self { program, admin }
    }

    async fn get(&self, serving: &Serving, path: &str) -> Value {
        let url = format!("http://{}{path}", serving.address);
        read(
            client()
                .get(url)
                .bearer_auth(&self.admin)
                .send()
                .await
                .unwrap(),
        )
        .await
    }

    /// Ids of all records of the log.
    async fn log(&self, serving: &Serving) -> Vec<String> {
        let mut ids = Vec::new();
        let mut path = "/v1/records?limit=10000".to_owned();
        loop {
            let piece = self.get(serving, &path).await;
            let records = piece["records"].as_array().unwrap();
            ids.extend(
                records
                    .iter()
                    .map(|entry| entry["record"]["id"].as_str().unwrap().to_owned()),
            );
            if piece["more"] == false {
                return ids;
            }
            path = format!(
                "/v1/records?limit=10000&after={}",
                piece["cursor"].as_str().unwrap()
            );
        }
    }

    async fn enrol(&self, serving: &Serving, seed: u8) -> Gatekeeper {
        let server = format!("http://{}", serving.address);
        let text = self.program.run(&[
            "enrol",
            "--gate",
            "north",
            "--server",
            &server,
            "--no-confirm",
        ]);
        let text: EnrolmentText = text.parse().unwrap();
        let key = DeviceSigningKey::from_seed(&[seed; 32]);
        let request = EnrolRequest {
            token: text.token,
            name: "north".to_owned(),
            model: "test".to_owned(),
            public_key: key.verifying_key().to_base64(),
        };
        let url = format!("{server}/v1/gate/enrol");
        let answer: EnrolAnswer =
            read(client().post(url).json(&request).send().await.unwrap()).await;
        Gatekeeper {
            key,
            answer,
            log: Uuid::from_bytes([seed; 16]),
            made: 0,
        }
    }
}

/// A refusal that is logged: needs no ticket.
fn refused(device: &mut Gatekeeper) -> Value {
    device.made += 1;
    let random = Uuid::new_v4();
    json!({
        "id": random, "log_id": device.log, "sequence": device.made,
        "venue_id": device.answer.venue_id, "device_id": device.answer.device_id,
        "gate_id": "north", "checkpoint": "entry",
        "at": 1_790_000_000_000_i64, "u_ms": 5, "trust": "anchored",
        "kind": "scan", "via": "code", "direction": "in",
        "verdict": "refuse", "reason": "malformed", "persons": 0, "mode": "online",
        "decision_us": 4,
    })
}

/// Uploads batches until the server no longer answers; gives the ids of those answered well.
async fn upload_until_it_ends(
    client: Client,
    url: String,
    mut device: Gatekeeper,
) -> HashSet<String> {
    let mut answered = HashSet::new();
    loop {
        let records: Vec<Value> = (0..20).map(|_| refused(&mut device)).collect();
        let request = client
            .post(&url)
            .bearer_auth(device.bearer())
            .json(&device.batch(&records));
        let Ok(response) = request.send().await else {
            return answered;
        };
        let is_good = response.status().is_success();
        let Ok(answer) = response.json::<Value>().await else {
            return answered;
        };
        if !is_good {
            return answered;
        }
        let results = answer["results"].as_array().unwrap();
        answered.extend(
            results
                .iter()
                .map(|result| result["id"].as_str().unwrap().to_owned()),
        );
    }
}

async fn ends_under_load(signal: &str) {
    let day = Day::new();
    let serving = day.program.serve();
    let url = format!("http://{}/v1/gate/records", serving.address);
    let mut uploads = Vec::new();
    for seed in 1..=6 {
        let device = day.enrol(&serving, seed).await;
        uploads.push(tokio::spawn(upload_until_it_ends(
            client(),
            url.clone(),
            device,
        )));
    }
    // Each device has had something answered by then.
    while day.log(&serving).await.len() < 500 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    serving.signal(signal);
    let mut answered = HashSet::new();
    for upload in uploads {
        answered.extend(upload.await.unwrap());
    }
    let ended_well = tokio::task::spawn_blocking(|| serving.ended())
        .await
        .unwrap();
    assert_eq!(ended_well, signal != "KILL");
    assert!(answered.len() >= 400);

    let again = day.program.serve();
    let log = day.log(&again).await;
    let kept: HashSet<String> = log.iter().cloned().collect();
    assert_eq!(kept.len(), log.len(), "no record is there twice");
    assert!(
        answered.is_subset(&kept),
        "an answered record is not in the log"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_under_load_loses_no_answered_record() {
    ends_under_load("TERM").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sigkill_under_load_loses_no_answered_record() {
    ends_under_load("KILL").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_in_flight_is_answered_before_the_server_ends() {
    let mut site = Site::start().await;
    site.furnish().await;
    let (send, received) =
        tokio::sync::mpsc::channel::<Result<String, std::convert::Infallible>>(1);
    let parts = futures_util::stream::unfold(received, |mut received| async {
        received.recv().await.map(|part| (part, received))
    });
    let body = reqwest::Body::wrap_stream(parts);
    let import = tokio::spawn(site.import("text/csv", body).send());
    send.send(Ok(csv((0..20_000).map(|n| format!("T{n}")))))
        .await
        .unwrap();
    let url = site.url("/healthz");
    let stopping = tokio::spawn(async move { site.stop().await });
    // New connections are turned away while the file is still on its way.
    while client().get(&url).send().await.is_ok() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    send.send(Ok("last,O,now\n".to_owned())).await.unwrap();
    drop(send);
    let report: Value = read(import.await.unwrap().unwrap()).await;
    assert_eq!(report["accepted"], 20_001);
    stopping.await.unwrap();
}
