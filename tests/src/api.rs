//! The server's HTTP API as a booking system's engineer would call it.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use reqwest::Certificate;
use reqwest::blocking::{Client, ClientBuilder, RequestBuilder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stile_core::codes::Format;
use stile_core::policy::Policy;
use stile_core::protocol::{
    Cancel, Conflicts, Enrolment, MintAnswer, MintItem, MintRequest, Minted, NewEnrolment, NewGate,
    NewSession, Pulled, PulledRecord, Reissue, TicketView,
};
use stile_core::ticket::CancelCause;

use crate::booking::{Slot, Timetable};

/// Longest time for one request: the import of a day's tickets.
const REQUEST_TIME: Duration = Duration::from_secs(120);
/// Codes asked for at once, as many as the server gives.
const MINT_AT_ONCE: usize = 1_000;

/// A key's way to the API, for one venue.
#[derive(Debug, Clone)]
pub struct Api {
    http: Client,
    url: String,
    key: String,
    venue: String,
}

/// What an import answered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Imported {
    /// Lines that went in.
    pub accepted: u64,
    /// Lines that did not.
    pub refused_count: u64,
    /// The first of them.
    pub refused: Vec<Refused>,
}

/// A line that did not go in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Refused {
    /// Its number.
    pub line: u64,
    /// The column.
    pub field: String,
    /// What is wrong.
    pub problem: String,
}

/// A stream of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Every record.
    Records,
    /// Admissions at `in` gates only.
    CheckIns,
}

impl Api {
    /// The API at a server's URL.
    pub fn new(url: &str, key: &str, venue: &str) -> Result<Self> {
        Self::over(Client::builder(), url, key, venue)
    }

    /// The same over TLS, under a CA whose certificate lies in a file.
    pub fn under_ca(ca: &Path, url: &str, key: &str, venue: &str) -> Result<Self> {
        let ca = Certificate::from_pem(&std::fs::read(ca)?)?;
        Self::over(Client::builder().tls_certs_only([ca]), url, key, venue)
    }

    fn over(http: ClientBuilder, url: &str, key: &str, venue: &str) -> Result<Self> {
        crate::network::choose_tls();
        Ok(Self {
            http: http.timeout(REQUEST_TIME).no_proxy().build()?,
            url: url.to_owned(),
            key: key.to_owned(),
            venue: venue.to_owned(),
        })
    }

    /// The key itself.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The HTTP client, for requests that this type has no method for.
    pub fn http(&self) -> &Client {
        &self.http
    }

