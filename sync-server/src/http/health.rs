//! Whether the server runs, and whether it can store: for supervisors and load balancers.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::answer::Json;
use super::refusal::Refusal;

/// The state of the server.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// Always `ok`; anything else is a problem document.
    #[schema(example = "ok")]
    status: &'static str,
}

const OK: Health = Health { status: "ok" };

/// The process runs and answers.
#[utoipa::path(
    get, path = "/healthz", tag = "health",
    responses((status = 200, description = "It runs.", body = Health))
)]
pub async fn healthz() -> Json<Health> {
    Json(OK)
}

/// The server can store what it is given; otherwise 503 says why not.
#[utoipa::path(
    get, path = "/readyz", tag = "health",
    responses((status = 200, description = "It can store.", body = Health))
)]
pub async fn readyz(State(app): State<App>) -> Result<Json<Health>, Refusal> {
    app.server().ready().await?;
    Ok(Json(OK))
}
