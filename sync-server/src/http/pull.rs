//! The log on its way to the back end, and the conflicts in it.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::HeaderValue;
use axum::http::header::{ACCEPT, VARY};
use axum::response::{IntoResponse, Response};
use mime::Mime;
use serde::{Deserialize, Serialize};
use stile_core::protocol::{Conflicts, CursorRestarted, Pulled, PulledEnd};
use utoipa::IntoParams;

use super::App;
use super::answer::{Json, NDJSON, with_type};
use super::auth::Caller;
use super::params::{QueryParams, check_wait, wrong};
use super::refusal::Refusal;
use crate::config::{PULL_DEFAULT, PULL_MAX};
use crate::server::PullRequest;
use crate::store::{ConflictState, LogStream};

/// Which piece of the log is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// The cursor of the piece before; without it, the log's start.
    after: Option<String>,
    /// Records at most, 1 to 10,000; by default 1,000.
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<u32>,
    /// Seconds to wait while there is none, 0 to 25; by default 0.
    #[serde(default)]
    #[param(maximum = 25)]
    wait: u32,
}

/// The log: every record that was accepted, in the order in which the server stored it.
///
/// As one JSON document, or as lines of JSON where `accept` names `application/x-ndjson`: one
/// `PulledRecord` per line, then a `PulledEnd`. Each record comes exactly once per generation.
#[utoipa::path(
    get, path = "/v1/records", operation_id = "pull_records", tag = "log",
    params(Wanted),
    responses(
        (status = 200, description = "The next piece.", content(
            (Pulled = "application/json"), (String = "application/x-ndjson"),
        )),
        (
            status = 409, description = "The data was put back from a backup.",
            body = CursorRestarted, content_type = "application/problem+json"
        ),
    )
)]
pub async fn records(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    QueryParams(wanted): QueryParams<Wanted>,
) -> Result<Response, Refusal> {
    pull(&app, &caller, LogStream::Records, &headers, wanted).await
}

/// The check-ins of the log: records that admitted a ticket at an `in` gate.
///
/// Otherwise as `/v1/records`; cursors of one are not taken by the other.
#[utoipa::path(
    get, path = "/v1/check-ins", operation_id = "pull_check_ins", tag = "log",
    params(Wanted),
    responses(
        (status = 200, description = "The next piece.", content(
            (Pulled = "application/json"), (String = "application/x-ndjson"),
        )),
        (
            status = 409, description = "The data was put back from a backup.",
            body = CursorRestarted, content_type = "application/problem+json"
        ),
    )
)]
pub async fn check_ins(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    QueryParams(wanted): QueryParams<Wanted>,
) -> Result<Response, Refusal> {
    pull(&app, &caller, LogStream::CheckIns, &headers, wanted).await
}

async fn pull(
    app: &App,
    caller: &Caller,
    stream: LogStream,
    headers: &HeaderMap,
    wanted: Wanted,
) -> Result<Response, Refusal> {
    let limit = wanted.limit.unwrap_or(PULL_DEFAULT);
    if !(1..=PULL_MAX).contains(&limit) {
        return Err(wrong("limit", &format!("1 to {PULL_MAX}")));
    }
    check_wait(wanted.wait)?;
    let request = PullRequest {
        stream,
        after: wanted.after,
        limit,
        wait_s: wanted.wait,
    };
    let pulled = app.server().pull(&caller.venue, &request).await?;
    let mut response = match wants_lines(headers) {
        true => lines(&pulled)?,
        false => Json(pulled).into_response(),
    };
    response
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

fn wants_lines(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    let mut accepted = accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    accepted.any(|range| {
        let range = range.trim().parse::<Mime>();
        range.is_ok_and(|range| range.essence_str() == NDJSON)
    })
}

fn lines(pulled: &Pulled) -> Result<Response, Refusal> {
    let mut text = Vec::new();
    for record in &pulled.records {
        write_line(&mut text, record)?;
    }
    let end = PulledEnd {
        cursor: pulled.cursor.clone(),
        more: pulled.more,
    };
    write_line(&mut text, &end)?;
    Ok(with_type(NDJSON, text))
}

fn write_line(text: &mut Vec<u8>, line: &impl Serialize) -> Result<(), Refusal> {
    serde_json::to_writer(&mut *text, line).map_err(|error| Refusal::internal(&error))?;
    text.push(b'\n');
    Ok(())
}

/// Which conflicts are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WantedConflicts {
    /// `open` by default: those that have a loser.
    #[serde(default)]
    #[param(inline)]
    state: ConflictState,
}

/// Tickets that were admitted for more persons than they have.
#[utoipa::path(
    get, path = "/v1/conflicts", operation_id = "list_conflicts", tag = "log",
    params(WantedConflicts),
    responses((status = 200, description = "The conflicts, newest first.", body = Conflicts))
)]
pub async fn conflicts(
    State(app): State<App>,
    caller: Caller,
    QueryParams(wanted): QueryParams<WantedConflicts>,
) -> Result<Json<Conflicts>, Refusal> {
    let server = app.server();
    Ok(Json(server.conflicts(&caller.venue, wanted.state).await?))
}
