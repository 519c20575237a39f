//! Table `reconciliations`: sets that the booking system stated of a day's tickets, what differed,
//! and looks at what became of them.

use data_encoding::HEXLOWER;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use stile_core::ids::VenueNumber;
use stile_core::protocol::DIFFERING_NAMED;
use stile_core::ticket::Standing;
use stile_core::time::{EpochMillis, ServiceDay};

use super::columns::{count, json, millis, parsed, to_i64, word};
use super::staged_tickets::{each_line, not_named};
use super::tickets::{Judge, Judged};
use super::words::Word;
use crate::store::{
    DayReconciliation, Differences, DifferingTickets, NewReconciliation, Reconciliation,
    ReconciliationForm, ReconciliationQuery, ReconciliationState, Result, SetId, StoreError,
    Upserted,
};

/// Reconciliations that are kept of a venue: years of one a night. Counted, since a clock may be
/// wrong.
const KEPT: i64 = 10_000;

macro_rules! reconciliation_where {
    ($rest:literal) => {
        concat!(
            "SELECT reconciliation, service_day, at, form, stated, held, sha256, differences
             FROM reconciliations WHERE venue = ?1 AND ",
            $rest
        )
    };
}

/// What the column `differences` holds.
#[derive(Serialize, Deserialize)]
struct Found {
    #[serde(flatten)]
    differences: Differences,
    equal: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed_since: Option<u64>,
}

/// Says what differs between a set that was kept aside and what is here; changes nothing.
pub(super) fn compare(
    connection: &Connection,
    venue: VenueNumber,
    set: SetId,
    day: &ServiceDay,
    now: EpochMillis,
) -> Result<(Differences, DifferingTickets)> {
    let (mut counts, mut named) = (Differences::default(), DifferingTickets::default());
    let mut judge = Judge::new(connection, venue, now);
    each_line(connection, venue, set, |_, line| {
        let differs = |count: &mut u64, tickets: &mut Vec<_>| {
            *count += 1;
            if tickets.len() < DIFFERING_NAMED {
                tickets.push(line.fields.ticket_id.clone());
            }
        };
        let (old, row) = match judge.line(line, Some(day))? {
            Judged::Same => return Ok(()),
            // Another ticket has its number here.
            Judged::New(_) | Judged::Refused(Upserted::NumberTaken) => {
                counts.tickets += 1;
                differs(&mut counts.missing_here, &mut named.missing_here);
                return Ok(());
            }
            Judged::Refused(_) => {
                counts.refused += 1;
                return Ok(());
            }
            Judged::Differs { old, row, .. } => (old, row),
        };
        counts.tickets += 1;
        if old.row.standing != Standing::Live {
            differs(&mut counts.missing_here, &mut named.missing_here);
            return Ok(());
        }
        let (was, is) = (&old.row.fields, &row.fields);
        if (old.row.status, old.row.cancel_cause) != (row.status, row.cancel_cause) {
            differs(&mut counts.status, &mut named.status);
        }
        if was.session_id != is.session_id {
            differs(&mut counts.session, &mut named.session);
        }
        if was.admits != is.admits {
            differs(&mut counts.admits, &mut named.admits);
        }
        let mut rest = is.clone();
        rest.session_id = was.session_id.clone();
        rest.admits = was.admits;
        if rest != *was {
            differs(&mut counts.other, &mut named.other);
        }
        Ok(())
    })?;
    (counts.unknown_there, named.unknown_there) =
        not_named(connection, venue, set, day, DIFFERING_NAMED)?;
    counts.tickets += counts.unknown_there;
    Ok((counts, named))
}

/// Keeps a set that was stated.
pub(super) fn keep(
    connection: &Connection,
    venue: VenueNumber,
    new: &NewReconciliation,
    now: EpochMillis,
) -> Result<Reconciliation> {
    let found = Found {
        differences: new.differences,
        equal: new.differences.none(),
        changed_since: None,
    };
    insert(connection, venue, new, &found, now)
}

/// Keeps a look at what became of the set that was last stated of a day, with the count and digest
/// that are stated now, if they are. Nothing of a nightly look where no set was stated, or where
/// one was taken already.
pub(super) fn look(
    connection: &Connection,
    venue: VenueNumber,
    day: &ServiceDay,
    stated: Option<(u64, [u8; 32])>,
    now: EpochMillis,
) -> Result<Option<Reconciliation>> {
    let known = of_day(connection, venue, day)?;
    let (form, tickets, sha256) = match (stated, &known.last) {
        (Some((tickets, sha256)), _) => (ReconciliationForm::Digest, tickets, Some(sha256)),
        (None, Some(last)) if !known.looked => (ReconciliationForm::Nightly, last.stated, None),
        (None, _) => return Ok(None),
    };
    let mut found = Found {
        differences: Differences::default(),
        equal: false,
        changed_since: None,
    };
    if let Some(last) = &known.last {
        let is_that = sha256.is_none_or(|sha256| {
            last.stated == tickets && last.sha256.as_ref() == Some(&HEXLOWER.encode(&sha256))
        });
        let changed = changed_since(connection, venue, day, last)?;
        found.differences = last.differences;
        found.equal = is_that && last.differences.none() && changed == 0;
        found.changed_since = Some(changed);
    }
    let new = NewReconciliation {
        service_day: day.clone(),
        form,
        stated: tickets,
        sha256,
        differences: found.differences,
    };
    insert(connection, venue, &new, &found, now).map(Some)
}

