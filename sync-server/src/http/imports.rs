//! Files of tickets: those that change what they name, and the whole set of a day.

use std::sync::Arc;

use axum::extract::{Request, State};
use serde::{Deserialize, Serialize};
use stile_core::ids::VenueId;
use stile_core::protocol::{Code, FileRefused, TooManyVanish};
use stile_core::time::ServiceDay;
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::answer::Json;
use super::auth::Caller;
use super::params::{PathParam, QueryParams, wrong};
use super::refusal::Refusal;
use super::ticket_files::{Put, ReadFile, Take, TicketFile, column_names};
use crate::ServerError;
use crate::acting;
use crate::hex;
use crate::import::{Chunk, ImportReport, LineFault};
use crate::server::{PutCounts, Server, SetChanges, StatedFile, TicketSet, Vanish};

/// How a file is taken.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FileParams {
    /// Whether to say what the file would do, and do nothing.
    #[serde(default)]
    dry_run: bool,
    /// What the file calls its columns, where that is not what they are called here: pairs of column
    /// and name, joined by commas. A column that is named so has no other name.
    #[param(example = "ticket_id:Ticket No,phone:Mobile")]
    map: Option<String>,
    #[serde(default, rename = "venue")]
    #[param(ignore)]
    _venue: Option<VenueId>,
}

/// How a day's whole set is taken.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SetParams {
    /// Whether to say what the set would do, and do nothing.
    #[serde(default)]
    dry_run: bool,
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
    /// How many tickets may vanish by a person's word, where that is more than the policy's
    /// `vanish_percent` of the day's.
    #[serde(default)]
    confirm_vanish: u64,
    #[serde(default, rename = "venue")]
    #[param(ignore)]
    _venue: Option<VenueId>,
}

/// What a file did, or would do.
#[derive(Debug, Serialize, ToSchema)]
pub struct FileReport {
    /// What became of its lines.
    #[serde(flatten)]
    lines: ImportReport,
    /// Tickets that are new. A ticket that comes twice counts once in a dry run and in a day's set,
    /// and twice where the lines are put as they come.
    created: u64,
    /// Those that change.
    changed: u64,
    /// Those that were so already.
    unchanged: u64,
    /// Whether nothing was done, since only that was asked.
    dry_run: bool,
}

/// What a day's whole set did, or would do.
#[derive(Debug, Serialize, ToSchema)]
pub struct SetReport {
    /// What became of the tickets that are in it.
    #[serde(flatten)]
    file: FileReport,
    /// Tickets that the day had before, without those that were cancelled or blocked: these stay as
    /// they are if the set leaves them out.
    day_had: u64,
    /// Those of them that are not in the set and vanish.
    vanished: u64,
    /// Those of them that are not in the set and stay, since somebody was admitted by them.
    stay_admitted: u64,
    /// Those of them that are not in the set and stay, since it has lines whose ticket could not
    /// be read: any of these may be theirs. Mend the lines and send the set again.
    stay_withheld: u64,
    /// Whether the set is refused, dry run aside, until `confirm_vanish` says how many may vanish.
    needs_confirmation: bool,
}

/// Puts tickets by their ids, from CSV, lines of JSON or the first sheet of a workbook (XLSX).
///
/// CSV and lines of JSON may be of any length: they are read as they come. A workbook has 16 MiB at
/// most, and begins with the row that names the columns. CSV may be in other charsets than UTF-8,
/// which its content type then names (`text/csv; charset=gb18030`); it is never guessed. A bad line is named, the others go in. Sending
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
///
/// `warnings` say what was taken and should be looked at, such as codes that could be guessed.
#[utoipa::path(
    post, path = "/v1/tickets", operation_id = "import_tickets", tag = "tickets",
    params(FileParams),
    request_body(
        description = "Columns or members: `ticket_id`, `order_number` and `session_id`, \
            and optionally `holder_name`, `phone`, `document`, `code`, `admits`, \
            `zones`, `label`, `category`, `attention`, `admit_from`, `admit_until`, `status`, \
            `cancel_cause`, `source`, `age_group`, `source_version`.",
        content(
            (String = "text/csv", example = "ticket_id,order_number,session_id\nT-1,O-1,S-1\n"),
            (String = "application/x-ndjson",
             example = "{\"ticket_id\":\"T-1\",\"order_number\":\"O-1\",\"session_id\":\"S-1\"}\n"),
            (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ),
    ),
    responses(
        (status = 200, description = "The file was read to its end.", body = FileReport),
        (
            status = "4XX", description = "The file was not read to its end.",
            body = FileRefused, content_type = "application/problem+json"
        ),
    )
)]
pub async fn import(
    State(app): State<App>,
    caller: Caller,
    QueryParams(params): QueryParams<FileParams>,
    request: Request,
) -> Result<Json<FileReport>, Refusal> {
    let names = column_names(params.map.as_deref())?;
    let file = TicketFile::open(&app, &caller.venue, names, request).await?;
    let server = app.server().clone();
    if params.dry_run {
        let set = server.begin_set(&caller.venue, None, true);
        return to_its_end(dry_run(server, set, file)).await;
    }
    let lines = LineByLine {
        server,
        venue: caller.venue,
        counts: PutCounts::default(),
    };
    let (read, lines) = file.read(lines, Put::LineByLine).await?;
    let report = read?.report;
    acting::counts(report.accepted);
    Ok(Json(FileReport {
        lines: report,
        created: lines.counts.created,
        changed: lines.counts.changed,
        unchanged: lines.counts.unchanged,
        dry_run: false,
    }))
}

