//! A device without a program around it: core's own, on a folder, with the sync loop's requests
//! made when a test says so.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use axum::http::{HeaderMap, Method};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stile_core::device::{Asker, Candidate, Device, Identity, Uploaded};
use stile_core::ids::GateId;
use stile_core::outbox::HttpAnswer;
use stile_core::platform::Platform;
use stile_core::protocol::{
    ClaimAnswer, ClaimRequest, EnrolAnswer, Enrolment, EnrolmentText, FeedAnswer, NewEnrolment,
    TIME_HEADER, VerifyAnswer, VerifyRequest,
};
use stile_core::time::EpochMillis;
use tempfile::TempDir;

use super::{Answer, VirtualPlatform, VirtualServer, VirtualTime};
use crate::venue::BackEnd;

/// A device that is enrolled for every gate of its venue and serves one at a time.
pub struct VirtualDevice {
    platform: Arc<VirtualPlatform>,
    folder: TempDir,
    device: Option<Device>,
}

impl VirtualDevice {
    /// Enrols a new device for these gates; it serves the first.
    pub fn enrol(
        name: &str,
        gates: &[GateId],
        server: &VirtualServer,
        time: &Arc<VirtualTime>,
    ) -> Result<Self> {
        let invitation: Enrolment = server.call(
            Method::POST,
            "/v1/enrolments",
            &NewEnrolment {
                gates: gates.to_vec(),
                server: Some("http://127.0.0.1:80".into()),
                confirm: false,
            },
        )?;
        let text: EnrolmentText = invitation.text.parse()?;
        let platform = VirtualPlatform::new(name, Arc::clone(time));
        let candidate = Candidate::new(text, platform.as_ref());
        let request = serde_json::to_vec(&candidate.request(name, "virtual"))?;
        let answer = server.device_request(Method::POST, "/v1/gate/enrol", "", request)?;
        let identity = candidate.accept(answer.json::<EnrolAnswer>()?)?;
        let folder = tempfile::tempdir()?;
        identity.save(folder.path())?;
        let mut device = Self {
            platform,
            folder,
            device: None,
        };
        device.serve(gates.first().context("a device serves a gate")?)?;
        Ok(device)
    }

    /// The device at work.
    pub fn device(&self) -> &Device {
        self.device.as_ref().expect("it is open between two calls")
    }

    /// Its machine.
    pub fn platform(&self) -> &VirtualPlatform {
        &self.platform
    }

    /// Serves a gate from now on; opens the device again if it served another.
    pub fn serve(&mut self, gate: &GateId) -> Result<()> {
        if self
            .device
            .as_ref()
            .is_some_and(|device| device.gate_id() == gate)
        {
            return Ok(());
        }
        self.restart(gate)
    }

    /// Ends it and opens it again, as after a power cut.
    pub fn restart(&mut self, gate: &GateId) -> Result<()> {
        self.device = None;
        let platform: Arc<dyn Platform> = self.platform.clone();
        self.device = Some(Device::open(self.folder.path(), Some(gate), platform)?);
        Ok(())
    }

    /// Uploads all that waits, then fetches lists and the admissions feed.
    pub fn sync(&self, server: &VirtualServer) -> Result<()> {
        self.upload(server)?;
        self.fetch_lists(server)?;
        self.fetch_feed(server)
    }

    /// Uploads all that waits.
    pub fn upload(&self, server: &VirtualServer) -> Result<()> {
        let device = self.device();
        while let Some(upload) = device.next_upload()? {
            let answer = self.ask(
                server,
                Method::POST,
                "/v1/gate/records",
                upload.body.clone(),
            )?;
            match device.upload_answered(&upload, Some(&as_heard(&answer)))? {
                Uploaded::Delivered { .. } => {}
                other => bail!("records did not go up: {other:?}"),
            }
        }
        Ok(())
    }

    /// The body of what the server says of lists.
    pub fn lists_as_told(&self, server: &VirtualServer) -> Result<Vec<u8>> {
        self.ask(server, Method::GET, "/v1/gate/lists", Vec::new())?
            .good()
    }

    fn fetch_lists(&self, server: &VirtualServer) -> Result<()> {
        let answer = self.ask(server, Method::GET, "/v1/gate/lists", Vec::new())?;
        ensure!(answer.status.is_success(), "lists: {}", answer.status);
        let wanted = self.device().lists_answered(&answer.body)?;
        ensure!(wanted.refused.is_empty(), "refused: {:?}", wanted.refused);
        for day in wanted.fetch {
            let path = format!("/v1/gate/whitelist/{day}");
            let answer = self.ask(server, Method::GET, &path, Vec::new())?;
            ensure!(answer.status.is_success(), "list: {}", answer.status);
            let mut download = self.device().begin_list(day);
            download.feed(&answer.body)?;
            download.finish()?;
        }
        Ok(())
    }

    fn fetch_feed(&self, server: &VirtualServer) -> Result<()> {
        loop {
            let path = match self.device().feed_cursor()? {
                Some(cursor) => format!("/v1/gate/admissions?after={cursor}"),
                None => "/v1/gate/admissions".to_owned(),
            };
            let answer = self.ask(server, Method::GET, &path, Vec::new())?;
            let feed: FeedAnswer = answer.json()?;
            self.device().take_feed(&feed)?;
            if !feed.more {
                return Ok(());
            }
        }
    }

    /// One request under the device's bearer; its clock hears the server's time.
    pub fn ask(
        &self,
        server: &VirtualServer,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Answer> {
        let device = self.device();
        let sent = self.platform.moment().boot_ms;
        let answer = server.device_request(method, path, device.identity().bearer(), body)?;
        if let Some(time) = server_time(&answer.headers) {
            device.hear_server(time, sent)?;
        }
        Ok(answer)
    }

    /// Cuts the device off from the server, or lets it ask the server before it opens.
    pub fn set_network(&self, server: Option<&Arc<VirtualServer>>) -> Result<()> {
        if let Some(server) = server {
            self.device().set_asker(Arc::new(Questions {
                server: Arc::clone(server),
                bearer: self.identity().bearer().to_owned(),
            }));
        }
        self.device().set_reachable(server.is_some());
        Ok(())
    }

    /// What its identity file says.
    pub fn identity(&self) -> &Identity {
        self.device().identity()
    }
}

/// Asks the server at once; virtual time stands still meanwhile.
struct Questions {
    server: Arc<VirtualServer>,
    bearer: String,
}

impl Questions {
    fn ask<T: DeserializeOwned>(&self, path: &str, question: &impl Serialize) -> Option<T> {
        let body = serde_json::to_vec(question).ok()?;
        let answer = self
            .server
            .device_request(Method::POST, path, &self.bearer, body);
        answer.ok()?.json().ok()
    }
}

impl Asker for Questions {
    fn claim(&self, request: &ClaimRequest, _deadline_ms: u32) -> Option<ClaimAnswer> {
        self.ask("/v1/gate/claims", request)
    }

    fn verify(&self, request: &VerifyRequest, _deadline_ms: u32) -> Option<VerifyAnswer> {
        self.ask("/v1/gate/codes/verify", request)
    }
}

fn server_time(headers: &HeaderMap) -> Option<EpochMillis> {
    let text = headers.get(TIME_HEADER)?.to_str().ok()?;
    text.parse().ok().map(EpochMillis)
}

fn as_heard(answer: &Answer) -> HttpAnswer {
    let text = |name: &str| {
        answer
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    HttpAnswer {
        status: answer.status.as_u16(),
        retry_after_s: text("retry-after").and_then(|text| text.parse().ok()),
        body: answer.body.clone(),
    }
}