/// How many tickets of a day were changed since a reconciliation.
fn changed_since(
    connection: &Connection,
    venue: VenueNumber,
    day: &ServiceDay,
    last: &Reconciliation,
) -> Result<u64> {
    let id = to_i64(last.reconciliation_id)?;
    let changed = connection
        .prepare_cached(
            "SELECT count(*) FROM tickets
             WHERE venue = ?1 AND service_day = ?2
               AND version > (SELECT tickets_version FROM reconciliations
                              WHERE venue = ?1 AND reconciliation = ?3)",
        )?
        .query_row(params![venue.0, day.as_str(), id], |row| count(row, 0))?;
    Ok(changed)
}

fn insert(
    connection: &Connection,
    venue: VenueNumber,
    new: &NewReconciliation,
    found: &Found,
    now: EpochMillis,
) -> Result<Reconciliation> {
    let found =
        serde_json::to_string(found).map_err(|error| StoreError::Fault(error.to_string()))?;
    let kept = connection
        .prepare_cached(
            "INSERT INTO reconciliations (venue, reconciliation, service_day, at, form, stated,
                                          sha256, differences, held, tickets_version)
             SELECT ?1,
                    (SELECT coalesce(max(reconciliation), 0) + 1 FROM reconciliations
                     WHERE venue = ?1),
                    ?2, ?3, ?4, ?5, ?6, ?7,
                    count(*) FILTER (WHERE standing = 'live' AND status IN ('valid', 'pending')),
                    coalesce(max(version), 0)
             FROM tickets WHERE venue = ?1 AND service_day = ?2
             RETURNING reconciliation, service_day, at, form, stated, held, sha256, differences",
        )?
        .query_row(
            params![
                venue.0,
                new.service_day.as_str(),
                now.0,
                new.form.word(),
                to_i64(new.stated)?,
                new.sha256,
                found
            ],
            reconciliation,
        )?;
    connection
        .prepare_cached("DELETE FROM reconciliations WHERE venue = ?1 AND reconciliation <= ?2")?
        .execute(params![venue.0, to_i64(kept.reconciliation_id)? - KEPT])?;
    Ok(kept)
}

/// What was last stated of a day, and whether the evening's look was taken.
pub(super) fn of_day(
    connection: &Connection,
    venue: VenueNumber,
    day: &ServiceDay,
) -> Result<DayReconciliation> {
    let last = connection
        .prepare_cached(reconciliation_where!(
            "service_day = ?2 AND form IN ('set', 'put_day') ORDER BY reconciliation DESC LIMIT 1"
        ))?
        .query_row(params![venue.0, day.as_str()], reconciliation)
        .optional()?;
    let looked = connection
        .prepare_cached(reconciliation_where!(
            "service_day = ?2 AND form = 'nightly'"
        ))?
        .exists(params![venue.0, day.as_str()])?;
    Ok(DayReconciliation { last, looked })
}

/// Whether the booking system states its sets, and when it last did.
pub(super) fn state(connection: &Connection, venue: VenueNumber) -> Result<ReconciliationState> {
    let reconciles = connection
        .prepare_cached(reconciliation_where!("form IN ('set', 'digest')"))?
        .exists([venue.0])?;
    let last = connection
        .prepare_cached(reconciliation_where!(
            "(form IN ('set', 'put_day') OR (form = 'digest' AND differences ->> '$.equal'))
             ORDER BY reconciliation DESC LIMIT 1"
        ))?
        .query_row([venue.0], reconciliation)
        .optional()?;
    Ok(ReconciliationState {
        reconciles,
        last_at: last.map(|last| last.at),
    })
}

/// A venue's reconciliations, the newest first.
pub(super) fn page(
    connection: &Connection,
    venue: VenueNumber,
    query: &ReconciliationQuery,
) -> Result<Vec<Reconciliation>> {
    let before = query.before.map_or(Ok(i64::MAX), to_i64)?;
    let day = query.service_day.as_ref().map(ServiceDay::as_str);
    let mut statement = connection.prepare_cached(reconciliation_where!(
        "reconciliation < ?2 AND service_day = coalesce(?3, service_day)
         ORDER BY reconciliation DESC LIMIT ?4"
    ))?;
    let reconciliations = statement
        .query_map(params![venue.0, before, day, query.limit], reconciliation)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(reconciliations)
}

fn reconciliation(row: &Row<'_>) -> rusqlite::Result<Reconciliation> {
    let found: Found = json(row, 7)?;
    let sha256: Option<[u8; 32]> = row.get(6)?;
    Ok(Reconciliation {
        reconciliation_id: count(row, 0)?,
        service_day: parsed(row, 1)?,
        at: millis(row, 2)?,
        form: word(row, 3)?,
        equal: found.equal,
        stated: count(row, 4)?,
        held: count(row, 5)?,
        sha256: sha256.map(|digest| HEXLOWER.encode(&digest)),
        differences: found.differences,
        changed_since: found.changed_since,
    })
}
