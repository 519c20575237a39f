//! The log on its way to the back end, in the form that it accepts, and the conflicts in it.

use axum::extract::State;
use axum::http::header::VARY;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use stile_core::ids::{GateId, SessionId, TicketId};
use stile_core::protocol::{Code, Conflicts, CursorRestarted, Pulled};
use stile_core::record::Answer;
use stile_core::time::ServiceDay;
use utoipa::{IntoParams, ToSchema};

use super::accept::Form;
use super::answer::Json;
use super::auth::Caller;
use super::params::{QueryParams, check_wait, wrong};
use super::refusal::Refusal;
use super::{App, download};
use crate::config::PULL_MAX;
use crate::server::{PullFilter, PullRequest};
use crate::store::{ConflictState, LogStream};

/// Which piece of the log is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// The cursor of the piece before; without it, the log's start.
    after: Option<String>,
    /// Records at most, 1 to 10,000. Without it a JSON document has 1,000, and lines and CSV go
    /// to the end of the log as it was when they began.
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<u32>,
    /// Seconds to wait while there is none, 0 to 25; by default 0.
    #[serde(default)]
    #[param(maximum = 25)]
    wait: u32,
    /// Columns of CSV; by default `log`.
    #[param(inline)]
    layout: Option<Layout>,
}

/// Which records are wanted: those for which all that is given holds.
///
/// A cursor is good with the filters that it was given for, and no others.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Filters {
    /// Records that name this session.
    session_id: Option<SessionId>,
    /// Records of this gate.
    gate_id: Option<GateId>,
    /// Records that count to this day; of those that count to none, the ones that name it.
    service_day: Option<ServiceDay>,
    /// Records from then on, by the device's clock: epoch seconds, RFC 3339, or the venue's local
    /// date and time.
    from: Option<String>,
    /// Records from before then, likewise.
    to: Option<String>,
    /// Records that name this ticket, whatever came of it.
    ticket_id: Option<TicketId>,
}

/// Further ones, of `/v1/records`.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RecordFilters {
    /// Records of this kind: `scan`, `override`, `undo`, …
    #[param(pattern = "^[a-z0-9_]{1,64}$")]
    kind: Option<String>,
    /// Records with this verdict.
    #[param(inline)]
    verdict: Option<Answer>,
    /// Records with this reason: `already_used`, …
    #[param(pattern = "^[a-z0-9_]{1,64}$")]
    reason: Option<String>,
}

/// Columns of CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// What the server says of a record, its usual members, its time in the venue's zone
    /// (`local_time`), and last the record whole, as JSON (`record`).
    Log,
    /// Of check-ins: `reservation_id`, the ticket's id; `venue_code`, the venue's id; `scan_time`,
    /// RFC 3339 to the ms with the offset of the venue's zone; `duration_ms`, from the reading to
    /// the verdict, rounded to ms; `age_group` and `source` as the record has them, else the
    /// ticket. Check-ins that were taken back since, or lost a conflict, are among them: the
    /// layout `log` says which.
    CheckinLogs,
}

/// The log: every record that was accepted, in the order in which the server stored it. Each
/// record comes exactly once per generation.
///
/// The header `accept` says in which form:
/// - `application/json`: a piece of the log as one document. With filters it may be empty though
///   there is `more`: the cursor is further on then;
/// - `application/x-ndjson`: one `PulledRecord` per line, and a `PulledEnd` as the last line, with
///   the cursor to go on from, and how complete the sessions are. An answer without it was cut
///   off;
/// - `text/csv`: RFC 4180 in UTF-8 with a head, the columns by `layout`. The cursor to go on from
///   is in the header `stile-cursor`, and good once the whole answer has arrived: one that was cut
///   off ends its connection early. A text that begins with a sign of a formula (`=`, `+`, `-`,
///   `@`, tab, line end, or one of the signs in full width) has an apostrophe before it.
#[utoipa::path(
    get, path = "/v1/records", operation_id = "pull_records", tag = "log",
    params(Wanted, Filters, RecordFilters),
    responses(
        (
            status = 200, description = "The next piece, or all there is.",
            content(
                (Pulled = "application/json"),
                (String = "application/x-ndjson"),
                (String = "text/csv"),
            ),
            headers(
                ("stile-cursor" = Option<String>, description = "Of CSV: the cursor behind it."),
                ("stile-more" = Option<bool>, description = "Of CSV: whether there was more."),
                (
                    "stile-complete-through" = Option<i64>,
                    description = "Of CSV: what was made before this, epoch ms, is all here."
                ),
            ),
        ),
        (
            status = 409, description = "The data was put back from a backup.",
            body = CursorRestarted, content_type = "application/problem+json"
        ),
        (
            status = 410, description = "Records behind the cursor are gone: their time was over.",
            body = CursorRestarted, content_type = "application/problem+json"
        ),
    )
)]
pub async fn records(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    QueryParams(wanted): QueryParams<Wanted>,
    QueryParams(filters): QueryParams<Filters>,
    QueryParams(further): QueryParams<RecordFilters>,
) -> Result<Response, Refusal> {
    for (name, word) in [("kind", &further.kind), ("reason", &further.reason)] {
        if word.as_deref().is_some_and(|word| !is_word(word)) {
            return Err(wrong(name, "1 to 64 of a-z, 0-9 and _"));
        }
    }
    let filter = filter(filters, further);
    pull(&app, &caller, LogStream::Records, &headers, wanted, filter).await
}

