//! What a record does beside standing in the log: whom it moves, what it takes back, which gate it
//! holds open. It follows from the record alone, so that a salvaged journal is the one it was.

use rusqlite::{Connection, OptionalExtension, params};

use crate::ids::{RecordId, TicketNumber};
use crate::record::{FreePassageCause, PassageOutcome, Record, What};

/// How far an admission has been carried out, as the column says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CarriedOut {
    /// The gate is not known to have opened.
    Unknown = 0,
    /// The open command has returned.
    Released = 1,
    /// A sensor saw somebody pass.
    Passed = 2,
    /// It was carried out after a crash.
    Resumed = 3,
}

/// Carries a record's effect out, within the transaction that writes it. Returns the ticket that
/// it moved.
pub(super) fn carry_out(
    connection: &Connection,
    log: i64,
    record: &Record,
) -> Result<Option<TicketNumber>, rusqlite::Error> {
    if let Some(taken) = record.takes_back() {
        let (ticket, by_passage) = match &record.what {
            What::Undo(undo) => (undo.ticket_number, false),
            What::Passage(passage) => (passage.ticket_number, true),
            _ => (None, false),
        };
        put_taken_back(connection, taken, ticket, by_passage)?;
    }
    match &record.what {
        What::Passage(passage) => {
            if let (PassageOutcome::Passed, Some(of)) = (passage.outcome, passage.refers_to) {
                mark(connection, of, CarriedOut::Passed)?;
            }
        }
        What::Resume(resume) => mark(connection, resume.refers_to, CarriedOut::Resumed)?,
        What::FreePassage(one) if one.begins => {
            connection
                .prepare_cached("INSERT INTO free_passage (record_id, cause) VALUES (?1, ?2)")?
                .execute(params![record.id.0.as_bytes(), cause_name(one.cause)])?;
        }
        What::FreePassage(one) => {
            if let Some(beginning) = one.refers_to {
                connection
                    .prepare_cached("DELETE FROM free_passage WHERE record_id = ?1")?
                    .execute([beginning.0.as_bytes()])?;
            }
        }
        _ => {}
    }
    let Some(moves) = record.moves() else {
        return Ok(None);
    };
    let day = moves.service_day.as_ref().map_or("", |day| day.as_str());
    connection
        .prepare_cached(
            "INSERT INTO admission (service_day, ticket_number, checkpoint, record_id, gate_id,
                                    is_exit, persons, at, anchored, log, sequence, claim_granted,
                                    waived_already_used, carried_out)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            day,
            moves.ticket_number.as_i64(),
            record.checkpoint.as_str(),
            record.id.0.as_bytes(),
            record.gate_id.as_str(),
            moves.way == crate::admissions::Way::Exit,
            moves.persons,
            record.at.0,
            record.trust.is_anchored(),
            log,
            record.sequence,
            moves.claim_granted,
            moves.waived_already_used,
            CarriedOut::Unknown as i64,
        ])?;
    Ok(Some(moves.ticket_number))
}

/// Notes that a record counts no longer. That a passage was the cause is not forgotten when the
/// feed says the same.
pub(super) fn put_taken_back(
    connection: &Connection,
    taken: RecordId,
    ticket: Option<TicketNumber>,
    by_passage: bool,
) -> Result<(), rusqlite::Error> {
    connection
        .prepare_cached(
            "INSERT INTO taken_back (record_id, ticket_number, by_passage) VALUES (?1, ?2, ?3)
             ON CONFLICT (record_id) DO UPDATE
                SET by_passage = max(by_passage, excluded.by_passage)",
        )?
        .execute(params![
            taken.0.as_bytes(),
            ticket.map(TicketNumber::as_i64),
            by_passage
        ])?;
    Ok(())
}

/// Notes how far an admission has been carried out; never takes a further mark back.
pub(super) fn mark(
    connection: &Connection,
    admission: RecordId,
    mark: CarriedOut,
) -> Result<(), rusqlite::Error> {
    // The place of the row follows from the record, which is found by its id.
    let Some(record) = record_of(connection, admission)? else {
        return Ok(());
    };
    let Some(moves) = record.moves() else {
        return Ok(());
    };
    connection
        .prepare_cached(
            "UPDATE admission SET carried_out = max(carried_out, ?5)
              WHERE service_day = ?1 AND ticket_number = ?2 AND checkpoint = ?3
                AND record_id = ?4",
        )?
        .execute(params![
            moves.service_day.as_ref().map_or("", |day| day.as_str()),
            moves.ticket_number.as_i64(),
            record.checkpoint.as_str(),
            admission.0.as_bytes(),
            mark as i64
        ])?;
    Ok(())
}

/// A record of this journal, if it is there and of a kind that this version knows.
pub(super) fn record_of(
    connection: &Connection,
    id: RecordId,
) -> Result<Option<Record>, rusqlite::Error> {
    let text: Option<String> = connection
        .prepare_cached("SELECT record FROM sync_log WHERE record_id = ?1")?
        .query_row([id.0.as_bytes()], |row| row.get(0))
        .optional()?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

pub(super) fn cause_name(cause: FreePassageCause) -> &'static str {
    match cause {
        FreePassageCause::Emergency => "emergency",
        FreePassageCause::Scheduled => "scheduled",
        FreePassageCause::Staff => "staff",
    }
}

pub(super) fn cause_of(name: &str) -> Option<FreePassageCause> {
    match name {
        "emergency" => Some(FreePassageCause::Emergency),
        "scheduled" => Some(FreePassageCause::Scheduled),
        "staff" => Some(FreePassageCause::Staff),
        _ => None,
    }
}
