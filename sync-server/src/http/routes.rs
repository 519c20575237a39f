//! Adds routes to the router and to the OpenAPI document, each together with who may use it: a
//! route without that cannot be added.

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::MethodRouter;
use stile_core::protocol::Act;
use tower_http::decompression::RequestDecompressionLayer;
use tower_http::timeout::{RequestBodyDeadlineLayer, RequestBodyTimeoutLayer, TimeoutLayer};
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, Required, ResponseBuilder};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter, UtoipaMethodRouterExt};

use super::App;
use super::audit::audited;
use super::auth::{
    VENUE_PARAMETER, require_device, require_enrolled_device, require_key, require_scope,
};
use super::rate::count_attempt;
use super::refusal::PROBLEM_JSON;
use crate::acting::ActResult;
use crate::config::Limits;
use crate::store::Scope;

/// The security scheme of routes for API keys.
pub const API_KEY: &str = "api_key";
/// Says in the document which act of the audit log an operation is.
const ACT_EXTENSION: &str = "x-stile-act";
/// The security scheme of routes for devices.
pub const DEVICE: &str = "device";

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Everybody.
    Public,
    /// Everybody, and each request is an attempt to become known.
    Stranger,
    /// Enrolled devices.
    Device,
    /// Devices that enrolled once, however they stand.
    Sender,
    /// API keys with this scope.
    Key(Scope),
}

/// How long a body may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Body and answer have times of their own.
    Bounded,
    /// Of any length, read as it comes: only standing still is bounded.
    Streamed,
}

/// Routes with their documents, who may use them, and what they do to the venue.
#[derive(Default)]
pub struct Routes(Vec<(Guards, UtoipaMethodRouter<App>)>);

/// What stands before a route.
#[derive(Debug, Clone, Copy)]
struct Guards {
    access: Access,
    pace: Pace,
    /// What it is called in the audit log, if it changes anything of the venue.
    act: Option<Act>,
}

impl Routes {
    /// Adds routes for everybody.
    pub fn public(self, routes: UtoipaMethodRouter<App>) -> Self {
        self.add(Access::Public, Pace::Bounded, None, routes)
    }

    /// Adds routes by which strangers become known.
    pub fn stranger(self, routes: UtoipaMethodRouter<App>) -> Self {
        self.add(Access::Stranger, Pace::Bounded, None, routes)
    }

    /// Adds routes for enrolled devices.
    pub fn device(self, routes: UtoipaMethodRouter<App>) -> Self {
        self.add(Access::Device, Pace::Bounded, None, routes)
    }

    /// Adds routes for devices that enrolled once, also revoked and forgotten ones.
    pub fn sender(self, routes: UtoipaMethodRouter<App>) -> Self {
        self.add(Access::Sender, Pace::Bounded, None, routes)
    }

    /// Adds routes for API keys with a scope that change nothing.
    pub fn key(self, scope: Scope, routes: UtoipaMethodRouter<App>) -> Self {
        self.add(Access::Key(scope), Pace::Bounded, None, routes)
    }

    /// Adds routes for API keys with a scope that act, which the audit log keeps.
    pub fn act(self, scope: Scope, act: Act, routes: UtoipaMethodRouter<App>) -> Self {
        self.add(Access::Key(scope), Pace::Bounded, Some(act), routes)
    }

    /// The same for those that send a body of any length.
    pub fn act_upload(self, scope: Scope, act: Act, routes: UtoipaMethodRouter<App>) -> Self {
        self.add(Access::Key(scope), Pace::Streamed, Some(act), routes)
    }

    fn add(
        mut self,
        access: Access,
        pace: Pace,
        act: Option<Act>,
        routes: UtoipaMethodRouter<App>,
    ) -> Self {
        let guards = Guards { access, pace, act };
        let routes = described(routes, |operation| describe(operation, guards));
        self.0.push((guards, routes));
        self
    }

    /// The document that describes them.
    pub fn into_document(self, head: OpenApi) -> OpenApi {
        let routes = self.0.into_iter().map(|(_, routes)| routes);
        let router = OpenApiRouter::with_openapi(head);
        routes.fold(router, OpenApiRouter::routes).into_openapi()
    }

