//! The audit log: the layer around every route that acts, which writes it, and the route that
//! shows it.

use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use serde::Deserialize;
use stile_core::ids::SessionId;
use stile_core::protocol::{Act, AuditLog, Code, CursorRestarted};
use utoipa::IntoParams;

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::params::{QueryParams, wrong};
use super::refusal::{Refusal, RefusedWith};
use super::trace::Trace;
use crate::acting::{ActResult, ActRow, ActedBy};

/// Acts of one piece, unless it asks for fewer.
const PAGE: u32 = 1_000;

/// The layer of a route that acts: `stored` is what the log says of the act from its first
/// transaction on.
pub async fn audited(
    State((app, act, stored)): State<(App, Act, ActResult)>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, &app).await?;
    let row = ActRow {
        at: app.now(),
        act,
        by: ActedBy::Key(caller.key.id),
        thing: thing(&mut parts).await,
        result: stored,
        count: None,
        trace: parts.extensions.get().map(|trace: &Trace| trace.id.clone()),
    };
    let server = app.server();
    let acting = server.begin_act_with(row, Some(&caller.venue)).await?;
    let work = next.run(Request::from_parts(parts, body));
    Ok(server.act(&acting, work, result).await)
}

/// The last parameter of the path, if it could be an id.
async fn thing(parts: &mut Parts) -> Option<String> {
    let params = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    let (_, last) = params.iter().last()?;
    // All ids of ours and of booking systems are written alike.
    last.parse::<SessionId>().is_ok().then(|| last.to_owned())
}

fn result(response: &Response) -> ActResult {
    match response.extensions().get() {
        _ if response.status().is_success() => ActResult::Done,
        Some(RefusedWith(code)) => ActResult::Refused(*code),
        None => ActResult::Refused(Code::Internal),
    }
}

/// Which piece of the audit log is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// The cursor of the piece before; without it, the log's start.
    after: Option<String>,
    /// Acts at most, 1 to 1,000; by default 1,000.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
}

/// The audit log: who did what to the venue, in the order in which it was stored.
///
/// Every act by key or command line, with those that were refused. Nothing personal and no secret
/// stands in it. Operations with `x-stile-act` are acts.
#[utoipa::path(
    get, path = "/v1/audit", operation_id = "pull_audit", tag = "audit",
    params(Wanted),
    responses(
        (status = 200, description = "The next piece.", body = AuditLog),
        (
            status = 409, description = "The data was put back from a backup.",
            body = CursorRestarted, content_type = "application/problem+json"
        ),
    )
)]
pub async fn pull(
    State(app): State<App>,
    caller: Caller,
    QueryParams(wanted): QueryParams<Wanted>,
) -> Result<Json<AuditLog>, Refusal> {
    let limit = wanted.limit.unwrap_or(PAGE);
    if !(1..=PAGE).contains(&limit) {
        return Err(wrong("limit", &format!("1 to {PAGE}")));
    }
    let after = wanted.after.as_deref();
    let piece = app.server().audit(&caller.venue, after, limit);
    Ok(Json(piece.await?))
}
