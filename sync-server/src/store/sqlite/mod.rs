//! The store in one SQLite file: one writer that groups commits, a pool of readers, WAL with
//! `synchronous=FULL`. One module per table or group of tables, each with its SQL.

mod alarms;
mod api_keys;
mod aside;
mod attendance;
mod audit;
mod backup;
mod claims;
mod columns;
mod devices;
mod document_keys;
mod enrolments;
mod erasure;
mod errors;
mod events;
mod feed;
mod figures;
mod filing;
mod finality;
mod gates;
mod holders;
mod lists;
mod log_spans;
mod logs;
mod moves;
mod occupancy;
mod open;
mod operators;
mod pulling;
mod quarantine;
mod readers;
mod reconciliations;
mod records;
mod refusals;
mod removal;
mod retention;
mod salvage;
mod sessions;
mod snapshot;
mod staged_tickets;
mod standings;
mod taken_back;
mod ticket_acts;
mod ticket_rows;
mod tickets;
mod venues;
mod walk_ins;
mod webhooks;
mod words;
mod writer;

use std::collections::HashMap;
use std::sync::Arc;

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

use super::*;
use crate::acting::Acting;
use crate::attendance::AttendanceQuery;
use crate::traced::TraceId;
use readers::{Readers, blocking};
use snapshot::Snapshot;
use writer::Writer;

pub use backup::{BackupError, Restored, back_up, look_at_copy, restore};
pub use open::{DATABASE_FILE, DatabaseError, Existing, look, look_through};
pub use salvage::{Salvage, SalvageError, salvage};

/// A store in one SQLite file.
pub struct SqliteStore {
    writer: Arc<Writer>,
    readers: Readers,
}

#[async_trait]
impl Store for SqliteStore {
    async fn facts(&self) -> Result<Facts> {
        self.readers.read(venues::facts).await
    }

    async fn keep_vault_check(&self, sealed: &[u8]) -> Result<()> {
        let sealed = sealed.to_vec();
        self.writer
            .write(move |db| venues::keep_vault_check(db, &sealed))
            .await
    }

    async fn probe(&self) -> Result<()> {
        self.writer.write(venues::probe).await?;
        let path = self.readers.path().to_owned();
        blocking(move || open::check_room(&path)).await
    }

    async fn close(&self) {
        self.readers.close();
        let writer = Arc::clone(&self.writer);
        // Closing has no answer: what was handed over has had its own.
        let _ = blocking(move || {
            writer.close();
            Ok(())
        })
        .await;
    }

    async fn create_venue(&self, venue: NewVenue) -> Result<VenueNumber> {
        self.writer
            .write(move |db| venues::create(db, &venue))
            .await
    }

    async fn venue(&self, id: &VenueId) -> Result<Option<Venue>> {
        let id = id.clone();
        self.readers.read(move |db| venues::get(db, &id)).await
    }

    async fn venues(&self) -> Result<Vec<Venue>> {
        self.readers.read(venues::all).await
    }

    async fn secrets(&self, venue: VenueNumber) -> Result<Vec<SealedSecret>> {
        self.readers
            .read(move |db| venues::secrets(db, venue))
            .await
    }

    async fn keep_secret(&self, venue: VenueNumber, secret: SealedSecret) -> Result<()> {
        self.writer
            .write(move |db| venues::keep_secret(db, venue, &secret))
            .await
    }

    async fn holder(&self, venue: VenueNumber, number: TicketNumber) -> Result<Option<Vec<u8>>> {
        self.readers
            .read(move |db| holders::get(db, venue, number))
            .await
    }

    async fn forget_holders(&self, ended_before: EpochSeconds) -> Result<u64> {
        self.writer
            .write(move |db| holders::forget(db, ended_before))
            .await
    }

    async fn document_key(&self, venue: VenueNumber, day: &ServiceDay) -> Result<Option<Vec<u8>>> {
        let day = day.clone();
        self.readers
            .read(move |db| document_keys::get(db, venue, &day))
            .await
    }

