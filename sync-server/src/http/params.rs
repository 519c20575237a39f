//! Parameters of path and query, typed; what is said of a wrong one names it and does not repeat
//! it.

use std::error::Error;

use axum::extract::path::ErrorKind;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use stile_core::protocol::{Code, MAX_WAIT_S};

use super::body::without_values;
use super::refusal::Refusal;

/// Parameters of the path.
pub struct PathParam<T>(pub T);

/// Parameters of the query.
pub struct QueryParams<T>(pub T);

impl<T, S> FromRequestParts<S> for PathParam<T>
where
    T: DeserializeOwned + Send,
    S: Send + Sync,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = Path::from_request_parts(parts, state).await;
        path.map(|Path(value)| Self(value)).map_err(wrong_path)
    }
}

impl<T, S> FromRequestParts<S> for QueryParams<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let query = Query::from_request_parts(parts, state).await;
        query
            .map(|Query(value)| Self(value))
            .map_err(|error| wrong_query(&error))
    }
}

/// Says that a parameter is wrong, and what it should be.
pub fn wrong(name: &str, what: &str) -> Refusal {
    Refusal::new(Code::InvalidParameter, format!("{name}: {what}"))
}

/// The largest number that JSON's readers all read as it is.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// Checks the id behind which a page begins.
pub fn check_before(before: Option<u64>) -> Result<(), Refusal> {
    match before.is_none_or(|before| before <= MAX_NUMBER) {
        true => Ok(()),
        false => Err(wrong("before", &format!("0 to {MAX_NUMBER}"))),
    }
}

/// Checks the seconds that a request asks to wait.
pub fn check_wait(wait_s: u32) -> Result<(), Refusal> {
    match wait_s <= MAX_WAIT_S {
        true => Ok(()),
        false => Err(wrong("wait", &format!("0 to {MAX_WAIT_S} seconds"))),
    }
}

fn wrong_path(rejection: PathRejection) -> Refusal {
    let PathRejection::FailedToDeserializePathParams(error) = rejection else {
        return Refusal::internal(&rejection);
    };
    match error.into_kind() {
        ErrorKind::DeserializeError { key, message, .. } => wrong(&key, &without_values(&message)),
        ErrorKind::InvalidUtf8InPathParam { key } => wrong(&key, "not UTF-8"),
        ErrorKind::ParseErrorAtKey {
            key, expected_type, ..
        } => wrong(&key, &format!("expected {expected_type}")),
        ErrorKind::ParseErrorAtIndex { expected_type, .. }
        | ErrorKind::ParseError { expected_type, .. } => {
            wrong("path", &format!("expected {expected_type}"))
        }
        ErrorKind::Message(message) => wrong("path", &without_values(&message)),
        other => Refusal::internal(&other),
    }
}

fn wrong_query(rejection: &QueryRejection) -> Refusal {
    // The rejection's own text is for people; its source says `name: what`.
    let text = rejection.source().map(ToString::to_string);
    let text = text.unwrap_or_default();
    match text.split_once(": ") {
        Some((name, what)) if is_name(name) => wrong(name, &without_values(what)),
        _ => wrong("query", &without_values(&text)),
    }
}

fn is_name(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}
