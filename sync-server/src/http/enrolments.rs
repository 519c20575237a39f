//! Invitations for devices.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use axum::http::uri::Authority;
use stile_core::protocol::{Enrolment, NewEnrolment};
use tracing::warn;

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::body::JsonBody;
use super::refusal::Refusal;

/// Invites a device to serve gates of the venue.
///
/// Show the text as a QR to the device; its token is good once and for ten minutes.
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
