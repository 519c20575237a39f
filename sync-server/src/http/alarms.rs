//! What needs a person at a venue.

use axum::extract::State;
use serde::Deserialize;
use stile_core::protocol::Alarms;
use utoipa::IntoParams;

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::params::{QueryParams, check_before};
use super::refusal::Refusal;
use crate::server::ALARMS;
use crate::store::AlarmQuery;

/// Which alarms are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// Those that have ended as well.
    #[serde(default)]
    all: bool,
    /// Those with a lower `alarm_id` alone: the page after one that ended there.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_u64)]
    before: Option<u64>,
    /// At most so many; 100 by default.
    #[serde(default = "alarms")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: u32,
}

fn alarms() -> u32 {
    ALARMS
}

/// The venue's alarms, the newest first: those that are open, or all that are kept.
///
/// An alarm is open as long as what it says is so, and is over by itself when it is not. Webhooks that
/// carry `alarms` are told of both.
#[utoipa::path(
    get, path = "/v1/alarms", operation_id = "list_alarms", tag = "alarms",
    params(Wanted),
    responses((status = 200, description = "The alarms.", body = Alarms))
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    QueryParams(wanted): QueryParams<Wanted>,
) -> Result<Json<Alarms>, Refusal> {
    check_before(wanted.before)?;
    let query = AlarmQuery {
        ended: wanted.all,
        before: wanted.before,
        limit: wanted.limit,
    };
    Ok(Json(app.server().alarms(&caller.venue, query).await?))
}
