//! Tables `admission` and `feed`: what moved people of a ticket past a checkpoint, for the fold.

use rusqlite::{Connection, Row, params};

use super::effects::{CarriedOut, record_of};
use super::{JournalError, MovementsOf, Unfinished, uuid};
use crate::admissions::{Movement, Way};
use crate::ids::{Checkpoint, DeviceId, GateId, LogId, RecordId, TicketNumber};
use crate::time::EpochMillis;

/// The columns of a movement, in the order in which [`read`] takes them.
macro_rules! movement_columns {
    () => {
        "record_id, gate_id, is_exit, persons, at, anchored, claim_granted,
         waived_already_used, sequence, log_id"
    };
}

const OWN: &str = concat!(
    "SELECT ",
    movement_columns!(),
    ", NULL FROM admission JOIN log USING (log)
      WHERE service_day = ?1 AND ticket_number = ?2 AND checkpoint = ?3
        AND at >= ?4 AND at < ?5
        AND record_id NOT IN (SELECT record_id FROM taken_back)"
);

const FED: &str = concat!(
    "SELECT ",
    movement_columns!(),
    ", device_id FROM feed
      WHERE service_day = ?1 AND ticket_number = ?2 AND checkpoint = ?3
        AND at >= ?4 AND at < ?5
        AND record_id NOT IN (SELECT record_id FROM taken_back)"
);

/// Own admissions of a ticket, then those of the feed.
pub(super) fn of(
    connection: &Connection,
    asked: &MovementsOf<'_>,
) -> Result<Vec<Movement>, JournalError> {
    let always = (EpochMillis(i64::MIN), EpochMillis(i64::MAX));
    let mut movements = Vec::new();
    let mut take = |sql: &str, day: &str, (from, until): (EpochMillis, EpochMillis)| {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![
            day,
            asked.ticket.as_i64(),
            asked.checkpoint.as_str(),
            from.0,
            until.0
        ])?;
        while let Some(row) = rows.next()? {
            movements.push(read(row, asked.device)?);
        }
        Ok::<_, JournalError>(())
    };
    take(OWN, "", asked.undated)?;
    for day in asked.days {
        take(OWN, day.as_str(), always)?;
        take(FED, day.as_str(), always)?;
    }
    Ok(movements)
}

fn read(row: &Row<'_>, own: &DeviceId) -> Result<Movement, JournalError> {
    let device: Option<String> = row.get(10)?;
    let device_id = match device {
        None => own.clone(),
        Some(device) => DeviceId::new(device).map_err(|_| JournalError::Foreign("device"))?,
    };
    Ok(Movement {
        record_id: RecordId(uuid(row.get(0)?)),
        gate_id: GateId::new(row.get::<_, String>(1)?)
            .map_err(|_| JournalError::Foreign("gate"))?,
        way: if row.get(2)? { Way::Exit } else { Way::Entry },
        persons: row.get(3)?,
        at: EpochMillis(row.get(4)?),
        anchored: row.get(5)?,
        claim_granted: row.get(6)?,
        waived_already_used: row.get(7)?,
        sequence: row.get(8)?,
        log_id: LogId(uuid(row.get(9)?)),
        device_id,
    })
}

/// Whether a sensor saw somebody pass on an admission.
pub(super) fn has_passed(
    connection: &Connection,
    admission: RecordId,
) -> Result<bool, JournalError> {
    let Some(record) = record_of(connection, admission)? else {
        return Ok(false);
    };
    let Some(moves) = record.moves() else {
        return Ok(false);
    };
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM admission
          WHERE service_day = ?1 AND ticket_number = ?2 AND checkpoint = ?3 AND record_id = ?4
            AND carried_out = ?5",
    )?;
    Ok(statement.exists(params![
        moves.service_day.as_ref().map_or("", |day| day.as_str()),
        moves.ticket_number.as_i64(),
        record.checkpoint.as_str(),
        admission.0.as_bytes(),
        CarriedOut::Passed as i64,
    ])?)
}

/// Check-ins since a time for which the gate is not known to have opened.
pub(super) fn unfinished(
    connection: &Connection,
    since: EpochMillis,
) -> Result<Vec<Unfinished>, JournalError> {
    let mut statement = connection.prepare(
        "SELECT record_id, ticket_number, checkpoint, at, persons FROM admission
          WHERE carried_out = ?1 AND is_exit = 0 AND at >= ?2
            AND record_id NOT IN (SELECT record_id FROM taken_back)",
    )?;
    let mut rows = statement.query(params![CarriedOut::Unknown as i64, since.0])?;
    let mut unfinished = Vec::new();
    while let Some(row) = rows.next()? {
        unfinished.push(Unfinished {
            record_id: RecordId(uuid(row.get(0)?)),
            ticket: TicketNumber::from_i64(row.get(1)?)
                .ok_or(JournalError::Foreign("ticket number"))?,
            checkpoint: Checkpoint::new(row.get::<_, String>(2)?)
                .map_err(|_| JournalError::Foreign("checkpoint"))?,
            at: EpochMillis(row.get(3)?),
            persons: row.get(4)?,
        });
    }
    Ok(unfinished)
}