async fn dry_run(
    server: Arc<Server>,
    set: TicketSet,
    file: TicketFile,
) -> Result<Json<FileReport>, Refusal> {
    let (read, aside) = file.read(Aside { server, set }, Put::Whole).await?;
    let report = async {
        let read = read?;
        let plan = aside.server.plan_set(&aside.set, 0).await?;
        Ok(Json(file_report(read.report, plan, true)))
    };
    let report = report.await;
    aside.end(report).await
}

/// Puts the whole set of a day's tickets.
///
/// The file is as for `POST /v1/tickets`, and is read to its end before anything is done; then all
/// of it is done at once, so that gates see the day as it was or as it is to be. A bad line is
/// named, and its ticket stays as it is.
///
/// Tickets of the day that are not in the set vanish: gates answer as if they were cancelled, and a
/// later file that names one brings it back as it was. Cancelled and blocked ones stay what they
/// are, and so do those by which somebody was admitted. Where a line's ticket cannot be read, it
/// may be any of those that seem to be missing: then none vanishes.
///
/// Where more than the policy's `vanish_percent` of the day's tickets would vanish, the set is
/// refused (`too_many_vanish`), until `confirm_vanish` says how many may. `count` and `sha256` are
/// checked first (`incomplete_set`): a file that was cut off does not pass.
#[utoipa::path(
    put, path = "/v1/service-days/{service_day}/tickets", operation_id = "put_day_tickets",
    tag = "tickets",
    params(("service_day" = ServiceDay, Path, description = "The day."), SetParams),
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
        (status = 200, description = "The set is the day's now, or would be.", body = SetReport),
        (
            status = 409, description = "More would vanish than may; nothing was done.",
            body = TooManyVanish, content_type = "application/problem+json"
        ),
        (
            status = "4XX", description = "The set cannot be taken; nothing was done.",
            body = FileRefused, content_type = "application/problem+json"
        ),
    )
)]
pub async fn put_day(
    State(app): State<App>,
    caller: Caller,
    PathParam(day): PathParam<ServiceDay>,
    QueryParams(params): QueryParams<SetParams>,
    request: Request,
) -> Result<Json<SetReport>, Refusal> {
    let stated = Stated {
        count: params.count,
        sha256: params.sha256.as_deref().map(sha256).transpose()?,
    };
    let names = column_names(params.map.as_deref())?;
    let file = TicketFile::open(&app, &caller.venue, names, request).await?;
    let server = app.server().clone();
    let set = server.begin_set(&caller.venue, Some(day), params.dry_run);
    to_its_end(put_set(server, set, file, stated, params)).await
}

async fn put_set(
    server: Arc<Server>,
    set: TicketSet,
    file: TicketFile,
    stated: Stated,
    params: SetParams,
) -> Result<Json<SetReport>, Refusal> {
    let (read, aside) = file.read(Aside { server, set }, Put::Whole).await?;
    let (server, set) = (&aside.server, &aside.set);
    let report = async {
        let read = read?;
        stated.check(&read)?;
        let changes = match params.dry_run {
            true => server.plan_set(set, params.confirm_vanish).await?,
            false => match server.apply_set(set, params.confirm_vanish).await? {
                Ok(changes) => {
                    let file = stated_file(&read);
                    server.note_put_day(set, file, &changes).await?;
                    changes
                }
                Err(vanish) => return Err(too_many_vanish(&vanish)),
            },
        };
        Ok(Json(set_report(read.report, changes, params.dry_run)))
    };
    let report = report.await;
    aside.end(report).await
}

