//! What every answer has, whoever gives it: the server's time and generation in its headers, and
//! a problem document if it is an error, also where a library gave it.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stile_core::protocol::{Code, GENERATION_HEADER, TIME_HEADER};

use super::App;
use super::refusal::{PROBLEM_JSON, Refusal};
use crate::store::Change;

/// The media type of lines of JSON.
pub const NDJSON: &str = "application/x-ndjson";

/// The media type of CSV.
pub const CSV: &str = "text/csv";
/// The same, with what its reader must know.
pub const CSV_UTF_8: &str = "text/csv; charset=utf-8; header=present";

/// JSON with a status of success.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => with_type("application/json", Body::from(body)),
            Err(error) => Refusal::internal(&error).into_response(),
        }
    }
}

/// What was put, as it stands now.
#[derive(Debug)]
pub struct Put<T>(pub T, pub Change);

impl<T: Serialize> IntoResponse for Put<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.0).into_response();
        if self.1 == Change::Created && response.status().is_success() {
            *response.status_mut() = StatusCode::CREATED;
        }
        response
    }
}

/// An answer of that media type.
pub fn with_type(media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let media_type = HeaderValue::from_static(media_type);
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// Sets the server's time and generation; and that nothing between server and client keeps an
/// answer, since answers hold codes, keys and standings of the moment.
pub async fn stamp(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let time = HeaderValue::from(app.now().0);
    headers.insert(HeaderName::from_static(TIME_HEADER), time);
    let generation = HeaderValue::from(app.server().generation());
    headers.insert(HeaderName::from_static(GENERATION_HEADER), generation);
    let no_store = HeaderValue::from_static("no-store");
    headers.entry(CACHE_CONTROL).or_insert(no_store);
    response
}

/// Turns errors that a library answered (no such route, wrong method, time-out) into problem
/// documents; their headers stay.
pub async fn as_problem(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    let is_problem = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|media_type| media_type.as_bytes() == PROBLEM_JSON.as_bytes());
    if !is_error || is_problem {
        return response;
    }
    let mut problem = problem_for(status).into_response();
    for (name, value) in response.headers() {
        if *name != CONTENT_TYPE && *name != CONTENT_LENGTH {
            problem.headers_mut().insert(name.clone(), value.clone());
        }
    }
    problem
}

fn problem_for(status: StatusCode) -> Refusal {
    match status {
        StatusCode::NOT_FOUND => Refusal::new(
            Code::NoSuchRoute,
            "There is nothing at this path; /v1/openapi.json lists what there is",
        ),
        StatusCode::METHOD_NOT_ALLOWED => Refusal::new(
            Code::MethodNotAllowed,
            "The header `allow` lists the methods that this route has",
        ),
        StatusCode::SERVICE_UNAVAILABLE => Refusal::new(
            Code::StoreUnavailable,
            "The answer took too long; ask again, what was done by then stays done",
        ),
        other => Refusal::internal(&format_args!("a library answered {other}")),
    }
}
