//! What gates ask: enrolment, the lists to hold, and where their records go.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{ETAG, IF_NONE_MATCH, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream::poll_fn;
use serde::Deserialize;
use stile_core::protocol::{
    EnrolAnswer, EnrolRequest, EnrolWaiting, Lists, OutboxReport, RecordsAnswer, ReturnAnswer,
    ReturnRequest, SignedBatch,
};
use stile_core::time::{EpochMillis, ServiceDay};
use utoipa::IntoParams;

use super::App;
use super::answer::{Json, NDJSON, with_type};
use super::body::{JsonBody, read_json};
use super::params::{PathParam, QueryParams};
use super::refusal::Refusal;
use crate::server::{Device, Enrolling};

/// Seconds after which a device that waits to be confirmed asks again: soon for a person who stands
/// before it, and a twentieth of what one address may ask.
const WAITING_ASKS_S: u32 = 2;

/// A device presents itself with the token of its enrolment QR.
///
/// 202 as long as no operator has confirmed the six digits that the device shows: it asks again
/// after `Retry-After`. The same device key may repeat it while the token is good, also in case the
/// answer was lost.
#[utoipa::path(
    post, path = "/v1/gate/enrol", operation_id = "enrol_device", tag = "gate",
    request_body = EnrolRequest,
    responses(
        (status = 200, description = "The device is one of the venue's.", body = EnrolAnswer),
        (status = 202, description = "An operator is to confirm it.", body = EnrolWaiting),
    )
)]
pub async fn enrol(
    State(app): State<App>,
    JsonBody(request): JsonBody<EnrolRequest>,
) -> Result<Response, Refusal> {
    Ok(match app.server().enrol(request).await? {
        Enrolling::Enrolled(answer) => Json(*answer).into_response(),
        Enrolling::Waiting(waiting) => {
            let again = [(RETRY_AFTER, WAITING_ASKS_S.to_string())];
            (StatusCode::ACCEPTED, again, Json(waiting)).into_response()
        }
    })
}

/// A device shows its certificate to a server that does not know its bearer.
///
/// That is so where the server's data was put back from a backup that is older than the device's
/// enrolment. From then on the bearer is known, and its records are set aside for a person; it gets
/// lists after an operator's word.
#[utoipa::path(
    post, path = "/v1/gate/return", operation_id = "return_device", tag = "gate",
    request_body = ReturnRequest,
    responses((status = 200, description = "How the device stands.", body = ReturnAnswer))
)]
pub async fn come_back(
    State(app): State<App>,
    JsonBody(request): JsonBody<ReturnRequest>,
) -> Result<Json<ReturnAnswer>, Refusal> {
    Ok(Json(app.server().return_device(request).await?))
}

/// What a device says of its outbox beside its question: all of it, or nothing if it is of an
/// older version.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Said {
    /// The server's generation as the device knows it: what was delivered to an earlier one may be
    /// lost.
    #[param(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    generation: Option<u32>,
    /// Every record that the device made before this, epoch ms by its own clock, is here.
    delivered_through: Option<i64>,
    /// Records that wait or are stuck.
    #[param(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    outstanding: Option<u32>,
}

impl Said {
    fn report(&self) -> Option<OutboxReport> {
        Some(OutboxReport {
            generation: self.generation?.into(),
            delivered_through: EpochMillis(self.delivered_through?),
            outstanding: self.outstanding?.into(),
        })
    }
}

/// The days that a gate should hold now. Beside the question a device says how far its records are
/// here, so that sessions become final.
#[utoipa::path(
    get, path = "/v1/gate/lists", operation_id = "get_lists", tag = "gate",
    params(Said),
    responses((status = 200, description = "A signed manifest for each day.", body = Lists))
)]
pub async fn lists(
    State(app): State<App>,
    device: Device,
    QueryParams(said): QueryParams<Said>,
) -> Result<Json<Lists>, Refusal> {
    if let Some(report) = said.report() {
        // A gate goes without its lists for nothing that only reports wait for.
        if let Err(error) = app.server().hear_outbox(&device, report).await {
            tracing::warn!(%error, device = %device.device_id, "what it reports was not kept");
        }
    }
    Ok(Json(app.server().lists(&device).await?))
}

/// A day's whitelist.
///
/// Lines of JSON, all of one version: a `ListHead`, then `ListPage`s in the order of ticket
/// numbers, then a `ListEnd`. A list without the last was cut off. `ETag` and `If-None-Match`
/// spare a list that did not change.
#[utoipa::path(
    get, path = "/v1/gate/whitelist/{service_day}", operation_id = "get_whitelist", tag = "gate",
    params(("service_day" = ServiceDay, Path, description = "The day.")),
    responses(
        (
            status = 200, description = "The list.",
            body = String, content_type = "application/x-ndjson",
        ),
        (status = 304, description = "It is the one whose `ETag` the request names."),
    )
)]
pub async fn whitelist(
    State(app): State<App>,
    device: Device,
    PathParam(day): PathParam<ServiceDay>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let mut list = app.server().whitelist(&device, &day).await?;
    let tag = format!(
        "W/\"{}.{}\"",
        list.manifest.generation, list.manifest.version
    );
    let is_held = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|held| held.as_bytes() == tag.as_bytes());
    let mut response = if is_held {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let chunks = poll_fn(move |context| list.chunks.poll_recv(context));
        with_type(NDJSON, Body::from_stream(chunks))
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    Ok(response)
}

/// A signed batch of 1 to 500 records.
///
/// The answer has one result per record; sending the same record again changes nothing.
#[utoipa::path(
    post, path = "/v1/gate/records", operation_id = "file_records", tag = "gate",
    request_body = SignedBatch,
    responses((status = 200, description = "What became of each record.", body = RecordsAnswer))
)]
pub async fn records(
    State(app): State<App>,
    device: Device,
    request: Request,
) -> Result<Json<RecordsAnswer>, Refusal> {
    let batch: SignedBatch = read_json(request, app.limits().batch_bytes).await?;
    Ok(Json(app.server().file_records(&device, batch).await?))
}
