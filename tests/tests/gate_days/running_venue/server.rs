//! A running `stile-server` with one venue, and the booking system's key to it.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use axum::http::Method;
use reqwest::blocking::Client;
use serde::de::DeserializeOwned;
use stile_core::time::EpochMillis;
use stile_tests::api::Api;
use stile_tests::network::Network;
use stile_tests::server::Server;

use super::clock::{SetClock, goes_by_it};
use crate::case::Venue as Named;
use crate::venue::{BackEnd, read};

/// Scopes of the booking system's key.
const SCOPES: &str = "tickets:write,codes:mint,records:read,admin";

/// See the module.
pub struct RunningServer {
    server: Server,
    clock: SetClock,
    http: Client,
    venue: String,
    key: String,
}

impl RunningServer {
    /// Starts one in a folder with a new venue, at a time.
    pub fn start(folder: &Path, venue: &Named, at: EpochMillis) -> Result<Self> {
        let clock = SetClock::at(folder.join("server.clock"), at)?;
        let mut server = Server::new(&folder.join("server")).by_clock(clock.path());
        let (id, zone) = (venue.id.as_str(), venue.time_zone.as_str());
        server.add_venue(id, "", zone, &[])?;
        let key = server.command(&[
            "key", "add", "--venue", id, "--scopes", SCOPES, "--name", "test",
        ])?;
        server.start()?;
        goes_by_it(&folder.join("server.log"))?;
        let http = Api::new(&server.url(), &key, id)?.http().clone();
        Ok(Self {
            server,
            clock,
            http,
            venue: venue.id.clone(),
            key,
        })
    }

    /// Moves its time.
    pub fn move_to(&mut self, at: EpochMillis) -> Result<()> {
        self.clock.move_to(at)
    }

    /// A network of its own that leads to it.
    pub fn network(&self) -> Result<Network> {
        Network::to(self.server.address())
    }

    /// What it answers a device that asks for this.
    pub fn answer_to<T: DeserializeOwned>(&self, bearer: &str, path: &str) -> Result<T> {
        read(&self.request(Method::GET, path, bearer, "application/json", Vec::new())?)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        bearer: &str,
        media_type: &str,
        body: Vec<u8>,
    ) -> Result<Vec<u8>> {
        let url = format!("{}{path}", self.server.url());
        let request = self.http.request(method, url).bearer_auth(bearer);
        let request = match body.is_empty() {
            true => request,
            false => request.header("content-type", media_type).body(body),
        };
        let answer = request.send()?;
        let (status, body) = (answer.status(), answer.bytes()?);
        let text = String::from_utf8_lossy(&body);
        ensure!(status.is_success(), "{path} answered {status}: {text}");
        Ok(body.to_vec())
    }
}

impl BackEnd for RunningServer {
    fn send(&self, method: Method, path: &str, media_type: &str, body: Vec<u8>) -> Result<Vec<u8>> {
        let mark = if path.contains('?') { '&' } else { '?' };
        let whole = format!("{path}{mark}venue={}", self.venue);
        self.request(method, &whole, &self.key, media_type, body)
            .with_context(|| path.to_owned())
    }
}
