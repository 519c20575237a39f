//! The server's face: routes, who may use them, and what goes in and out. Handlers are short:
//! read, one call to [`Server`], answer. What a request means is decided there, not here.

mod answer;
mod auth;
mod body;
mod codes;
mod drain;
mod enrolments;
mod gate;
mod gates;
mod health;
mod log;
mod openapi;
mod params;
mod policy;
mod pull;
mod refusal;
mod routes;
mod serve;
mod sessions;
mod tickets;

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use stile_core::time::EpochMillis;
use tokio::sync::Semaphore;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;
use utoipa_axum::routes;

pub use serve::serve;

use crate::config::Limits;
use crate::server::Server;
use crate::store::Scope;
use refusal::Refusal;
use routes::Routes;

/// Answers of fewer bytes are sent as they are: they fill less than one packet.
const COMPRESS_ABOVE: u64 = 1024;

/// What handlers share.
#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    server: Arc<Server>,
    limits: Limits,
    /// Where the server listens, for enrolments that name no address.
    address: SocketAddr,
    imports: Arc<Semaphore>,
    /// The OpenAPI document as it is served.
    document: Bytes,
}

impl App {
    /// The server's use cases.
    fn server(&self) -> &Arc<Server> {
        &self.0.server
    }

    fn limits(&self) -> &Limits {
        &self.0.limits
    }

    fn now(&self) -> EpochMillis {
        self.0.server.now()
    }
}

/// All routes of a server that listens at `address`.
pub fn router(server: Arc<Server>, limits: Limits, address: SocketAddr) -> Router {
    let imports = Arc::new(Semaphore::new(limits.imports));
    let app = App(Arc::new(Shared {
        server,
        limits,
        address,
        imports,
        document: openapi_text().into(),
    }));
    let router = all_routes().into_router(&app);
    router
        .layer(CompressionLayer::new().compress_when(SizeAbove::new(COMPRESS_ABOVE)))
        .layer(from_fn(body::require_known_encoding))
        .layer(from_fn_with_state(app.clone(), drain::drain))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(answer::as_problem))
        .layer(from_fn(log::log))
        .layer(from_fn_with_state(app.clone(), answer::stamp))
        .with_state(app)
}

/// The OpenAPI document of all routes, as it is served and kept in the repository.
pub fn openapi_text() -> String {
    openapi::text(&all_routes().into_document(openapi::head()))
}

fn all_routes() -> Routes {
    Routes::default()
        .public(routes!(health::healthz))
        .public(routes!(health::readyz))
        .public(routes!(openapi::document))
        .public(routes!(gate::enrol))
        .device(routes!(gate::lists))
        .device(routes!(gate::whitelist))
        .device(routes!(gate::records))
        .key(Scope::TicketsWrite, routes!(sessions::put))
        .key(Scope::TicketsWrite, routes!(sessions::list))
        .key(Scope::Admin, routes!(gates::put))
        .key(Scope::Admin, routes!(gates::list))
        .key(Scope::Admin, routes!(policy::get))
        .key(Scope::Admin, routes!(policy::put))
        .key_upload(Scope::TicketsWrite, routes!(tickets::import))
        .key(Scope::TicketsWrite, routes!(tickets::get))
        .key(Scope::TicketsWrite, routes!(tickets::cancel))
        .key(Scope::CodesMint, routes!(codes::mint))
        .key(Scope::CodesMint, routes!(codes::refresh))
        .key(Scope::Admin, routes!(enrolments::invite))
        .key(Scope::RecordsRead, routes!(pull::records))
        .key(Scope::RecordsRead, routes!(pull::check_ins))
        .key(Scope::RecordsRead, routes!(pull::conflicts))
}

/// What a handler's panic becomes. The panic itself is on stderr already.
fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    Refusal::internal(&"a handler panicked").into_response()
}
