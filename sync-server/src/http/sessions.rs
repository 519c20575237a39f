//! A venue's sessions.

use axum::extract::State;
use serde::Deserialize;
use stile_core::ids::SessionId;
use stile_core::protocol::{NewSession, Sessions};
use stile_core::ticket::Session;
use stile_core::time::ServiceDay;
use utoipa::IntoParams;

use super::App;
use super::answer::{Json, Put};
use super::auth::Caller;
use super::body::StrictBody;
use super::params::{PathParam, QueryParams};
use super::refusal::Refusal;

/// Creates a session or replaces it.
///
/// Gates hear of it with their next list. A session that goes to another day takes its tickets
/// along, but not the documents that they are known by: these are hashed under their day's key, so
/// send the tickets again.
#[utoipa::path(
    put, path = "/v1/sessions/{session_id}", operation_id = "put_session", tag = "sessions",
    params(("session_id" = SessionId, Path, description = "The booking system's id.")),
    request_body = NewSession,
    responses(
        (status = 200, description = "The session as it stands now.", body = Session),
        (status = 201, description = "The session, which is new.", body = Session),
    )
)]
pub async fn put(
    State(app): State<App>,
    caller: Caller,
    PathParam(session_id): PathParam<SessionId>,
    StrictBody(session): StrictBody<NewSession>,
) -> Result<Put<Session>, Refusal> {
    let (session, change) = app
        .server()
        .put_session(&caller.venue, session_id, session)
        .await?;
    Ok(Put(session, change))
}

/// Which sessions are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// Those of this day only.
    service_day: Option<ServiceDay>,
}

/// The venue's sessions.
#[utoipa::path(
    get, path = "/v1/sessions", operation_id = "list_sessions", tag = "sessions",
    params(Wanted),
    responses((status = 200, description = "The sessions.", body = Sessions))
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    QueryParams(wanted): QueryParams<Wanted>,
) -> Result<Json<Sessions>, Refusal> {
    let sessions = app
        .server()
        .sessions(&caller.venue, wanted.service_day.as_ref())
        .await?;
    Ok(Json(Sessions { sessions }))
}
