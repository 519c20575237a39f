//! A venue's devices, as far as an operator asks what they still hold back.

use axum::extract::State;
use axum::http::StatusCode;
use stile_core::ids::DeviceId;
use stile_core::protocol::Devices;

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::params::PathParam;
use super::refusal::Refusal;

/// The venue's devices, with what each last said of its outbox.
#[utoipa::path(
    get, path = "/v1/devices", operation_id = "list_devices", tag = "devices",
    responses((status = 200, description = "The devices.", body = Devices))
)]
pub async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Devices>, Refusal> {
    Ok(Json(app.server().devices(&caller.venue).await?))
}

/// Nobody uses the device any more.
///
/// No session waits for it until it reports again. What it holds back is taken whenever it comes,
/// and marked where its session was final by then.
#[utoipa::path(
    post, path = "/v1/devices/{device_id}/out-of-use", operation_id = "set_device_out_of_use",
    tag = "devices",
    params(("device_id" = DeviceId, Path, description = "The device.")),
    responses((status = 204, description = "Nothing waits for it."))
)]
pub async fn out_of_use(
    State(app): State<App>,
    caller: Caller,
    PathParam(device): PathParam<DeviceId>,
) -> Result<StatusCode, Refusal> {
    crate::acting::names(&device);
    let server = app.server();
    server.device_out_of_use(&caller.venue, &device).await?;
    Ok(StatusCode::NO_CONTENT)
}
