//! What the server keeps, behind one trait in the words of the domain, so that SQLite and
//! PostgreSQL mean the same by it. Rules that need no storage (the fold, the digest, cursors,
//! keys) live outside and are called by the engines or above them.
//!
//! What every engine promises:
//! - **Atomic.** Each method is one transaction: all of it is there or none, also after a crash.
//!   A method that answered is durable.
//! - **Isolated.** Methods that run at the same time have the effect of some order, one after the
//!   other. Reading methods see one moment.
//! - **Idempotent by natural id.** Saying the same again changes nothing and says so.
//! - **Audited.** What is written within an administrative act ([`crate::acting::current`]) takes
//!   the act's row with it, in the same transaction, unless the act has its row already.
//! - **Per venue.** No method reads or writes another venue's rows than those it is asked for.
//!
//! Times come from the caller; an engine reads no clock. The suite in `tests/store_conformance`
//! holds every engine to this.

pub mod have;
pub mod sqlite;
mod types;

use std::collections::HashMap;

use async_trait::async_trait;
use stile_core::ids::{
    DeviceId, EnrolmentId, GateId, OperatorId, OrderNumber, RecordId, SessionId, TicketNumber,
    VenueId, VenueNumber,
};
use stile_core::policy::Policy;
use stile_core::protocol::{
    Attendance, ClaimAnswer, ClaimRequest, DeviceView, EnrolmentView, Judged, Operator,
    SessionFinality,
};
use stile_core::ticket::{Gate, Session};
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};
use tokio::sync::watch;

use crate::acting::Acting;
use crate::attendance::AttendanceQuery;
use crate::traced::TraceId;

pub use types::*;

