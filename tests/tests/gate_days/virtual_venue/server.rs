//! The product's server without a socket: its router is called, on a database in a folder.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use stile_core::ids::VenueId;
use stile_core::policy::Policy;
use stile_sync_server::config::Limits;
use stile_sync_server::http;
use stile_sync_server::server::{MasterKeySource, Server};
use stile_sync_server::store::Scope;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

use super::VirtualTime;
use crate::venue::{BackEnd, read};

/// What a request was answered.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: axum::http::HeaderMap,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body of a good answer as what it is.
    pub fn json<T: DeserializeOwned>(self) -> Result<T> {
        read(&self.good()?)
    }

    /// The body of a good answer.
    pub fn good(self) -> Result<Vec<u8>> {
        let text = String::from_utf8_lossy(&self.body);
        ensure!(self.status.is_success(), "{}: {text}", self.status);
        Ok(self.body)
    }
}

/// A server with one venue and a key that may do everything there.
pub struct VirtualServer {
    runtime: Runtime,
    server: Arc<Server>,
    router: Router,
    venue: VenueId,
    key: String,
    _folder: TempDir,
}

impl VirtualServer {
    /// Opens one with a new venue.
    pub fn open(venue: &str, time_zone: &str, time: &Arc<VirtualTime>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let venue = VenueId::new(venue)?;
        let master = MasterKeySource::File(folder.path().join("master.key"));
        let (server, router, key) = runtime.block_on(async {
            let clock = Arc::clone(time);
            let server = Arc::new(Server::open(folder.path(), master, clock).await?);
            server
                .create_venue(venue.clone(), "", time_zone, Policy::default())
                .await?;
            let scopes = [
                Scope::TicketsWrite,
                Scope::CodesMint,
                Scope::RecordsRead,
                Scope::Admin,
            ];
            let venues = [venue.clone()];
            let (_, key) = server.add_api_key(&venues, &scopes, "test", None).await?;
            let address = SocketAddr::from(([127, 0, 0, 1], 80));
            let router = http::router(server.clone(), Limits::default(), address);
            anyhow::Ok((server, router, key.as_str().to_owned()))
        })?;
        Ok(Self {
            runtime,
            server,
            router,
            venue,
            key,
            _folder: folder,
        })
    }

    /// What it does daily with its keys.
    pub fn tend_keys(&self) -> Result<()> {
        self.runtime.block_on(self.server.tend_keys())?;
        Ok(())
    }

    /// Carries out one request.
    fn carry_out(&self, request: Request<Body>) -> Result<Answer> {
        self.runtime.block_on(async {
            let answer = self.router.clone().oneshot(request).await?;
            let (parts, body) = answer.into_parts();
            Ok(Answer {
                status: parts.status,
                headers: parts.headers,
                body: body.collect().await?.to_bytes().to_vec(),
            })
        })
    }

    /// A request of a device.
    pub fn device_request(
        &self,
        method: Method,
        path: &str,
        bearer: &str,
        body: Vec<u8>,
    ) -> Result<Answer> {
        self.request(method, path, bearer, "application/json", body)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        bearer: &str,
        kind: &str,
        body: Vec<u8>,
    ) -> Result<Answer> {
        let mut request = Request::builder().method(method).uri(path);
        if !bearer.is_empty() {
            request = request.header("authorization", format!("Bearer {bearer}"));
        }
        if !body.is_empty() {
            request = request.header("content-type", kind);
        }
        self.carry_out(request.body(Body::from(body))?)
    }
}

impl BackEnd for VirtualServer {
    fn send(&self, method: Method, path: &str, media_type: &str, body: Vec<u8>) -> Result<Vec<u8>> {
        let mark = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{mark}venue={}", self.venue);
        let answer = self.request(method, &path, &self.key, media_type, body)?;
        answer.good().with_context(|| path)
    }
}
