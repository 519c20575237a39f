//! The server's use cases, one method each, without HTTP: whoever speaks a protocol parses, calls
//! one of them, and answers. Each part of the domain has its methods in its own module.

mod alarms;
mod api_keys;
mod attendance;
mod audit;
mod capacity;
mod check_in_log;
mod claims;
mod device_standing;
mod devices;
mod documents;
mod enrolments;
mod feed;
mod finality;
mod key_backups;
mod key_manifests;
mod lists;
mod minting;
mod open;
mod operators;
mod policy_bounds;
mod pulling;
mod quarantine;
mod reconciliations;
mod records;
mod retention;
mod sessions;
mod shared_codes;
mod signing_keys;
mod sisters;
mod ticket_changes;
mod ticket_sets;
mod tickets;
mod venues;
mod visitors;
mod waiting;
mod watching;
mod webhook_delivery;
mod webhooks;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use stile_core::ids::{DeviceId, GateId, VenueId, VenueNumber};
use stile_core::keys::DeviceVerifyingKey;
use stile_core::platform::Random;
use stile_core::protocol::{DeviceStanding, ListManifest};
use stile_core::time::EpochMillis;
use tokio::sync::{mpsc, watch};
use zeroize::Zeroizing;

use crate::clock::Clock;
use crate::error::ServerError;
use crate::metrics::Metrics;
use crate::store::Store;
use crate::vault::Vault;

pub use crate::vault::{MasterKeySource, VaultError};
pub use alarms::{ALARMS, MOST_ALARMS};
pub use check_in_log::{CheckInLog, local_time};
pub use documents::takes_documents;
pub use enrolments::Enrolling;
pub use key_backups::PutBack;
pub use open::{KeyPlace, OpenError};
pub use policy_bounds::policy_warnings;
pub use pulling::{PullFilter, PullRequest, WholeLog};
pub use reconciliations::{MOST_RECONCILIATIONS, RECONCILIATIONS, StatedFile};
pub use sisters::VenueCodes;
pub use ticket_sets::{SetChanges, TicketSet, Vanish};
pub use tickets::{PutCounts, PutTickets};
pub use venues::KEYS_LOOKED_AT;

/// A text that is shown once and kept by nobody here. Not printed in debug output, and zeroized.
#[derive(Clone)]
pub struct ShownOnce(Zeroizing<String>);

impl ShownOnce {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ShownOnce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ShownOnce(…)")
    }
}

/// The first of what was found, and whether there was more: one more was asked for.
fn at_most<T>(limit: usize, mut found: Vec<T>) -> (Vec<T>, bool) {
    let more = found.len() > limit;
    found.truncate(limit);
    (found, more)
}

/// A device that has shown its bearer.
#[derive(Debug, Clone)]
pub struct Device {
    /// Its id.
    pub device_id: DeviceId,
    /// Its venue.
    pub venue_id: VenueId,
    /// Its venue's number.
    pub venue: VenueNumber,
    /// What verifies its batches.
    pub public_key: DeviceVerifyingKey,
    /// The gates that it may serve.
    pub gates: Vec<GateId>,
    /// How it stands with its venue.
    pub standing: DeviceStanding,
    /// Since when, unless it was never anything but enrolled.
    pub standing_since: Option<EpochMillis>,
}

/// A day's list on its way to a gate.
#[derive(Debug)]
pub struct WhitelistStream {
    /// What its manifest says, for the answer's `ETag`.
    pub manifest: ListManifest,
    /// NDJSON: the head, pages, the end. A list that breaks ends with an error and without its
    /// end.
    pub chunks: mpsc::Receiver<Result<Vec<u8>, ServerError>>,
}

/// See the module. Cheap to share behind an `Arc`.
pub struct Server {
    store: Arc<dyn Store>,
    vault: Vault,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    generation: u64,
    made_master_key: Option<PathBuf>,
    keys: RwLock<HashMap<VenueId, venues::KnownKeys>>,
    numbers: RwLock<HashMap<VenueNumber, VenueId>>,
    lists: lists::KnownLists,
    uses: api_keys::KnownUses,
    heard: watching::KnownHeard,
    metrics: Arc<Metrics>,
    reports: finality::KnownReports,
    /// Whether those who wait for something are sent home.
    stopping: watch::Sender<bool>,
    /// Held for the lock on the folder alone.
    _folder: Option<open::FolderLock>,
}

impl Server {
    /// The master key's file, if opening made it: tell the operator to back it up apart from the
    /// data.
    pub fn made_master_key(&self) -> Option<&Path> {
        self.made_master_key.as_deref()
    }

    /// UTC seconds at which the data was put back from a backup; 0 at first.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The server's time.
    pub fn now(&self) -> EpochMillis {
        self.clock.now()
    }

    /// Whether storing works now; stores something small to find out.
    pub async fn ready(&self) -> Result<(), ServerError> {
        Ok(self.store.probe().await?)
    }

    /// Answers those who wait for something to happen, now and from now on, with what there is:
    /// the server is about to stop.
    pub fn stop_waiting(&self) {
        self.stopping.send_replace(true);
    }

    /// Finishes what was handed to the store and closes it; whatever comes later is
    /// [`ServerError::StoreUnavailable`].
    pub async fn close(&self) {
        self.store.close().await;
    }

    /// The venue of a number, remembered once it is known.
    async fn venue_of_number(&self, number: VenueNumber) -> Result<Option<VenueId>, ServerError> {
        let known = || self.numbers.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(venue) = known().get(&number).cloned() {
            return Ok(Some(venue));
        }
        let venues = self.store.venues().await?;
        let mut known = self.numbers.write().unwrap_or_else(PoisonError::into_inner);
        known.extend(
            venues
                .into_iter()
                .map(|venue| (venue.number, venue.venue_id)),
        );
        Ok(known.get(&number).cloned())
    }
}
