//! Codes, minted for the visitors' apps and confirmations.

use axum::extract::State;
use serde::Deserialize;
use stile_core::codes::Format;
use stile_core::ids::TicketId;
use stile_core::protocol::{Code, MintAnswer, MintRequest, Minted};
use utoipa::IntoParams;

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::body::JsonBody;
use super::params::{PathParam, QueryParams};
use super::refusal::Refusal;
use crate::config::MINT_MAX;

/// Mints codes, at most 1,000 at once.
///
/// A code that cannot be minted says why in its place; the others are good.
#[utoipa::path(
    post, path = "/v1/codes", operation_id = "mint_codes", tag = "codes",
    request_body = MintRequest,
    responses((status = 200, description = "The codes, in the order wanted.", body = MintAnswer))
)]
pub async fn mint(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<MintRequest>,
) -> Result<Json<MintAnswer>, Refusal> {
    if request.codes.len() > MINT_MAX {
        return Err(Refusal::new(
            Code::Unprocessable,
            format!("codes: at most {MINT_MAX} at once"),
        ));
    }
    Ok(Json(app.server().mint(&caller.venue, request).await?))
}

/// Which code is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// `v1`, `G2` or `G3`.
    format: Format,
    /// How long it is to be valid, in seconds from now; by default 900.
    #[param(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    ttl_s: Option<u32>,
}

/// Mints a fresh code of a ticket.
#[utoipa::path(
    get, path = "/v1/tickets/{ticket_id}/code", operation_id = "get_code", tag = "codes",
    params(("ticket_id" = TicketId, Path, description = "The booking system's id."), Wanted),
    responses((status = 200, description = "The code.", body = Minted))
)]
pub async fn refresh(
    State(app): State<App>,
    caller: Caller,
    PathParam(ticket_id): PathParam<TicketId>,
    QueryParams(wanted): QueryParams<Wanted>,
) -> Result<Json<Minted>, Refusal> {
    let server = app.server();
    let minted = server
        .code(&caller.venue, &ticket_id, wanted.format, wanted.ttl_s)
        .await?;
    match minted.problem {
        Some(problem) => Err(Refusal::new(Code::Unprocessable, problem)),
        None => Ok(Json(minted)),
    }
}
