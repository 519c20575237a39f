//! Reconciliation: what a day's tickets are by the booking system, compared with what is here.

use std::sync::Arc;

use axum::extract::{Request, State};
use serde::{Deserialize, Serialize};
use stile_core::ids::VenueId;
use stile_core::protocol::{
    DifferingTickets, FileRefused, Reconciliation, Reconciliations, StatedDigest,
};
use stile_core::time::ServiceDay;
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::body::StrictBody;
use super::imports::{Aside, Stated, sha256, stated_file, to_its_end};
use super::params::{PathParam, QueryParams, check_before};
use super::refusal::Refusal;
use super::ticket_files::{Put, TicketFile, column_names};
use crate::ServerError;
use crate::acting;
use crate::import::ImportReport;
use crate::server::{RECONCILIATIONS, Server, TicketSet};
use crate::store::ReconciliationQuery;

/// Tickets that a day is stated to have at most.
const MAX_TICKETS: u64 = 1_000_000_000;

/// How a set is stated.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StatedParams {
    /// What the file calls its columns, where that is not what they are called here: pairs of column
    /// and name, joined by commas. A column that is named so has no other name.
    #[param(example = "ticket_id:Ticket No,phone:Mobile")]
    map: Option<String>,
    /// How many tickets the file has, one a line, refused ones included; a header and blank lines
    /// are none. With another count it is refused.
    count: Option<u64>,
    /// SHA-256 of the file before any content encoding, as 64 hexadecimal digits. With another one
    /// it is refused.
    sha256: Option<String>,
    #[serde(default, rename = "venue")]
    #[param(ignore)]
    _venue: Option<VenueId>,
}

/// What differs between a day's set as it was stated and what is here.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReconciliationReport {
    /// What is kept of it.
    #[serde(flatten)]
    reconciliation: Reconciliation,
    /// The first tickets that differ, by how.
    ticket_ids: DifferingTickets,
    /// What became of the file's lines.
    lines: ImportReport,
}

/// Compares the whole set of a day's tickets with what is here, and changes nothing.
///
/// The file is as for `PUT /v1/service-days/{service_day}/tickets`. A ticket differs in its status
/// only where its line states one. While a day differs there is an alarm (`reconciliation_differs`),
/// which is over once the day's set is stated or put and nothing differs, or the day is past.
#[utoipa::path(
    post, path = "/v1/reconciliations/{service_day}", operation_id = "reconcile_day",
    tag = "reconciliations",
    params(("service_day" = ServiceDay, Path, description = "The day."), StatedParams),
    request_body(
        description = "As for `POST /v1/tickets`. Every session that it names is of the day.",
        content(
            (String = "text/csv", example = "ticket_id,order_number,session_id\nT-1,O-1,S-1\n"),
            (String = "application/x-ndjson",
             example = "{\"ticket_id\":\"T-1\",\"order_number\":\"O-1\",\"session_id\":\"S-1\"}\n"),
            (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ),
    ),
    responses(
        (status = 200, description = "What differs.", body = ReconciliationReport),
        (
            status = "4XX", description = "The set cannot be read; nothing was kept.",
            body = FileRefused, content_type = "application/problem+json"
        ),
    )
)]
pub async fn compare(
    State(app): State<App>,
    caller: Caller,
    PathParam(day): PathParam<ServiceDay>,
    QueryParams(params): QueryParams<StatedParams>,
    request: Request,
) -> Result<Json<ReconciliationReport>, Refusal> {
    let stated = Stated {
        count: params.count,
        sha256: params.sha256.as_deref().map(sha256).transpose()?,
    };
    let names = column_names(params.map.as_deref())?;
    let file = TicketFile::open(&app, &caller.venue, names, request).await?;
    let server = app.server().clone();
    let set = server.begin_set(&caller.venue, Some(day), true);
    to_its_end(compared(server, set, file, stated)).await
}

async fn compared(
    server: Arc<Server>,
    set: TicketSet,
    file: TicketFile,
    stated: Stated,
) -> Result<Json<ReconciliationReport>, Refusal> {
    let (read, aside) = file.read(Aside { server, set }, Put::Whole).await?;
    let report = async {
        let read = read?;
        stated.check(&read)?;
        let compared = aside.server.reconcile(&aside.set, stated_file(&read));
        let (reconciliation, ticket_ids) = compared.await?;
        acting::counts(reconciliation.differences.tickets);
        Ok(Json(ReconciliationReport {
            reconciliation,
            ticket_ids,
            lines: read.report,
        }))
    };
    let report = report.await;
    aside.end(report).await
}

/// Compares count and digest of a day's set with those that were last stated or put.
///
/// `equal` says that the file is the one that was last stated whole (by this route's longer form, or
/// put), that nothing differed then, and that no ticket of the day was changed since. Otherwise it
/// says nothing of the tickets: state the whole set.
#[utoipa::path(
    post, path = "/v1/reconciliations/{service_day}/digest", operation_id = "reconcile_digest",
    tag = "reconciliations",
    params(("service_day" = ServiceDay, Path, description = "The day.")),
    request_body = StatedDigest,
    responses((status = 200, description = "Whether they are equal.", body = Reconciliation))
)]
pub async fn digest(
    State(app): State<App>,
    caller: Caller,
    PathParam(day): PathParam<ServiceDay>,
    StrictBody(stated): StrictBody<StatedDigest>,
) -> Result<Json<Reconciliation>, Refusal> {
    let digest = sha256(&stated.sha256)?;
    if stated.count > MAX_TICKETS {
        return Err(ServerError::invalid("count", format!("0 to {MAX_TICKETS}")).into());
    }
    let server = app.server();
    let compared = server.reconcile_digest(&caller.venue, &day, stated.count, digest);
    Ok(Json(compared.await?))
}

/// Which reconciliations are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// Those of this day only.
    service_day: Option<ServiceDay>,
    /// Those with a lower `reconciliation_id` alone: the page after one that ended there.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_u64)]
    before: Option<u64>,
    /// At most so many; 100 by default.
    #[serde(default = "reconciliations")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: u32,
}

fn reconciliations() -> u32 {
    RECONCILIATIONS
}

/// Sets that were stated or put, and looks at what became of them, the newest first.
#[utoipa::path(
    get, path = "/v1/reconciliations", operation_id = "list_reconciliations",
    tag = "reconciliations",
    params(Wanted),
    responses((status = 200, description = "The reconciliations.", body = Reconciliations))
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    QueryParams(wanted): QueryParams<Wanted>,
) -> Result<Json<Reconciliations>, Refusal> {
    check_before(wanted.before)?;
    let query = ReconciliationQuery {
        service_day: wanted.service_day,
        before: wanted.before,
        limit: wanted.limit,
    };
    let server = app.server();
    Ok(Json(server.reconciliations(&caller.venue, query).await?))
}
