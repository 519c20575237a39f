//! Table `staged_tickets`: sets of tickets that are kept aside until they are applied whole.

use rusqlite::{CachedStatement, Connection, params};
use stile_core::ids::{TicketId, TicketNumber, VenueNumber};
use stile_core::time::{EpochMillis, ServiceDay};
use uuid::Uuid;

use super::columns::{count, json, parsed, to_i64};
use super::lists::Versions;
use super::tickets::{Judge, Judged, Upsert};
use super::{alarms, erasure};
use crate::store::{
    Change, Result, SET_REFUSALS_NAMED, SetCounts, SetId, SetLines, SetOutcome, StoreError,
    TicketUpsert, Upserted, VanishCounts, VanishRule,
};

/// Lines after which what follows from them is done: bounds what is remembered for it.
const SETTLED_LINES: u64 = 1_000;

/// Adds lines, those that cannot be taken by the names of their tickets alone.
pub(super) fn stage(
    connection: &Connection,
    venue: VenueNumber,
    set: SetId,
    day: Option<&ServiceDay>,
    lines: &SetLines,
    now: EpochMillis,
) -> Result<Vec<Upserted>> {
    let mut judge = Judge::new(connection, venue, now);
    let mut staging = Staging::begin(connection, venue, set)?;
    for number in &lines.named {
        staging.name(*number)?;
    }
    let mut outcomes = Vec::with_capacity(lines.lines.len());
    for (line, ticket) in &lines.lines {
        let ticket = &erasure::one_without_erased(connection, venue, ticket.clone())?;
        let outcome = match judge.line(ticket, day)? {
            Judged::Refused(outcome) => outcome,
            Judged::New(_) => staging.put(*line, ticket, Change::Created)?,
            Judged::Same => staging.put(*line, ticket, Change::Unchanged)?,
            Judged::Differs { .. } => staging.put(*line, ticket, Change::Changed)?,
        };
        if !matches!(outcome, Upserted::Put(_)) {
            staging.name(ticket.number)?;
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

struct Staging<'c> {
    venue: VenueNumber,
    upload: Uuid,
    put: CachedStatement<'c>,
    version: CachedStatement<'c>,
    name: CachedStatement<'c>,
}

impl<'c> Staging<'c> {
    fn begin(connection: &'c Connection, venue: VenueNumber, set: SetId) -> Result<Self> {
        Ok(Self {
            venue,
            upload: set.0,
            put: connection.prepare_cached(
                "INSERT INTO staged_tickets (venue, upload, number, line, source_version, ticket)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT DO UPDATE
                 SET line = excluded.line, ticket = excluded.ticket,
                     source_version = coalesce(excluded.source_version, source_version)
                 WHERE source_version IS NULL OR excluded.source_version IS NULL
                    OR excluded.source_version >= source_version",
            )?,
            version: connection.prepare_cached(
                "SELECT source_version FROM staged_tickets
                 WHERE venue = ?1 AND upload = ?2 AND number = ?3",
            )?,
            name: connection.prepare_cached(
                "INSERT INTO staged_tickets (venue, upload, number, line)
                 VALUES (?1, ?2, ?3, 0) ON CONFLICT DO NOTHING",
            )?,
        })
    }

    /// Keeps a line in place of its ticket's earlier one, unless that has a higher version.
    fn put(&mut self, line: u64, ticket: &TicketUpsert, change: Change) -> Result<Upserted> {
        let number = ticket.number.as_i64();
        let source_version = ticket.fields.source_version;
        let text = serde_json::to_string(ticket)
            .map_err(|error| StoreError::Fault(format!("a staged ticket: {error}")))?;
        let kept = self.put.execute(params![
            self.venue.0,
            self.upload,
            number,
            i64::try_from(line).unwrap_or(i64::MAX),
            source_version,
            text
        ])?;
        if kept > 0 {
            return Ok(Upserted::Put(change));
        }
        let key = params![self.venue.0, self.upload, number];
        let earlier = self.version.query_row(key, |row| row.get(0))?;
        Ok(Upserted::Outdated(earlier))
    }

    /// Notes that a ticket is in the set.
    fn name(&mut self, number: TicketNumber) -> Result<()> {
        let key = params![self.venue.0, self.upload, number.as_i64()];
        self.name.execute(key)?;
        Ok(())
    }
}

/// What a set would do; changes nothing.
pub(super) fn plan(
    connection: &Connection,
    venue: VenueNumber,
    set: SetId,
    rule: Option<&VanishRule>,
    now: EpochMillis,
) -> Result<SetCounts> {
    let mut counts = SetCounts {
        vanish: vanish_counts(connection, venue, set, rule)?,
        ..SetCounts::default()
    };
    let mut judge = Judge::new(connection, venue, now);
    let day = rule.map(|rule| &rule.day);
    each_line(connection, venue, set, |line, ticket| {
        let outcome = match judge.line(ticket, day)? {
            Judged::Refused(outcome) => outcome,
            Judged::New(_) => Upserted::Put(Change::Created),
            Judged::Same => Upserted::Put(Change::Unchanged),
            Judged::Differs { .. } => Upserted::Put(Change::Changed),
        };
        add(&mut counts, line, outcome);
        Ok(())
    })?;
    Ok(counts)
}

/// Puts a set's lines, and does away with what a day's whole set leaves out; or nothing of it.
pub(super) fn apply(
    connection: &Connection,
    venue: VenueNumber,
    set: SetId,
    rule: Option<&VanishRule>,
    now: EpochMillis,
) -> Result<SetOutcome> {
    let vanish = vanish_counts(connection, venue, set, rule)?;
    if let (Some(rule), Some(vanish)) = (rule, vanish)
        && !rule.withheld
        && vanish.vanishing > rule.allowed(&vanish)
    {
        return Ok(SetOutcome::TooManyVanish(vanish));
    }
    let mut counts = SetCounts {
        vanish,
        ..SetCounts::default()
    };
    let mut upsert = Upsert::new(connection, venue, now);
    let (day, mut since_settled) = (rule.map(|rule| &rule.day), 0);
    each_line(connection, venue, set, |line, ticket| {
        let outcome = upsert.line(ticket, day)?;
        add(&mut counts, line, outcome);
        since_settled += 1;
        if since_settled == SETTLED_LINES {
            since_settled = 0;
            upsert.settle()?;
        }
        Ok(())
    })?;
    upsert.settle()?;
    if let (Some(rule), Some(vanish)) = (rule, vanish)
        && !rule.withheld
        && vanish.vanishing > 0
    {
        delete(connection, venue, set, &rule.day, upsert.versions(), now)?;
    }
    alarms::note_feed(connection, venue, now)?;
    Ok(SetOutcome::Applied(counts))
}

fn add(counts: &mut SetCounts, line: u64, outcome: Upserted) {
    match outcome {
        Upserted::Put(Change::Created) => counts.created += 1,
        Upserted::Put(Change::Changed) => counts.changed += 1,
        Upserted::Put(Change::Unchanged) => counts.unchanged += 1,
        refused => {
            counts.refused_count += 1;
            if counts.refused.len() < SET_REFUSALS_NAMED {
                counts.refused.push((line, refused));
            }
        }
    }
}

/// Goes through the lines of a set in the order of their tickets' numbers, which is the lists'.
pub(super) fn each_line(
    connection: &Connection,
    venue: VenueNumber,
    set: SetId,
    mut take: impl FnMut(u64, &TicketUpsert) -> Result<()>,
) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT line, ticket FROM staged_tickets
         WHERE venue = ?1 AND upload = ?2 AND ticket IS NOT NULL ORDER BY number",
    )?;
    let mut rows = statement.query(params![venue.0, set.0])?;
    while let Some(row) = rows.next()? {
        // Also of holders who were erased since the line came.
        let ticket = erasure::one_without_erased(connection, venue, json(row, 1)?)?;
        take(count(row, 0)?, &ticket)?;
    }
    Ok(())
}