/// What the sender says that the file is.
pub(super) struct Stated {
    pub count: Option<u64>,
    pub sha256: Option<[u8; 32]>,
}

impl Stated {
    pub fn check(&self, read: &ReadFile) -> Result<(), Refusal> {
        let count = read.report.accepted + read.report.refused_count;
        let problem = match self {
            Self {
                count: Some(stated),
                ..
            } if *stated != count => {
                format!("The file has {count} tickets, where {stated} were stated")
            }
            Self {
                sha256: Some(stated),
                ..
            } if *stated != read.sha256 => "The file has another SHA-256 than was stated".into(),
            _ => return Ok(()),
        };
        Err(Refusal::new(
            Code::IncompleteSet,
            format!("{problem}; nothing was done, send the whole file again"),
        )
        .with("count", count))
    }
}

/// A file that was read, as what it states.
pub(super) fn stated_file(read: &ReadFile) -> StatedFile {
    StatedFile {
        tickets: read.report.accepted + read.report.refused_count,
        refused: read.report.refused_count,
        sha256: read.sha256,
    }
}

pub(super) fn sha256(text: &str) -> Result<[u8; 32], Refusal> {
    hex::bytes_32(text).ok_or_else(|| wrong("sha256", "expected 64 hexadecimal digits"))
}

fn too_many_vanish(vanish: &Vanish) -> Refusal {
    let (of, vanishing) = (vanish.counts.of, vanish.counts.vanishing);
    Refusal::new(
        Code::TooManyVanish,
        format!(
            "{vanishing} of the day's {of} tickets are not in the set, and {} may vanish unasked; \
             nothing was done. If they are to go, send the set again with \
             confirm_vanish={vanishing}",
            vanish.allowed
        ),
    )
    .with("day_had", of)
    .with("would_vanish", vanishing)
    .with("may_vanish", vanish.allowed)
}

fn file_report(mut lines: ImportReport, changes: SetChanges, dry_run: bool) -> FileReport {
    lines.refuse_late(changes.counts.refused_count, changes.refused);
    acting::counts(if dry_run { 0 } else { lines.accepted });
    FileReport {
        lines,
        created: changes.counts.created,
        changed: changes.counts.changed,
        unchanged: changes.counts.unchanged,
        dry_run,
    }
}

fn set_report(lines: ImportReport, changes: SetChanges, dry_run: bool) -> SetReport {
    let vanish = changes.vanish;
    let missing = |withheld| {
        let vanish = vanish.filter(|vanish| vanish.withheld == withheld);
        vanish.map_or(0, |vanish| vanish.counts.vanishing)
    };
    SetReport {
        file: file_report(lines, changes, dry_run),
        day_had: vanish.map_or(0, |vanish| vanish.counts.of),
        vanished: missing(false),
        stay_admitted: vanish.map_or(0, |vanish| vanish.counts.admitted),
        stay_withheld: missing(true),
        needs_confirmation: vanish.is_some_and(|vanish| vanish.needs_confirmation()),
    }
}

/// Does to its end what was begun, also when whoever asked has gone away by then: nothing is left
/// aside.
pub(super) async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
) -> Result<T, Refusal> {
    let acting = acting::current();
    let work = async move {
        match acting {
            Some(acting) => acting.carry_out(work).await,
            None => work.await,
        }
    };
    match tokio::spawn(work).await {
        Ok(answer) => answer,
        Err(error) => Err(Refusal::internal(&error)),
    }
}

/// Puts tickets as they come.
struct LineByLine {
    server: Arc<Server>,
    venue: VenueId,
    counts: PutCounts,
}

impl Take for LineByLine {
    async fn take(&mut self, chunk: Chunk) -> Result<Vec<(u64, LineFault)>, ServerError> {
        let put = self
            .server
            .upsert_tickets(&self.venue, chunk.tickets)
            .await?;
        self.counts += put.counts;
        Ok(put.faults)
    }
}

/// Keeps tickets aside.
pub(super) struct Aside {
    pub server: Arc<Server>,
    pub set: TicketSet,
}

impl Aside {
    /// Forgets what was kept. What was to be answered is not changed by that: what cannot be
    /// forgotten now is later.
    pub async fn end<T>(self, answer: Result<T, Refusal>) -> Result<T, Refusal> {
        if let Err(error) = self.server.end_set(&self.set).await {
            tracing::warn!(%error, "what was kept aside of a set of tickets is removed later");
        }
        answer
    }
}

impl Take for Aside {
    async fn take(&mut self, chunk: Chunk) -> Result<Vec<(u64, LineFault)>, ServerError> {
        self.server.stage_tickets(&mut self.set, chunk).await
    }
}
