//! A venue's tickets, one at a time and many at once.

use axum::extract::State;
use stile_core::ids::TicketId;
use stile_core::protocol::{
    Cancel, Move, Reissue, TicketChange, TicketChanged, TicketChanges, TicketView, TicketsChanged,
};

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::body::{JsonBody, StrictBody};
use super::params::PathParam;
use super::refusal::{Refusal, either};
use crate::acting;

/// One ticket.
#[utoipa::path(
    get, path = "/v1/tickets/{ticket_id}", operation_id = "get_ticket", tag = "tickets",
    params(("ticket_id" = TicketId, Path, description = "The booking system's id.")),
    responses((status = 200, description = "The ticket.", body = TicketView))
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathParam(ticket_id): PathParam<TicketId>,
) -> Result<Json<TicketView>, Refusal> {
    Ok(Json(app.server().ticket(&caller.venue, &ticket_id).await?))
}

/// Cancels a ticket.
///
/// Gates hear of it with their next list. Cancelling it again changes nothing; a later import
/// restores it only if its line says a status.
#[utoipa::path(
    post, path = "/v1/tickets/{ticket_id}/cancel", operation_id = "cancel_ticket", tag = "tickets",
    params(("ticket_id" = TicketId, Path, description = "The booking system's id.")),
    request_body = Cancel,
    responses((status = 200, description = "The ticket as it stands now.", body = TicketView))
)]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    PathParam(ticket_id): PathParam<TicketId>,
    JsonBody(cancel): JsonBody<Cancel>,
) -> Result<Json<TicketView>, Refusal> {
    let server = app.server();
    let ticket = server
        .cancel_ticket(&caller.venue, &ticket_id, cancel.cause)
        .await?;
    Ok(Json(ticket))
}

/// Takes a ticket's cancelling back.
///
/// A cancelled ticket is valid then; one that vanished by its day's whole set is what it was. Others
/// are as they were, so that asking again changes nothing.
#[utoipa::path(
    post, path = "/v1/tickets/{ticket_id}/restore", operation_id = "restore_ticket",
    tag = "tickets",
    params(("ticket_id" = TicketId, Path, description = "The booking system's id.")),
    responses((status = 200, description = "The ticket as it stands now.", body = TicketView))
)]
pub async fn restore(
    State(app): State<App>,
    caller: Caller,
    PathParam(ticket_id): PathParam<TicketId>,
) -> Result<Json<TicketView>, Refusal> {
    let change = TicketChange::Restore { ticket_id };
    let server = app.server();
    Ok(Json(server.change_ticket(&caller.venue, change).await?))
}

/// Moves a ticket to another session, of whichever day.
///
/// An admission window of its own is dropped, since that was of the session that it leaves; the rest
/// stays. Gates of the day that it leaves answer `wrong_day` with the new time. A document that it
/// is known by is of its day: after a move to another one, send its line again.
#[utoipa::path(
    post, path = "/v1/tickets/{ticket_id}/move", operation_id = "move_ticket", tag = "tickets",
    params(("ticket_id" = TicketId, Path, description = "The booking system's id.")),
    request_body = Move,
    responses((status = 200, description = "The ticket as it stands now.", body = TicketView))
)]
pub async fn move_to(
    State(app): State<App>,
    caller: Caller,
    PathParam(ticket_id): PathParam<TicketId>,
    JsonBody(Move { session_id }): JsonBody<Move>,
) -> Result<Json<TicketView>, Refusal> {
    let change = TicketChange::Move {
        ticket_id,
        session_id,
    };
    let server = app.server();
    Ok(Json(server.change_ticket(&caller.venue, change).await?))
}

/// Makes many changes at once: cancels, restores, moves and issues tickets anew.
///
/// Each change is what the route of its name does to one ticket, in the order given, and is answered
/// by itself: one that cannot be made keeps none of the others back. Sending them again changes
/// nothing.
#[utoipa::path(
    post, path = "/v1/ticket-changes", operation_id = "change_tickets", tag = "tickets",
    request_body = TicketChanges,
    responses(
        (status = 200, description = "What became of each change.", body = TicketsChanged),
    )
)]
pub async fn change(
    State(app): State<App>,
    caller: Caller,
    StrictBody(TicketChanges { changes }): StrictBody<TicketChanges>,
) -> Result<Json<TicketsChanged>, Refusal> {
    let ids: Vec<_> = changes.iter().map(|one| one.ticket_id().clone()).collect();
    let changed = app.server().change_tickets(&caller.venue, changes).await?;
    acting::counts(changed.iter().flatten().count() as u64);
    let results = ids.into_iter().zip(changed).map(|(ticket_id, changed)| {
        let (ticket, problem) = either(changed);
        TicketChanged {
            ticket_id,
            ticket,
            problem,
        }
    });
    Ok(Json(TicketsChanged {
        results: results.collect(),
    }))
}

/// Issues a ticket anew.
///
/// Codes of its earlier issues are superseded as soon as gates have the next list; codes minted
/// from now on are of the new issue.
#[utoipa::path(
    post, path = "/v1/tickets/{ticket_id}/reissue", operation_id = "reissue_ticket",
    tag = "tickets",
    params(("ticket_id" = TicketId, Path, description = "The booking system's id.")),
    request_body = Reissue,
    responses((status = 200, description = "The ticket as it stands now.", body = TicketView))
)]
pub async fn reissue(
    State(app): State<App>,
    caller: Caller,
    PathParam(ticket_id): PathParam<TicketId>,
    JsonBody(reissue): JsonBody<Reissue>,
) -> Result<Json<TicketView>, Refusal> {
    let server = app.server();
    let ticket = server
        .reissue_ticket(&caller.venue, &ticket_id, reissue.revision)
        .await?;
    Ok(Json(ticket))
}
