//! What gates ask before they open.

use axum::extract::State;
use stile_core::protocol::{ClaimAnswer, ClaimRequest, VerifyAnswer, VerifyRequest};

use super::App;
use super::answer::Json;
use super::body::JsonBody;
use super::refusal::Refusal;
use crate::server::Device;

/// May this scan have the admission?
///
/// Of claims that do not all fit, as many are granted as fit. The scan's record settles its claim;
/// one without is over after ten minutes, or once its device has uploaded further. Asking again by
/// the same scan id gets the same answer. A ticket that the server does not know is granted.
#[utoipa::path(
    post, path = "/v1/gate/claims", operation_id = "claim_admission", tag = "gate",
    request_body = ClaimRequest,
    responses((status = 200, description = "Whether it may.", body = ClaimAnswer))
)]
pub async fn claim(
    State(app): State<App>,
    device: Device,
    JsonBody(request): JsonBody<ClaimRequest>,
) -> Result<Json<ClaimAnswer>, Refusal> {
    Ok(Json(app.server().claim(&device, request).await?))
}

/// Is this v1 code, which a secret shared with the booking system signs, genuine?
///
/// Gates have neither that secret nor the phone number that the code is bound to.
#[utoipa::path(
    post, path = "/v1/gate/codes/verify", operation_id = "verify_code", tag = "gate",
    request_body = VerifyRequest,
    responses((status = 200, description = "Whether it is.", body = VerifyAnswer))
)]
pub async fn verify(
    State(app): State<App>,
    device: Device,
    JsonBody(request): JsonBody<VerifyRequest>,
) -> Result<Json<VerifyAnswer>, Refusal> {
    Ok(Json(
        app.server().verify_shared_code(&device, request).await?,
    ))
}
