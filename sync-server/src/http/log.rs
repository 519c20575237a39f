//! The request log: one line per request with what helps the person on call, and nothing that
//! names a visitor: no path beyond its template, no query, no body, no token.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::Response;
use data_encoding::HEXLOWER;
use tracing::{Instrument, info, info_span};

use super::refusal::RefusedWith;
use crate::random::{SystemRandom, random_bytes};

/// The trace that a request belongs to: its own, if it came with one.
#[derive(Debug, Clone)]
pub struct Trace(pub String);

/// Logs method, route, status, time until the answer began, and the trace that it belongs to.
pub async fn log(mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let trace = trace_id(request.headers()).map(str::to_owned);
    let trace = trace.unwrap_or_else(|| HEXLOWER.encode(&random_bytes::<16>(&SystemRandom)));
    request.extensions_mut().insert(Trace(trace.clone()));
    let span = info_span!("request", trace);
    let response = next.run(request).instrument(span).await;
    let code = response.extensions().get::<RefusedWith>();
    info!(
        %method,
        route = route.as_ref().map(MatchedPath::as_str),
        status = response.status().as_u16(),
        code = code.map(|RefusedWith(code)| code.name()),
        ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        trace,
        "answered"
    );
    response
}

/// The trace id of a W3C `traceparent`, version 00.
fn trace_id(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get("traceparent")?.to_str().ok()?;
    let mut parts = text.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let is_id = version == "00"
        && trace.len() == 32
        && trace
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        && trace.bytes().any(|byte| byte != b'0');
    is_id.then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(traceparent: &'static str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", traceparent.parse().unwrap());
        trace_id(&headers).map(str::to_owned)
    }

    #[test]
    fn a_trace_is_logged_only_when_it_is_one() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(
            id_of("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").as_deref(),
            Some(id)
        );
        for other in [
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "name=Li Xiaoming",
            "00",
        ] {
            assert_eq!(id_of(other), None, "{other}");
        }
    }
}