    /// The routes behind their guards.
    pub fn into_router(self, app: &App) -> Router<App> {
        let routes = self.0.into_iter().map(|(guards, routes)| {
            routes.map(|router| guarded(paced(router, guards.pace, app.limits()), guards, app))
        });
        routes
            .fold(OpenApiRouter::default(), OpenApiRouter::routes)
            .into()
    }
}

fn guarded(router: MethodRouter<App>, guards: Guards, app: &App) -> MethodRouter<App> {
    match guards.access {
        Access::Public => router,
        Access::Stranger => router.route_layer(from_fn_with_state(app.clone(), count_attempt)),
        Access::Device => router
            .route_layer(from_fn_with_state(app.clone(), require_enrolled_device))
            .route_layer(from_fn_with_state(app.clone(), require_device)),
        Access::Sender => router.route_layer(from_fn_with_state(app.clone(), require_device)),
        Access::Key(scope) => {
            let router = router.route_layer(from_fn_with_state(scope, require_scope));
            // Outside of the scope's check: what a key may not do and tried is in the log as well.
            let router = match guards.act {
                None => router,
                Some(act) => {
                    let state = (app.clone(), act, stored(guards.pace));
                    router.route_layer(from_fn_with_state(state, audited))
                }
            };
            router.route_layer(from_fn_with_state(app.clone(), require_key))
        }
    }
}

/// What an act's first transaction says of it: all of it, or that it has begun.
fn stored(pace: Pace) -> ActResult {
    match pace {
        Pace::Bounded => ActResult::Done,
        Pace::Streamed => ActResult::Begun,
    }
}

/// Takes the compression off, and bounds the time that body and answer may take.
fn paced(router: MethodRouter<App>, pace: Pace, limits: &Limits) -> MethodRouter<App> {
    let router = router
        .route_layer(RequestDecompressionLayer::new())
        .route_layer(RequestBodyTimeoutLayer::new(limits.idle_time));
    match pace {
        Pace::Streamed => router,
        Pace::Bounded => {
            let too_late = StatusCode::SERVICE_UNAVAILABLE;
            let whole = TimeoutLayer::with_status_code(too_late, limits.request_time);
            let body = RequestBodyDeadlineLayer::new(limits.body_time);
            router.route_layer(body).route_layer(whole)
        }
    }
}

/// Writes down who may use an operation, which act it is, and how it answers errors.
fn describe(operation: &mut Operation, guards: Guards) {
    let access = guards.access;
    if let Some(act) = guards.act {
        let extension = ExtensionsBuilder::new().add(ACT_EXTENSION, act.name());
        operation.extensions = Some(extension.build());
    }
    let nothing: [&str; 0] = [];
    operation.security = Some(match access {
        // Empty, and not absent: nobody forgot it.
        Access::Public | Access::Stranger => Vec::new(),
        Access::Device | Access::Sender => vec![SecurityRequirement::new(DEVICE, nothing)],
        Access::Key(scope) => vec![SecurityRequirement::new(API_KEY, [scope.name()])],
    });
    if let Access::Key(_) = access {
        let parameters = operation.parameters.get_or_insert_default();
        parameters.push(venue_parameter().build().into());
    }
    let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem")));
    let error = ResponseBuilder::new()
        .description("A problem document, by whose `code` programs go.")
        .content(PROBLEM_JSON, problem.build());
    let responses = &mut operation.responses.responses;
    responses.insert("default".to_owned(), error.build().into());
}

fn venue_parameter() -> ParameterBuilder {
    ParameterBuilder::new()
        .name(VENUE_PARAMETER)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(
            "The venue that is meant; may be left out where the key is for one venue only.",
        ))
        .schema(Some(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .pattern(Some("^[a-z0-9-]{1,32}$")),
        ))
}

/// Changes the document of each operation.
fn described(
    (schemas, mut paths, router): UtoipaMethodRouter<App>,
    mut change: impl FnMut(&mut Operation),
) -> UtoipaMethodRouter<App> {
    for item in paths.paths.values_mut() {
        let operations = [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
        ];
        operations.into_iter().flatten().for_each(&mut change);
    }
    (schemas, paths, router)
}
