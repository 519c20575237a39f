//! Tables `outbox_reports`, `devices_out_of_use`, `session_finals`: how far devices have reported,
//! and which sessions are final.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use stile_core::admissions::Way;
use stile_core::ids::{DeviceId, SessionId, VenueNumber, Zone};
use stile_core::protocol::{AwaitedDevice, DeviceView, SessionFinality};
use stile_core::ticket::{Gate, Session};
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};

use super::columns::{
    count, list, millis, millis_if_any, number, parsed, seconds, seconds_if_any, to_i64, word,
};
use super::standings::Admission;
use super::{events, gates, sessions};
use crate::finality::{Final, Reach, finality, is_due};
use crate::store::{EventKind, OutboxState, Result, StoreError};

/// What a `session.finalized` event says beside the session's id.
#[derive(Serialize)]
struct Finalized<'a> {
    service_day: &'a ServiceDay,
    admit_until: EpochSeconds,
}

/// Keeps what a device said, and makes the sessions final that it was the last to hold open.
pub(super) fn report(
    connection: &Connection,
    venue: VenueNumber,
    state: &OutboxState,
    now: EpochMillis,
) -> Result<()> {
    let device = state.device_id.as_str();
    let before: Option<i64> = connection
        .prepare_cached(
            "SELECT delivered_through FROM outbox_reports WHERE venue = ?1 AND device_id = ?2",
        )?
        .query_row(params![venue.0, device], |row| row.get(0))
        .optional()?;
    connection
        .prepare_cached(
            "INSERT INTO outbox_reports (venue, device_id, at, delivered_through, outstanding)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET at = excluded.at, outstanding = excluded.outstanding,
                                       delivered_through = excluded.delivered_through",
        )?
        .execute(params![
            venue.0,
            device,
            now.0,
            state.delivered_through.0,
            to_i64(state.outstanding)?
        ])?;
    connection
        .prepare_cached("DELETE FROM devices_out_of_use WHERE venue = ?1 AND device_id = ?2")?
        .execute(params![venue.0, device])?;
    let before = before.map_or(i64::MIN, |before| before.div_euclid(1_000));
    let through = state.delivered_through.0.div_euclid(1_000);
    finalize_between(connection, venue, before, through, now)?;
    Ok(())
}

