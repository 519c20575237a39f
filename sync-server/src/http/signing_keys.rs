//! The venue's own signing keys: how they stand, the next one, and one that was stolen.

use axum::extract::State;
use serde::Deserialize;
use stile_core::ids::Kid;
use stile_core::protocol::{SigningKeyRevoked, SigningKeyView, SigningKeys, SigningRole};

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::params::PathParam;
use super::refusal::Refusal;

/// The venue's signing keys, as its newest key manifest names them. The root is none of them.
#[utoipa::path(
    get, path = "/v1/keys", operation_id = "list_signing_keys", tag = "signing keys",
    responses((status = 200, description = "The keys.", body = SigningKeys))
)]
pub async fn list(State(app): State<App>, caller: Caller) -> Result<Json<SigningKeys>, Refusal> {
    Ok(Json(app.server().signing_keys(&caller.venue).await?))
}

/// Makes the key that comes next.
///
/// Gates hear of it at once, and it signs from `valid_from` on: a code key after 72 hours, a list key
/// after one. What the old one signed stays good.
#[utoipa::path(
    post, path = "/v1/keys/{role}/rotate", operation_id = "rotate_signing_key",
    tag = "signing keys",
    params(("role" = SigningRole, Path, description = "What the key signs.")),
    responses((status = 200, description = "The key that comes next.", body = SigningKeyView))
)]
pub async fn rotate(
    State(app): State<App>,
    caller: Caller,
    PathParam(role): PathParam<SigningRole>,
) -> Result<Json<SigningKeyView>, Refusal> {
    Ok(Json(app.server().rotate_key(&caller.venue, role).await?))
}

/// Which key.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Named {
    role: SigningRole,
    kid: Kid,
}

/// Ends a key at once: it was stolen, or may have been. Another signs from now on.
///
/// All that it ever signed is refused by every gate that has heard of it.
#[utoipa::path(
    post, path = "/v1/keys/{role}/{kid}/revoke", operation_id = "revoke_signing_key",
    tag = "signing keys",
    params(
        ("role" = SigningRole, Path, description = "What the key signs."),
        ("kid" = u8, Path, description = "Its name in the role.", maximum = 255),
    ),
    responses((status = 200, description = "What signs now, and what it costs.", body = SigningKeyRevoked))
)]
pub async fn revoke(
    State(app): State<App>,
    caller: Caller,
    PathParam(Named { role, kid }): PathParam<Named>,
) -> Result<Json<SigningKeyRevoked>, Refusal> {
    crate::acting::names(format!("{role} {}", kid.0));
    let revoked = app.server().revoke_signing_key(&caller.venue, role, kid);
    Ok(Json(revoked.await?))
}
