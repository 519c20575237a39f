//! Reports for the back end.

use axum::extract::State;
use serde::Deserialize;
use stile_core::protocol::Attendance;
use stile_core::time::ServiceDay;
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::params::QueryParams;
use super::refusal::Refusal;

/// What counts are told apart by.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// Session and day.
    #[default]
    Session,
}

/// Which days are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// The first service day.
    from: ServiceDay,
    /// The last one; by default the first. A report covers 93 days at most.
    to: Option<ServiceDay>,
    /// What counts are told apart by; `session`.
    #[serde(default, rename = "group_by")]
    #[param(inline)]
    _group_by: GroupBy,
}

/// Who came: persons and tickets per session, by the same fold that gates use.
#[utoipa::path(
    get, path = "/v1/reports/attendance", operation_id = "get_attendance", tag = "reports",
    params(Wanted),
    responses((status = 200, description = "The attendance.", body = Attendance))
)]
pub async fn report(
    State(app): State<App>,
    caller: Caller,
    QueryParams(wanted): QueryParams<Wanted>,
) -> Result<Json<Attendance>, Refusal> {
    let to = wanted.to.as_ref().unwrap_or(&wanted.from);
    let server = app.server();
    Ok(Json(
        server.attendance(&caller.venue, &wanted.from, to).await?,
    ))
}
