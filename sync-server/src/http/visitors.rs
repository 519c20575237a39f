//! Visitors, as far as anything is known of them.

use axum::extract::State;
use stile_core::protocol::{EraseVisitor, ErasedVisitor};

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::body::StrictBody;
use super::refusal::Refusal;

/// Erases a visitor.
///
/// Masked name, last digits, notes for guards, sealed phone, and the hashes of opaque codes and
/// documents go from the tickets, and no import brings them back; gates hear of it with their next
/// list. The tickets themselves, records and counts stay: they say nothing of the visitor. Until
/// the visit the ticket admits by the codes that this server minted, and by look-up of the order.
/// Again is as once.
#[utoipa::path(
    post, path = "/v1/visitors/erase", operation_id = "erase_visitor", tag = "visitors",
    request_body = EraseVisitor,
    responses((status = 200, description = "What was found of the visitor.", body = ErasedVisitor))
)]
pub async fn erase(
    State(app): State<App>,
    caller: Caller,
    StrictBody(whose): StrictBody<EraseVisitor>,
) -> Result<Json<ErasedVisitor>, Refusal> {
    let erased = app.server().erase_visitor(&caller.venue, whose);
    Ok(Json(erased.await?))
}