    async fn keep_document_key(
        &self,
        venue: VenueNumber,
        day: &ServiceDay,
        sealed: Vec<u8>,
        now: EpochMillis,
    ) -> Result<Vec<u8>> {
        let day = day.clone();
        self.writer
            .write(move |db| document_keys::keep(db, venue, &day, &sealed, now))
            .await
    }

    async fn forget_document_keys(&self, ended_before: EpochSeconds) -> Result<u64> {
        self.writer
            .write(move |db| document_keys::forget(db, ended_before))
            .await
    }

    async fn set_policy(
        &self,
        venue: VenueNumber,
        policy: &Policy,
        now: EpochMillis,
    ) -> Result<Change> {
        let policy = policy.clone();
        self.writer
            .write(move |db| venues::set_policy(db, venue, &policy, now))
            .await
    }

    async fn key_manifest(&self, venue: VenueNumber) -> Result<Option<StoredKeyManifest>> {
        self.readers
            .read(move |db| venues::key_manifest(db, venue))
            .await
    }

    async fn change_keys(
        &self,
        venue: VenueNumber,
        manifest: StoredKeyManifest,
        secrets: KeyChange,
    ) -> Result<bool> {
        self.writer
            .write(move |db| venues::change_keys(db, venue, &manifest, &secrets))
            .await
    }

    async fn key_manifests(&self, venue: VenueNumber) -> Result<Vec<StoredKeyManifest>> {
        self.readers
            .read(move |db| venues::key_manifests(db, venue))
            .await
    }

    async fn valid_tickets(&self, venue: VenueNumber, now: EpochSeconds) -> Result<u64> {
        self.readers
            .read(move |db| tickets::count_valid(db, venue, now))
            .await
    }

    async fn keep_key_manifest(
        &self,
        venue: VenueNumber,
        manifest: StoredKeyManifest,
    ) -> Result<bool> {
        self.writer
            .write(move |db| venues::keep_key_manifest(db, venue, &manifest))
            .await
    }

    async fn add_api_key(&self, key: NewApiKey) -> Result<()> {
        self.writer.write(move |db| api_keys::add(db, &key)).await
    }

    async fn api_key(&self, hash: &[u8; 32]) -> Result<Option<ApiKey>> {
        let hash = *hash;
        self.readers.read(move |db| api_keys::get(db, &hash)).await
    }

    async fn api_keys(&self) -> Result<Vec<ApiKey>> {
        self.readers.read(api_keys::all).await
    }

    async fn revoke_api_key(
        &self,
        id: ApiKeyId,
        venue: Option<VenueNumber>,
        at: EpochMillis,
    ) -> Result<bool> {
        self.writer
            .write(move |db| api_keys::revoke(db, id, venue, at))
            .await
    }

    async fn note_key_use(&self, id: ApiKeyId, venue: VenueNumber, at: EpochMillis) -> Result<()> {
        self.writer
            .write(move |db| api_keys::note_use(db, id, venue, at))
            .await
    }

    async fn note_heard(
        &self,
        venue: VenueNumber,
        device: &DeviceId,
        at: EpochMillis,
    ) -> Result<()> {
        let device = device.clone();
        self.writer
            .write(move |db| devices::note_heard(db, venue, &device, at))
            .await
    }

    async fn figures(&self, now: EpochSeconds) -> Result<Vec<VenueFigures>> {
        self.readers.read(move |db| figures::all(db, now)).await
    }

    async fn finish_act(&self, acting: &Acting) -> Result<()> {
        let act = acting.clone();
        let kept = self.writer.write(move |db| audit::finish(db, &act)).await?;
        acting.kept(Some(kept));
        Ok(())
    }

    async fn audit(&self, log: VenueNumber, after: Position, limit: u32) -> Result<AuditPage> {
        self.readers
            .read(move |db| audit::page(db, log, after, limit))
            .await
    }

    async fn retention(&self, runs: u32) -> Result<RetentionState> {
        self.readers
            .read(move |db| retention::state(db, runs))
            .await
    }

