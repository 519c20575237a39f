//! API keys, as the administrators of a venue see them.

use axum::extract::State;
use stile_core::protocol::{ApiKeyId, ApiKeyView, ApiKeys, MadeApiKey, NewApiKey};

use super::App;
use super::answer::{Json, Put};
use super::auth::Caller;
use super::body::StrictBody;
use super::params::PathParam;
use super::refusal::Refusal;
use crate::store::Change;

/// Makes an API key.
///
/// It has no more than the key that makes it: no further venue, no further scope, no longer time.
/// Its text is in this one answer.
#[utoipa::path(
    post, path = "/v1/api-keys", operation_id = "make_api_key", tag = "api keys",
    request_body = NewApiKey,
    responses((status = 201, description = "The key, with its text.", body = MadeApiKey))
)]
pub async fn make(
    State(app): State<App>,
    caller: Caller,
    StrictBody(new): StrictBody<NewApiKey>,
) -> Result<Put<MadeApiKey>, Refusal> {
    let server = app.server();
    let made = server.add_api_key_by(&caller.key, &caller.venue, new);
    Ok(Put(made.await?, Change::Created))
}

/// The API keys that are or were good for the venue, without their texts.
///
/// Each as it is at this venue: when it was last used here, and since when it is revoked here.
#[utoipa::path(
    get, path = "/v1/api-keys", operation_id = "list_api_keys", tag = "api keys",
    responses((status = 200, description = "The keys, oldest first.", body = ApiKeys))
)]
pub async fn list(State(app): State<App>, caller: Caller) -> Result<Json<ApiKeys>, Refusal> {
    Ok(Json(app.server().api_keys_at(&caller.venue).await?))
}

/// Revokes an API key at the venue.
///
/// It opens nothing of this venue any more; again is as once. Keys that it made stay: `made_by`
/// tells them.
#[utoipa::path(
    post, path = "/v1/api-keys/{api_key_id}/revoke", operation_id = "revoke_api_key",
    tag = "api keys",
    params(("api_key_id" = ApiKeyId, Path, description = "The key's id.")),
    responses((status = 200, description = "The key as it stands now.", body = ApiKeyView))
)]
pub async fn revoke(
    State(app): State<App>,
    caller: Caller,
    PathParam(api_key_id): PathParam<ApiKeyId>,
) -> Result<Json<ApiKeyView>, Refusal> {
    let revoked = app.server().revoke_api_key_at(&caller.venue, api_key_id);
    Ok(Json(revoked.await?))
}
