//! Table `claims`: who may have an admission, asked before the gate opens and settled by the
//! record that follows.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::admissions::{Way, fold, in_order};
use stile_core::ids::{DeviceId, LogId, RecordId, VenueNumber};
use stile_core::protocol::{CLAIM_LIFE_MS, ClaimAnswer, ClaimRequest, ClaimWinner};
use stile_core::ticket::Reentry;
use stile_core::time::EpochMillis;

use super::columns::{millis, parsed, parsed_if_any, to_i64};
use super::standings::{self, Admission, Movements};
use crate::store::Result;

/// Answers a claim, as before if it was answered before.
pub(super) fn claim(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    request: &ClaimRequest,
    now: EpochMillis,
) -> Result<ClaimAnswer> {
    forget_old(connection, venue, now)?;
    if let Some(answer) = answered(connection, venue, request.scan_id)? {
        return Ok(answer);
    }
    let mut movements = Movements::new(connection, venue)?;
    let facts = movements.facts(request.ticket_number, Some(&request.service_day))?;
    let Some(facts) = facts else {
        // Nobody here knows what it admits, so the gate's own knowledge decides.
        return Ok(ClaimAnswer {
            scan_id: request.scan_id,
            granted: true,
            winner: None,
            remaining: 0,
        });
    };
    let admission = Admission {
        number: request.ticket_number,
        day: facts.day,
        checkpoint: request.checkpoint.clone(),
    };
    void_unwritten(connection, venue, device, &admission, request)?;
    let answer = judge(connection, venue, &admission, request)?;
    keep(connection, venue, device, &admission, request, &answer, now)?;
    Ok(answer)
}

fn judge(
    connection: &Connection,
    venue: VenueNumber,
    admission: &Admission,
    request: &ClaimRequest,
) -> Result<ClaimAnswer> {
    let (admits, reentry) = standings::rule(connection, venue, admission.number)?;
    let mut movements = standings::movements_of(connection, venue, admission)?;
    // Its own record may have come first.
    movements.retain(|movement| movement.record_id != request.scan_id);
    let movements = in_order(reentry, movements);
    let entered = movements
        .iter()
        .rfind(|movement| movement.way == Way::Entry)
        .map(|entry| ClaimWinner {
            gate_id: entry.gate_id.clone(),
            device_id: entry.device_id.clone(),
            at: entry.at,
        });
    let live = live(connection, venue, admission)?;
    let held: u32 = match reentry {
        Reentry::Free => 0,
        Reentry::None | Reentry::AfterExit => live.iter().map(|claim| claim.persons).sum(),
    };
    let free = fold(admits, reentry, movements)
        .remaining
        .saturating_sub(held);
    let persons = u32::from(request.persons);
    let granted = persons <= free;
    let claimed = live.into_iter().next_back().map(|claim| claim.by);
    Ok(ClaimAnswer {
        scan_id: request.scan_id,
        granted,
        winner: (!granted).then(|| entered.or(claimed)).flatten(),
        remaining: if granted { free - persons } else { free },
    })
}

/// A device that asks for a place of its log once more has no record there, and one that asks in
/// another log has begun that since: what it claimed before a crash holds the ticket against nobody.
fn void_unwritten(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    admission: &Admission,
    request: &ClaimRequest,
) -> Result<()> {
    let (venue, number, day, checkpoint) = admission.key(venue);
    connection
        .prepare_cached(
            "UPDATE claims INDEXED BY claims_of_admission SET live = 0
             WHERE venue = ?1 AND number = ?2 AND service_day = ?3 AND checkpoint = ?4 AND live
               AND device_id = ?5 AND (log_id <> ?6 OR sequence >= ?7)",
        )?
        .execute(params![
            venue,
            number,
            day,
            checkpoint,
            device.as_str(),
            request.log_id.0,
            to_i64(request.sequence)?
        ])?;
    Ok(())
}

struct Live {
    persons: u32,
    by: ClaimWinner,
}