// The day's tickets that a whole set is about. What is cancelled or blocked opens no gate either,
// and says more than that it is not there.
macro_rules! of_day {
    () => {
        "t.venue = ?1 AND t.service_day = ?2 AND t.standing = 'live'
         AND t.status IN ('valid', 'pending')"
    };
}

macro_rules! named {
    () => {
        "EXISTS (SELECT 1 FROM staged_tickets s
                 WHERE s.venue = t.venue AND s.upload = ?3 AND s.number = t.number)"
    };
}

macro_rules! admitted {
    () => {
        "EXISTS (SELECT 1 FROM movements m JOIN records r ON r.place = m.place
                 WHERE m.venue = t.venue AND m.number = t.number
                   AND m.service_day = t.service_day AND NOT r.taken_back)"
    };
}

fn vanish_counts(
    connection: &Connection,
    venue: VenueNumber,
    set: SetId,
    rule: Option<&VanishRule>,
) -> Result<Option<VanishCounts>> {
    let count_of_day = |rule: &VanishRule| {
        let mut statement = connection.prepare_cached(concat!(
            "SELECT count(*), count(*) FILTER (WHERE NOT named AND NOT admitted),
                    count(*) FILTER (WHERE NOT named AND admitted)
             FROM (SELECT ",
            named!(),
            " AS named, ",
            admitted!(),
            " AS admitted FROM tickets t WHERE ",
            of_day!(),
            ")"
        ))?;
        let key = params![venue.0, rule.day.as_str(), set.0];
        let counts = statement.query_row(key, |row| {
            Ok(VanishCounts {
                of: count(row, 0)?,
                vanishing: count(row, 1)?,
                admitted: count(row, 2)?,
            })
        });
        Ok(counts?)
    };
    rule.map(count_of_day).transpose()
}

/// How many of the day's tickets are not in the set, and the first of them.
pub(super) fn not_named(
    connection: &Connection,
    venue: VenueNumber,
    set: SetId,
    day: &ServiceDay,
    limit: usize,
) -> Result<(u64, Vec<TicketId>)> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT t.ticket_id FROM tickets t WHERE ",
        of_day!(),
        " AND NOT ",
        named!(),
        " ORDER BY t.number"
    ))?;
    let mut rows = statement.query(params![venue.0, day.as_str(), set.0])?;
    let (mut all, mut first) = (0, Vec::new());
    while let Some(row) = rows.next()? {
        all += 1;
        if first.len() < limit {
            first.push(parsed(row, 0)?);
        }
    }
    Ok((all, first))
}

