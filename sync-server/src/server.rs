//! The server's use cases, one method each, without HTTP: whoever speaks a protocol parses, calls
//! one of them, and answers. Each part of the domain adds its methods in its own module.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stile_core::codes::Format;
use stile_core::ids::{DeviceId, GateId, SessionId, TicketId, VenueId, VenueNumber};
use stile_core::keys::DeviceVerifyingKey;
use stile_core::policy::Policy;
use stile_core::protocol::{
    Conflicts, EnrolAnswer, EnrolRequest, Enrolment, ListManifest, Lists, MintAnswer, MintRequest,
    Minted, NewEnrolment, NewGate, NewSession, Pulled, RecordsAnswer, SignedBatch, TicketView,
};
use stile_core::ticket::{CancelCause, Gate, Session};
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};
use tokio::sync::mpsc;
use zeroize::Zeroizing;

use crate::clock::Clock;
use crate::error::ServerError;
use crate::import::{LineFault, NumberedLine};
use crate::store::{ApiKey, ApiKeyId, Change, LogStream, Scope, Store, Venue};

/// Where the master key comes from.
#[derive(Debug, Clone)]
pub enum MasterKeySource {
    /// A file with 32 bytes in base64. Made, readable by its owner alone, where neither it nor a
    /// database is there yet.
    File(PathBuf),
    /// 32 bytes in base64, as an environment variable gives them.
    Text(Zeroizing<String>),
}

/// Why a server does not start. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another server runs on this folder.
    #[error("another server runs on {}; stop it first, or give this one a folder of its own", .0.display())]
    InUse(PathBuf),
}

/// A text that is shown once and kept by nobody here. Not printed in debug output.
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
}

/// A day's list on its way to a gate.
#[derive(Debug)]
pub struct WhitelistStream {
    /// What its manifest says, for the answer's `ETag`.
    pub manifest: ListManifest,
    /// NDJSON: the head, pages, the end. A broken list ends with an error and without its end.
    pub chunks: mpsc::Receiver<Result<Vec<u8>, ServerError>>,
}

/// See the module. Cheap to share behind an `Arc`.
pub struct Server {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
}

#[allow(unused_variables)]
impl Server {
    /// Opens the server on a folder, which it makes if need be and locks for itself.
    pub async fn open(
        data_dir: &Path,
        master_key: MasterKeySource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        Err(OpenError::InUse(data_dir.to_owned()))
    }

    /// Opens the server for a command that only writes configuration, beside a running server.
    pub async fn open_for_commands(
        data_dir: &Path,
        master_key: MasterKeySource,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        Err(OpenError::InUse(data_dir.to_owned()))
    }

    /// The master key's file, if opening made it: tell the operator to back it up apart from the
    /// data.
    pub fn made_master_key(&self) -> Option<&Path> {
        None
    }

    /// UTC seconds at which the data was put back from a backup; 0 at first.
    pub fn generation(&self) -> u64 {
        0
    }

    /// The server's time.
    pub fn now(&self) -> EpochMillis {
        self.clock.now()
    }

    /// Whether storing works now; stores something small to find out.
    pub async fn ready(&self) -> Result<(), ServerError> {
        Ok(self.store.probe().await?)
    }

    /// Finishes what was begun and closes the store; whatever comes later is
    /// [`ServerError::StoreUnavailable`].
    pub async fn close(&self) {
        self.store.close().await;
    }

    /// Creates a venue with all its keys.
    pub async fn create_venue(
        &self,
        id: VenueId,
        name: &str,
        time_zone: &str,
        policy: Policy,
    ) -> Result<Venue, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// A venue.
    pub async fn venue(&self, id: &VenueId) -> Result<Venue, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// All venues.
    pub async fn venues(&self) -> Result<Vec<Venue>, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// A venue's policy.
    pub async fn policy(&self, venue: &VenueId) -> Result<Policy, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// Replaces a venue's policy.
    pub async fn set_policy(&self, venue: &VenueId, policy: Policy) -> Result<Change, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// Makes an API key; its text is shown once.
    pub async fn add_api_key(
        &self,
        venues: &[VenueId],
        scopes: &[Scope],
        name: &str,
        expires_at: Option<EpochSeconds>,
    ) -> Result<(ApiKeyId, ShownOnce), ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// The API key of a text: `Unauthorized` if there is none, or it is expired or revoked.
    pub async fn authenticate_api_key(&self, text: &str) -> Result<ApiKey, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// All API keys, oldest first.
    pub async fn api_keys(&self) -> Result<Vec<ApiKey>, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// Revokes an API key.
    pub async fn revoke_api_key(&self, id: ApiKeyId) -> Result<(), ServerError> {
        Err(ServerError::NotFound("API key"))
    }

