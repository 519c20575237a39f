//! Invitations for devices, and the operator's word on who waits by them.

use axum::extract::State;
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};
use stile_core::ids::EnrolmentId;
use stile_core::protocol::{ConfirmEnrolment, Enrolment, EnrolmentView, Enrolments, NewEnrolment};
use tracing::warn;

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::body::JsonBody;
use super::params::PathParam;
use super::refusal::Refusal;

/// Invites a device to serve gates of the venue.
///
/// Show the text as a QR to the device; its token is good once and for ten minutes. The device then
/// shows six digits, by which it is confirmed; with `confirm: false` the first device that has the
/// text is enrolled.
#[utoipa::path(
    post, path = "/v1/enrolments", operation_id = "invite_device", tag = "devices",
    request_body = NewEnrolment,
    responses((status = 200, description = "What the QR carries.", body = Enrolment))
)]
pub async fn invite(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(request): JsonBody<NewEnrolment>,
) -> Result<Json<Enrolment>, Refusal> {
    let asked = address_asked(&app, &headers);
    let server = request.server.as_deref().unwrap_or(&asked);
    let ca_pin = match app.0.reached.tls.as_ref().map(|tls| tls.pin_for(server)) {
        None => None,
        Some(Ok(pin)) => pin,
        Some(Err(not_named)) => {
            warn!("{not_named}");
            None
        }
    };
    let enrolment = app
        .server()
        .new_enrolment(&caller.venue, request, &asked, ca_pin)
        .await?;
    Ok(Json(enrolment))
}

/// The invitations that are not over: who waits to be confirmed, and by whom the text was shown as
/// well.
///
/// The digits are not in it. They stand on the device, and whoever confirms has read them there.
#[utoipa::path(
    get, path = "/v1/enrolments", operation_id = "list_enrolments", tag = "devices",
    responses((status = 200, description = "The invitations.", body = Enrolments))
)]
pub async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Enrolments>, Refusal> {
    Ok(Json(app.server().enrolments(&caller.venue).await?))
}

/// The device that waits shows these digits: it is the one that was meant.
///
/// Wrong ones are counted; after the fifth the invitation is over. The device is enrolled when it
/// asks next, which it may for ten minutes more.
#[utoipa::path(
    post, path = "/v1/enrolments/{enrolment_id}/confirm", operation_id = "confirm_device",
    tag = "devices",
    params(("enrolment_id" = EnrolmentId, Path, description = "The invitation.")),
    request_body = ConfirmEnrolment,
    responses((status = 200, description = "It is confirmed.", body = EnrolmentView))
)]
pub async fn confirm(
    State(app): State<App>,
    caller: Caller,
    PathParam(id): PathParam<EnrolmentId>,
    JsonBody(given): JsonBody<ConfirmEnrolment>,
) -> Result<Json<EnrolmentView>, Refusal> {
    crate::acting::names(&id);
    let server = app.server();
    let view = server.confirm_enrolment(&caller.venue, &id, given.digits);
    Ok(Json(view.await?))
}

/// Takes an invitation back, or refuses the device that waits by it. A device that is enrolled
/// already stays so.
#[utoipa::path(
    post, path = "/v1/enrolments/{enrolment_id}/refuse", operation_id = "refuse_device",
    tag = "devices",
    params(("enrolment_id" = EnrolmentId, Path, description = "The invitation.")),
    responses((status = 204, description = "No device is enrolled by it."))
)]
pub async fn refuse(
    State(app): State<App>,
    caller: Caller,
    PathParam(id): PathParam<EnrolmentId>,
) -> Result<StatusCode, Refusal> {
    crate::acting::names(&id);
    app.server().refuse_enrolment(&caller.venue, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The address that this request went to, as far as it can be known.
fn address_asked(app: &App, headers: &HeaderMap) -> String {
    let scheme = match app.0.reached.tls {
        Some(_) => "https",
        None => "http",
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    match host.and_then(|host| host.parse::<Authority>().ok()) {
        Some(authority) => format!("{scheme}://{authority}"),
        None => format!("{scheme}://{}", app.0.reached.address),
    }
}
