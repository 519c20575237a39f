//! A venue's operators.

use axum::extract::State;
use axum::http::StatusCode;
use stile_core::ids::OperatorId;
use stile_core::protocol::{NewOperator, OperatorView, Operators};

use super::App;
use super::answer::{Json, Put};
use super::auth::Caller;
use super::body::StrictBody;
use super::params::PathParam;
use super::refusal::Refusal;

/// Creates an operator or replaces one.
///
/// Gates hear of it with their next list. The text of a new staff QR is in this one answer.
#[utoipa::path(
    put, path = "/v1/operators/{operator_id}", operation_id = "put_operator", tag = "operators",
    params(("operator_id" = OperatorId, Path, description = "The operator's id.")),
    request_body = NewOperator,
    responses(
        (status = 200, description = "The operator as it stands now.", body = OperatorView),
        (status = 201, description = "The operator, who is new.", body = OperatorView),
    )
)]
pub async fn put(
    State(app): State<App>,
    caller: Caller,
    PathParam(operator_id): PathParam<OperatorId>,
    StrictBody(operator): StrictBody<NewOperator>,
) -> Result<Put<OperatorView>, Refusal> {
    let put = app
        .server()
        .put_operator(&caller.venue, operator_id, operator);
    let (operator, change) = put.await?;
    Ok(Put(operator, change))
}

/// The venue's operators, without their PINs.
#[utoipa::path(
    get, path = "/v1/operators", operation_id = "list_operators", tag = "operators",
    responses((status = 200, description = "The operators.", body = Operators))
)]
pub async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Operators>, Refusal> {
    Ok(Json(app.server().operators(&caller.venue).await?))
}

/// Removes an operator.
#[utoipa::path(
    delete, path = "/v1/operators/{operator_id}", operation_id = "remove_operator",
    tag = "operators",
    params(("operator_id" = OperatorId, Path, description = "The operator's id.")),
    responses((status = 204, description = "The operator is removed."))
)]
pub async fn remove(
    State(app): State<App>,
    caller: Caller,
    PathParam(operator_id): PathParam<OperatorId>,
) -> Result<StatusCode, Refusal> {
    app.server()
        .remove_operator(&caller.venue, &operator_id)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
