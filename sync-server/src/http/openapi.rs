//! The OpenAPI document: what stands above the routes, and how it is written. Routes add
//! themselves (see [`super::routes`]).

use axum::extract::State;
use axum::response::Response;
use stile_core::protocol::{
    GENERATION_HEADER, ListEnd, ListHead, ListPage, Problem, PulledEnd, TIME_HEADER,
};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder};

use super::App;
use super::answer::with_type;
use super::routes::{API_KEY, DEVICE};
use super::trace::REQUEST_ID;

/// Everything of the document but the routes and their types.
pub fn head() -> OpenApi {
    let description = format!(
        "What gates and the booking back end say to Stile's sync server.\n\n\
         Every answer has the headers `{TIME_HEADER}` (the server's time, epoch milliseconds) and \
         `{GENERATION_HEADER}` (UTC seconds at which its data was last put back from a backup, 0 \
         at first), and `{REQUEST_ID}`: the request's, where that is 16 to 74 hex digits and hyphens, \
         else a new one. Every error is an RFC 9457 document with a stable `code`; the trace of a \
         `traceparent` goes on in the server's log. Bodies may be sent compressed with gzip or zstd."
    );
    let info = InfoBuilder::new()
        .title("Stile sync server")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(description))
        .license(Some(
            LicenseBuilder::new()
                .name("Apache-2.0")
                .identifier(Some("Apache-2.0"))
                .build(),
        ));
    let components = ComponentsBuilder::new()
        .schema_from::<Problem>()
        // Of answers in lines, which refer to no type.
        .schema_from::<ListHead>()
        .schema_from::<ListPage>()
        .schema_from::<ListEnd>()
        .schema_from::<PulledEnd>()
        .security_scheme(API_KEY, bearer("An API key, `stile_key_…`, with a scope."))
        .security_scheme(
            DEVICE,
            bearer("What a device got when it was enrolled, `stile_dev_…`."),
        );
    OpenApiBuilder::new()
        .info(info.build())
        .components(Some(components.build()))
        .build()
}

fn bearer(description: &str) -> SecurityScheme {
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some(description));
    SecurityScheme::Http(scheme.build())
}

/// The document as text.
pub fn text(document: &OpenApi) -> String {
    let text = document.to_pretty_json();
    text.expect("the document holds nothing that JSON cannot say") + "\n"
}

/// This document.
#[utoipa::path(
    get, path = "/v1/openapi.json", operation_id = "get_openapi", tag = "health",
    responses((status = 200, description = "The OpenAPI document.", body = serde_json::Value))
)]
pub async fn document(State(app): State<App>) -> Response {
    with_type("application/json", app.0.document.clone())
}