    async fn keep_retention_run(&self, run: RetentionRun, keep: u32) -> Result<()> {
        self.writer
            .write(move |db| retention::keep(db, &run, keep))
            .await
    }

    async fn set_keep_days(&self, days: u16) -> Result<()> {
        self.writer
            .write(move |db| retention::set_keep_days(db, days))
            .await
    }

    async fn forget_hashes(&self, ended_before: EpochSeconds, limit: u32) -> Result<Swept> {
        self.writer
            .write(move |db| retention::hashes(db, ended_before, limit))
            .await
    }

    async fn forget_acts(
        &self,
        before: EpochMillis,
        now: EpochMillis,
        limit: u32,
    ) -> Result<Swept> {
        self.writer
            .write(move |db| retention::acts(db, before, now, limit))
            .await
    }

    async fn trace(
        &self,
        venue: VenueNumber,
        first: Position,
        last: Position,
    ) -> Result<Option<TraceId>> {
        self.readers
            .read(move |db| records::trace(db, venue, first, last))
            .await
    }

    async fn forget_records(
        &self,
        venue: VenueNumber,
        kept: KeptSince,
        now: EpochMillis,
        limit: u32,
    ) -> Result<Swept> {
        self.writer
            .write(move |db| removal::records(db, venue, kept, now, limit))
            .await
    }

    async fn forget_quarantined(
        &self,
        venue: VenueNumber,
        before: EpochMillis,
        limit: u32,
    ) -> Result<Swept> {
        self.writer
            .write(move |db| removal::quarantined(db, venue, before, limit))
            .await
    }

    async fn forget_record_ids(
        &self,
        venue: VenueNumber,
        before: EpochMillis,
        limit: u32,
    ) -> Result<Swept> {
        self.writer
            .write(move |db| removal::ids(db, venue, before, limit))
            .await
    }

    async fn forget_events(
        &self,
        venue: VenueNumber,
        kept: KeptSince,
        now: EpochMillis,
        limit: u32,
    ) -> Result<Swept> {
        self.writer
            .write(move |db| events::forget(db, venue, kept, now, limit))
            .await
    }

    async fn put_gate(&self, venue: VenueNumber, gate: &Gate, now: EpochMillis) -> Result<Change> {
        let gate = gate.clone();
        self.writer
            .write(move |db| gates::put(db, venue, &gate, now))
            .await
    }

    async fn put_operator(
        &self,
        venue: VenueNumber,
        update: OperatorUpdate,
        limit: usize,
        now: EpochMillis,
    ) -> Result<(Operator, Change)> {
        self.writer
            .write(move |db| operators::put(db, venue, &update, limit, now))
            .await
    }

    async fn operators(&self, venue: VenueNumber) -> Result<Vec<Operator>> {
        self.readers.read(move |db| operators::all(db, venue)).await
    }

    async fn remove_operator(
        &self,
        venue: VenueNumber,
        id: &OperatorId,
        now: EpochMillis,
    ) -> Result<bool> {
        let id = id.clone();
        self.writer
            .write(move |db| operators::remove(db, venue, &id, now))
            .await
    }

    async fn gates(&self, venue: VenueNumber) -> Result<Vec<Gate>> {
        self.readers.read(move |db| gates::all(db, venue)).await
    }

    async fn put_sessions(
        &self,
        venue: VenueNumber,
        sessions: Vec<Session>,
        now: EpochMillis,
    ) -> Result<Vec<Change>> {
        self.writer
            .write(move |db| sessions::put(db, venue, &sessions, now))
            .await
    }

    async fn session(&self, venue: VenueNumber, id: &SessionId) -> Result<Option<Session>> {
        let id = id.clone();
        self.readers
            .read(move |db| sessions::get(db, venue, &id))
            .await
    }

    async fn sessions(&self, venue: VenueNumber, day: Option<&ServiceDay>) -> Result<Vec<Session>> {
        let day = day.cloned();
        self.readers
            .read(move |db| sessions::all(db, venue, day.as_ref()))
            .await
    }