/// Says that nobody uses a device any more. Says whether there is such a device.
pub(super) fn out_of_use(
    connection: &Connection,
    venue: VenueNumber,
    device: &DeviceId,
    now: EpochMillis,
) -> Result<()> {
    let is_there = connection
        .prepare_cached("SELECT 1 FROM devices WHERE venue = ?1 AND device_id = ?2")?
        .exists(params![venue.0, device.as_str()])?;
    if !is_there {
        return Err(StoreError::Missing("device"));
    }
    connection
        .prepare_cached(
            "INSERT INTO devices_out_of_use (venue, device_id, since) VALUES (?1, ?2, ?3)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![venue.0, device.as_str(), now.0])?;
    finalize(connection, venue, now)?;
    Ok(())
}

/// Makes all sessions final of which nothing more can be missing, and says how many.
pub(super) fn finalize(
    connection: &Connection,
    venue: VenueNumber,
    now: EpochMillis,
) -> Result<u64> {
    finalize_between(connection, venue, i64::MIN, now.seconds().0, now)
}

/// The same, of those that end after one second and not after another.
fn finalize_between(
    connection: &Connection,
    venue: VenueNumber,
    after: i64,
    until: i64,
    now: EpochMillis,
) -> Result<u64> {
    let ended: Vec<SessionId> = connection
        .prepare_cached(
            "SELECT s.session_id FROM sessions s INDEXED BY sessions_by_end
             LEFT JOIN session_finals f USING (venue, session_id)
             WHERE s.venue = ?1 AND s.admit_until > ?2 AND s.admit_until <= ?3
               AND (f.admit_until IS NULL OR f.admit_until < s.admit_until)
             ORDER BY s.admit_until, s.session_id",
        )?
        .query_map(params![venue.0, after, until], |row| parsed(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    if ended.is_empty() {
        return Ok(0);
    }
    let mut made = 0;
    for one in of_sessions(connection, venue, &ended, now)? {
        if is_due(&one.finality, now) {
            make_final(connection, venue, &one, now)?;
            made += 1;
        }
    }
    Ok(made)
}

fn make_final(
    connection: &Connection,
    venue: VenueNumber,
    one: &SessionFinality,
    now: EpochMillis,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO session_finals (venue, session_id, admit_until, finalized_at, generation)
             VALUES (?1, ?2, ?3, ?4, (SELECT generation FROM server))
             ON CONFLICT DO UPDATE SET
                 admit_until = excluded.admit_until, finalized_at = excluded.finalized_at,
                 generation = excluded.generation",
        )?
        .execute(params![
            venue.0,
            one.session_id.as_str(),
            one.finality.admit_until.0,
            now.0
        ])?;
    let detail = Finalized {
        service_day: &one.service_day,
        admit_until: one.finality.admit_until,
    };
    let (kind, thing) = (EventKind::SessionFinalized, one.session_id.as_str());
    events::add(connection, venue, kind, thing, &detail, now)
}

/// How complete these sessions are, by start and id; those that are not there are left out.
pub(super) fn of_sessions(
    connection: &Connection,
    venue: VenueNumber,
    ids: &[SessionId],
    now: EpochMillis,
) -> Result<Vec<SessionFinality>> {
    let mut wanted = Vec::new();
    for id in ids.iter().collect::<BTreeSet<_>>() {
        wanted.extend(sessions::get(connection, venue, id)?);
    }
    wanted.sort_by(|a, b| (a.starts_at, &a.session_id).cmp(&(b.starts_at, &b.session_id)));
    let all = Known::read(connection, venue)?;
    let mut reaches = Reaches::default();
    wanted
        .into_iter()
        .map(|session| {
            let reach = reaches.of(connection, venue, &session)?;
            let known = known_final(connection, venue, &session.session_id)?;
            let finality = finality(&reach, known, &all.gates, &all.devices, now);
            Ok(SessionFinality {
                session_id: session.session_id,
                service_day: session.service_day,
                finality,
            })
        })
        .collect()
}

/// Up to when every record of the venue is here; none while a device that is waited for has never
/// reported.
pub(super) fn complete_through(
    connection: &Connection,
    venue: VenueNumber,
    now: EpochMillis,
) -> Result<Option<EpochMillis>> {
    let devices = devices(connection, venue)?;
    let in_use = devices
        .into_iter()
        .filter(|device| device.out_of_use_since.is_none());
    let mut throughs = in_use.map(|device| device.outbox.delivered_through);
    Ok(throughs.try_fold(now, |all, one| one.map(|one| all.min(one))))
}

/// What finality goes by, of the venue as a whole.
struct Known {
    gates: Vec<Gate>,
    devices: Vec<DeviceView>,
}

impl Known {
    fn read(connection: &Connection, venue: VenueNumber) -> Result<Self> {
        Ok(Self {
            gates: gates::all(connection, venue)?,
            devices: devices(connection, venue)?,
        })
    }
}

/// Where sessions admit, read day by day.
#[derive(Default)]
struct Reaches(HashMap<ServiceDay, HashMap<SessionId, Vec<TheirOwn>>>);

/// What tickets of a session have of their own.
struct TheirOwn {
    zones: Vec<Zone>,
    admit_until: Option<EpochSeconds>,
}

impl Reaches {
    fn of(
        &mut self,
        connection: &Connection,
        venue: VenueNumber,
        session: &Session,
    ) -> Result<Reach> {
        let day = &session.service_day;
        if !self.0.contains_key(day) {
            self.0
                .insert(day.clone(), their_own(connection, venue, day)?);
        }
        let mut reach = Reach::of(session);
        let own = self.0.get(day).and_then(|day| day.get(&session.session_id));
        for own in own.into_iter().flatten() {
            if !own.zones.is_empty() {
                reach.zones.push(own.zones.clone());
            }
            reach.admit_until = own
                .admit_until
                .max(Some(reach.admit_until))
                .unwrap_or(reach.admit_until);
        }
        Ok(reach)
    }
}

fn their_own(
    connection: &Connection,
    venue: VenueNumber,
    day: &ServiceDay,
) -> Result<HashMap<SessionId, Vec<TheirOwn>>> {
    let mut statement = connection.prepare_cached(
        "SELECT session_id, zones, max(admit_until) FROM tickets INDEXED BY tickets_of_their_own
         WHERE venue = ?1 AND service_day = ?2 AND (zones <> '' OR admit_until IS NOT NULL)
         GROUP BY session_id, zones",
    )?;
    let mut rows = statement.query(params![venue.0, day.as_str()])?;
    let mut found: HashMap<SessionId, Vec<TheirOwn>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let own = TheirOwn {
            zones: list(row, 1)?,
            admit_until: seconds_if_any(row, 2)?,
        };
        found.entry(parsed(row, 0)?).or_default().push(own);
    }
    Ok(found)
}

fn known_final(
    connection: &Connection,
    venue: VenueNumber,
    id: &SessionId,
) -> Result<Option<Final>> {
    let known = connection
        .prepare_cached(
            "SELECT admit_until, finalized_at, late FROM session_finals
             WHERE venue = ?1 AND session_id = ?2",
        )?
        .query_row(params![venue.0, id.as_str()], |row| {
            Ok(Final {
                admit_until: seconds(row, 0)?,
                finalized_at: millis(row, 1)?,
                late: count(row, 2)?,
            })
        });
    Ok(known.optional()?)
}

/// The venue's devices with what they last said, by id.
pub(super) fn devices(connection: &Connection, venue: VenueNumber) -> Result<Vec<DeviceView>> {
    let mut statement = connection.prepare_cached(
        "SELECT d.device_id, d.name, d.model, d.gates, d.enrolled_at, r.at, r.delivered_through,
                r.outstanding,
                coalesce(CASE WHEN d.standing <> 'enrolled' THEN d.standing_since END, o.since),
                d.standing, d.standing_since
         FROM devices d
         LEFT JOIN outbox_reports r USING (venue, device_id)
         LEFT JOIN devices_out_of_use o USING (venue, device_id)
         WHERE venue = ?1 ORDER BY device_id",
    )?;
    Ok(statement
        .query_map([venue.0], device)?
        .collect::<rusqlite::Result<_>>()?)
}

fn device(row: &Row<'_>) -> rusqlite::Result<DeviceView> {
    Ok(DeviceView {
        outbox: AwaitedDevice {
            device_id: parsed(row, 0)?,
            name: row.get(1)?,
            reported_at: millis_if_any(row, 5)?,
            delivered_through: millis_if_any(row, 6)?,
            outstanding: row.get::<_, Option<i64>>(7)?.map_or(0, i64::unsigned_abs),
        },
        model: row.get(2)?,
        gates: list(row, 3)?,
        enrolled_at: millis(row, 4)?,
        out_of_use_since: millis_if_any(row, 8)?,
        standing: word(row, 9)?,
        standing_since: millis_if_any(row, 10)?,
    })
}

/// What tells whether a record that is accepted now comes after its session was final.
pub(super) struct Arriving<'r> {
    /// The session that it names.
    pub session: Option<&'r SessionId>,
    /// What it counts to, if it moves people of a ticket.
    pub counts_to: Option<&'r Admission>,
    pub at: EpochMillis,
    pub way: Option<Way>,
    pub takes_back: bool,
}

