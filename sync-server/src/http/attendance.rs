//! Reports for the back end.

use axum::extract::State;
use serde::Deserialize;
use stile_core::protocol::Attendance;
use stile_core::time::ServiceDay;
use utoipa::IntoParams;

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::params::QueryParams;
use super::refusal::Refusal;
use crate::attendance::GroupBy;

/// Which days are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// The first service day.
    from: ServiceDay,
    /// The last one; by default the first. A report covers 93 days at most.
    to: Option<ServiceDay>,
    /// What counts are told apart by; `session` by default.
    #[serde(default)]
    #[param(inline)]
    group_by: GroupBy,
}

/// Who came: persons and tickets, by the same fold that gates use, per session or by day, gate, hour
/// or category.
///
/// Two rates, each 0 to 1: `rate_of_expected` is attended persons of those expected, which leaves out
/// what was cancelled, blocked or not paid; `rate_of_booked` is attended persons of all that were
/// booked, cancelled ones included. `no_show` is null until nothing more can be missing (`finality`).
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
        server
            .attendance_by(&caller.venue, &wanted.from, to, wanted.group_by)
            .await?,
    ))
}
