//! A venue's gates.

use axum::extract::State;
use stile_core::ids::GateId;
use stile_core::protocol::{Gates, NewGate};
use stile_core::ticket::Gate;

use super::App;
use super::answer::{Json, Put};
use super::auth::Caller;
use super::body::StrictBody;
use super::params::PathParam;
use super::refusal::Refusal;

/// Creates a gate or replaces it.
#[utoipa::path(
    put, path = "/v1/gates/{gate_id}", operation_id = "put_gate", tag = "gates",
    params(("gate_id" = GateId, Path, description = "The gate's id.")),
    request_body = NewGate,
    responses(
        (status = 200, description = "The gate as it stands now.", body = Gate),
        (status = 201, description = "The gate, which is new.", body = Gate),
    )
)]
pub async fn put(
    State(app): State<App>,
    caller: Caller,
    PathParam(gate_id): PathParam<GateId>,
    StrictBody(gate): StrictBody<NewGate>,
) -> Result<Put<Gate>, Refusal> {
    let (gate, change) = app.server().put_gate(&caller.venue, gate_id, gate).await?;
    Ok(Put(gate, change))
}

/// The venue's gates.
#[utoipa::path(
    get, path = "/v1/gates", operation_id = "list_gates", tag = "gates",
    responses((status = 200, description = "The gates.", body = Gates))
)]
pub async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Gates>, Refusal> {
    let gates = app.server().gates(&caller.venue).await?;
    Ok(Json(Gates { gates }))
}
