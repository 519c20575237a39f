//! How complete what is known is: what devices report of their outbox, and which sessions are final
//! by it.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use stile_core::ids::{DeviceId, SessionId, VenueId, VenueNumber};
use stile_core::protocol::{Devices, OutboxReport, PulledRecord, SessionFinality};
use stile_core::time::EpochMillis;

use super::{Device, Server};
use crate::error::ServerError;
use crate::store::OutboxState;

/// A report is kept when it says this much more than the one that was kept before, in ms. A
/// thousand gates that report every five seconds cost some sixty small writes a second by it.
const KEPT_EVERY_MS: i64 = 15_000;

/// What was last kept of each device.
pub(super) type KnownReports = Mutex<HashMap<(VenueNumber, DeviceId), EpochMillis>>;

/// What is read of a record to tell its session.
#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    session_id: Option<SessionId>,
}

impl Server {
    /// Hears what a device says of its outbox. What it delivered to an earlier generation may be
    /// lost, and says nothing.
    pub async fn hear_outbox(
        &self,
        device: &Device,
        report: OutboxReport,
    ) -> Result<(), ServerError> {
        if report.generation != self.generation {
            return Ok(());
        }
        let now = self.now();
        // A clock that runs ahead cannot speak for what is still to come.
        let through = report.delivered_through.clamp(EpochMillis(0), now);
        let key = (device.venue, device.device_id.clone());
        let known = || self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let last = known().get(&key).copied();
        let is_news = last.is_none_or(|last| through < last || through.0 - last.0 >= KEPT_EVERY_MS);
        if !is_news {
            return Ok(());
        }
        let state = OutboxState {
            device_id: device.device_id.clone(),
            delivered_through: through,
            outstanding: report.outstanding,
        };
        self.store.report_outbox(device.venue, state, now).await?;
        known().insert(key, through);
        Ok(())
    }

    /// Makes all sessions final, of all venues, of which nothing more can be missing; says how
    /// many.
    pub async fn finalize(&self) -> Result<u64, ServerError> {
        let mut made = 0;
        for venue in self.store.venues().await? {
            made += self.store.finalize(venue.number, self.now()).await?;
        }
        Ok(made)
    }

    /// The venue's devices with what they last said of their outboxes.
    pub async fn devices(&self, venue: &VenueId) -> Result<Devices, ServerError> {
        let number = self.keys(venue).await?.number;
        let devices = self.store.devices(number).await?;
        Ok(Devices { devices })
    }

    /// Nobody uses the device any more: nothing waits for it, until it reports again.
    pub async fn device_out_of_use(
        &self,
        venue: &VenueId,
        device: &DeviceId,
    ) -> Result<(), ServerError> {
        let number = self.keys(venue).await?.number;
        let now = self.now();
        self.store.device_out_of_use(number, device, now).await?;
        // Whatever it says next is news.
        let mut known = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&(number, device.clone()));
        Ok(())
    }

    /// How complete these sessions are, by start and id.
    pub(super) async fn finality(
        &self,
        venue: VenueNumber,
        sessions: BTreeSet<SessionId>,
    ) -> Result<Vec<SessionFinality>, ServerError> {
        if sessions.is_empty() {
            return Ok(Vec::new());
        }
        let (sessions, now) = (sessions.into_iter().collect(), self.now());
        Ok(self.store.finality(venue, sessions, now).await?)
    }
}

/// The sessions that records name.
pub(super) fn sessions_of(records: &[PulledRecord]) -> impl Iterator<Item = SessionId> + '_ {
    records.iter().filter_map(|one| {
        let said = serde_json::from_str::<Said>(one.record.get());
        said.ok().and_then(|said| said.session_id)
    })
}