    fn request(&self, method: reqwest::Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.url))
            .query(&[("venue", &self.venue)])
            .bearer_auth(&self.key)
    }

    fn answer<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T> {
        let answer = request.send()?;
        let (status, path) = (answer.status(), answer.url().path().to_owned());
        let body = answer.bytes()?;
        let text = || String::from_utf8_lossy(&body[..body.len().min(500)]).into_owned();
        ensure!(status.is_success(), "{path} answered {status}: {}", text());
        serde_json::from_slice(&body).with_context(|| format!("{path} answered {}", text()))
    }

    fn put<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        self.answer(self.request(reqwest::Method::PUT, path).json(body))
    }

    fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        self.answer(self.request(reqwest::Method::POST, path).json(body))
    }

    fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, &str)]) -> Result<T> {
        self.answer(self.request(reqwest::Method::GET, path).query(query))
    }

    /// Puts a session.
    pub fn put_session(&self, slot: &Slot) -> Result<stile_core::ticket::Session> {
        let request: NewSession = slot.request();
        self.put(&format!("/v1/sessions/{}", slot.session_id), &request)
    }

    /// Puts every session of a timetable.
    pub fn put_timetable(&self, timetable: &Timetable) -> Result<usize> {
        for slot in timetable.all() {
            self.put_session(slot)?;
        }
        Ok(timetable.all().count())
    }

    /// Puts a gate.
    pub fn put_gate(&self, id: &str, gate: &NewGate) -> Result<stile_core::ticket::Gate> {
        self.put(&format!("/v1/gates/{id}"), gate)
    }

    /// The venue's policy.
    pub fn policy(&self) -> Result<Policy> {
        self.get("/v1/policy", &[])
    }

    /// Replaces it.
    pub fn put_policy(&self, policy: &Policy) -> Result<Policy> {
        self.put("/v1/policy", policy)
    }

    /// Sends a CSV file of tickets.
    pub fn import_csv(&self, path: &Path) -> Result<Imported> {
        let request = self.request(reqwest::Method::POST, "/v1/tickets");
        let file = File::open(path).with_context(|| format!("{}", path.display()))?;
        self.answer(
            request
                .header("content-type", "text/csv; charset=utf-8")
                .body(file),
        )
    }

    /// Sends tickets as lines of JSON.
    pub fn import_ndjson(&self, lines: &[serde_json::Value]) -> Result<Imported> {
        let request = self.request(reqwest::Method::POST, "/v1/tickets");
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.answer(
            request
                .header("content-type", "application/x-ndjson")
                .body(text),
        )
    }

    /// A ticket as the server shows it.
    pub fn ticket(&self, id: &str) -> Result<TicketView> {
        self.get(&format!("/v1/tickets/{id}"), &[])
    }

    /// Cancels a ticket.
    pub fn cancel(&self, id: &str, cause: CancelCause) -> Result<TicketView> {
        self.post(&format!("/v1/tickets/{id}/cancel"), &Cancel { cause })
    }

    /// Issues a ticket anew: codes of its earlier issues are superseded.
    pub fn reissue(&self, id: &str) -> Result<TicketView> {
        let revision = self.ticket(id)?.revision + 1;
        self.post(&format!("/v1/tickets/{id}/reissue"), &Reissue { revision })
    }

    /// Mints one code.
    pub fn mint(&self, ticket: &str, format: Format, ttl_s: Option<u32>) -> Result<Minted> {
        let minted = self.mint_all(&[ticket], format, ttl_s)?;
        minted
            .into_iter()
            .next()
            .context("one code was wanted and none came")
    }

    /// Mints a code of each ticket, in that order.
    pub fn mint_all(
        &self,
        tickets: &[&str],
        format: Format,
        ttl_s: Option<u32>,
    ) -> Result<Vec<Minted>> {
        let mut codes = Vec::with_capacity(tickets.len());
        for some in tickets.chunks(MINT_AT_ONCE) {
            let wanted = some.iter().map(|ticket| {
                Ok(MintItem {
                    ticket_id: ticket.parse()?,
                    format,
                    ttl_s,
                })
            });
            let request = MintRequest {
                codes: wanted.collect::<Result<_>>()?,
            };
            let answer: MintAnswer = self.post("/v1/codes", &request)?;
            for one in answer.codes {
                if let Some(problem) = &one.problem {
                    bail!("no {format} code of {}: {problem}", one.ticket_id);
                }
                codes.push(one);
            }
        }
        ensure!(codes.len() == tickets.len(), "not one code for each ticket");
        Ok(codes)
    }

    /// Invites a device to serve a gate; `server` is where the device reaches the server.
    pub fn invite(&self, gate: &str, server: &str) -> Result<Enrolment> {
        let request = NewEnrolment {
            gates: vec![gate.parse()?],
            server: Some(server.to_owned()),
            confirm: false,
        };
        self.post("/v1/enrolments", &request)
    }

    /// The next piece of the log behind a cursor.
    pub fn pull(&self, stream: Stream, after: Option<&str>, limit: usize) -> Result<Pulled> {
        let path = match stream {
            Stream::Records => "/v1/records",
            Stream::CheckIns => "/v1/check-ins",
        };
        let limit = limit.to_string();
        let mut query = vec![("limit", limit.as_str())];
        query.extend(after.map(|cursor| ("after", cursor)));
        self.get(path, &query)
    }

    /// The whole log, piece by piece. Returns it with the number of pieces.
    pub fn pull_all(&self, stream: Stream, limit: usize) -> Result<(Vec<PulledRecord>, usize)> {
        let (mut records, mut cursor, mut pieces) = (Vec::new(), None::<String>, 0);
        loop {
            let pulled = self.pull(stream, cursor.as_deref(), limit)?;
            pieces += 1;
            records.extend(pulled.records);
            if !pulled.more {
                return Ok((records, pieces));
            }
            cursor = Some(pulled.cursor);
        }
    }

    /// Tickets that were admitted for more persons than they have.
    pub fn conflicts(&self) -> Result<Conflicts> {
        self.get("/v1/conflicts", &[])
    }
}
