//! Files a device's batch: what becomes of each record, in one transaction.

use std::collections::HashSet;

use rusqlite::Connection;
use stile_core::admissions::Way;
use stile_core::ids::{LogId, RecordId, VenueNumber};
use stile_core::protocol::{DeviceStanding, Judged, QuarantineCause, RecordStanding};
use stile_core::ticket::Direction;
use stile_core::time::EpochMillis;

use super::feed::Feed;
use super::logs::{self, OpenLog};
use super::records::{self, Acceptance, Ids, NewRecord};
use super::standings::{self, Admission, Facts, Movements};
use super::{claims, quarantine, taken_back, walk_ins};
use crate::store::{
    FilingBatch, FilingMovement, FilingOutcome, FilingRecord, FilingResult, Result, StoreError,
};

/// What became of a record, before the standings are settled.
enum Filed {
    /// Accepted; the place of a check-in.
    Accepted(Option<i64>),
    /// Replayed; its place.
    Replayed(i64),
    Quarantined(QuarantineCause),
}

/// What is known of a record's ticket.
enum Ticket {
    /// It moved none.
    None,
    /// The admission that it used or gave back, the persons that the ticket admits, and whether it
    /// was cancelled before the scan.
    Known(Admission, Facts),
    /// It admitted one that is not there.
    Unknown,
}

struct Filing<'c> {
    connection: &'c Connection,
    venue: VenueNumber,
    batch: &'c FilingBatch,
    now: EpochMillis,
    acceptance: Acceptance<'c>,
    ids: Ids<'c>,
    movements: Movements<'c>,
    feed: Feed<'c>,
    logs: Vec<OpenLog>,
    /// Whether claims of the device wait for its records.
    has_claims: bool,
    /// Admissions whose entries may not all fit.
    unsettled: HashSet<Admission>,
}

pub(super) fn file(
    connection: &Connection,
    venue: VenueNumber,
    batch: &FilingBatch,
    now: EpochMillis,
) -> Result<FilingOutcome> {
    let is_enrolled = batch.sender == DeviceStanding::Enrolled;
    if !is_enrolled && quarantine::is_full(connection, venue, &batch.device_id)? {
        return Err(StoreError::QuarantineFull);
    }
    let logs = open_logs(connection, venue, batch)?;
    let mut filing = Filing::begin(connection, venue, batch, now, logs)?;
    let filed = batch
        .records
        .iter()
        .map(|record| filing.record(record))
        .collect::<Result<_>>()?;
    filing.finish(filed)
}

/// Accepts records of a device that a person takes out of quarantine: what becomes of each, but of
/// those that are not there.
pub(super) fn release(
    connection: &Connection,
    venue: VenueNumber,
    batch: &FilingBatch,
    now: EpochMillis,
) -> Result<Vec<(RecordId, Judged)>> {
    let mut filing = Filing::begin(connection, venue, batch, now, Vec::new())?;
    let mut judged = Vec::new();
    for record in &batch.records {
        if let Some(one) = filing.release(record)? {
            judged.push((record.id, one));
        }
    }
    filing.finish(Vec::new())?;
    Ok(judged)
}

/// The logs of a batch, in the order in which they come first.
fn open_logs(
    connection: &Connection,
    venue: VenueNumber,
    batch: &FilingBatch,
) -> Result<Vec<OpenLog>> {
    let mut spans: Vec<(LogId, u64, u64)> = Vec::new();
    for record in &batch.records {
        match spans
            .iter_mut()
            .find(|(log_id, ..)| *log_id == record.log_id)
        {
            Some((_, first, last)) => {
                *first = record.sequence.min(*first);
                *last = record.sequence.max(*last);
            }
            None => spans.push((record.log_id, record.sequence, record.sequence)),
        }
    }
    spans
        .into_iter()
        .map(|(log_id, first, last)| {
            logs::load(connection, venue, &batch.device_id, log_id, first, last)
        })
        .collect()
}

impl<'c> Filing<'c> {
    fn begin(
        connection: &'c Connection,
        venue: VenueNumber,
        batch: &'c FilingBatch,
        now: EpochMillis,
        logs: Vec<OpenLog>,
    ) -> Result<Self> {
        Ok(Self {
            connection,
            venue,
            batch,
            now,
            acceptance: Acceptance::begin(connection, venue)?,
            ids: Ids::new(connection, venue)?,
            movements: Movements::new(connection, venue)?,
            feed: Feed::begin(connection, venue)?,
            logs,
            has_claims: claims::any_of(connection, venue, &batch.device_id)?,
            unsettled: HashSet::new(),
        })
    }
}

