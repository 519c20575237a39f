//! What gates hear of each other's admissions.

use axum::extract::State;
use serde::Deserialize;
use stile_core::protocol::FeedAnswer;
use utoipa::IntoParams;

use super::App;
use super::answer::Json;
use super::params::{QueryParams, check_wait};
use super::refusal::Refusal;
use crate::server::Device;

/// Which piece of the feed is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// The cursor of the piece before; without it, or with one of another server, the start of
    /// the days that are held.
    after: Option<String>,
    /// Seconds to wait while there is nothing, 0 to 25; by default 0.
    #[serde(default)]
    #[param(maximum = 25)]
    wait: u32,
}

/// Entries, exits and undos of the venue's held days, in the order in which they were stored.
///
/// An entry comes again when its standing changes; items are united by their record ids.
#[utoipa::path(
    get, path = "/v1/gate/admissions", operation_id = "get_admissions", tag = "gate",
    params(Wanted),
    responses((status = 200, description = "The next piece.", body = FeedAnswer))
)]
pub async fn admissions(
    State(app): State<App>,
    device: Device,
    QueryParams(wanted): QueryParams<Wanted>,
) -> Result<Json<FeedAnswer>, Refusal> {
    check_wait(wanted.wait)?;
    let after = wanted.after.as_deref();
    let answer = app.server().admissions_feed(&device, after, wanted.wait);
    Ok(Json(answer.await?))
}
