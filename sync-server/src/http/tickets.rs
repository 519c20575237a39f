//! A venue's tickets: whole files of them, and one at a time.

use std::io;
use std::sync::Arc;

use axum::extract::{Request, State};
use futures_util::TryStreamExt;
use jiff::tz::TimeZone;
use stile_core::ids::{TicketId, VenueId};
use stile_core::protocol::{Cancel, Code, FileRefused, Reissue, TicketView};
use tokio::runtime::Handle;
use tokio_util::io::{StreamReader, SyncIoBridge};

use super::App;
use super::answer::{Json, NDJSON};
use super::auth::Caller;
use super::body::{self, BodyFault, Compressed, JsonBody, require_utf8};
use super::params::PathParam;
use super::refusal::Refusal;
use crate::ServerError;
use crate::acting;
use crate::import::{
    FileFault, FileRules, ImportError, ImportFormat, ImportReport, SinkError, read_tickets,
};
use crate::server::{Server, takes_documents};

const CSV: &str = "text/csv";

/// Puts tickets by their ids, from CSV or lines of JSON.
///
/// Of any length: the file is read as it comes. A bad line is named, the others go in. Sending
/// the same file again changes nothing, so one that broke off is simply sent again.
///
/// Of `phone` the last four digits are kept. Where the booking system signs v1 codes with a shared
/// secret, the whole number is, sealed, to verify them with: its digits must be those that were
/// signed, but that a Chinese mobile number may have `+86`, `86` or `0086` in front in either.
///
/// Where the venue takes documents, `document` is hashed under the key of its session's day and
/// dropped. A ticket's line says all of it but its status: one without a document has none from
/// then on, and a ticket that goes to another day is known there by its document only if its line
/// names that again.
#[utoipa::path(
    post, path = "/v1/tickets", operation_id = "import_tickets", tag = "tickets",
    request_body(
        description = "UTF-8. Columns or members: `ticket_id`, `order_number` and `session_id`, \
            and optionally `holder_name`, `phone`, `document`, `code`, `admits`, \
            `zones`, `label`, `category`, `attention`, `admit_from`, `admit_until`, `status`, \
            `cancel_cause`, `source`, `age_group`, `source_version`.",
        content(
            (String = "text/csv", example = "ticket_id,order_number,session_id\nT-1,O-1,S-1\n"),
            (String = "application/x-ndjson",
             example = "{\"ticket_id\":\"T-1\",\"order_number\":\"O-1\",\"session_id\":\"S-1\"}\n"),
        ),
    ),
    responses(
        (status = 200, description = "The file was read to its end.", body = ImportReport),
        (
            status = "4XX", description = "The file was not read to its end.",
            body = FileRefused, content_type = "application/problem+json"
        ),
    )
)]
pub async fn import(
    State(app): State<App>,
    caller: Caller,
    request: Request,
) -> Result<Json<ImportReport>, Refusal> {
    let format = match require_utf8(request.headers(), &[CSV, NDJSON])? {
        CSV => ImportFormat::Csv,
        _ => ImportFormat::Ndjson,
    };
    let turn = app.0.imports.clone().try_acquire_owned().map_err(|_| {
        Refusal::new(
            Code::TooManyRequests,
            "As many files as the server reads at a time are being read; send this one later",
        )
    })?;
    let venue = app.server().venue(&caller.venue).await?;
    let zone = TimeZone::get(&venue.time_zone).map_err(|error| Refusal::internal(&error))?;

    let limit = app.limits().compressed_import_bytes;
    let is_compressed = request.extensions().get::<Compressed>().is_some();
    let body = match is_compressed {
        true => body::limited(request.into_body(), limit),
        false => request.into_body(),
    };
    let stream = Box::pin(body.into_data_stream().map_err(io::Error::other));
    let file = SyncIoBridge::new(StreamReader::new(stream));
    let server = app.server().clone();
    let acting = acting::current();
    let read = tokio::task::spawn_blocking(move || {
        // Held until the file is read, also when its sender has gone away by then.
        let _turn = turn;
        let rules = FileRules {
            time_zone: &zone,
            takes_documents: takes_documents(&venue.policy),
        };
        let read = || read_into(&server, &venue.venue_id, file, format, rules);
        acting::within(acting, read)
    });
    match read.await {
        Ok(Ok(report)) => {
            acting::counts(report.accepted);
            Ok(Json(report))
        }
        Ok(Err(error)) => Err(refused(error, limit)),
        Err(error) => Err(Refusal::internal(&error)),
    }
}

/// Runs on a thread that may block.
fn read_into(
    server: &Arc<Server>,
    venue: &VenueId,
    file: impl io::Read,
    format: ImportFormat,
    rules: FileRules<'_>,
) -> Result<ImportReport, ImportError> {
    let runtime = Handle::current();
    let mut sink = |lines| {
        let put = runtime.block_on(server.upsert_tickets(venue, lines));
        put.map_err(SinkError::from)
    };
    read_tickets(file, format, rules, &mut sink)
}

fn refused(error: ImportError, limit: usize) -> Refusal {
    let text = error.to_string();
    let refusal = match error.fault {
        FileFault::Read(fault) => match body::fault(&fault) {
            BodyFault::TooLarge => body::too_large(limit),
            BodyFault::TooSlow => body::too_slow(),
            BodyFault::Broken => Refusal::new(
                Code::InvalidFile,
                "The file broke off, or is not compressed as its content encoding says; send it \
                 again, lines that went in stay as they are",
            ),
        },
        FileFault::Sink(fault) => match fault.downcast::<ServerError>() {
            Ok(error) => Refusal::from(*error),
            Err(error) => Refusal::internal(&error),
        },
        _ => Refusal::new(Code::InvalidFile, text),
    };
    refusal.with("accepted", error.accepted)
}

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
