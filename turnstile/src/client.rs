//! HTTP to the server: one request, one answer, read with a bound. Knows the routes of a gate;
//! what an answer means is core's to say.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{RequestBuilder, Response, redirect};
use stile_core::outbox::HttpAnswer;
use stile_core::platform::Platform;
use stile_core::protocol::{
    ClaimRequest, EnrolRequest, OutboxReport, Problem, ReturnRequest, TIME_HEADER, VerifyRequest,
};
use stile_core::time::{EpochMillis, ServiceDay};

use crate::tls;

pub use crate::tls::Clock;

/// Time to connect, TLS included: three retransmissions of a lost first packet.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(7);
/// Time for a small answer, and for an upload of 100 records on a slow link.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the server may wait for news before it answers the feed: well under
/// [`STALL_TIMEOUT`], and rare enough that a thousand gates ask a hundred times a second.
const FEED_WAIT: Duration = Duration::from_secs(10);
/// Time without a byte of a list: a slow link gives some, a hung server gives none.
const STALL_TIMEOUT: Duration = Duration::from_secs(15);
/// Time for a whole list: 100,000 tickets are some 10 MB packed, at 256 kbit/s.
const LIST_TIMEOUT: Duration = Duration::from_secs(600);
/// Connections kept: the list's, the feed's and the upload's.
const IDLE_CONNECTIONS: usize = 3;
/// How long an unused connection is kept: beyond the pause between two polls.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest small answer, in bytes, unpacked: results for 500 records, or three manifests and a
/// key manifest at their largest.
pub const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The HTTP client cannot be set up.
    #[error("the HTTP client: {0}")]
    Setup(String),
    /// Nothing, or not the whole, came back.
    #[error("no answer from the server: {0}")]
    Transport(String),
    /// It is longer than any answer of ours.
    #[error("the server's answer is longer than {0} bytes")]
    TooLong(usize),
}

impl From<reqwest::Error> for ClientError {
    fn from(error: reqwest::Error) -> Self {
        // The innermost cause says what happened ("connection refused"); the outer ones repeat
        // the address.
        let mut cause: &dyn std::error::Error = &error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        Self::Transport(match error.is_timeout() {
            true => "it took too long".into(),
            false => cause.to_string(),
        })
    }
}

/// The server as a gate reaches it.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    server: String,
    platform: Arc<dyn Platform>,
}

/// An answer whose head is here.
#[derive(Debug)]
pub struct Answer {
    response: Response,
    /// The server's time, if it is a Stile server that answered.
    pub server_time: Option<EpochMillis>,
    /// The boot-time clock when the request left.
    pub sent_boot_ms: i64,
}

