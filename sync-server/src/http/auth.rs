//! Who asks, and may they: the one place that reads bearers, checks scopes and settles the venue.
//! Handlers get a [`Caller`] or a [`Device`] from here and have no other way to a venue.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use stile_core::ids::VenueId;
use stile_core::protocol::Code;
use zeroize::Zeroizing;

use super::App;
use super::params::wrong;
use super::refusal::Refusal;
use crate::ServerError;
use crate::server::Device;
use crate::store::{ApiKey, Scope};

/// The name of the query parameter that says which of a key's venues is meant.
pub const VENUE_PARAMETER: &str = "venue";

/// A back end whose key was checked, at one of the key's venues.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The venue that the request is about.
    pub venue: VenueId,
    /// The key.
    pub key: ApiKey,
}

/// The layer of a route for API keys: whose, and at which venue.
pub async fn require_key(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let text = &bearer(request.headers(), "an API key")?;
    if let Some(over) = app.rates().bearer(&request, text) {
        return Ok(over.answer(&app, next.run(request)).await);
    }
    let found = app.server().authenticate_api_key(text).await;
    tell(&app, text, &found);
    let key = found?;
    let counted = app.rates().key(key.id);
    let venue = venue_meant(&key, request.uri().query())?;
    app.server().note_key_use(key.id, &venue);
    request.extensions_mut().insert(Caller { venue, key });
    Ok(counted.answer(&app, next.run(request)).await)
}

/// The layer of a route for API keys of a scope, within [`require_key`].
pub async fn require_scope(
    State(scope): State<Scope>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let caller = request.extensions().get::<Caller>();
    if !caller.is_some_and(|caller| caller.key.may(scope)) {
        return Err(Refusal::new(
            Code::Forbidden,
            format!("This route needs a key with the scope {scope}"),
        ));
    }
    Ok(next.run(request).await)
}

/// The layer of a route for devices that enrolled once, however they stand.
pub async fn require_device(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let text = &bearer(
        request.headers(),
        "the bearer that the device got when it was enrolled",
    )?;
    if let Some(over) = app.rates().bearer(&request, text) {
        return Ok(over.answer(&app, next.run(request)).await);
    }
    let found = app.server().authenticate_device(text).await;
    tell(&app, text, &found);
    let device = found?;
    app.server().note_heard(&device);
    let counted = app.rates().device(&device);
    request.extensions_mut().insert(device);
    Ok(counted.answer(&app, next.run(request)).await)
}

/// The same for those that are enrolled: of a revoked or forgotten device only its records are
/// taken.
pub async fn require_enrolled_device(
    State(app): State<App>,
    device: Device,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    app.server().require_enrolled(&device).await?;
    Ok(next.run(request).await)
}

/// Tells the limits what came of a bearer; a server that could not look has not found it bad.
fn tell<T>(app: &App, bearer: &str, found: &Result<T, ServerError>) {
    match found {
        Ok(_) => app.rates().was(bearer, true),
        Err(ServerError::Unauthorized(_)) => app.rates().was(bearer, false),
        Err(_) => {}
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Refusal> {
        settled(parts)
    }
}

impl FromRequestParts<App> for Device {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Refusal> {
        settled(parts)
    }
}

/// What the route's layer found out.
fn settled<T: Clone + Send + Sync + 'static>(parts: &Parts) -> Result<T, Refusal> {
    let found = parts.extensions.get::<T>().cloned();
    found.ok_or_else(|| Refusal::internal(&"the route does not say who may use it"))
}

/// The token of `authorization: Bearer …`.
fn bearer(headers: &HeaderMap, what: &str) -> Result<Zeroizing<String>, Refusal> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let token = match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok().and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        }),
        _ => None,
    };
    let token = token.filter(|token| !token.is_empty());
    token
        .map(|token| Zeroizing::new(token.to_owned()))
        .ok_or_else(|| {
            Refusal::new(
                Code::Unauthorized,
                format!("This route needs `authorization: Bearer` with {what}"),
            )
        })
}

/// The venue that the request is about: the one that it names, else the key's only one. A venue
/// that the key is not for is refused alike whether it exists or not.
fn venue_meant(key: &ApiKey, query: Option<&str>) -> Result<VenueId, Refusal> {
    let query = query.unwrap_or_default().as_bytes();
    let mut named = form_urlencoded::parse(query)
        .filter(|(name, _)| name == VENUE_PARAMETER)
        .map(|(_, value)| value);
    match (named.next(), named.next()) {
        (None, _) => {
            let mut venues = key.good_at();
            match (venues.next(), venues.next()) {
                (Some(only), None) => Ok(only.clone()),
                _ => Err(wrong(
                    VENUE_PARAMETER,
                    "the key is for several venues; add ?venue= to say which one is meant",
                )),
            }
        }
        (Some(text), None) => {
            let venue: VenueId = text
                .parse()
                .map_err(|error| wrong(VENUE_PARAMETER, &format!("{error}")))?;
            if !key.good_at().any(|good| *good == venue) {
                return Err(Refusal::new(
                    Code::Forbidden,
                    "The key is not for the venue that the request names",
                ));
            }
            Ok(venue)
        }
        (Some(_), Some(_)) => Err(wrong(VENUE_PARAMETER, "is there twice")),
    }
}