    async fn upsert_tickets(
        &self,
        venue: VenueNumber,
        lines: Vec<TicketUpsert>,
        now: EpochMillis,
    ) -> Result<Vec<Upserted>> {
        self.writer
            .write(move |db| tickets::upsert(db, venue, &lines, now))
            .await
    }

    async fn stage_tickets(
        &self,
        venue: VenueNumber,
        set: SetId,
        day: Option<ServiceDay>,
        lines: SetLines,
        now: EpochMillis,
    ) -> Result<Vec<Upserted>> {
        self.writer
            .write(move |db| staged_tickets::stage(db, venue, set, day.as_ref(), &lines, now))
            .await
    }

    async fn plan_set(
        &self,
        venue: VenueNumber,
        set: SetId,
        rule: Option<VanishRule>,
        now: EpochMillis,
    ) -> Result<SetCounts> {
        self.readers
            .read(move |db| staged_tickets::plan(db, venue, set, rule.as_ref(), now))
            .await
    }

    async fn apply_set(
        &self,
        venue: VenueNumber,
        set: SetId,
        rule: Option<VanishRule>,
        now: EpochMillis,
    ) -> Result<SetOutcome> {
        self.writer
            .write(move |db| staged_tickets::apply(db, venue, set, rule.as_ref(), now))
            .await
    }

    async fn drop_set(&self, venue: VenueNumber, set: SetId) -> Result<()> {
        self.writer
            .write(move |db| staged_tickets::drop_set(db, venue, set))
            .await
    }

    async fn forget_sets(&self, begun_before: EpochMillis) -> Result<u64> {
        self.writer
            .write(move |db| staged_tickets::forget(db, begun_before))
            .await
    }

    async fn tickets(
        &self,
        venue: VenueNumber,
        numbers: &[TicketNumber],
    ) -> Result<Vec<Option<TicketInSession>>> {
        let numbers = numbers.to_vec();
        self.readers
            .read(move |db| tickets::get(db, venue, &numbers))
            .await
    }

    async fn change_tickets(
        &self,
        venue: VenueNumber,
        acts: Vec<(TicketNumber, TicketAct)>,
        now: EpochMillis,
    ) -> Result<Vec<Acted>> {
        self.writer
            .write(move |db| ticket_acts::act(db, venue, &acts, now))
            .await
    }

    async fn tickets_of_order(
        &self,
        venue: VenueNumber,
        order: &OrderNumber,
    ) -> Result<Vec<TicketNumber>> {
        let order = order.clone();
        self.readers
            .read(move |db| erasure::of_order(db, venue, &order))
            .await
    }

    async fn erase_holders(
        &self,
        venue: VenueNumber,
        numbers: &[TicketNumber],
    ) -> Result<Vec<Erased>> {
        let numbers = numbers.to_vec();
        self.writer
            .write(move |db| erasure::erase(db, venue, &numbers))
            .await
    }

    async fn held_days(
        &self,
        venue: VenueNumber,
        now: EpochSeconds,
        ended_since: EpochSeconds,
    ) -> Result<Vec<ServiceDay>> {
        self.readers
            .read(move |db| lists::held_days(db, venue, now, ended_since))
            .await
    }

    async fn list_state(&self, venue: VenueNumber, day: &ServiceDay) -> Result<Option<ListState>> {
        let day = day.clone();
        self.readers
            .read(move |db| lists::state(db, venue, &day))
            .await
    }

    async fn list(
        &self,
        venue: VenueNumber,
        day: &ServiceDay,
    ) -> Result<Option<Box<dyn ListSnapshot>>> {
        let (connection, permit) = self.readers.for_list().await?;
        let snapshot = Snapshot::begin(connection, permit, venue, day).await?;
        Ok(snapshot.map(|snapshot| Box::new(snapshot) as Box<dyn ListSnapshot>))
    }

    async fn add_enrolment(
        &self,
        venue: VenueNumber,
        enrolment: NewEnrolment,
        limit: usize,
    ) -> Result<bool> {
        self.writer
            .write(move |db| enrolments::add(db, venue, &enrolment, limit))
            .await
    }

