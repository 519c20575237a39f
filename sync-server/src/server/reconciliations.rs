//! Reconciliation: a day's tickets as the booking system states them, compared with what is here.
//! It changes no ticket; what it found is kept, and is an alarm while it differs.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use stile_core::ids::VenueId;
use stile_core::protocol::Reconciliations;
use stile_core::time::{EpochMillis, ServiceDay};

use super::alarms::{Findings, WHOLE_VENUE};
use super::{Server, SetChanges, TicketSet, at_most};
use crate::alarms::{date, day_of, due_dates};
use crate::error::ServerError;
use crate::store::{
    AlarmDetail, AlarmKind, Differences, DifferingTickets, NewReconciliation, Reconciliation,
    ReconciliationForm, ReconciliationQuery, Venue,
};

/// Reconciliations of one answer, unless it asks for fewer or more.
pub const RECONCILIATIONS: u32 = 100;
/// Reconciliations of one answer at most.
pub const MOST_RECONCILIATIONS: u32 = 1_000;

/// A file that was read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedFile {
    /// Tickets in it, one a line, refused ones included.
    pub tickets: u64,
    /// Lines that could not be read or taken.
    pub refused: u64,
    /// SHA-256 of it.
    pub sha256: [u8; 32],
}

impl Server {
    /// Compares a day's set with what is here, and keeps what differs. The set is one that began
    /// with a day.
    pub async fn reconcile(
        &self,
        set: &TicketSet,
        file: StatedFile,
    ) -> Result<(Reconciliation, DifferingTickets), ServerError> {
        let day = set.day.clone();
        let day = day.ok_or_else(|| ServerError::internal("a set without a day is compared"))?;
        let venue = self.venue(&set.venue).await?;
        let compared = self
            .store
            .compare_set(venue.number, set.id, &day, self.now());
        let (mut differences, named) = compared.await?;
        differences.refused += file.refused;
        let form = ReconciliationForm::Set;
        let kept = self.keep_stated(&venue, &day, form, file, differences);
        Ok((kept.await?, named))
    }

    /// Keeps that a day's whole set was put. What it could not read, or withheld, differs; who
    /// stays by rule, having been admitted, does not.
    pub async fn note_put_day(
        &self,
        set: &TicketSet,
        file: StatedFile,
        changes: &SetChanges,
    ) -> Result<(), ServerError> {
        let Some(day) = set.day.clone() else {
            return Ok(());
        };
        let withheld = changes.vanish.filter(|vanish| vanish.withheld);
        let unknown_there = withheld.map_or(0, |vanish| vanish.counts.vanishing);
        let differences = Differences {
            tickets: unknown_there,
            unknown_there,
            refused: file.refused + changes.counts.refused_count,
            ..Differences::default()
        };
        let venue = self.venue(&set.venue).await?;
        let form = ReconciliationForm::PutDay;
        self.keep_stated(&venue, &day, form, file, differences)
            .await?;
        Ok(())
    }

    async fn keep_stated(
        &self,
        venue: &Venue,
        day: &ServiceDay,
        form: ReconciliationForm,
        file: StatedFile,
        differences: Differences,
    ) -> Result<Reconciliation, ServerError> {
        let new = NewReconciliation {
            service_day: day.clone(),
            form,
            stated: file.tickets,
            sha256: Some(file.sha256),
            differences,
        };
        let now = self.now();
        let kept = self.store.keep_reconciliation(venue.number, new, now);
        let kept = kept.await?;
        let mut findings = self.findings(venue).await?;
        judge(&mut findings, day, &differences);
        self.settle(venue, findings, now).await?;
        Ok(kept)
    }

    /// Compares count and digest of a day's set with those that were last stated of it. They are
    /// equal if nothing differed then, and nothing of the day was changed since.
    pub async fn reconcile_digest(
        &self,
        venue: &VenueId,
        day: &ServiceDay,
        tickets: u64,
        sha256: [u8; 32],
    ) -> Result<Reconciliation, ServerError> {
        let number = self.keys(venue).await?.number;
        let stated = Some((tickets, sha256));
        let kept = self.store.look_at_set(number, day, stated, self.now());
        kept.await?
            .ok_or_else(|| ServerError::internal("a digest was compared and not kept"))
    }

    /// The venue's reconciliations, the newest first.
    pub async fn reconciliations(
        &self,
        venue: &VenueId,
        query: ReconciliationQuery,
    ) -> Result<Reconciliations, ServerError> {
        let number = self.keys(venue).await?.number;
        let limit = query.limit.clamp(1, MOST_RECONCILIATIONS);
        let one_more = ReconciliationQuery {
            limit: limit + 1,
            ..query
        };
        let reconciliations = self.store.reconciliations(number, one_more).await?;
        let (reconciliations, more) = at_most(limit as usize, reconciliations);
        Ok(Reconciliations {
            reconciliations,
            more,
        })
    }

    /// Looks, once for each day that is due, at what became of its set; and ends the alarms of days
    /// that are past.
    pub(super) async fn look_at_sets(
        &self,
        venue: &Venue,
        zone: &TimeZone,
        now: EpochMillis,
        findings: &mut Findings,
    ) -> Result<(), ServerError> {
        let kind = AlarmKind::ReconciliationDiffers;
        let today = date(now, zone).map_err(ServerError::internal)?;
        let due = due_dates(now, zone, venue.policy.alarms.tickets_due);
        let due = due.map_err(ServerError::internal)?;
        for date in &due {
            let Some(day) = day_of(*date) else { continue };
            let known = self.store.day_reconciliation(venue.number, &day).await?;
            if let Some(last) = &known.last {
                judge(findings, &day, &last.differences);
            }
            if known.last.is_some() && !known.looked {
                let look = self.store.look_at_set(venue.number, &day, None, now);
                look.await?;
            }
        }
        let is_past = |thing: &str| thing.parse::<Date>().is_ok_and(|date| date < today);
        findings.are_over_but(kind, |thing| !is_past(thing));
        Ok(())
    }

    /// A booking system that used to state its sets, and has not for too long.
    pub(super) async fn look_at_habit(
        &self,
        venue: &Venue,
        now: EpochMillis,
        findings: &mut Findings,
    ) -> Result<(), ServerError> {
        let kind = AlarmKind::ReconciliationOverdue;
        let within_ms = i64::from(venue.policy.alarms.reconciled_within_h) * 3_600_000;
        let state = self.store.reconciliation_state(venue.number).await?;
        let is_expected = state.reconciles && within_ms > 0;
        let last_at = state.last_at.filter(|_| is_expected);
        match last_at.filter(|last_at| now.since(*last_at) > within_ms) {
            Some(last_at) => {
                let detail = AlarmDetail {
                    since: Some(last_at),
                    ..AlarmDetail::default()
                };
                findings.stands(kind, WHOLE_VENUE, detail);
            }
            None => findings.is_over(kind, WHOLE_VENUE),
        }
        Ok(())
    }
}

/// A day of which something differs is an alarm, until its set is stated or put and nothing does.
fn judge(findings: &mut Findings, day: &ServiceDay, differences: &Differences) {
    let kind = AlarmKind::ReconciliationDiffers;
    if differences.none() {
        findings.is_over(kind, day.as_str());
        return;
    }
    let detail = AlarmDetail {
        service_day: Some(day.clone()),
        differ: Some(differences.tickets + differences.refused),
        ..AlarmDetail::default()
    };
    findings.stands(kind, day.as_str(), detail);
}
