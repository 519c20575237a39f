//! A venue's devices, as far as an operator asks what they still hold back.

use axum::extract::State;
use axum::http::StatusCode;
use stile_core::ids::DeviceId;
use stile_core::protocol::{Devices, Readmission};

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::body::JsonBody;
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

/// Revokes a device for good.
///
/// Whatever it asks next is answered with a signed word, by which it gives up keys and lists. What
/// it has not delivered it still may; what it admitted is set aside until a person judges.
#[utoipa::path(
    post, path = "/v1/devices/{device_id}/revoke", operation_id = "revoke_device",
    tag = "devices",
    params(("device_id" = DeviceId, Path, description = "The device.")),
    responses((status = 204, description = "It is revoked."))
)]
pub async fn revoke(
    State(app): State<App>,
    caller: Caller,
    PathParam(device): PathParam<DeviceId>,
) -> Result<StatusCode, Refusal> {
    crate::acting::names(&device);
    let server = app.server();
    server.revoke_device(&caller.venue, &device).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes a device one of the venue's again that the server's data forgot.
///
/// That is one with the standing `forgotten`: its certificate is the venue's, and the data was put
/// back from a backup that is older than its enrolment. Only you can know whether it still is where
/// it was.
#[utoipa::path(
    post, path = "/v1/devices/{device_id}/readmit", operation_id = "readmit_device",
    tag = "devices",
    params(("device_id" = DeviceId, Path, description = "The device.")),
    request_body = Readmission,
    responses((status = 204, description = "It gets lists, and its records count."))
)]
pub async fn readmit(
    State(app): State<App>,
    caller: Caller,
    PathParam(device): PathParam<DeviceId>,
    JsonBody(readmission): JsonBody<Readmission>,
) -> Result<StatusCode, Refusal> {
    crate::acting::names(&device);
    let server = app.server();
    let readmitted = server.readmit_device(&caller.venue, &device, readmission);
    readmitted.await?;
    Ok(StatusCode::NO_CONTENT)
}
