//! `/metrics`, on a listener of its own: it is not one of the routes that gates and back ends see.

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus_client::encoding::prometheus_text;

use super::refusal::Refusal;
use crate::metrics::Watch;

/// The one route of that listener.
pub fn metrics_router(watch: Watch) -> Router {
    Router::new().route("/metrics", get(show)).with_state(watch)
}

async fn show(State(watch): State<Watch>) -> Result<impl IntoResponse, Refusal> {
    let text = watch
        .text()
        .await
        .map_err(|error| Refusal::internal(&error))?;
    Ok(([(CONTENT_TYPE, prometheus_text::CONTENT_TYPE)], text))
}
