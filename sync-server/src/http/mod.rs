//! The server's face: routes, who may use them, and what goes in and out. Handlers are short:
//! read, one call to [`Server`], answer. What a request means is decided there, not here.

mod accept;
mod alarms;
mod answer;
mod api_keys;
mod attendance;
mod audit;
mod auth;
mod body;
mod codes;
mod csv;
mod devices;
mod download;
mod drain;
mod enrolments;
mod gate;
mod gate_claims;
mod gate_feed;
mod gates;
mod health;
mod imports;
mod log;
mod log_csv;
mod metrics;
mod openapi;
mod operators;
mod params;
mod policy;
mod pull;
mod quarantine;
mod rate;
mod reconciliations;
mod refusal;
mod routes;
mod serve;
mod sessions;
mod signing_keys;
mod ticket_files;
mod tickets;
mod trace;
mod visitors;
mod webhooks;

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use stile_core::protocol::Act;
use stile_core::time::EpochMillis;
use tokio::sync::Semaphore;
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;
use utoipa_axum::routes;

pub use metrics::metrics_router;
pub use serve::serve;

use crate::config::Limits;
use crate::server::Server;
use crate::store::Scope;
use crate::tls::Served;
use rate::RateLimits;
use refusal::Refusal;
use routes::Routes;

/// Answers of fewer bytes are sent as they are: they fill less than one packet.
const COMPRESS_ABOVE: u64 = 1024;

/// How clients reach the server: what enrolments that name no address say, and what they pin.
#[derive(Debug, Clone)]
pub struct Reached {
    /// Where it listens.
    pub address: SocketAddr,
    /// What it shows over TLS; none where it speaks plain HTTP.
    pub tls: Option<Arc<Served>>,
}

impl From<SocketAddr> for Reached {
    /// Plain HTTP.
    fn from(address: SocketAddr) -> Self {
        Self { address, tls: None }
    }
}

/// What handlers share.
#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    server: Arc<Server>,
    limits: Limits,
    reached: Reached,
    imports: Arc<Semaphore>,
    rates: RateLimits,
    /// The OpenAPI document as it is served.
    document: Bytes,
}

impl App {
    fn new(server: Arc<Server>, limits: Limits, reached: Reached) -> Self {
        let imports = Arc::new(Semaphore::new(limits.imports));
        Self(Arc::new(Shared {
            server,
            rates: RateLimits::new(&limits.rates),
            limits,
            reached,
            imports,
            document: openapi_text().into(),
        }))
    }

    /// The server's use cases.
    fn server(&self) -> &Arc<Server> {
        &self.0.server
    }

    fn rates(&self) -> &RateLimits {
        &self.0.rates
    }

    fn limits(&self) -> &Limits {
        &self.0.limits
    }

    fn now(&self) -> EpochMillis {
        self.0.server.now()
    }
}

/// All routes of a server.
pub fn router(server: Arc<Server>, limits: Limits, reached: impl Into<Reached>) -> Router {
    let app = App::new(server, limits, reached.into());
    let routes = all_routes().into_router(&app);
    layered(routes, app)
}