    async fn enrol(&self, venue: VenueNumber, claim: EnrolmentClaim) -> Result<EnrolOutcome> {
        self.writer
            .write(move |db| enrolments::enrol(db, venue, &claim))
            .await
    }

    async fn enrolments(&self, venue: VenueNumber, now: EpochMillis) -> Result<Vec<EnrolmentView>> {
        self.readers
            .read(move |db| enrolments::views(db, venue, now))
            .await
    }

    async fn confirm_enrolment(
        &self,
        venue: VenueNumber,
        given: Confirmation,
    ) -> Result<ConfirmOutcome> {
        self.writer
            .write(move |db| enrolments::confirm(db, venue, &given))
            .await
    }

    async fn refuse_enrolment(
        &self,
        venue: VenueNumber,
        id: &EnrolmentId,
        now: EpochMillis,
    ) -> Result<bool> {
        let id = id.clone();
        self.writer
            .write(move |db| enrolments::refuse(db, venue, &id, now))
            .await
    }

    async fn device(&self, venue: VenueNumber, bearer_hash: &[u8; 32]) -> Result<Option<Device>> {
        let hash = *bearer_hash;
        self.readers
            .read(move |db| devices::by_bearer(db, venue, &hash))
            .await
    }

    async fn device_of_id(&self, venue: VenueNumber, device: &DeviceId) -> Result<Option<Device>> {
        let device = device.clone();
        self.readers
            .read(move |db| devices::by_id(db, venue, &device))
            .await
    }

    async fn put_device_back(
        &self,
        venue: VenueNumber,
        returned: Device,
        bearer_hash: [u8; 32],
    ) -> Result<Device> {
        self.writer
            .write(move |db| devices::put_back(db, venue, &returned, &bearer_hash))
            .await
    }

    async fn revoke_device(
        &self,
        venue: VenueNumber,
        device: &DeviceId,
        now: EpochMillis,
    ) -> Result<EpochMillis> {
        let device = device.clone();
        self.writer
            .write(move |db| devices::revoke(db, venue, &device, now))
            .await
    }

    async fn readmit_device(
        &self,
        venue: VenueNumber,
        device: &DeviceId,
        gates: Vec<GateId>,
        now: EpochMillis,
    ) -> Result<Device> {
        let device = device.clone();
        self.writer
            .write(move |db| devices::readmit(db, venue, &device, &gates, now))
            .await
    }

    async fn file_records(
        &self,
        venue: VenueNumber,
        batch: FilingBatch,
        now: EpochMillis,
    ) -> Result<FilingOutcome> {
        self.writer
            .write(move |db| filing::file(db, venue, &batch, now))
            .await
    }

    async fn claim(
        &self,
        venue: VenueNumber,
        device: &DeviceId,
        request: ClaimRequest,
        now: EpochMillis,
    ) -> Result<ClaimAnswer> {
        let device = device.clone();
        self.writer
            .write_urgently(move |db| claims::claim(db, venue, &device, &request, now))
            .await
    }

    async fn pull(&self, venue: VenueNumber, query: LogQuery) -> Result<Page> {
        self.readers
            .read(move |db| pulling::pull(db, venue, &query))
            .await
    }

    async fn feed(
        &self,
        venue: VenueNumber,
        after: Position,
        limit: u32,
        ended_since: EpochSeconds,
    ) -> Result<FeedPage> {
        self.readers
            .read(move |db| feed::page(db, venue, after, limit, ended_since))
            .await
    }

    fn ends(&self) -> watch::Receiver<HashMap<VenueNumber, Ends>> {
        self.writer.ends()
    }

    async fn conflicts(
        &self,
        venue: VenueNumber,
        state: ConflictState,
        limit: u32,
    ) -> Result<Vec<Conflict>> {
        self.readers
            .read(move |db| standings::conflicts(db, venue, state, limit))
            .await
    }

    async fn attendance(&self, venue: VenueNumber, query: AttendanceQuery) -> Result<Attendance> {
        self.readers
            .read(move |db| attendance::attendance(db, venue, &query))
            .await
    }

