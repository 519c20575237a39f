//! The request log, and its counts: one line per request with what helps the person on call, and nothing that
//! names a visitor: no path beyond its template, no query, no body, no token.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Instrument, error_span, info};

use super::App;
use super::refusal::RefusedWith;
use super::trace::{REQUEST_ID, Trace};
use crate::metrics::{Answered, status_class};

/// Logs method, route, status and time until the answer began. This line, and any other that is
/// written meanwhile, has the request's id and its trace; the answer has the id. Counts it, too.
pub async fn log(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = method(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let trace = Trace::of(request.headers());
    request.extensions_mut().insert(trace.clone());
    // Of the highest level, so that its fields stand also where only warnings are logged.
    let span = error_span!("request", request_id = trace.request_id, trace = trace.id);
    let work = trace.surround(next.run(request));
    let mut response = work.instrument(span.clone()).await;
    let (status, took) = (response.status().as_u16(), started.elapsed());
    let route = route.as_ref().map(MatchedPath::as_str);
    let answered = Answered {
        route: route.unwrap_or("none").to_owned(),
        method,
        status: status_class(status),
    };
    app.server().metrics().answered(&answered, took);
    let code = response.extensions().get::<RefusedWith>();
    span.in_scope(|| {
        info!(
            method,
            route,
            status,
            code = code.map(|RefusedWith(code)| code.name()),
            ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "answered"
        );
    });
    if let Ok(id) = HeaderValue::from_str(&trace.request_id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// The method by a name of ours: HTTP takes any word for one, and this one goes into the log.
pub fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