/// Why the store did not do what it was asked. Says nothing of what was stored: the method had no
/// effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is one of that name already.
    #[error("there is already such a {0}")]
    Exists(&'static str),
    /// There is none of that name.
    #[error("there is no such {0}")]
    Missing(&'static str),
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// What is stored cannot be read.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// The store is closed, or being closed.
    #[error("the store is closed")]
    Closed,
    /// A device that is not enrolled has as many records in quarantine as it may.
    #[error("the quarantine of the device is full")]
    QuarantineFull,
    /// It cannot be reached or does not answer now; asking again later may help.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
    /// A fault of ours: the store refused what must not have been asked of it.
    #[error("the store refused: {0}")]
    Fault(String),
}

/// What a storing method answers.
pub type Result<T> = std::result::Result<T, StoreError>;

/// See the module's promises. `venue` is always a number that [`Store::venue`] gave; for another
/// one, methods find nothing or answer [`StoreError::Missing`].
#[async_trait]
pub trait Store: Send + Sync {
    /// What holds for the whole server.
    async fn facts(&self) -> Result<Facts>;

    /// Keeps what a later start checks its master key against. Kept once: a second call is
    /// [`StoreError::Exists`].
    async fn keep_vault_check(&self, sealed: &[u8]) -> Result<()>;

    /// Finds out whether storing works now, by committing something small, and whether there is
    /// room for more.
    async fn probe(&self) -> Result<()>;

    /// Finishes what was handed over, then refuses everything with [`StoreError::Closed`].
    async fn close(&self);

    // Venues

    /// Adds a venue with its secrets, and gives it the lowest number that was never given.
    /// [`StoreError::Exists`] if the id is taken.
    async fn create_venue(&self, venue: NewVenue) -> Result<VenueNumber>;

    /// The venue of an id.
    async fn venue(&self, id: &VenueId) -> Result<Option<Venue>>;

    /// All venues, by number.
    async fn venues(&self) -> Result<Vec<Venue>>;

    /// The venue's sealed secrets, in no order.
    async fn secrets(&self, venue: VenueNumber) -> Result<Vec<SealedSecret>>;

    /// Keeps a sealed secret, in place of the one of its kind and kid if there is one.
    async fn keep_secret(&self, venue: VenueNumber, secret: SealedSecret) -> Result<()>;

    /// Replaces the policy. Gives all lists of the venue their next version, and their settings
    /// hold since `now`, unless it is the same policy.
    async fn set_policy(
        &self,
        venue: VenueNumber,
        policy: &Policy,
        now: EpochMillis,
    ) -> Result<Change>;

    /// The newest key manifest, if one was ever kept.
    async fn key_manifest(&self, venue: VenueNumber) -> Result<Option<StoredKeyManifest>>;

    /// Keeps a key manifest if its version is the newest kept one's plus 1 (1 at first), and says
    /// whether it was. Of two that are offered at once, one is kept.
    async fn keep_key_manifest(
        &self,
        venue: VenueNumber,
        manifest: StoredKeyManifest,
    ) -> Result<bool>;

    /// Keeps a key manifest as [`Store::keep_key_manifest`] does, and where it was kept adds and
    /// removes the secrets of its keys, in the same transaction.
    async fn change_keys(
        &self,
        venue: VenueNumber,
        manifest: StoredKeyManifest,
        secrets: KeyChange,
    ) -> Result<bool>;

    /// Every key manifest that was ever kept, oldest first.
    async fn key_manifests(&self, venue: VenueNumber) -> Result<Vec<StoredKeyManifest>>;

    /// How many live, valid tickets there are of days that are not over.
    async fn valid_tickets(&self, venue: VenueNumber, now: EpochSeconds) -> Result<u64>;

    // API keys

    /// Adds an API key. [`StoreError::Missing`] if it names a venue that is not there,
    /// [`StoreError::Exists`] if its id or hash is taken.
    async fn add_api_key(&self, key: NewApiKey) -> Result<()>;

    /// The API key whose text has this hash, revoked and expired ones included.
    async fn api_key(&self, hash: &[u8; 32]) -> Result<Option<ApiKey>>;

    /// All API keys, oldest first.
    async fn api_keys(&self) -> Result<Vec<ApiKey>>;

    /// Revokes an API key at one of its venues, or everywhere; where it is revoked already it keeps
    /// its time. Says whether there is one.
    async fn revoke_api_key(
        &self,
        id: ApiKeyId,
        venue: Option<VenueNumber>,
        at: EpochMillis,
    ) -> Result<bool>;

    /// Keeps when an API key was last used at a venue.
    async fn note_key_use(&self, id: ApiKeyId, venue: VenueNumber, at: EpochMillis) -> Result<()>;

    // For whoever watches

    /// Keeps when a device was last heard of.
    async fn note_heard(
        &self,
        venue: VenueNumber,
        device: &DeviceId,
        at: EpochMillis,
    ) -> Result<()>;

    /// Counts of each venue, by number.
    async fn figures(&self, now: EpochSeconds) -> Result<Vec<VenueFigures>>;

    // The audit log

    /// Keeps what became of an act: in its rows if it has some, else in new ones.
    async fn finish_act(&self, acting: &Acting) -> Result<()>;

    /// At most `limit` acts of the log of a venue, or of [`crate::acting::WHOLE_SERVER`], behind a
    /// position (0 at first), in ascending order. Positions are given as those of
    /// [`Store::pull`], in a count of their own.
    async fn audit(&self, log: VenueNumber, after: Position, limit: u32) -> Result<AuditPage>;

    // Retention

    /// What retention goes by, with at most `runs` of its newest runs.
    async fn retention(&self, runs: u32) -> Result<RetentionState>;

    /// Keeps a run of a job, and the newest `keep` of all.
    async fn keep_retention_run(&self, run: RetentionRun, keep: u32) -> Result<()>;

    /// Sets how many days records, events and the audit log are kept.
    async fn set_keep_days(&self, days: u16) -> Result<()>;

    /// Removes the hashes of codes and documents of at most `limit` rows of a list, of any venue,
    /// that ended before; the list as in [`Store::upsert_tickets`].
    async fn forget_hashes(&self, ended_before: EpochSeconds, limit: u32) -> Result<Swept>;

    /// Removes at most `limit` acts from before, of all logs; the positions that they had are not
    /// given again. An act stays as long as one before it in its log stays, unless that one is
    /// later than `now`.
    async fn forget_acts(&self, before: EpochMillis, now: EpochMillis, limit: u32)
    -> Result<Swept>;

    /// Removes at most `limit` of a venue's accepted records, always from the beginning of its log:
    /// those that came on days (UTC) before, until one that is kept. Whatever was derived from them
    /// goes with them, but for their ids; the positions that they had are not given again. Of an
    /// admission of which some records are gone, standings are settled no more.
    async fn forget_records(
        &self,
        venue: VenueNumber,
        kept: KeptSince,
        now: EpochMillis,
        limit: u32,
    ) -> Result<Swept>;

    /// Removes at most `limit` of a venue's quarantined records that came before, but for their ids.
    async fn forget_quarantined(
        &self,
        venue: VenueNumber,
        before: EpochMillis,
        limit: u32,
    ) -> Result<Swept>;

    /// Gives back at most `limit` ids of a venue's records that are gone and came on days (UTC)
    /// before. Their places in the logs stay taken, so that whoever sends one again finds it
    /// quarantined.
    async fn forget_record_ids(
        &self,
        venue: VenueNumber,
        before: EpochMillis,
        limit: u32,
    ) -> Result<Swept>;

    /// Removes at most `limit` of a venue's events, in their order, until one that is kept.
    async fn forget_events(
        &self,
        venue: VenueNumber,
        kept: KeptSince,
        now: EpochMillis,
        limit: u32,
    ) -> Result<Swept>;

    // Gates and sessions

    /// Puts a gate. Unless it is the same, all lists of the venue get their next version, and
    /// their settings hold since `now`.
    async fn put_gate(&self, venue: VenueNumber, gate: &Gate, now: EpochMillis) -> Result<Change>;

    /// The venue's gates, by id.
    async fn gates(&self, venue: VenueNumber) -> Result<Vec<Gate>>;

    /// Puts sessions, in the order given. For each that is not the same, in the same transaction:
    /// - its day's list, and any day's list that it left or whose tombstones point to it, gets its
    ///   next version and bounds, and its settings hold since `now`; a day that loses its last
    ///   session keeps its last bounds;
    /// - where its day changed, its tickets go along, leaving tombstones;
    /// - where its `reentry` changed, the standings of its tickets' admissions are settled anew.
    async fn put_sessions(
        &self,
        venue: VenueNumber,
        sessions: Vec<Session>,
        now: EpochMillis,
    ) -> Result<Vec<Change>>;

    /// The session of an id.
    async fn session(&self, venue: VenueNumber, id: &SessionId) -> Result<Option<Session>>;

    /// The venue's sessions, of one day if one is given, by start and id.
    async fn sessions(&self, venue: VenueNumber, day: Option<&ServiceDay>) -> Result<Vec<Session>>;

    // Operators

    /// Puts an operator, with the old PIN and staff QR where none is given. Unless it is the same,
    /// all lists of the venue get their next version, and their settings hold since `now`.
    /// [`StoreError::Missing`] of [`NO_PIN`] if the operator is new and no PIN is given, of
    /// [`NO_ROOM`] if there are `limit` operators already.
    async fn put_operator(
        &self,
        venue: VenueNumber,
        update: OperatorUpdate,
        limit: usize,
        now: EpochMillis,
    ) -> Result<(Operator, Change)>;

    /// The venue's operators, by id.
    async fn operators(&self, venue: VenueNumber) -> Result<Vec<Operator>>;

    /// Removes an operator, and says whether there was one; lists as in [`Store::put_operator`].
    async fn remove_operator(
        &self,
        venue: VenueNumber,
        id: &OperatorId,
        now: EpochMillis,
    ) -> Result<bool>;

    // Tickets

    /// Puts tickets, in the order given; what becomes of each is answered in the same order. A
    /// refused one leaves no trace, the others go in. In the same transaction:
    /// - a ticket that changes gets the next version of its day's list, one for the whole call;
    ///   one that does not change changes nothing;
    /// - status and cause change only where the line states a status; a new ticket without one is
    ///   `valid`;
    /// - a ticket that goes to another day leaves a `Moved` tombstone in the list it leaves, and
    ///   takes the place of its own tombstone where it comes to one; older tombstones follow it;
    /// - records that were quarantined because the ticket was unknown are accepted, with new
    ///   positions and their old `received_at`;
    /// - where `admits` or the session changed, standings of its admissions are settled anew.
    async fn upsert_tickets(
        &self,
        venue: VenueNumber,
        lines: Vec<TicketUpsert>,
        now: EpochMillis,
    ) -> Result<Vec<Upserted>>;

    /// Keeps lines of a set aside, in the order given, until the set is applied or dropped; what
    /// would become of each if it were put now is answered in the same order. With `day`, lines of
    /// sessions of another day are refused. Of several lines of one ticket the last one that is
    /// taken is kept. A ticket that a refused line names is in the set, and stays as it is.
    async fn stage_tickets(
        &self,
        venue: VenueNumber,
        set: SetId,
        day: Option<ServiceDay>,
        lines: SetLines,
        now: EpochMillis,
    ) -> Result<Vec<Upserted>>;

    /// What [`Store::apply_set`] would do; changes nothing.
    async fn plan_set(
        &self,
        venue: VenueNumber,
        set: SetId,
        rule: Option<VanishRule>,
        now: EpochMillis,
    ) -> Result<SetCounts>;

    /// Puts all lines of a set as [`Store::upsert_tickets`] does, and with a rule does away with
    /// the day's tickets that are not in it, in the same transaction: they become `Deleted`
    /// tombstones. Those that are cancelled or blocked stay, and so do those by which somebody was
    /// admitted. Where more would vanish than the rule allows, nothing is done at all.
    async fn apply_set(
        &self,
        venue: VenueNumber,
        set: SetId,
        rule: Option<VanishRule>,
        now: EpochMillis,
    ) -> Result<SetOutcome>;

    /// Forgets what was kept aside of a set.
    async fn drop_set(&self, venue: VenueNumber, set: SetId) -> Result<()>;

    /// Forgets the sets, of all venues, that were begun before; says of how many tickets.
    async fn forget_sets(&self, begun_before: EpochMillis) -> Result<u64>;

    /// Each of these tickets with its session, in the order asked; `None` where there is none.
    async fn tickets(
        &self,
        venue: VenueNumber,
        numbers: &[TicketNumber],
    ) -> Result<Vec<Option<TicketInSession>>>;

    /// The sealed phone of a ticket's holder, as the ticket's last line left it.
    async fn holder(&self, venue: VenueNumber, number: TicketNumber) -> Result<Option<Vec<u8>>>;

    /// Forgets the sealed phones, of all venues, of tickets whose day ended before; says how many.
    async fn forget_holders(&self, ended_before: EpochSeconds) -> Result<u64>;

    /// The sealed key that a day's documents are hashed under, if one was ever kept.
    async fn document_key(&self, venue: VenueNumber, day: &ServiceDay) -> Result<Option<Vec<u8>>>;

    /// Keeps a day's sealed key for documents unless there is one, and answers the one that is
    /// kept: of two that are offered at once, both callers get the same. A new one travels beside
    /// the day's list, which gets its next version, and its settings hold since `now`.
    /// [`StoreError::Missing`] if there is no such day.
    async fn keep_document_key(
        &self,
        venue: VenueNumber,
        day: &ServiceDay,
        sealed: Vec<u8>,
        now: EpochMillis,
    ) -> Result<Vec<u8>>;

    /// Forgets the keys for documents, of all venues, of days that ended before: nobody can tell
    /// then whose the hashes were. Says how many.
    async fn forget_document_keys(&self, ended_before: EpochSeconds) -> Result<u64>;

    /// Does something to each of these tickets, in the order given; what came of it is answered in
    /// the same order. Lists and standings as in [`Store::upsert_tickets`].
    async fn change_tickets(
        &self,
        venue: VenueNumber,
        acts: Vec<(TicketNumber, TicketAct)>,
        now: EpochMillis,
    ) -> Result<Vec<Acted>>;

    /// The numbers of an order's tickets, in no order.
    async fn tickets_of_order(
        &self,
        venue: VenueNumber,
        order: &OrderNumber,
    ) -> Result<Vec<TicketNumber>>;

    /// Erases the holders of tickets: what [`TicketFields::erase_holder`] names goes from their
    /// rows and tombstones, their phones go, and [`Store::upsert_tickets`] drops from then on what
    /// its lines say of them. Lists as in [`Store::upsert_tickets`]. Answers in the order given.
    async fn erase_holders(
        &self,
        venue: VenueNumber,
        numbers: &[TicketNumber],
    ) -> Result<Vec<Erased>>;

    // Lists

    /// The days that a gate should hold at `now`: those whose `[day_from, day_until)` holds it,
    /// the last one that ended at `ended_since` or later, and the first that has not begun; in the
    /// order of `day_from`. A day is there once it has had a session.
    async fn held_days(
        &self,
        venue: VenueNumber,
        now: EpochSeconds,
        ended_since: EpochSeconds,
    ) -> Result<Vec<ServiceDay>>;

    /// What holds for a day's list as a whole; `None` if there is no such day.
    async fn list_state(&self, venue: VenueNumber, day: &ServiceDay) -> Result<Option<ListState>>;

    /// One moment of a day's list, to be read piece by piece; `None` if there is no such day.
    /// Whoever has read a version has missed no change of that version or a lower one.
    async fn list(
        &self,
        venue: VenueNumber,
        day: &ServiceDay,
    ) -> Result<Option<Box<dyn ListSnapshot>>>;

    // Devices

    /// Adds an invitation to enrol, and says whether it was added: not if `limit` are open already.
    /// [`StoreError::Missing`] if it names a gate that is not there.
    async fn add_enrolment(
        &self,
        venue: VenueNumber,
        enrolment: NewEnrolment,
        limit: usize,
    ) -> Result<bool>;

    /// Enrols a device by its token. The first key that comes before the token's end has it; the
    /// same key may come again until then and gets the same device. Where the invitation wants an
    /// operator's word, it waits until that is given. That another key came is kept.
    async fn enrol(&self, venue: VenueNumber, claim: EnrolmentClaim) -> Result<EnrolOutcome>;

    /// The invitations that are neither over, refused nor used, and those used ones that another
    /// device showed as well, oldest first.
    async fn enrolments(&self, venue: VenueNumber, now: EpochMillis) -> Result<Vec<EnrolmentView>>;

    /// Confirms the device that waits by an invitation if the digits are its own; else counts that
    /// they were not, and ends the invitation once that happened too often.
    async fn confirm_enrolment(
        &self,
        venue: VenueNumber,
        given: Confirmation,
    ) -> Result<ConfirmOutcome>;

    /// Takes an invitation back unless its device is enrolled; says whether there is one to take
    /// back.
    async fn refuse_enrolment(
        &self,
        venue: VenueNumber,
        id: &EnrolmentId,
        now: EpochMillis,
    ) -> Result<bool>;

    /// The device whose bearer has this hash.
    async fn device(&self, venue: VenueNumber, bearer_hash: &[u8; 32]) -> Result<Option<Device>>;

    /// A device by its id.
    async fn device_of_id(&self, venue: VenueNumber, device: &DeviceId) -> Result<Option<Device>>;

    /// Keeps a device that the data forgot, with the hash of its bearer, unless it is there;
    /// answers it as it is kept. [`StoreError::Exists`] if another device has that bearer.
    async fn put_device_back(
        &self,
        venue: VenueNumber,
        returned: Device,
        bearer_hash: [u8; 32],
    ) -> Result<Device>;

    /// Revokes a device for good, so that no session waits for it; answers since when it is.
    async fn revoke_device(
        &self,
        venue: VenueNumber,
        device: &DeviceId,
        now: EpochMillis,
    ) -> Result<EpochMillis>;

    /// Makes a forgotten device one of the venue's again, for these gates, or for those that it
    /// named if none are given. Answers it as it is then; one that is not forgotten stays as it is.
    async fn readmit_device(
        &self,
        venue: VenueNumber,
        device: &DeviceId,
        gates: Vec<GateId>,
        now: EpochMillis,
    ) -> Result<Device>;

    // Records

    /// Files a device's records, in the order given. What becomes of each is answered in the same
    /// order, and how far each of the logs is there. In one transaction:
    ///
    /// The first of these that applies settles a record:
    /// 1. it is `foreign`: `Quarantined(ForeignVenue)`; it does not occupy its id;
    /// 2. its id is stored with the same hash: what became of it then (`Replayed`, or
    ///    `Quarantined` with its cause), and nothing changes;
    /// 3. its id is stored with another hash: `Quarantined(IdTaken)`;
    /// 4. its place (device, log, sequence) is stored with another id:
    ///    `Quarantined(SequenceTaken)`;
    /// 5. it admits somebody, and its sender is revoked or forgotten: `Quarantined` with that cause;
    /// 6. it admits a ticket that is not there (in any list, deleted ones included):
    ///    `Quarantined(UnknownTicket)`;
    /// 7. otherwise `Accepted`: it gets the next position.
    ///
    /// Quarantined records are kept by (id, hash), once however often they come, and count
    /// nowhere. A batch of a sender that is not enrolled is [`StoreError::QuarantineFull`] where
    /// 100,000 of its records wait already. Places are the sending device's own, and every record but those of 4 occupies its
    /// place.
    ///
    /// An accepted record:
    /// - that moves people of a ticket counts to the day that it names if the ticket stands or
    ///   stood in that day's list, else to the ticket's own;
    /// - that is a check-in is marked `after_cancel` if its ticket or the ticket's session is
    ///   cancelled, and the store took that before the time of the scan;
    /// - that takes back another of the same device takes it out of the fold, once the other is
    ///   accepted too, whichever comes first; it stands nowhere from then on;
    /// - that is a walk-in counts to its day.
    ///
    /// After the last record, the standings of all entries of the (ticket, day, checkpoint)s that
    /// were moved are settled by [`crate::admissions::settle`], taken back ones left out, and a
    /// conflict is open for each that has a loser; one that has none any more is cleared as of
    /// `now`, and open again when it has. A check-in's answer carries its standing as of then.
    ///
    /// Each accepted movement enters the feed, as does each record that takes one back; an entry
    /// whose standing changes, by whatever method, enters it again.
    async fn file_records(
        &self,
        venue: VenueNumber,
        batch: FilingBatch,
        now: EpochMillis,
    ) -> Result<FilingOutcome>;

    /// Answers a claim: granted if the persons fit beside what the fold counts of the ticket at
    /// the checkpoint, the scan's own record left out, and all claims that hold the admission.
    /// The day is found as for records. In one transaction, so of claims at the same time as many
    /// are granted as fit.
    ///
    /// The same scan id gets the same answer for [`stile_core::protocol::CLAIM_LIFE_MS`]. A
    /// granted claim holds the admission for as long, or until [`Store::file_records`] is given
    /// the record of its id, whatever becomes of that, or a record with a higher sequence of its
    /// device's log. A ticket that is not there is granted, and nothing is kept of it: nobody here
    /// knows what it admits.
    ///
    /// An engine answers this before other writes that wait.
    async fn claim(
        &self,
        venue: VenueNumber,
        device: &DeviceId,
        request: ClaimRequest,
        now: EpochMillis,
    ) -> Result<ClaimAnswer>;

    /// The next records of a stream that a filter wants, in ascending order. Positions are given so
    /// that whoever has read up to one has missed nothing below it, whatever was being written
    /// meanwhile. Says whether some behind `after` are gone.
    async fn pull(&self, venue: VenueNumber, query: LogQuery) -> Result<Page>;

    /// The trace of the request that brought all of a venue's records from `first` to `last`, if one
    /// request did.
    async fn trace(
        &self,
        venue: VenueNumber,
        first: Position,
        last: Position,
    ) -> Result<Option<TraceId>>;

    /// At most `limit` items of the admissions feed behind a position (0 at first), in ascending
    /// order, each as it stands now; items of days that ended before `ended_since` are passed over.
    /// Positions are given as those of [`Store::pull`], in a count of their own.
    async fn feed(
        &self,
        venue: VenueNumber,
        after: Position,
        limit: u32,
        ended_since: EpochSeconds,
    ) -> Result<FeedPage>;

    /// How far the logs and feeds of the venues go, brought up to date after each commit: who waits
    /// for more of one looks again when its end has changed. A commit can be read before it
    /// shows here.
    fn ends(&self) -> watch::Receiver<HashMap<VenueNumber, Ends>>;

    /// At most `limit` conflicts in a state, newest first, each with its admissions in the order
    /// of the rule.
    async fn conflicts(
        &self,
        venue: VenueNumber,
        state: ConflictState,
        limit: u32,
    ) -> Result<Vec<Conflict>>;

    /// Attendance, counted by [`crate::attendance::Tally`] over all rows, movements and refusals of
    /// the days; those of which records are gone are left out.
    async fn attendance(&self, venue: VenueNumber, query: AttendanceQuery) -> Result<Attendance>;

    // Finality

    /// Keeps what a device says of its outbox, in place of what it said before; one that was out
    /// of use is in use again. Sessions of which nothing more can be missing are made final in
    /// the same transaction, with an event each. From then on an accepted record of one that
    /// changes what was counted is marked `late_after_final` and counted.
    async fn report_outbox(
        &self,
        venue: VenueNumber,
        state: OutboxState,
        now: EpochMillis,
    ) -> Result<()>;

    /// Keeps that nobody uses a device any more, until it reports again, and makes final what it
    /// held open. [`StoreError::Missing`] if there is no such device.
    async fn device_out_of_use(
        &self,
        venue: VenueNumber,
        device: &DeviceId,
        now: EpochMillis,
    ) -> Result<()>;

    /// Makes all sessions final of which nothing more can be missing, and says how many.
    async fn finalize(&self, venue: VenueNumber, now: EpochMillis) -> Result<u64>;

    /// How complete these sessions are by [`crate::finality::finality`], by start and id; those
    /// that are not there are left out.
    async fn finality(
        &self,
        venue: VenueNumber,
        sessions: Vec<SessionId>,
        now: EpochMillis,
    ) -> Result<Vec<SessionFinality>>;

    /// Up to when every record of the venue is here; none while a device in use has never
    /// reported.
    async fn complete_through(
        &self,
        venue: VenueNumber,
        now: EpochMillis,
    ) -> Result<Option<EpochMillis>>;

    /// The venue's devices, by id.
    async fn devices(&self, venue: VenueNumber) -> Result<Vec<DeviceView>>;

    /// At most `limit` of the venue's events behind a position (0 at first), in ascending order.
    /// Positions are given as those of [`Store::pull`], in a count of their own.
    async fn events(&self, venue: VenueNumber, after: Position, limit: u32) -> Result<Vec<Event>>;

    // Reconciliation

    /// Says what differs between a set that was kept aside and the day's tickets, as
    /// [`Store::plan_set`] would find it; changes nothing. Names the first
    /// [`stile_core::protocol::DIFFERING_NAMED`] tickets that differ in some way.
    async fn compare_set(
        &self,
        venue: VenueNumber,
        set: SetId,
        day: &ServiceDay,
        now: EpochMillis,
    ) -> Result<(Differences, DifferingTickets)>;

    /// Keeps a set that was stated or put. The newest 10,000 of a venue stay.
    async fn keep_reconciliation(
        &self,
        venue: VenueNumber,
        new: NewReconciliation,
        now: EpochMillis,
    ) -> Result<Reconciliation>;

    /// Keeps what became of the set that was last stated whole, or put, of a day. With a count and
    /// a digest it is compared with these, too. Without, it is the evening's look: none is kept
    /// where no set was stated, or one was kept already.
    async fn look_at_set(
        &self,
        venue: VenueNumber,
        day: &ServiceDay,
        stated: Option<(u64, [u8; 32])>,
        now: EpochMillis,
    ) -> Result<Option<Reconciliation>>;

    /// What is known of a day's sets.
    async fn day_reconciliation(
        &self,
        venue: VenueNumber,
        day: &ServiceDay,
    ) -> Result<DayReconciliation>;

    /// Whether the booking system states its sets, and when it last did.
    async fn reconciliation_state(&self, venue: VenueNumber) -> Result<ReconciliationState>;

    /// The venue's reconciliations that a query wants.
    async fn reconciliations(
        &self,
        venue: VenueNumber,
        query: ReconciliationQuery,
    ) -> Result<Vec<Reconciliation>>;

    // Alarms

    /// The venue's alarms that a query wants.
    async fn alarms(&self, venue: VenueNumber, query: AlarmQuery) -> Result<Vec<Alarm>>;

    /// Opens and ends alarms, each with an event in the same transaction, and says how many. One
    /// that is open already, or that is not, stays as it is: of two servers that find the same at
    /// once, one changes it. The newest 10,000 of a venue stay, and those that are open.
    async fn change_alarms(
        &self,
        venue: VenueNumber,
        changes: Vec<AlarmChange>,
        now: EpochMillis,
    ) -> Result<u64>;

    /// Who is inside of the sessions that take place now, until the later of their end and that of
    /// their admission, and that say what they, or zones during them, take.
    async fn occupancy(&self, venue: VenueNumber, now: EpochSeconds) -> Result<Vec<Occupancy>>;

    /// When [`Store::upsert_tickets`] last took a line, [`Store::apply_set`] a set, or
    /// [`Store::change_tickets`] an act of the venue; none before the first.
    async fn ticket_feed(&self, venue: VenueNumber) -> Result<Option<EpochMillis>>;

    /// Has that be as if it had been now.
    async fn restart_ticket_feed(&self, venue: VenueNumber, now: EpochMillis) -> Result<()>;

    /// What a day has of sessions and tickets.
    async fn day_outlook(&self, venue: VenueNumber, day: &ServiceDay) -> Result<DayOutlook>;

    /// The service days, both ends included, with a session that takes place, in ascending order.
    async fn open_days(
        &self,
        venue: VenueNumber,
        from: &ServiceDay,
        to: &ServiceDay,
    ) -> Result<Vec<ServiceDay>>;

    // Webhooks

    /// Adds a webhook, which carries what comes from now on. [`StoreError::Missing`] of [`NO_ROOM`]
    /// if the venue has `limit` of them already.
    async fn add_webhook(&self, webhook: WebhookFacts, limit: u32) -> Result<()>;

    /// The venue's webhooks, the oldest first.
    async fn webhooks(&self, venue: VenueNumber) -> Result<Vec<Webhook>>;

    /// Removes a webhook, and says whether there was one.
    async fn remove_webhook(&self, venue: VenueNumber, id: WebhookId) -> Result<bool>;

    /// Has a webhook tried again at once, as if it had not failed; says whether there is one.
    async fn resume_webhook(&self, venue: VenueNumber, id: WebhookId) -> Result<bool>;

    /// The webhooks, of all venues, for which there may be something, that may be tried now, and at
    /// which nobody is.
    async fn due_webhooks(&self, now: EpochMillis) -> Result<Vec<(VenueNumber, WebhookId)>>;

    /// Takes the turn at a webhook, or keeps it, until a time: nobody else gets it before, so that
    /// of several servers one sends. `None` if it is another's, or the webhook is paused, gone or
    /// not to be tried now.
    async fn take_webhook(
        &self,
        turn: Turn,
        now: EpochMillis,
        until: EpochMillis,
    ) -> Result<Option<Webhook>>;

    /// Keeps where a message ends before it is first sent; says whether the turn is still the
    /// holder's.
    async fn begin_message(&self, turn: Turn, sending: Sending) -> Result<bool>;

    /// Keeps what came of a message, and that its source is done with up to its end if it went
    /// through; a failure gives the turn back. Nothing if the turn is no longer the holder's.
    async fn end_message(&self, turn: Turn, sending: Sending, sent: Sent) -> Result<()>;

    /// Gives the turn back.
    async fn give_webhook_back(&self, turn: Turn) -> Result<()>;

    /// Ends, in an engine that one server works on at a time, the turns of servers before this one:
    /// they are gone. Elsewhere it does nothing.
    async fn free_webhooks(&self) -> Result<()>;

    /// The quarantined records that are asked for, without those since accepted.
    async fn quarantine(
        &self,
        venue: VenueNumber,
        query: QuarantineQuery,
    ) -> Result<Vec<Quarantined>>;

    /// Accepts records of a device, read from what [`Store::quarantine`] gave, as if they came now;
    /// those whose ticket is not there wait for it from then on. Answers what became of each that
    /// is in quarantine.
    async fn accept_quarantined(
        &self,
        venue: VenueNumber,
        batch: FilingBatch,
        now: EpochMillis,
    ) -> Result<Vec<(RecordId, Judged)>>;

    /// Keeps that records stay out of the log; they are kept as long as others. Answers those that
    /// are in quarantine.
    async fn dismiss_quarantined(
        &self,
        venue: VenueNumber,
        ids: Vec<RecordId>,
        now: EpochMillis,
    ) -> Result<Vec<RecordId>>;

    /// The stored bytes of an accepted record.
    async fn record(&self, venue: VenueNumber, id: RecordId) -> Result<Option<Vec<u8>>>;
}

/// One moment of one day's list. Nothing that is written later shows in it.
#[async_trait]
pub trait ListSnapshot: Send {
    /// What holds for the list as a whole.
    fn state(&self) -> &ListState;

    /// What travels beside the rows, but for the key for documents.
    async fn settings(&mut self) -> Result<stile_core::protocol::Settings>;

    /// The day's key for documents, sealed, if there is one.
    async fn document_key(&mut self) -> Result<Option<Vec<u8>>>;

    /// The buckets, ascending, that hold a row whose last change is later than `version`; all
    /// buckets that hold a row for 0.
    async fn buckets_changed_since(&mut self, version: u64) -> Result<Vec<u8>>;

    /// All rows of a bucket, tombstones included, in no order.
    async fn bucket(&mut self, bucket: u8) -> Result<Vec<ListRow>>;

    /// The next `limit` rows in the order of their numbers, tombstones included.
    async fn rows_after(&mut self, after: Option<TicketNumber>, limit: u32)
    -> Result<Vec<ListRow>>;

    /// Rows, tombstones included.
    async fn count(&mut self) -> Result<u64>;
}
