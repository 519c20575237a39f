//! The sync loop's half of the admissions feed: items go in beside own admissions, and a day's go
//! with its list.

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::effects::put_taken_back;
use super::sync_log::put_fact;
use super::{JournalError, SyncLog, uuid};
use crate::ids::{DeviceId, GateId, LogId, RecordId, TicketNumber};
use crate::protocol::{FeedAnswer, FeedItem, FeedKind};
use crate::time::{EpochMillis, ServiceDay};

/// How far the feed was read.
const CURSOR: &str = "feed_cursor";
/// Items that go in at once: a scan that comes meanwhile waits for no more than these.
const CHUNK: usize = 500;
/// Rows of a day that is over that go at once, for the same reason.
const DROP_CHUNK: usize = 1_000;

/// An admission of this device that the server has as a loser: the ticket was admitted for more
/// persons than it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownConflict {
    /// The admission's record.
    pub record_id: RecordId,
    /// Its ticket.
    pub ticket_number: TicketNumber,
    /// The day that it counts to.
    pub service_day: ServiceDay,
    /// Where.
    pub gate_id: GateId,
    /// When.
    pub at: EpochMillis,
    /// Persons.
    pub persons: u8,
}

impl SyncLog {
    /// Where the next piece of the feed starts; none before the first.
    pub fn feed_cursor(&self) -> Result<Option<String>, JournalError> {
        self.fact(CURSOR)
    }

    /// Takes a piece of the feed. The cursor moves with the last of its items and never before
    /// them, and an item that comes again changes nothing. Not waited for: what a power cut loses
    /// comes again, since the cursor is lost with it.
    ///
    /// Returns the log of each entry and exit of this device, new by the feed, that is further in
    /// its log than the journal, or in a log that the journal does not know.
    pub fn take_feed(
        &mut self,
        answer: &FeedAnswer,
        device: &DeviceId,
    ) -> Result<Vec<LogId>, JournalError> {
        let mut lacking = Vec::new();
        let mut chunks = answer.items.chunks(CHUNK).peekable();
        loop {
            let chunk = chunks.next().unwrap_or_default();
            let _turn = self.turn.take();
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            for item in chunk {
                let is_own = item.device_id == *device && item.kind != FeedKind::Undo;
                if is_own && is_lacking(&transaction, item)? {
                    lacking.push(item.log_id);
                }
                put_item(&transaction, item)?;
            }
            let is_last = chunks.peek().is_none();
            if is_last {
                put_fact(&transaction, CURSOR, &answer.cursor)?;
            }
            transaction.commit()?;
            if is_last {
                return Ok(lacking);
            }
        }
    }