    /// The device of a bearer: `Unauthorized` if there is none.
    pub async fn authenticate_device(&self, bearer: &str) -> Result<Device, ServerError> {
        Err(ServerError::NotFound("device"))
    }

    /// Puts a gate.
    pub async fn put_gate(
        &self,
        venue: &VenueId,
        id: GateId,
        gate: NewGate,
    ) -> Result<(Gate, Change), ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// The venue's gates, by id.
    pub async fn gates(&self, venue: &VenueId) -> Result<Vec<Gate>, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// Puts a session.
    pub async fn put_session(
        &self,
        venue: &VenueId,
        id: SessionId,
        session: NewSession,
    ) -> Result<(Session, Change), ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// The venue's sessions, of one day if one is given, by start.
    pub async fn sessions(
        &self,
        venue: &VenueId,
        day: Option<&ServiceDay>,
    ) -> Result<Vec<Session>, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// Puts a chunk of an import; answers with the lines that it refuses.
    pub async fn upsert_tickets(
        &self,
        venue: &VenueId,
        lines: Vec<NumberedLine>,
    ) -> Result<Vec<(u64, LineFault)>, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// A ticket.
    pub async fn ticket(&self, venue: &VenueId, id: &TicketId) -> Result<TicketView, ServerError> {
        Err(ServerError::NotFound("ticket"))
    }

    /// Cancels a ticket; again is as once.
    pub async fn cancel_ticket(
        &self,
        venue: &VenueId,
        id: &TicketId,
        cause: CancelCause,
    ) -> Result<TicketView, ServerError> {
        Err(ServerError::NotFound("ticket"))
    }

    /// Mints codes; a code that cannot be minted says why in its place.
    pub async fn mint(
        &self,
        venue: &VenueId,
        request: MintRequest,
    ) -> Result<MintAnswer, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// Mints one code.
    pub async fn code(
        &self,
        venue: &VenueId,
        ticket: &TicketId,
        format: Format,
        ttl_s: Option<u32>,
    ) -> Result<Minted, ServerError> {
        Err(ServerError::NotFound("ticket"))
    }

    /// Invites a device. `default_server_url` goes into the QR unless the request says another.
    pub async fn new_enrolment(
        &self,
        venue: &VenueId,
        request: NewEnrolment,
        default_server_url: &str,
    ) -> Result<Enrolment, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// Enrols a device by its token.
    pub async fn enrol(&self, request: EnrolRequest) -> Result<EnrolAnswer, ServerError> {
        Err(ServerError::EnrolmentRefused("the token is not known"))
    }

    /// The lists that the device should hold now.
    pub async fn lists(&self, device: &Device) -> Result<Lists, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// A day's list.
    pub async fn whitelist(
        &self,
        device: &Device,
        day: &ServiceDay,
    ) -> Result<WhitelistStream, ServerError> {
        Err(ServerError::NotFound("list"))
    }

    /// Files a batch of records.
    pub async fn file_records(
        &self,
        device: &Device,
        batch: SignedBatch,
    ) -> Result<RecordsAnswer, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// The next piece of the venue's log, behind `after`. At most `limit` records.
    pub async fn pull(
        &self,
        venue: &VenueId,
        stream: LogStream,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Pulled, ServerError> {
        Err(ServerError::NotFound("venue"))
    }

    /// The venue's open conflicts, newest first.
    pub async fn conflicts(&self, venue: &VenueId) -> Result<Conflicts, ServerError> {
        Err(ServerError::NotFound("venue"))
    }
}