/// The claims that hold the admission, oldest first.
fn live(connection: &Connection, venue: VenueNumber, admission: &Admission) -> Result<Vec<Live>> {
    let mut statement = connection.prepare_cached(
        "SELECT persons, gate_id, device_id, at FROM claims INDEXED BY claims_of_admission
         WHERE venue = ?1 AND number = ?2 AND service_day = ?3 AND checkpoint = ?4 AND live
         ORDER BY asked_at",
    )?;
    let live = statement
        .query_map(admission.key(venue), |row| {
            Ok(Live {
                persons: row.get(0)?,
                by: ClaimWinner {
                    gate_id: parsed(row, 1)?,
                    device_id: parsed(row, 2)?,
                    at: millis(row, 3)?,
                },
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(live)
}

fn answered(
    connection: &Connection,
    venue: VenueNumber,
    scan_id: RecordId,
) -> Result<Option<ClaimAnswer>> {
    let answer = connection
        .prepare_cached(
            "SELECT granted, remaining, winner_gate, winner_device, winner_at FROM claims
             WHERE venue = ?1 AND scan_id = ?2",
        )?
        .query_row(params![venue.0, scan_id.0], |row| {
            Ok(ClaimAnswer {
                scan_id,
                granted: row.get(0)?,
                remaining: row.get(1)?,
                winner: winner(row)?,
            })
        });
    Ok(answer.optional()?)
}

fn winner(row: &Row<'_>) -> rusqlite::Result<Option<ClaimWinner>> {
    let Some(gate_id) = parsed_if_any(row, 2)? else {
        return Ok(None);
    };
    Ok(Some(ClaimWinner {
        gate_id,
        device_id: parsed(row, 3)?,
        at: millis(row, 4)?,
    }))
}

fn keep(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    admission: &Admission,
    request: &ClaimRequest,
    answer: &ClaimAnswer,
    now: EpochMillis,
) -> Result<()> {
    let (venue, number, day, checkpoint) = admission.key(venue);
    let winner = answer.winner.as_ref();
    connection
        .prepare_cached(
            "INSERT INTO claims
             (venue, scan_id, number, service_day, checkpoint, persons, gate_id, device_id, log_id,
              sequence, at, asked_at, granted, live, remaining, winner_gate, winner_device,
              winner_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14, ?15, ?16,
                     ?17)",
        )?
        .execute(params![
            venue,
            request.scan_id.0,
            number,
            day,
            checkpoint,
            request.persons,
            request.gate_id.as_str(),
            device.as_str(),
            request.log_id.0,
            to_i64(request.sequence)?,
            request.at.0,
            now.0,
            answer.granted,
            answer.remaining,
            winner.map(|winner| winner.gate_id.as_str()),
            winner.map(|winner| winner.device_id.as_str()),
            winner.map(|winner| winner.at.0)
        ])?;
    Ok(())
}

/// A claim that no record settled is over after its life, and its answer with it.
fn forget_old(connection: &Connection, venue: VenueNumber, now: EpochMillis) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM claims WHERE venue = ?1 AND asked_at <= ?2")?
        .execute([i64::from(venue.0), now.plus(-CLAIM_LIFE_MS).0])?;
    Ok(())
}

/// Whether claims of the device hold an admission.
pub(super) fn any_of(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
) -> Result<bool> {
    let any = connection
        .prepare_cached(
            "SELECT 1 FROM claims INDEXED BY claims_of_device
             WHERE venue = ?1 AND device_id = ?2 AND live LIMIT 1",
        )?
        .exists(params![venue.0, device.as_str()])?;
    Ok(any)
}

/// The record of a scan has come: its claim is settled, however it ended.
pub(super) fn settle(connection: &Connection, venue: VenueNumber, scan_id: RecordId) -> Result<()> {
    connection
        .prepare_cached("UPDATE claims SET live = 0 WHERE venue = ?1 AND scan_id = ?2")?
        .execute(params![venue.0, scan_id.0])?;
    Ok(())
}

/// The device has uploaded its log up to a record of this time: claims from before, whose records
/// did not come, are void; those of earlier logs too, whose records go up before a later log's.
pub(super) fn pass(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    log_id: LogId,
    (sequence, at): (u64, EpochMillis),
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE claims INDEXED BY claims_of_device SET live = 0
             WHERE venue = ?1 AND device_id = ?2 AND live
               AND (log_id = ?3 AND sequence < ?4 OR log_id <> ?3 AND at < ?5)",
        )?
        .execute(params![
            venue.0,
            device.as_str(),
            log_id.0,
            to_i64(sequence)?,
            at.0
        ])?;
    Ok(())
}