impl Filing<'_> {
    fn record(&mut self, record: &FilingRecord) -> Result<Filed> {
        if record.foreign {
            self.log(record.log_id).have.add(record.sequence);
            return self.set_aside(record, QuarantineCause::ForeignVenue);
        }
        if self.log(record.log_id).have.contains(record.sequence) {
            return self.known(record);
        }
        if let Some(cause) = self.sender_is_judged(record) {
            let filed = self.set_aside_with_id(record, cause)?;
            self.log(record.log_id).have.add(record.sequence);
            return Ok(filed);
        }
        let filed = match self.ticket(record)? {
            Ticket::Unknown => self.set_aside_with_id(record, QuarantineCause::UnknownTicket)?,
            Ticket::None => self.accept(record, None)?,
            Ticket::Known(admission, facts) => self.accept(record, Some((admission, facts)))?,
        };
        self.log(record.log_id).have.add(record.sequence);
        Ok(filed)
    }

    /// Why a person must judge a record whatever it says, if one must: it admitted somebody, and
    /// its device is not the venue's, or not any more.
    fn sender_is_judged(&self, record: &FilingRecord) -> Option<QuarantineCause> {
        let cause = match self.batch.sender {
            DeviceStanding::Enrolled => return None,
            DeviceStanding::Revoked => QuarantineCause::RevokedDevice,
            DeviceStanding::Forgotten => QuarantineCause::ForgottenDevice,
        };
        let way = record.movement.as_ref().map(|movement| movement.way);
        let walked_in = record.walk_in.as_ref().map(|walk_in| walk_in.direction);
        (way == Some(Way::Entry) || walked_in == Some(Direction::In)).then_some(cause)
    }

    /// What becomes of a record that a person accepts; none if it is not in quarantine.
    fn release(&mut self, record: &FilingRecord) -> Result<Option<Judged>> {
        let (connection, venue) = (self.connection, self.venue);
        let Some((cause, received_at)) =
            quarantine::waiting(connection, venue, record.id, &record.hash)?
        else {
            return Ok(None);
        };
        // What took an id or place that is another's, or is another venue's, has no place here.
        if matches!(
            cause,
            QuarantineCause::ForeignVenue
                | QuarantineCause::IdTaken
                | QuarantineCause::SequenceTaken
        ) {
            return Ok(Some(Judged::CannotBeAccepted));
        }
        let moves = match self.ticket(record)? {
            Ticket::Unknown => {
                quarantine::wait_for_ticket(connection, venue, record)?;
                return Ok(Some(Judged::WaitsForTicket));
            }
            Ticket::None => None,
            Ticket::Known(admission, facts) => Some((admission, facts)),
        };
        let place = self.acceptance.next();
        quarantine::leave(connection, venue, record.id, &record.hash, place)?;
        self.accept_at(record, moves, place, received_at)?;
        Ok(Some(Judged::Accepted))
    }

    fn log(&mut self, log_id: LogId) -> &mut OpenLog {
        let at = self.logs.iter().position(|log| log.log_id == log_id);
        let at = at.expect("a log was opened for every record of the batch");
        &mut self.logs[at]
    }

    fn ticket(&mut self, record: &FilingRecord) -> Result<Ticket> {
        let Some(movement) = &record.movement else {
            return Ok(Ticket::None);
        };
        let Some(number) = movement.number else {
            return Ok(Ticket::Unknown);
        };
        let day = movement.service_day.as_ref();
        Ok(match self.movements.facts(number, day)? {
            Some(facts) => {
                let admission = Admission {
                    number,
                    day: facts.day.clone(),
                    checkpoint: movement.checkpoint.clone(),
                };
                Ticket::Known(admission, facts)
            }
            // Nobody is locked in: an exit needs no ticket, and without one moves nobody.
            None if movement.way == Way::Exit => Ticket::None,
            None => Ticket::Unknown,
        })
    }

    fn accept(
        &mut self,
        record: &FilingRecord,
        moves: Option<(Admission, Facts)>,
    ) -> Result<Filed> {
        let place = self.acceptance.next();
        if !self.ids.take(record.id, &record.hash, Some(place))? {
            return self.known(record);
        }
        self.accept_at(record, moves, place, self.now)
    }

    /// Puts a record, whose id is taken for this place, there.
    fn accept_at(
        &mut self,
        record: &FilingRecord,
        moves: Option<(Admission, Facts)>,
        place: i64,
        received_at: EpochMillis,
    ) -> Result<Filed> {
        let way = record.movement.as_ref().map(|movement| movement.way);
        let is_check_in = way == Some(Way::Entry);
        let cancelled = moves
            .as_ref()
            .is_some_and(|(_, facts)| facts.is_cancelled_before(record.at));
        self.acceptance.accept(&NewRecord {
            received_at,
            at: record.at,
            ticket: record.ticket,
            session_id: record.session_id.as_ref(),
            service_day: record.service_day.as_ref(),
            way,
            counts_to: moves.as_ref().map(|(admission, _)| admission),
            after_cancel: is_check_in && cancelled,
            takes_back: record.takes_back.is_some(),
            bytes: &record.bytes,
        })?;
        if let (Some((admission, facts)), Some(movement)) = (moves, &record.movement) {
            self.add_movement(record, movement, admission, &facts, place)?;
        }
        if let Some(walk_in) = &record.walk_in {
            walk_ins::add(self.connection, self.venue, walk_in, record.at, place)?;
            self.meet_undo(record)?;
        }
        if let Some(target) = record.takes_back {
            let device = &self.batch.device_id;
            let (connection, venue) = (self.connection, self.venue);
            let freed =
                taken_back::take_back(connection, venue, device, target, place, &mut self.feed)?;
            self.unsettled.extend(freed);
        }
        Ok(Filed::Accepted(is_check_in.then_some(place)))
    }

    fn add_movement(
        &mut self,
        record: &FilingRecord,
        movement: &FilingMovement,
        admission: Admission,
        facts: &Facts,
        place: i64,
    ) -> Result<()> {
        let is_first = self.movements.add(&admission, place)?;
        self.feed.add(place, &admission.day)?;
        let fits = movement.way == Way::Exit || movement.persons <= facts.admits;
        // The first entry, if it fits, is a winner as it was stored.
        if !(is_first && fits) {
            self.unsettled.insert(admission);
        }
        self.meet_undo(record)
    }

    /// A record may have been taken back before it came.
    fn meet_undo(&mut self, record: &FilingRecord) -> Result<()> {
        let device = &self.batch.device_id;
        let (connection, venue) = (self.connection, self.venue);
        let freed = taken_back::meet(connection, venue, device, record.id, &mut self.feed)?;
        self.unsettled.extend(freed);
        Ok(())
    }

    fn settle_claims(&self) -> Result<()> {
        let (connection, venue) = (self.connection, self.venue);
        for record in &self.batch.records {
            claims::settle(connection, venue, record.id)?;
        }
        for log in &self.logs {
            let records = self.batch.records.iter();
            let of_log = records.filter(|record| record.log_id == log.log_id);
            if let Some(last) = of_log.map(|record| (record.sequence, record.at)).max() {
                claims::pass(connection, venue, &self.batch.device_id, log.log_id, last)?;
            }
        }
        Ok(())
    }

    /// Sets a record aside that keeps its id: it may be accepted later.
    fn set_aside_with_id(
        &mut self,
        record: &FilingRecord,
        cause: QuarantineCause,
    ) -> Result<Filed> {
        if !self.ids.take(record.id, &record.hash, None)? {
            return self.known(record);
        }
        self.set_aside(record, cause)
    }

    /// A record whose id or place is taken: by itself, or by another.
    fn known(&self, record: &FilingRecord) -> Result<Filed> {
        match records::known_id(self.connection, self.venue, record.id)? {
            Some(known) if known.hash != record.hash => {
                self.set_aside(record, QuarantineCause::IdTaken)
            }
            Some(known) => match known.place {
                Some(place) => Ok(Filed::Replayed(place)),
                None => {
                    let (connection, venue) = (self.connection, self.venue);
                    let waiting = quarantine::waiting(connection, venue, record.id, &record.hash)?;
                    Ok(Filed::Quarantined(
                        waiting.map_or(QuarantineCause::UnknownTicket, |(cause, _)| cause),
                    ))
                }
            },
            None => self.set_aside(record, QuarantineCause::SequenceTaken),
        }
    }

    fn set_aside(&self, record: &FilingRecord, cause: QuarantineCause) -> Result<Filed> {
        let waits_for = match (cause, &record.movement) {
            (QuarantineCause::UnknownTicket, Some(movement)) => movement.number,
            _ => None,
        };
        let device = &self.batch.device_id;
        quarantine::put(
            self.connection,
            self.venue,
            device,
            record,
            cause,
            waits_for,
            self.now,
        )?;
        Ok(Filed::Quarantined(cause))
    }

    fn finish(mut self, filed: Vec<Filed>) -> Result<FilingOutcome> {
        let (connection, venue) = (self.connection, self.venue);
        if self.has_claims {
            self.settle_claims()?;
        }
        self.acceptance.finish()?;
        for log in &self.logs {
            logs::keep(connection, venue, &self.batch.device_id, log)?;
        }
        for admission in &self.unsettled {
            standings::settle_one(connection, venue, admission, self.now, &mut self.feed)?;
        }
        self.feed.finish()?;
        let standing = |place| records::standing(connection, place);
        let all_fit = self.unsettled.is_empty();
        let fresh = |place| {
            if all_fit {
                Ok(Some(RecordStanding::Winner))
            } else {
                standing(place)
            }
        };
        let results = filed
            .into_iter()
            .map(|filed| match filed {
                Filed::Accepted(None) => Ok(FilingResult::Accepted(None)),
                Filed::Accepted(Some(check_in)) => fresh(check_in).map(FilingResult::Accepted),
                Filed::Replayed(place) => standing(place).map(FilingResult::Replayed),
                Filed::Quarantined(cause) => Ok(FilingResult::Quarantined(cause)),
            })
            .collect::<Result<_>>()?;
        let states = self.logs.iter();
        let states = states.map(|log| logs::state(connection, venue, &self.batch.device_id, log));
        let logs = states.collect::<Result<_>>()?;
        Ok(FilingOutcome { results, logs })
    }
}