/// Whether a record comes after its session was final and changes what was counted then: an
/// admission, what takes one back, and whatever was made before the end. Counts it.
pub(super) fn is_late(
    connection: &Connection,
    venue: VenueNumber,
    record: &Arriving<'_>,
) -> Result<bool> {
    let of_ticket = match (record.session, record.counts_to) {
        (None, Some(to)) => session_of(connection, venue, to)?,
        _ => None,
    };
    let Some(session) = record.session.or(of_ticket.as_ref()) else {
        return Ok(false);
    };
    let end = connection
        .prepare_cached(
            "SELECT f.admit_until FROM session_finals f JOIN sessions s USING (venue, session_id)
             WHERE venue = ?1 AND session_id = ?2 AND f.admit_until >= s.admit_until",
        )?
        .query_row(params![venue.0, session.as_str()], |row| {
            number(row, 0, |end| Some(EpochSeconds(end)))
        })
        .optional()?;
    let changes = record.way == Some(Way::Entry) || record.takes_back;
    let is_late = end.is_some_and(|end| changes || record.at < end.millis());
    if is_late {
        connection
            .prepare_cached(
                "UPDATE session_finals SET late = late + 1 WHERE venue = ?1 AND session_id = ?2",
            )?
            .execute(params![venue.0, session.as_str()])?;
    }
    Ok(is_late)
}

/// The session of a ticket, which the code of an unlisted one does not say.
fn session_of(
    connection: &Connection,
    venue: VenueNumber,
    to: &Admission,
) -> Result<Option<SessionId>> {
    let session = connection
        .prepare_cached(
            "SELECT session_id FROM tickets
             WHERE venue = ?1 AND service_day = ?2 AND number = ?3",
        )?
        .query_row(
            params![venue.0, to.day.as_str(), to.number.as_i64()],
            |row| parsed(row, 0),
        );
    Ok(session.optional()?)
}