/// The check-ins of the log: records that admitted a ticket at an `in` gate, with the undos (and
/// passages that nobody made) which took one of them back after it.
///
/// A check-in that was undone before it was pulled says so itself (`taken_back`).
/// Otherwise as `/v1/records`; cursors of one are not taken by the other.
#[utoipa::path(
    get, path = "/v1/check-ins", operation_id = "pull_check_ins", tag = "log",
    params(Wanted, Filters),
    responses(
        (
            status = 200, description = "The next piece, or all there is.",
            content(
                (Pulled = "application/json"),
                (String = "application/x-ndjson"),
                (String = "text/csv"),
            ),
            headers(
                ("stile-cursor" = Option<String>, description = "Of CSV: the cursor behind it."),
                ("stile-more" = Option<bool>, description = "Of CSV: whether there was more."),
                (
                    "stile-complete-through" = Option<i64>,
                    description = "Of CSV: what was made before this, epoch ms, is all here."
                ),
            ),
        ),
        (
            status = 409, description = "The data was put back from a backup.",
            body = CursorRestarted, content_type = "application/problem+json"
        ),
        (
            status = 410, description = "Records behind the cursor are gone: their time was over.",
            body = CursorRestarted, content_type = "application/problem+json"
        ),
    )
)]
pub async fn check_ins(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    QueryParams(wanted): QueryParams<Wanted>,
    QueryParams(filters): QueryParams<Filters>,
    QueryParams(further): QueryParams<RecordFilters>,
) -> Result<Response, Refusal> {
    // Passing over them would answer with more than was asked for.
    for (name, is_given) in [
        ("kind", further.kind.is_some()),
        ("verdict", further.verdict.is_some()),
        ("reason", further.reason.is_some()),
    ] {
        if is_given {
            return Err(wrong(name, "is of /v1/records alone"));
        }
    }
    let filter = filter(filters, further);
    pull(&app, &caller, LogStream::CheckIns, &headers, wanted, filter).await
}

fn filter(filters: Filters, further: RecordFilters) -> PullFilter {
    PullFilter {
        session_id: filters.session_id,
        gate_id: filters.gate_id,
        service_day: filters.service_day,
        from: filters.from,
        to: filters.to,
        ticket_id: filters.ticket_id,
        kind: further.kind,
        verdict: further.verdict,
        reason: further.reason,
    }
}

fn is_word(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=64).contains(&text.len()) && text.bytes().all(is_letter)
}

async fn pull(
    app: &App,
    caller: &Caller,
    stream: LogStream,
    headers: &HeaderMap,
    wanted: Wanted,
    filter: PullFilter,
) -> Result<Response, Refusal> {
    if wanted
        .limit
        .is_some_and(|limit| !(1..=PULL_MAX).contains(&limit))
    {
        return Err(wrong("limit", &format!("1 to {PULL_MAX}")));
    }
    check_wait(wanted.wait)?;
    let form = Form::accepted(headers);
    let layout = layout(wanted.layout, form, stream)?;
    let request = PullRequest {
        stream,
        filter,
        after: wanted.after,
        limit: wanted.limit,
        wait_s: wanted.wait,
    };
    let (server, venue) = (app.server(), &caller.venue);
    let mut response = match (form, layout) {
        (Form::Json, _) => Json(server.pull(venue, &request).await?).into_response(),
        (Form::Lines, _) => download::lines(server.pull_whole(venue, &request).await?),
        (Form::Csv, Layout::Log) => {
            download::rows(server.pull_whole(venue, &request).await?).await?
        }
        (Form::Csv, Layout::CheckinLogs) => {
            download::check_in_logs(server.pull_whole(venue, &request).await?).await?
        }
    };
    response
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

/// The layout, where there may be one.
fn layout(wanted: Option<Layout>, form: Form, stream: LogStream) -> Result<Layout, Refusal> {
    let unprocessable = |what| Refusal::new(Code::Unprocessable, format!("layout: {what}"));
    let Some(layout) = wanted else {
        return Ok(Layout::Log);
    };
    if form != Form::Csv {
        return Err(unprocessable("goes with the header `accept: text/csv`"));
    }
    if layout == Layout::CheckinLogs && stream != LogStream::CheckIns {
        return Err(unprocessable("`checkin_logs` is of /v1/check-ins alone"));
    }
    Ok(layout)
}

/// Which conflicts are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WantedConflicts {
    /// `open` by default: those that have a loser.
    #[serde(default)]
    #[param(inline)]
    state: ConflictState,
}

/// Tickets that were admitted for more persons than they have.
#[utoipa::path(
    get, path = "/v1/conflicts", operation_id = "list_conflicts", tag = "log",
    params(WantedConflicts),
    responses((status = 200, description = "The conflicts, newest first.", body = Conflicts))
)]
pub async fn conflicts(
    State(app): State<App>,
    caller: Caller,
    QueryParams(wanted): QueryParams<WantedConflicts>,
) -> Result<Json<Conflicts>, Refusal> {
    let server = app.server();
    Ok(Json(server.conflicts(&caller.venue, wanted.state).await?))
}
