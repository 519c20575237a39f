//! Check-ins in the columns of a booking system's table `checkin_logs`, and what each of them means
//! here.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use stile_core::ids::{TicketId, TicketNumber};
use stile_core::protocol::{PulledRecord, RecordHead};
use stile_core::time::EpochMillis;

use super::pulling::WholeLog;
use super::venues::zone;
use crate::error::ServerError;
use crate::store::{StoreError, TicketFields};

/// A check-in, in that table's columns. All check-ins are there, also those that were taken back
/// or lost a conflict: these columns have no word for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckInLog {
    /// The ticket's id.
    pub reservation_id: String,
    /// The venue's id.
    pub venue_code: String,
    /// When, by the device's trusted clock: RFC 3339, to the ms, with the offset of the venue's
    /// zone; empty for a time that no calendar has.
    pub scan_time: String,
    /// From the reading to the verdict, in ms, rounded: 0 for less than half of one; none if the
    /// record does not say.
    pub duration_ms: Option<u64>,
    /// The holder's age group, as the record has it, else the ticket; empty if neither.
    pub age_group: String,
    /// The channel that the ticket was booked by, likewise.
    pub source: String,
}

/// What is read of a check-in's record.
struct CheckIn {
    at: EpochMillis,
    ticket_id: Option<TicketId>,
    ticket_number: Option<TicketNumber>,
    decision_us: Option<u64>,
    source: String,
    age_group: String,
}

impl WholeLog {
    /// The zone that its times are written in.
    pub async fn zone(&self) -> Result<TimeZone, ServerError> {
        let venue = self.server.venue(&self.keys().venue_id).await?;
        zone(&venue.time_zone)
    }

    /// The rows of a piece of check-ins.
    pub async fn check_in_logs(
        &self,
        piece: &[PulledRecord],
        zone: &TimeZone,
    ) -> Result<Vec<CheckInLog>, ServerError> {
        let check_ins = piece.iter().filter_map(|pulled| read(pulled).transpose());
        let check_ins = check_ins.collect::<Result<Vec<_>, _>>()?;
        let tickets = self.tickets(&check_ins).await?;
        let rows = check_ins.into_iter().map(|check_in| {
            let ticket = self
                .number(&check_in)
                .and_then(|number| tickets.get(&number));
            let of_ticket = |own: String, theirs: fn(&TicketFields) -> &str| match ticket {
                Some(ticket) if own.is_empty() => theirs(ticket).to_owned(),
                _ => own,
            };
            let id = check_in.ticket_id.map(|id| id.to_string());
            CheckInLog {
                reservation_id: of_ticket(id.unwrap_or_default(), |one| one.ticket_id.as_str()),
                venue_code: self.keys().venue_id.to_string(),
                scan_time: local_time(check_in.at, zone),
                duration_ms: check_in.decision_us.map(|us| us.saturating_add(500) / 1000),
                age_group: of_ticket(check_in.age_group, |one| &one.age_group),
                source: of_ticket(check_in.source, |one| &one.source),
            }
        });
        Ok(rows.collect())
    }

    /// The tickets of those check-ins that do not say everything themselves: an unlisted G2 code
    /// knows only its number.
    async fn tickets(
        &self,
        check_ins: &[CheckIn],
    ) -> Result<HashMap<TicketNumber, TicketFields>, ServerError> {
        let wanting = check_ins.iter().filter(|one| {
            one.ticket_id.is_none() || one.source.is_empty() || one.age_group.is_empty()
        });
        let numbers: Vec<_> = wanting.filter_map(|one| self.number(one)).collect();
        let found = self
            .server
            .store
            .tickets(self.keys().number, &numbers)
            .await?;
        let known = numbers.into_iter().zip(found);
        Ok(known
            .filter_map(|(number, found)| Some((number, found?.ticket.fields)))
            .collect())
    }

    fn number(&self, check_in: &CheckIn) -> Option<TicketNumber> {
        let numbering = &self.keys().numbering;
        match &check_in.ticket_id {
            Some(ticket) => Some(numbering.ticket_number(&self.keys().venue_id, ticket)),
            None => check_in.ticket_number,
        }
    }
}

/// Reads a check-in; what takes one back is none. Filing looks at the head alone, so that whatever
/// a device wrote beside it must do.
fn read(pulled: &PulledRecord) -> Result<Option<CheckIn>, ServerError> {
    let damaged = |error| StoreError::Damaged(format!("a check-in: {error}"));
    let text = pulled.record.get();
    let head: RecordHead = serde_json::from_str(text).map_err(damaged)?;
    let members: HashMap<String, &RawValue> = serde_json::from_str(text).map_err(damaged)?;
    let member = |name| members.get(name).copied();
    Ok(head.is_check_in().then(|| CheckIn {
        decision_us: member("decision_us").and_then(sensible),
        source: member("source").and_then(sensible).unwrap_or_default(),
        age_group: member("age_group").and_then(sensible).unwrap_or_default(),
        at: head.at,
        ticket_id: head.ticket_id,
        ticket_number: head.ticket_number,
    }))
}

fn sensible<T: DeserializeOwned>(raw: &RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// RFC 3339, to the ms, with the zone's offset; empty for a time that no calendar has.
pub fn local_time(at: EpochMillis, zone: &TimeZone) -> String {
    let Ok(at) = Timestamp::from_millisecond(at.0) else {
        return String::new();
    };
    let local = at.to_zoned_datetime(zone.clone());
    local.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
}