    async fn report_outbox(
        &self,
        venue: VenueNumber,
        state: OutboxState,
        now: EpochMillis,
    ) -> Result<()> {
        self.writer
            .write(move |db| finality::report(db, venue, &state, now))
            .await
    }

    async fn device_out_of_use(
        &self,
        venue: VenueNumber,
        device: &DeviceId,
        now: EpochMillis,
    ) -> Result<()> {
        let device = device.clone();
        self.writer
            .write(move |db| finality::out_of_use(db, venue, &device, now))
            .await
    }

    async fn finalize(&self, venue: VenueNumber, now: EpochMillis) -> Result<u64> {
        self.writer
            .write(move |db| finality::finalize(db, venue, now))
            .await
    }

    async fn finality(
        &self,
        venue: VenueNumber,
        sessions: Vec<SessionId>,
        now: EpochMillis,
    ) -> Result<Vec<SessionFinality>> {
        self.readers
            .read(move |db| finality::of_sessions(db, venue, &sessions, now))
            .await
    }

    async fn complete_through(
        &self,
        venue: VenueNumber,
        now: EpochMillis,
    ) -> Result<Option<EpochMillis>> {
        self.readers
            .read(move |db| finality::complete_through(db, venue, now))
            .await
    }

    async fn devices(&self, venue: VenueNumber) -> Result<Vec<DeviceView>> {
        self.readers
            .read(move |db| finality::devices(db, venue))
            .await
    }

    async fn events(&self, venue: VenueNumber, after: Position, limit: u32) -> Result<Vec<Event>> {
        self.readers
            .read(move |db| events::after(db, venue, after, limit))
            .await
    }

    async fn alarms(&self, venue: VenueNumber, query: AlarmQuery) -> Result<Vec<Alarm>> {
        self.readers
            .read(move |db| alarms::page(db, venue, &query))
            .await
    }

    async fn change_alarms(
        &self,
        venue: VenueNumber,
        changes: Vec<AlarmChange>,
        now: EpochMillis,
    ) -> Result<u64> {
        self.writer
            .write(move |db| alarms::change(db, venue, &changes, now))
            .await
    }

    async fn compare_set(
        &self,
        venue: VenueNumber,
        set: SetId,
        day: &ServiceDay,
        now: EpochMillis,
    ) -> Result<(Differences, DifferingTickets)> {
        let day = day.clone();
        self.readers
            .read(move |db| reconciliations::compare(db, venue, set, &day, now))
            .await
    }

    async fn keep_reconciliation(
        &self,
        venue: VenueNumber,
        new: NewReconciliation,
        now: EpochMillis,
    ) -> Result<Reconciliation> {
        self.writer
            .write(move |db| reconciliations::keep(db, venue, &new, now))
            .await
    }

    async fn look_at_set(
        &self,
        venue: VenueNumber,
        day: &ServiceDay,
        stated: Option<(u64, [u8; 32])>,
        now: EpochMillis,
    ) -> Result<Option<Reconciliation>> {
        let day = day.clone();
        self.writer
            .write(move |db| reconciliations::look(db, venue, &day, stated, now))
            .await
    }

    async fn day_reconciliation(
        &self,
        venue: VenueNumber,
        day: &ServiceDay,
    ) -> Result<DayReconciliation> {
        let day = day.clone();
        self.readers
            .read(move |db| reconciliations::of_day(db, venue, &day))
            .await
    }

    async fn reconciliation_state(&self, venue: VenueNumber) -> Result<ReconciliationState> {
        self.readers
            .read(move |db| reconciliations::state(db, venue))
            .await
    }

    async fn reconciliations(
        &self,
        venue: VenueNumber,
        query: ReconciliationQuery,
    ) -> Result<Vec<Reconciliation>> {
        self.readers
            .read(move |db| reconciliations::page(db, venue, &query))
            .await
    }

    async fn occupancy(&self, venue: VenueNumber, now: EpochSeconds) -> Result<Vec<Occupancy>> {
        self.readers
            .read(move |db| occupancy::occupancy(db, venue, now))
            .await
    }

