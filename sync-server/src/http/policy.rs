//! What a venue decided for itself.

use axum::extract::State;
use stile_core::policy::Policy;
use stile_core::protocol::PolicyPut;

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::body::StrictBody;
use super::refusal::Refusal;
use crate::server::policy_warnings;

/// The venue's policy.
#[utoipa::path(
    get, path = "/v1/policy", operation_id = "get_policy", tag = "policy",
    responses((status = 200, description = "The policy.", body = Policy))
)]
pub async fn get(State(app): State<App>, caller: Caller) -> Result<Json<Policy>, Refusal> {
    Ok(Json(app.server().policy(&caller.venue).await?))
}

/// Replaces the venue's policy.
///
/// Gates hear of it with their next list. What should be thought about all the same is told in
/// `warnings`: opaque codes that can be guessed, and what documents mean for visitors. Tickets that were imported before have no documents until
/// they are sent again.
#[utoipa::path(
    put, path = "/v1/policy", operation_id = "put_policy", tag = "policy",
    request_body = Policy,
    responses((status = 200, description = "The policy as it stands now.", body = PolicyPut))
)]
pub async fn put(
    State(app): State<App>,
    caller: Caller,
    StrictBody(policy): StrictBody<Policy>,
) -> Result<Json<PolicyPut>, Refusal> {
    app.server()
        .set_policy(&caller.venue, policy.clone())
        .await?;
    let warnings = policy_warnings(&policy);
    Ok(Json(PolicyPut { policy, warnings }))
}
