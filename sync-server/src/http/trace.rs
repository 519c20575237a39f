//! What a request is called, so that what its sender saw can be found in the log: its own id, and
//! the trace that it is a part of. Both come from the sender, or are made here.

use std::future::Future;

use axum::http::{HeaderMap, HeaderName};
use data_encoding::HEXLOWER;

use crate::random::{SystemRandom, random_bytes};
use crate::traced::{self, TraceId};

/// The header with a request's id, on its way in and in every answer.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The header with the trace, by W3C Trace Context.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// Shortest and longest id that is taken from a sender, in bytes: 64 random bits, and two UUIDs.
const REQUEST_ID_BYTES: std::ops::RangeInclusive<usize> = 16..=74;

tokio::task_local! {
    static CURRENT: Trace;
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The request's own id.
    pub request_id: String,
    /// The id of its trace: 32 hex digits.
    pub id: String,
}

impl Trace {
    /// What a request with these headers is called.
    pub fn of(headers: &HeaderMap) -> Self {
        let request_id = request_id(headers).map(str::to_owned);
        let id = trace_id(headers).map(str::to_owned);
        Self {
            request_id: request_id.unwrap_or_else(made),
            id: id.unwrap_or_else(made),
        }
    }

    /// That of the request that is being answered here.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// Answers a request of this name.
    pub async fn surround<T>(&self, work: impl Future<Output = T>) -> T {
        let id = HEXLOWER.decode(self.id.as_bytes()).ok();
        let id = id.and_then(|id| id.try_into().ok()).map(TraceId);
        let work = traced::surround(id, work);
        CURRENT.scope(self.clone(), work).await
    }
}

/// 128 random bits: an id of either kind.
fn made() -> String {
    HEXLOWER.encode(&random_bytes::<16>(&SystemRandom))
}

/// The sender's id for its request. It will stand in the log, so it must look like a random
/// number: hex digits, grouped or not, with a letter among them. No name, phone, document, token or
/// code does.
fn request_id(headers: &HeaderMap) -> Option<&str> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let is_id = REQUEST_ID_BYTES.contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && id.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_id.then_some(id)
}

/// The trace id of a `traceparent`, version 00.
fn trace_id(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(TRACEPARENT)?.to_str().ok()?;
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

    fn of(name: HeaderName, value: &'static str) -> Trace {
        Trace::of(&HeaderMap::from_iter([(name, value.parse().unwrap())]))
    }

    #[test]
    fn a_trace_is_taken_only_when_it_is_one() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(of(TRACEPARENT, sent).id, id);
        for other in [
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "name=Li Xiaoming",
            "00",
        ] {
            let made = of(TRACEPARENT, other).id;
            assert_eq!(made.len(), 32, "{other}");
            assert!(!other.contains(&made), "{other}");
        }
    }

    #[test]
    fn an_id_that_could_say_something_of_anybody_is_replaced() {
        for taken in [
            "0190b5a4-7c1e-7d3a-9f00-3c2b1a0d9e8f",
            "0190B5A4-7C1E-7D3A-9F00-3C2B1A0D9E8F",
            "4bf92f3577b34da6a3ce929d0e0e4736",
            "00f067aa0ba902b7",
        ] {
            assert_eq!(of(REQUEST_ID, taken).request_id, taken);
        }
        for other in [
            "",
            "1",
            "13800005678",
            "110101199003070000",
            "11010119900307000X",
            "E12345678",
            "stile_key_abcdefabcdefabcdef",
            "li xiaoming of room 12",
            "0190b5a4-7c1e-7d3a-9f00-3c2b1a0d9e8f-0190b5a4-7c1e-7d3a-9f00-3c2b1a0d9e8f-0",
        ] {
            let made = of(REQUEST_ID, other).request_id;
            assert_eq!(made.len(), 32, "{other}");
            assert_ne!(made, other);
        }
    }
}