impl Client {
    /// A client for a server's address, over TLS unless the address says `http://`.
    pub fn new(
        server: &str,
        ca_pin: Option<&str>,
        clock: Clock,
        platform: Arc<dyn Platform>,
    ) -> Result<Self, ClientError> {
        let setup = |error: &dyn std::fmt::Display| ClientError::Setup(error.to_string());
        let url = reqwest::Url::parse(server).map_err(|error| setup(&error))?;
        let tls = tls::client_config(ca_pin, clock).map_err(|error| setup(&error))?;
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .https_only(url.scheme() == "https")
            .redirect(redirect::Policy::none())
            .user_agent(concat!("stile-gate/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(STALL_TIMEOUT)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .pool_idle_timeout(IDLE_TIMEOUT);
        if is_loopback(&url) {
            // No proxy leads there, and packing would only cost time.
            builder = builder.no_proxy().no_gzip().no_zstd();
        }
        Ok(Self {
            http: builder.build()?,
            server: server.trim_end_matches('/').to_owned(),
            platform,
        })
    }

    /// `POST /v1/gate/enrol`.
    pub async fn enrol(&self, request: &EnrolRequest) -> Result<Answer, ClientError> {
        let request = self.http.post(self.url("/v1/gate/enrol")).json(request);
        self.send(request.timeout(REQUEST_TIMEOUT)).await
    }

    /// `POST /v1/gate/return`.
    pub async fn come_back(&self, request: &ReturnRequest) -> Result<Answer, ClientError> {
        let request = self.http.post(self.url("/v1/gate/return")).json(request);
        self.send(request.timeout(REQUEST_TIMEOUT)).await
    }

    /// `GET /v1/gate/lists`, with what is to be said of the outbox.
    pub async fn lists(
        &self,
        bearer: &str,
        report: Option<&OutboxReport>,
    ) -> Result<Answer, ClientError> {
        let request = self.http.get(self.url("/v1/gate/lists"));
        let request = match report {
            Some(report) => request.query(report),
            None => request,
        };
        self.send(request.bearer_auth(bearer).timeout(REQUEST_TIMEOUT))
            .await
    }

    /// `GET /v1/gate/whitelist/{service_day}`.
    pub async fn list(&self, bearer: &str, day: &ServiceDay) -> Result<Answer, ClientError> {
        let request = self
            .http
            .get(self.url(&format!("/v1/gate/whitelist/{day}")));
        self.send(request.bearer_auth(bearer).timeout(LIST_TIMEOUT))
            .await
    }

    /// `POST /v1/gate/records`.
    pub async fn records(&self, bearer: &str, body: Vec<u8>) -> Result<Answer, ClientError> {
        let request = self.http.post(self.url("/v1/gate/records"));
        let request = request
            .header(reqwest::header::CONTENT_TYPE, "application/json")
            .body(body);
        self.send(request.bearer_auth(bearer).timeout(REQUEST_TIMEOUT))
            .await
    }

    /// `GET /v1/gate/admissions`: what other gates did behind a cursor; waits for news.
    pub async fn admissions(
        &self,
        bearer: &str,
        after: Option<&str>,
    ) -> Result<Answer, ClientError> {
        let wait = FEED_WAIT.as_secs();
        let request = self.http.get(self.url("/v1/gate/admissions"));
        let request = match after {
            Some(after) => request.query(&[("after", after), ("wait", &wait.to_string())]),
            None => request,
        };
        self.send(request.bearer_auth(bearer).timeout(REQUEST_TIMEOUT))
            .await
    }

    /// `POST /v1/gate/claims`, answered within `deadline` or not at all.
    pub async fn claim(
        &self,
        bearer: &str,
        claim: &ClaimRequest,
        deadline: Duration,
    ) -> Result<Answer, ClientError> {
        let request = self.http.post(self.url("/v1/gate/claims")).json(claim);
        self.send(request.bearer_auth(bearer).timeout(deadline))
            .await
    }

    /// `POST /v1/gate/codes/verify`, answered within `deadline` or not at all.
    pub async fn verify(
        &self,
        bearer: &str,
        code: &VerifyRequest,
        deadline: Duration,
    ) -> Result<Answer, ClientError> {
        let request = self.http.post(self.url("/v1/gate/codes/verify")).json(code);
        self.send(request.bearer_auth(bearer).timeout(deadline))
            .await
    }

    async fn send(&self, request: RequestBuilder) -> Result<Answer, ClientError> {
        let sent_boot_ms = self.platform.moment().boot_ms;
        let response = request.send().await?;
        let server_time = response
            .headers()
            .get(TIME_HEADER)
            .and_then(|value| value.to_str().ok())
            .and_then(|text| text.parse().ok())
            .map(EpochMillis);
        Ok(Answer {
            response,
            server_time,
            sent_boot_ms,
        })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server)
    }
}

impl Answer {
    /// The status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The next bytes of the body, as they come.
    pub async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, ClientError> {
        Ok(self.response.chunk().await?)
    }

    /// The whole of a small answer.
    pub async fn read(mut self) -> Result<HttpAnswer, ClientError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.response.chunk().await? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(ClientError::TooLong(MAX_ANSWER_BYTES));
            }
            body.extend_from_slice(&chunk);
        }
        let retry_after = self.response.headers().get(reqwest::header::RETRY_AFTER);
        Ok(HttpAnswer {
            status: self.status(),
            retry_after_s: retry_after
                .and_then(|value| value.to_str().ok())
                .and_then(|text| text.trim().parse().ok()),
            body,
        })
    }
}

/// What an answer that is no success says, in a few words.
pub fn complaint(answer: &HttpAnswer) -> String {
    match serde_json::from_slice::<Problem>(&answer.body) {
        Ok(problem) => format!("{} {}", answer.status, problem.detail),
        Err(_) => format!("{} without an answer of ours", answer.status),
    }
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