/// What holds for all routes, the innermost first.
fn layered(routes: Router<App>, app: App) -> Router {
    // What is large is lists, and they are mostly keys in base64, which more effort shortens by
    // one in a hundred in twice the time.
    let compression = CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(SizeAbove::new(COMPRESS_ABOVE));
    routes
        .layer(compression)
        .layer(from_fn(body::require_known_encoding))
        .layer(from_fn_with_state(app.clone(), drain::drain))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(answer::as_problem))
        .layer(from_fn_with_state(app.clone(), log::log))
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
        .stranger(routes!(gate::enrol))
        .device(routes!(gate::lists))
        .device(routes!(gate::whitelist))
        .stranger(routes!(gate::come_back))
        .sender(routes!(gate::records))
        .device(routes!(gate_feed::admissions))
        .device(routes!(gate_claims::claim))
        .device(routes!(gate_claims::verify))
        .act(Scope::TicketsWrite, Act::SessionPut, routes!(sessions::put))
        .act(
            Scope::TicketsWrite,
            Act::SessionPut,
            routes!(sessions::put_many),
        )
        .key(Scope::TicketsWrite, routes!(sessions::list))
        .act(Scope::Admin, Act::GatePut, routes!(gates::put))
        .key(Scope::Admin, routes!(gates::list))
        .act(Scope::Admin, Act::OperatorPut, routes!(operators::put))
        .key(Scope::Admin, routes!(operators::list))
        .act(
            Scope::Admin,
            Act::OperatorRemove,
            routes!(operators::remove),
        )
        .key(Scope::Admin, routes!(policy::get))
        .act(Scope::Admin, Act::PolicyPut, routes!(policy::put))
        .act(
            Scope::TicketsWrite,
            Act::VisitorErase,
            routes!(visitors::erase),
        )
        .act_upload(
            Scope::TicketsWrite,
            Act::TicketsImport,
            routes!(imports::import),
        )
        .act_upload(
            Scope::TicketsWrite,
            Act::TicketsPutDay,
            routes!(imports::put_day),
        )
        .act_upload(
            Scope::TicketsWrite,
            Act::TicketsReconcile,
            routes!(reconciliations::compare),
        )
        .act(
            Scope::TicketsWrite,
            Act::TicketsReconcile,
            routes!(reconciliations::digest),
        )
        .key(Scope::TicketsWrite, routes!(reconciliations::list))
        .key(Scope::TicketsWrite, routes!(tickets::get))
        .act(
            Scope::TicketsWrite,
            Act::TicketCancel,
            routes!(tickets::cancel),
        )
        .act(
            Scope::TicketsWrite,
            Act::TicketRestore,
            routes!(tickets::restore),
        )
        .act(
            Scope::TicketsWrite,
            Act::TicketMove,
            routes!(tickets::move_to),
        )
        .act(
            Scope::TicketsWrite,
            Act::TicketReissue,
            routes!(tickets::reissue),
        )
        .act(
            Scope::TicketsWrite,
            Act::TicketsChange,
            routes!(tickets::change),
        )
        .key(Scope::CodesMint, routes!(codes::mint))
        .key(Scope::CodesMint, routes!(codes::refresh))
        .act(Scope::Admin, Act::DeviceInvite, routes!(enrolments::invite))
        .key(Scope::Admin, routes!(enrolments::list))
        .act(
            Scope::Admin,
            Act::DeviceConfirm,
            routes!(enrolments::confirm),
        )
        .act(Scope::Admin, Act::DeviceRefuse, routes!(enrolments::refuse))
        .key(Scope::Admin, routes!(devices::list))
        .act(
            Scope::Admin,
            Act::DeviceOutOfUse,
            routes!(devices::out_of_use),
        )
        .act(Scope::Admin, Act::DeviceRevoke, routes!(devices::revoke))
        .act(Scope::Admin, Act::DeviceReadmit, routes!(devices::readmit))
        .key(Scope::Admin, routes!(quarantine::list))
        .act(
            Scope::Admin,
            Act::QuarantineAccept,
            routes!(quarantine::accept),
        )
        .act(
            Scope::Admin,
            Act::QuarantineDismiss,
            routes!(quarantine::dismiss),
        )
        .act(Scope::Admin, Act::ApiKeyMake, routes!(api_keys::make))
        .key(Scope::Admin, routes!(api_keys::list))
        .act(Scope::Admin, Act::ApiKeyRevoke, routes!(api_keys::revoke))
        .key(Scope::Admin, routes!(signing_keys::list))
        .act(Scope::Admin, Act::KeyRotate, routes!(signing_keys::rotate))
        .act(
            Scope::Admin,
            Act::SigningKeyRevoke,
            routes!(signing_keys::revoke),
        )
        .act(Scope::Admin, Act::WebhookMake, routes!(webhooks::make))
        .key(Scope::Admin, routes!(webhooks::list))
        .act(Scope::Admin, Act::WebhookRemove, routes!(webhooks::remove))
        .act(Scope::Admin, Act::WebhookResume, routes!(webhooks::resume))
        .act(Scope::Admin, Act::WebhookTest, routes!(webhooks::test))
        .key(Scope::Admin, routes!(audit::pull))
        .key(Scope::RecordsRead, routes!(pull::records))
        .key(Scope::RecordsRead, routes!(pull::check_ins))
        .key(Scope::RecordsRead, routes!(pull::conflicts))
        .key(Scope::RecordsRead, routes!(attendance::report))
        .key(Scope::RecordsRead, routes!(alarms::list))
}

/// What a handler's panic becomes. The panic itself is on stderr already.
fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    Refusal::internal(&"a handler panicked").into_response()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::Body;
    use axum::extract::Request;
    use axum::http::StatusCode;
    use axum::routing::get;
    use http_body_util::BodyExt;
    use stile_core::protocol::{Code, Problem};
    use tower::ServiceExt;

    use super::*;
    use crate::clock::SystemClock;
    use crate::server::MasterKeySource;

    async fn app(folder: &std::path::Path) -> App {
        let key = MasterKeySource::File(folder.join("master.key"));
        let server = Server::open(folder, key, Arc::new(SystemClock)).await;
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        App::new(Arc::new(server.unwrap()), Limits::default(), address.into())
    }

    #[tokio::test]
    async fn a_panic_is_answered_as_a_fault_of_the_server_and_tells_nothing() {
        async fn panics() -> StatusCode {
            panic!("13800005678")
        }
        let folder = tempfile::tempdir().unwrap();
        let app = app(folder.path()).await;
        let router = layered(Router::new().route("/panics", get(panics)), app);
        let request = Request::get("/panics").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(response.headers().contains_key("stile-time"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let problem: Problem = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem.code, Code::Internal);
        assert!(!problem.detail.contains("13800005678"));
    }

    #[tokio::test]
    async fn an_answer_that_takes_too_long_is_given_up() {
        async fn never() -> StatusCode {
            std::future::pending().await
        }
        let folder = tempfile::tempdir().unwrap();
        let app = app(folder.path()).await;
        let time = std::time::Duration::from_millis(10);
        let too_late = StatusCode::SERVICE_UNAVAILABLE;
        let layer = tower_http::timeout::TimeoutLayer::with_status_code(too_late, time);
        let router = layered(Router::new().route("/never", get(never).layer(layer)), app);
        let request = Request::get("/never").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), too_late);
        assert!(response.headers().contains_key("retry-after"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let problem: Problem = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem.code, Code::StoreUnavailable);
    }
}