/// Makes tombstones of the day's tickets that are not in the set.
fn delete(
    connection: &Connection,
    venue: VenueNumber,
    set: SetId,
    day: &ServiceDay,
    versions: &mut Versions<'_>,
    now: EpochMillis,
) -> Result<()> {
    let version = to_i64(versions.next(day)?)?;
    connection
        .prepare_cached(concat!(
            "UPDATE tickets AS t SET standing = 'deleted', version = ?4, cancelled_at = ?5 WHERE ",
            of_day!(),
            " AND NOT ",
            named!(),
            " AND NOT ",
            admitted!()
        ))?
        .execute(params![venue.0, day.as_str(), set.0, version, now.0])?;
    Ok(())
}

pub(super) fn drop_set(connection: &Connection, venue: VenueNumber, set: SetId) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM staged_tickets WHERE venue = ?1 AND upload = ?2")?
        .execute(params![venue.0, set.0])?;
    Ok(())
}

/// Forgets the sets that were begun before; says of how many lines.
pub(super) fn forget(connection: &Connection, begun_before: EpochMillis) -> Result<u64> {
    let before = SetId::at(begun_before, [0; 10]);
    let forgotten =
        connection.execute("DELETE FROM staged_tickets WHERE upload < ?1", [before.0])?;
    Ok(forgotten as u64)
}
