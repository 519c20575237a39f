//! What the server knows of itself, for whoever watches over it.

use stile_core::ids::{DeviceId, VenueNumber};
use stile_core::protocol::ListManifest;
use stile_core::time::EpochMillis;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Device, Server};
use crate::error::ServerError;
use crate::metrics::Metrics;
use crate::store::VenueFigures;

/// How exactly it is kept when a device was heard of, in ms: one that talks all the time costs one
/// write a minute.
const HEARD_MS: u64 = 60_000;

/// When it was last kept of each device that it was heard of, by this process.
pub(super) type KnownHeard = Mutex<HashMap<(VenueNumber, DeviceId), EpochMillis>>;

impl Server {
    /// What happened since the start.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Keeps that a device was heard of. Nobody waits for it: it is written aside, and at most once
    /// a minute.
    pub fn note_heard(self: &Arc<Self>, device: &Device) {
        let now = self.now();
        let mut known = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (device.venue, device.device_id.clone());
        // Also where the clock was set back meanwhile.
        let last = known.get(&key);
        if last.is_some_and(|last| now.0.abs_diff(last.0) < HEARD_MS) {
            return;
        }
        known.insert(key, now);
        drop(known);
        let (server, venue, id) = (Arc::clone(self), device.venue, device.device_id.clone());
        tokio::spawn(async move {
            if let Err(error) = server.store.note_heard(venue, &id, now).await {
                tracing::debug!(%error, "that a device was heard of was not kept");
            }
        });
    }

    /// Counts of each venue, as of now.
    pub async fn figures(&self) -> Result<Vec<VenueFigures>, ServerError> {
        Ok(self.store.figures(self.now().seconds()).await?)
    }

    /// The manifests of the lists that gates have asked for since the start, of the service days
    /// that it is now.
    pub async fn given_lists(&self) -> Vec<ListManifest> {
        let now = self.now().seconds();
        let mut manifests = self.lists.manifests().await;
        manifests.retain(|manifest| manifest.day_from <= now && now < manifest.day_until);
        manifests
    }
}