    async fn ticket_feed(&self, venue: VenueNumber) -> Result<Option<EpochMillis>> {
        self.readers.read(move |db| alarms::feed(db, venue)).await
    }

    async fn restart_ticket_feed(&self, venue: VenueNumber, now: EpochMillis) -> Result<()> {
        self.writer
            .write(move |db| alarms::note_feed(db, venue, now))
            .await
    }

    async fn day_outlook(&self, venue: VenueNumber, day: &ServiceDay) -> Result<DayOutlook> {
        let day = day.clone();
        self.readers
            .read(move |db| alarms::outlook(db, venue, &day))
            .await
    }

    async fn open_days(
        &self,
        venue: VenueNumber,
        from: &ServiceDay,
        to: &ServiceDay,
    ) -> Result<Vec<ServiceDay>> {
        let (from, to) = (from.clone(), to.clone());
        self.readers
            .read(move |db| alarms::open_days(db, venue, &from, &to))
            .await
    }

    async fn add_webhook(&self, webhook: WebhookFacts, limit: u32) -> Result<()> {
        self.writer
            .write(move |db| webhooks::add(db, &webhook, limit))
            .await
    }

    async fn webhooks(&self, venue: VenueNumber) -> Result<Vec<Webhook>> {
        self.readers.read(move |db| webhooks::all(db, venue)).await
    }

    async fn remove_webhook(&self, venue: VenueNumber, id: WebhookId) -> Result<bool> {
        self.writer
            .write(move |db| webhooks::remove(db, venue, id))
            .await
    }

    async fn resume_webhook(&self, venue: VenueNumber, id: WebhookId) -> Result<bool> {
        self.writer
            .write(move |db| webhooks::resume(db, venue, id))
            .await
    }

    async fn due_webhooks(&self, now: EpochMillis) -> Result<Vec<(VenueNumber, WebhookId)>> {
        self.readers.read(move |db| webhooks::due(db, now)).await
    }

    async fn take_webhook(
        &self,
        turn: Turn,
        now: EpochMillis,
        until: EpochMillis,
    ) -> Result<Option<Webhook>> {
        self.writer
            .write(move |db| webhooks::take(db, &turn, now, until))
            .await
    }

    async fn begin_message(&self, turn: Turn, sending: Sending) -> Result<bool> {
        self.writer
            .write(move |db| webhooks::begin(db, &turn, sending))
            .await
    }

    async fn end_message(&self, turn: Turn, sending: Sending, sent: Sent) -> Result<()> {
        self.writer
            .write(move |db| webhooks::end(db, &turn, sending, &sent))
            .await
    }

    async fn give_webhook_back(&self, turn: Turn) -> Result<()> {
        self.writer
            .write(move |db| webhooks::give_back(db, &turn))
            .await
    }

    async fn free_webhooks(&self) -> Result<()> {
        self.writer.write(webhooks::free).await
    }

    async fn quarantine(
        &self,
        venue: VenueNumber,
        query: QuarantineQuery,
    ) -> Result<Vec<Quarantined>> {
        self.readers
            .read(move |db| quarantine::find(db, venue, &query))
            .await
    }

    async fn accept_quarantined(
        &self,
        venue: VenueNumber,
        batch: FilingBatch,
        now: EpochMillis,
    ) -> Result<Vec<(RecordId, Judged)>> {
        self.writer
            .write(move |db| filing::release(db, venue, &batch, now))
            .await
    }

    async fn dismiss_quarantined(
        &self,
        venue: VenueNumber,
        ids: Vec<RecordId>,
        now: EpochMillis,
    ) -> Result<Vec<RecordId>> {
        self.writer
            .write(move |db| quarantine::dismiss(db, venue, &ids, now))
            .await
    }

    async fn record(&self, venue: VenueNumber, id: RecordId) -> Result<Option<Vec<u8>>> {
        self.readers
            .read(move |db| records::get(db, venue, id))
            .await
    }
}