    /// Admissions of this device that the server has as losers, the newest first; undone ones are
    /// none any more.
    pub fn conflicts(&self, device: &DeviceId) -> Result<Vec<KnownConflict>, JournalError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT record_id, ticket_number, service_day, gate_id, at, persons FROM feed
              WHERE loses = 1 AND device_id = ?1
                AND record_id NOT IN (SELECT record_id FROM taken_back)
              ORDER BY at DESC, record_id",
        )?;
        let mut rows = statement.query([device.as_str()])?;
        let mut conflicts = Vec::new();
        while let Some(row) = rows.next()? {
            conflicts.push(KnownConflict {
                record_id: RecordId(uuid(row.get(0)?)),
                ticket_number: TicketNumber::from_i64(row.get(1)?)
                    .ok_or(JournalError::Foreign("ticket number"))?,
                service_day: ServiceDay::new(row.get::<_, String>(2)?)
                    .map_err(|_| JournalError::Foreign("service day"))?,
                gate_id: GateId::new(row.get::<_, String>(3)?)
                    .map_err(|_| JournalError::Foreign("gate"))?,
                at: EpochMillis(row.get(4)?),
                persons: row.get(5)?,
            });
        }
        Ok(conflicts)
    }

    /// Keeps how many passages were counted while the gate stands open for everybody.
    pub fn keep_passages(
        &mut self,
        beginning: RecordId,
        passages: u64,
    ) -> Result<(), JournalError> {
        let _turn = self.turn.take();
        self.connection
            .prepare_cached("UPDATE free_passage SET passages = ?2 WHERE record_id = ?1")?
            .execute(params![beginning.0.as_bytes(), passages])?;
        Ok(())
    }

    /// Drops the feed of every day that is not among those kept.
    pub fn drop_feed_except(&mut self, kept: &[ServiceDay]) -> Result<(), JournalError> {
        for day in self.fed_days()? {
            if kept.iter().any(|kept| kept.as_str() == day) {
                continue;
            }
            while self.drop_some(&day)? == DROP_CHUNK {}
        }
        Ok(())
    }

    /// Drops the feed of a day.
    pub fn drop_feed_of(&mut self, day: &ServiceDay) -> Result<(), JournalError> {
        while self.drop_some(day.as_str())? == DROP_CHUNK {}
        Ok(())
    }

    fn fed_days(&self) -> Result<Vec<String>, JournalError> {
        // From day to day by the key, instead of over every row.
        let mut statement = self
            .connection
            .prepare_cached("SELECT min(service_day) FROM feed WHERE service_day > ?1")?;
        let mut days: Vec<String> = Vec::new();
        loop {
            let after = days.last().map_or("", String::as_str);
            match statement.query_row([after], |row| row.get(0))? {
                Some(day) => days.push(day),
                None => return Ok(days),
            }
        }
    }

    fn drop_some(&mut self, day: &str) -> Result<usize, JournalError> {
        let _turn = self.turn.take();
        Ok(self
            .connection
            .prepare_cached(
                "DELETE FROM feed WHERE service_day = ?1
                    AND (ticket_number, checkpoint, record_id) IN (
                        SELECT ticket_number, checkpoint, record_id FROM feed
                         WHERE service_day = ?1 LIMIT ?2)",
            )?
            .execute(params![day, DROP_CHUNK as i64])?)
    }
}

/// Whether an item of this device is neither in its journal nor known by the feed before.
fn is_lacking(connection: &Connection, item: &FeedItem) -> Result<bool, JournalError> {
    // Of a log, the last records are here as long as any of it are.
    let last: Option<u64> = connection
        .prepare_cached(
            "SELECT max(sequence) FROM sync_log
              WHERE log = (SELECT log FROM log WHERE log_id = ?1)",
        )?
        .query_row([item.log_id.0.as_bytes()], |row| row.get(0))?;
    if last.is_some_and(|last| item.sequence <= last) {
        return Ok(false);
    }
    let known: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM feed
              WHERE service_day = ?1 AND ticket_number = ?2 AND checkpoint = ?3
                AND record_id = ?4)",
        )?
        .query_row(
            params![
                item.service_day.as_str(),
                item.ticket_number.as_i64(),
                item.checkpoint.as_str(),
                item.record_id.0.as_bytes(),
            ],
            |row| row.get(0),
        )?;
    Ok(!known)
}

fn put_item(transaction: &Transaction<'_>, item: &FeedItem) -> Result<(), JournalError> {
    match item.kind {
        FeedKind::Undo => {
            if let Some(taken) = item.refers_to {
                put_taken_back(transaction, taken, Some(item.ticket_number), false)?;
            }
            Ok(())
        }
        FeedKind::Entry => put_movement(transaction, item, false),
        FeedKind::Exit => put_movement(transaction, item, true),
    }
}

fn put_movement(
    connection: &Connection,
    item: &FeedItem,
    is_exit: bool,
) -> Result<(), JournalError> {
    // The same item again may say that it loses now, or no longer.
    connection
        .prepare_cached(
            "INSERT INTO feed (service_day, ticket_number, checkpoint, record_id, gate_id,
                               device_id, log_id, sequence, is_exit, persons, at, anchored,
                               claim_granted, waived_already_used, loses)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
             ON CONFLICT DO UPDATE SET loses = excluded.loses",
        )?
        .execute(params![
            item.service_day.as_str(),
            item.ticket_number.as_i64(),
            item.checkpoint.as_str(),
            item.record_id.0.as_bytes(),
            item.gate_id.as_str(),
            item.device_id.as_str(),
            item.log_id.0.as_bytes(),
            item.sequence,
            is_exit,
            item.persons,
            item.at.0,
            item.anchored,
            item.claim_granted,
            item.waived_already_used,
            item.loses,
        ])?;
    Ok(())
}
