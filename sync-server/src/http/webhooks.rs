//! Webhooks, as the administrators of a venue manage them.

use axum::extract::State;
use axum::http::StatusCode;
use stile_core::protocol::{
    MadeWebhook, NewWebhook, WebhookId, WebhookTested, WebhookView, Webhooks,
};

use super::App;
use super::answer::{Json, Put};
use super::auth::Caller;
use super::body::StrictBody;
use super::params::PathParam;
use super::refusal::Refusal;
use crate::acting;
use crate::store::Change;

/// Makes a webhook.
///
/// It carries what happens from now on, in order and at least once: a message is sent again, with
/// the same `webhook-id`, until the receiver answers 2xx. Messages are signed by the Standard
/// Webhooks specification with the secret that is in this one answer.
#[utoipa::path(
    post, path = "/v1/webhooks", operation_id = "make_webhook", tag = "webhooks",
    request_body = NewWebhook,
    responses((status = 201, description = "The webhook, with its secret.", body = MadeWebhook))
)]
pub async fn make(
    State(app): State<App>,
    caller: Caller,
    StrictBody(new): StrictBody<NewWebhook>,
) -> Result<Put<MadeWebhook>, Refusal> {
    let (webhook, secret) = app.server().add_webhook(&caller.venue, new).await?;
    let secret = secret.as_str().to_owned();
    Ok(Put(MadeWebhook { webhook, secret }, Change::Created))
}

/// The venue's webhooks, with what is wrong where one does not get through.
#[utoipa::path(
    get, path = "/v1/webhooks", operation_id = "list_webhooks", tag = "webhooks",
    responses((status = 200, description = "The webhooks, the oldest first.", body = Webhooks))
)]
pub async fn list(State(app): State<App>, caller: Caller) -> Result<Json<Webhooks>, Refusal> {
    Ok(Json(app.server().webhooks(&caller.venue).await?))
}

/// Removes a webhook.
///
/// Nothing is sent there any more, and what waited for it is not sent.
#[utoipa::path(
    delete, path = "/v1/webhooks/{webhook_id}", operation_id = "remove_webhook", tag = "webhooks",
    params(("webhook_id" = WebhookId, Path, description = "The webhook.")),
    responses((status = 204, description = "It is gone."))
)]
pub async fn remove(
    State(app): State<App>,
    caller: Caller,
    PathParam(id): PathParam<WebhookId>,
) -> Result<StatusCode, Refusal> {
    acting::names(id);
    app.server().remove_webhook(&caller.venue, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Has a webhook tried again at once, where it stopped.
///
/// One that is paused goes on; of one that waits for its next try, the wait is over.
#[utoipa::path(
    post, path = "/v1/webhooks/{webhook_id}/resume", operation_id = "resume_webhook",
    tag = "webhooks",
    params(("webhook_id" = WebhookId, Path, description = "The webhook.")),
    responses((status = 200, description = "The webhook as it stands now.", body = WebhookView))
)]
pub async fn resume(
    State(app): State<App>,
    caller: Caller,
    PathParam(id): PathParam<WebhookId>,
) -> Result<Json<WebhookView>, Refusal> {
    acting::names(id);
    Ok(Json(app.server().resume_webhook(&caller.venue, id).await?))
}

/// Sends a test message.
///
/// At once, whatever else waits, and once: its type is `webhook.test`. What came of it is in the
/// answer.
#[utoipa::path(
    post, path = "/v1/webhooks/{webhook_id}/test", operation_id = "test_webhook", tag = "webhooks",
    params(("webhook_id" = WebhookId, Path, description = "The webhook.")),
    responses((status = 200, description = "What came of it.", body = WebhookTested))
)]
pub async fn test(
    State(app): State<App>,
    caller: Caller,
    PathParam(id): PathParam<WebhookId>,
) -> Result<Json<WebhookTested>, Refusal> {
    acting::names(id);
    let settings = &app.limits().webhooks;
    let tested = app.server().test_webhook(&caller.venue, id, settings);
    Ok(Json(tested.await?))
}
