//! The one way in which a request is refused: an RFC 9457 document with a stable code, and the
//! headers that go with it.

use std::error::Error;
use std::fmt;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use stile_core::protocol::{Code, Problem};

use super::trace::Trace;
use crate::ServerError;
use crate::config::RETRY_AFTER_S;

/// The media type of problem documents.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Why a request is refused.
#[derive(Debug, Clone)]
pub struct Refusal {
    problem: Box<Problem>,
    /// Members of the document beside those that every problem has.
    members: Map<String, Value>,
}

impl Refusal {
    /// A refusal with its particulars: what, where, and what to do. `detail` never repeats what
    /// the client sent.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            problem: Box::new(Problem::new(code, detail)),
            members: Map::new(),
        }
    }

    /// A fault of the server: told to the log in full, and to the client not at all.
    pub fn internal(error: &dyn fmt::Display) -> Self {
        tracing::error!(%error, "internal error");
        Self::new(
            Code::Internal,
            "The server failed; its log says how. Nothing that was answered is lost: send the \
             same request again.",
        )
    }

    /// The same with one more member for programs.
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.members.insert(name.to_owned(), value);
        self
    }

    /// What, where, and what to do.
    pub fn detail(&self) -> &str {
        &self.problem.detail
    }
}

/// One of the results of a request for several things: what was done, or why not.
pub fn either<T>(result: Result<T, impl Into<Refusal>>) -> (Option<T>, Option<Problem>) {
    match result {
        Ok(done) => (Some(done), None),
        Err(error) => (None, Some(*error.into().problem)),
    }
}

impl From<ServerError> for Refusal {
    fn from(error: ServerError) -> Self {
        if let Some(cause) = error.source() {
            tracing::error!(%cause, "{error}");
        }
        let refusal = Self::new(error.code(), error.to_string());
        match error {
            ServerError::CursorRestarted { start: cursor }
            | ServerError::CursorExpired { go_on: cursor } => refusal.with("cursor", cursor),
            ServerError::Revoked(notice) => refusal.with("revocation", notice),
            _ => refusal,
        }
    }
}

/// The code of a refusal, left in the answer's extensions for the request log.
#[derive(Debug, Clone, Copy)]
pub struct RefusedWith(pub Code);

impl IntoResponse for Refusal {
    fn into_response(mut self) -> Response {
        let code = self.problem.code;
        if let Some(Trace { request_id, id }) = Trace::current() {
            self.problem.request_id = Some(request_id);
            self.problem.trace = Some(id);
        }
        let document = Document {
            problem: &self.problem,
            members: &self.members,
        };
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() =
            StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.extensions_mut().insert(RefusedWith(code));
        add_headers(code, response.headers_mut());
        response
    }
}

/// What HTTP wants to stand beside these statuses.
fn add_headers(code: Code, headers: &mut HeaderMap) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    match code.status() {
        401 => {
            let scheme = HeaderValue::from_static("Bearer realm=\"stile\"");
            headers.insert(WWW_AUTHENTICATE, scheme);
        }
        429 | 503 => {
            headers.insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
        }
        _ => {}
    }
}

#[derive(Serialize)]
struct Document<'r> {
    #[serde(flatten)]
    problem: &'r Problem,
    #[serde(flatten)]
    members: &'r Map<String, Value>,
}
