//! A venue's sessions.

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value};
use stile_core::ids::SessionId;
use stile_core::protocol::{Code, NewSession, SessionPut, Sessions, SessionsPut};
use stile_core::ticket::Session;
use stile_core::time::ServiceDay;
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::answer::{Json, Put};
use super::auth::Caller;
use super::body::{StrictBody, strict};
use super::params::{PathParam, QueryParams};
use super::refusal::{Refusal, either};
use crate::acting;

/// Sessions of one request at most: a year of a venue has some thousand.
const MAX_SESSIONS: usize = 1_000;

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

/// Sessions, each as `PUT /v1/sessions/{session_id}` takes it and with its `session_id`.
#[derive(Debug, Deserialize, ToSchema)]
pub struct NewSessions {
    /// At most 1,000.
    #[schema(value_type = Vec<NewSessionOfMany>)]
    sessions: Vec<Map<String, Value>>,
}

/// A session among others.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "it describes what is read member by member, strictly"
)]
pub struct NewSessionOfMany {
    /// The booking system's id.
    session_id: SessionId,
    /// The session.
    #[serde(flatten)]
    session: NewSession,
}

/// Creates or replaces many sessions.
///
/// As many `PUT /v1/sessions/{session_id}` in their order. Each is answered by itself: one that is
/// wrong keeps none of the others back.
#[utoipa::path(
    post, path = "/v1/sessions", operation_id = "put_sessions", tag = "sessions",
    request_body = NewSessions,
    responses((status = 200, description = "What became of each.", body = SessionsPut))
)]
pub async fn put_many(
    State(app): State<App>,
    caller: Caller,
    StrictBody(NewSessions { sessions }): StrictBody<NewSessions>,
) -> Result<Json<SessionsPut>, Refusal> {
    if sessions.len() > MAX_SESSIONS {
        return Err(Refusal::new(
            Code::TooLarge,
            format!("More than {MAX_SESSIONS} sessions; send them in several requests"),
        ));
    }
    let read: Vec<_> = sessions.into_iter().map(one_of_many).collect();
    let good = read.iter().flatten().cloned().collect();
    let put = app.server().put_sessions(&caller.venue, good).await?;
    acting::counts(put.iter().flatten().count() as u64);
    let mut put = put.into_iter();
    let results = read.into_iter().map(|read| {
        let put = read.and_then(|_| match put.next() {
            Some(put) => Ok(put?.0),
            None => Err(Refusal::internal(&"a session was put and not answered")),
        });
        let (session, problem) = either(put);
        SessionPut { session, problem }
    });
    Ok(Json(SessionsPut {
        results: results.collect(),
    }))
}

fn one_of_many(mut members: Map<String, Value>) -> Result<(SessionId, NewSession), Refusal> {
    let wrong = |what: &str| Refusal::new(Code::InvalidBody, format!("JSON: session_id: {what}"));
    let id = members
        .remove("session_id")
        .ok_or_else(|| wrong("is missing"))?;
    let id = match id {
        Value::Number(number) => SessionId::new(number.to_string()),
        Value::String(text) => SessionId::new(text),
        _ => return Err(wrong("expected a text or an integer")),
    };
    let id = id.map_err(|error| wrong(&error.to_string()))?;
    Ok((id, strict(&Value::Object(members))?))
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
