//! Sends one message: over TLS with the roots that come with the program, to addresses that are
//! allowed as they are when the connection is made, following nobody elsewhere, and reading no more
//! of an answer than is of use.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use jiff::fmt::rfc2822;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, Url, redirect};
use rustls::{ClientConfig, RootCertStore};
use stile_core::protocol::{WebhookLanguage, WebhookTemplate};
use stile_core::time::EpochMillis;

use super::message::{Message, Secret, refusal};
use super::networks::{Network, may_go_to};
use crate::config;
use crate::error::ServerError;

/// Bytes of a URL at most; those of chat robots have some 120.
const URL_BYTES: usize = 2048;
/// Bytes that are read of an answer: a chat robot's code is in the first hundred.
const ANSWER_BYTES: usize = 16 * 1024;

/// Why a message did not go through. Its text names no more of the URL than the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What was wrong.
    pub problem: String,
    /// What the receiver asks to wait.
    pub retry_after: Option<Duration>,
}

impl From<String> for Failure {
    fn from(problem: String) -> Self {
        Self {
            problem,
            retry_after: None,
        }
    }
}

/// Where a message goes, and how it is written for there.
pub(crate) struct Receiver<'r> {
    pub url: &'r str,
    pub secret: Secret,
    pub template: WebhookTemplate,
    pub language: WebhookLanguage,
    pub venue_name: &'r str,
}

/// See the module.
pub(crate) struct Sender {
    http: Client,
    allowed: Arc<[Network]>,
}

impl Sender {
    pub(crate) fn new(settings: &config::Webhooks) -> Result<Self, ServerError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(ServerError::internal)?
            .with_root_certificates(RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
            })
            .with_no_client_auth();
        let allowed: Arc<[Network]> = settings.allow.clone().into();
        let http = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            // A proxy would connect to what this server must not, and resolve names by itself.
            .no_proxy()
            // A packed answer could be much longer than it looks.
            .no_gzip()
            .no_zstd()
            .dns_resolver(Allowed(Arc::clone(&allowed)))
            .user_agent(concat!("stile-server/", env!("CARGO_PKG_VERSION")))
            .timeout(settings.request_time)
            .build()
            .map_err(ServerError::internal)?;
        Ok(Self { http, allowed })
    }

    /// Sends a message; it went through if the receiver says so.
    pub(crate) async fn send(
        &self,
        receiver: &Receiver<'_>,
        message: &Message,
        now: EpochMillis,
    ) -> Result<(), Failure> {
        let url = Url::parse(receiver.url).map_err(|error| Failure::from(error.to_string()))?;
        // An address that stands in the URL itself is resolved by nobody.
        if let Some(address) = literal(&url)
            && !may_go_to(address, &self.allowed)
        {
            return Err(Failure::from(not_allowed(&address.to_string())));
        }
        let body = message.body(receiver.template, receiver.language, receiver.venue_name);
        let at = now.seconds();
        let request = self
            .http
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", &message.id)
            .header("webhook-timestamp", at.0)
            .header("traceparent", message.traceparent())
            .header(
                "webhook-signature",
                receiver.secret.sign(&message.id, at, &body),
            )
            .body(body);
        let answer = request.send().await.map_err(|error| failure(&error))?;
        if !answer.status().is_success() {
            return Err(refused(&answer, now));
        }
        if matches!(
            receiver.template,
            WebhookTemplate::Plain | WebhookTemplate::Slack
        ) {
            return Ok(());
        }
        let answer = beginning(answer).await?;
        refusal(receiver.template, &answer).map_or(Ok(()), |problem| Err(problem.into()))
    }
}

/// The URL of a new webhook, and its origin.
pub(crate) fn checked_url(text: &str, insecure_http: bool) -> Result<(Url, String), ServerError> {
    let wrong = |problem: &str| Err(ServerError::invalid("url", problem));
    if text.len() > URL_BYTES {
        return wrong("is longer than 2048 bytes");
    }
    let Ok(url) = Url::parse(text) else {
        return wrong("is no URL; it is like https://example.org/stile");
    };
    match url.scheme() {
        "https" => {}
        "http" if insecure_http => {}
        "http" => {
            return wrong(
                "is http, which anybody on the way can read and change; take https, or say \
                 insecure_http",
            );
        }
        _ => return wrong("must begin with https://"),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return wrong("has a user name or password in it, which is not sent");
    }
    let Some(host) = url.host_str() else {
        return wrong("has no host");
    };
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    let origin = format!("{}://{host}{port}", url.scheme());
    Ok((url, origin))
}

fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

fn not_allowed(what: &str) -> String {
    format!(
        "{what} is no address of the public internet; the server's operator can allow it with \
         serve --webhook-allow"
    )
}

/// Resolves names as the system does, and gives the allowed ones of their addresses alone: the
/// connection goes to what was looked at here, whatever the name leads to a moment later.
struct Allowed(Arc<[Network]>);

impl Resolve for Allowed {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = Arc::clone(&self.0);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found: Vec<SocketAddr> = found
                .filter(|found| may_go_to(found.ip(), &allowed))
                .collect();
            if found.is_empty() {
                return Err(not_allowed(name.as_str()).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The innermost cause says what happened; the outer ones repeat the URL.
fn failure(error: &reqwest::Error) -> Failure {
    if error.is_timeout() {
        return Failure::from("it took too long to answer".to_owned());
    }
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    Failure::from(cause.to_string())
}

fn refused(answer: &Response, now: EpochMillis) -> Failure {
    let status = answer.status();
    let problem = match status.is_redirection() {
        true => format!(
            "it answers {} to another place, where nothing is sent",
            status.as_u16()
        ),
        false => format!("it answers {}", status.as_u16()),
    };
    let asked = answer.headers().get(RETRY_AFTER);
    Failure {
        problem,
        retry_after: asked
            .and_then(|value| value.to_str().ok())
            .and_then(|text| retry_after(text.trim(), now)),
    }
}

/// Seconds, or a date as mails have them.
fn retry_after(text: &str, now: EpochMillis) -> Option<Duration> {
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    u64::try_from(then.as_millisecond() - now.0)
        .ok()
        .map(Duration::from_millis)
}

/// The beginning of an answer; the request's own time bounds how long that takes.
async fn beginning(mut answer: Response) -> Result<Vec<u8>, Failure> {
    let mut read = Vec::new();
    while read.len() < ANSWER_BYTES {
        match answer.chunk().await.map_err(|error| failure(&error))? {
            Some(chunk) => read.extend_from_slice(&chunk),
            None => break,
        }
    }
    Ok(read)
}
