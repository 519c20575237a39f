//! Records that were set aside: what they are, and what a person makes of them.

use axum::extract::State;
use serde::Deserialize;
use stile_core::ids::DeviceId;
use stile_core::protocol::{Quarantine, QuarantineChoice, QuarantineJudged};
use utoipa::IntoParams;

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::body::JsonBody;
use super::params::{QueryParams, wrong};
use super::refusal::Refusal;

/// Records that one answer has at most.
const MAX_LISTED: u32 = 1_000;

/// Which of them are listed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Which {
    /// Of this device alone.
    #[param(value_type = Option<String>, pattern = "^[\\x21-\\x7e]{1,64}$")]
    device_id: Option<DeviceId>,
    /// Records at most.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
}

/// The records that wait for a person or for their ticket, oldest first.
#[utoipa::path(
    get, path = "/v1/quarantine", operation_id = "list_quarantine", tag = "log",
    params(Which),
    responses((status = 200, description = "The records.", body = Quarantine))
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    QueryParams(which): QueryParams<Which>,
) -> Result<Json<Quarantine>, Refusal> {
    let limit = which.limit.unwrap_or(MAX_LISTED);
    if !(1..=MAX_LISTED).contains(&limit) {
        return Err(wrong("limit", &format!("1 to {MAX_LISTED}")));
    }
    let server = app.server();
    let found = server.quarantine(&caller.venue, which.device_id, limit);
    Ok(Json(found.await?))
}

/// Takes records into the log, where they count from now on.
///
/// What cannot be accepted says so and stays: of another venue, or with an id or a place in the log
/// that is another record's.
#[utoipa::path(
    post, path = "/v1/quarantine/accept", operation_id = "accept_quarantined", tag = "log",
    request_body = QuarantineChoice,
    responses((status = 200, description = "What became of each.", body = QuarantineJudged))
)]
pub async fn accept(
    State(app): State<App>,
    caller: Caller,
    JsonBody(choice): JsonBody<QuarantineChoice>,
) -> Result<Json<QuarantineJudged>, Refusal> {
    let judged = app.server().accept_quarantined(&caller.venue, choice);
    Ok(Json(judged.await?))
}

/// Keeps records out of the log. They are kept as long as others, and listed no more.
#[utoipa::path(
    post, path = "/v1/quarantine/dismiss", operation_id = "dismiss_quarantined", tag = "log",
    request_body = QuarantineChoice,
    responses((status = 200, description = "What became of each.", body = QuarantineJudged))
)]
pub async fn dismiss(
    State(app): State<App>,
    caller: Caller,
    JsonBody(choice): JsonBody<QuarantineChoice>,
) -> Result<Json<QuarantineJudged>, Refusal> {
    let judged = app.server().dismiss_quarantined(&caller.venue, choice);
    Ok(Json(judged.await?))
}
