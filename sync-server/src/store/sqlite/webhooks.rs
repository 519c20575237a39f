//! Table `webhooks`: what each is, how far it has come, and whose turn at it is.

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use stile_core::ids::VenueNumber;
use stile_core::time::EpochMillis;

use super::columns::{
    count, joined, list, millis, millis_if_any, number, parsed, to_i64, word_if_any,
};
use super::words::Word;
use crate::store::{
    Failing, NO_ROOM, Position, Result, Sending, Sent, StoreError, Turn, Webhook, WebhookFacts,
    WebhookId,
};

macro_rules! webhook_where {
    ($rest:literal) => {
        concat!(
            "SELECT webhook, venue, name, origin, url, secret, carries, template, language,
                    created_at, log_through, event_through, sending_source, sending_through,
                    delivered_at, failed_since, failed_at, failures, problem, next_attempt_at,
                    paused_at
             FROM webhooks ",
            $rest
        )
    };
}

/// Adds a webhook that carries what comes from now on.
pub(super) fn add(connection: &Connection, new: &WebhookFacts, limit: u32) -> Result<()> {
    let venue = new.venue.0;
    let there: u32 = connection
        .prepare_cached("SELECT count(*) FROM webhooks WHERE venue = ?1")?
        .query_row([venue], |row| row.get(0))?;
    if there >= limit {
        return Err(StoreError::Missing(NO_ROOM));
    }
    let added = connection.execute(
        "INSERT INTO webhooks (venue, webhook, name, origin, url, secret, carries, template, language,
                               created_at, log_through, event_through)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
                 coalesce((SELECT last FROM positions WHERE venue = ?1), 0),
                 coalesce((SELECT last FROM event_positions WHERE venue = ?1), 0))
         ON CONFLICT DO NOTHING",
        params![
            venue,
            new.id.0,
            new.name,
            new.origin,
            new.url,
            new.secret,
            joined(&new.carries),
            new.template.name(),
            new.language.name(),
            new.created_at.0
        ],
    )?;
    match added {
        0 => Err(StoreError::Exists("webhook")),
        _ => Ok(()),
    }
}

/// The venue's webhooks, the oldest first.
pub(super) fn all(connection: &Connection, venue: VenueNumber) -> Result<Vec<Webhook>> {
    let mut statement = connection.prepare_cached(webhook_where!(
        "WHERE venue = ?1 ORDER BY created_at, webhook"
    ))?;
    let webhooks = statement.query_map([venue.0], webhook)?;
    Ok(webhooks.collect::<rusqlite::Result<_>>()?)
}

/// Removes a webhook, and says whether there was one.
pub(super) fn remove(connection: &Connection, venue: VenueNumber, id: WebhookId) -> Result<bool> {
    let removed = connection.execute(
        "DELETE FROM webhooks WHERE venue = ?1 AND webhook = ?2",
        params![venue.0, id.0],
    )?;
    Ok(removed > 0)
}

/// Has a webhook tried again at once, as if it had not failed; says whether there is one.
pub(super) fn resume(connection: &Connection, venue: VenueNumber, id: WebhookId) -> Result<bool> {
    let resumed = connection.execute(
        "UPDATE webhooks SET paused_at = NULL, next_attempt_at = 0, failed_since = NULL,
                             failed_at = NULL, failures = 0, problem = ''
         WHERE venue = ?1 AND webhook = ?2",
        params![venue.0, id.0],
    )?;
    Ok(resumed > 0)
}

/// The webhooks, of all venues, for which there may be something, that may be tried now, and at
/// which nobody is.
pub(super) fn due(
    connection: &Connection,
    now: EpochMillis,
) -> Result<Vec<(VenueNumber, WebhookId)>> {
    let mut statement = connection.prepare_cached(
        "SELECT venue, webhook FROM webhooks w
         LEFT JOIN positions p USING (venue) LEFT JOIN event_positions e USING (venue)
         WHERE paused_at IS NULL AND next_attempt_at <= ?1 AND leased_until <= ?1
           AND ((p.last > log_through AND instr(carries, 'check_ins') > 0)
             OR (e.last > event_through
                 AND (instr(carries, 'sessions') > 0 OR instr(carries, 'conflicts') > 0
                      OR instr(carries, 'alarms') > 0)))",
    )?;
    let due = statement.query_map([now.0], |row| {
        let venue = number(row, 0, |n| u16::try_from(n).ok().map(VenueNumber))?;
        Ok((venue, WebhookId(row.get(1)?)))
    })?;
    Ok(due.collect::<rusqlite::Result<_>>()?)
}

/// Takes the turn at a webhook, or keeps it, until a time; none if it is another's, or the webhook
/// is not to be tried now.
pub(super) fn take(
    connection: &Connection,
    turn: &Turn,
    now: EpochMillis,
    until: EpochMillis,
) -> Result<Option<Webhook>> {
    let taken = connection
        .prepare_cached(
            "UPDATE webhooks SET leased_by = ?3, leased_until = ?5
             WHERE venue = ?1 AND webhook = ?2 AND paused_at IS NULL AND next_attempt_at <= ?4
               AND (leased_by = ?3 OR leased_until <= ?4)",
        )?
        .execute(params![
            turn.venue.0,
            turn.id.0,
            turn.holder,
            now.0,
            until.0
        ])?;
    if taken == 0 {
        return Ok(None);
    }
    let taken = connection
        .prepare_cached(webhook_where!("WHERE venue = ?1 AND webhook = ?2"))?
        .query_row(params![turn.venue.0, turn.id.0], webhook);
    Ok(taken.optional()?)
}

/// Keeps where the message that begins ends; says whether the turn is still this server's.
pub(super) fn begin(connection: &Connection, turn: &Turn, sending: Sending) -> Result<bool> {
    let begun = connection
        .prepare_cached(
            "UPDATE webhooks SET sending_source = ?4, sending_through = ?5
             WHERE venue = ?1 AND webhook = ?2 AND leased_by = ?3",
        )?
        .execute(params![
            turn.venue.0,
            turn.id.0,
            turn.holder,
            sending.source.word(),
            to_i64(sending.through.0)?
        ])?;
    Ok(begun > 0)
}

/// Keeps what came of a message; nothing if the turn is no longer this server's.
pub(super) fn end(
    connection: &Connection,
    turn: &Turn,
    sending: Sending,
    sent: &Sent,
) -> Result<()> {
    let (venue, id, holder) = (turn.venue.0, turn.id.0, turn.holder);
    match sent {
        Sent::Done { at } => connection
            .prepare_cached(
                "UPDATE webhooks SET
                     log_through = iif(:source = 'log', :through, log_through),
                     event_through = iif(:source = 'events', :through, event_through),
                     sending_source = NULL, sending_through = NULL,
                     delivered_at = coalesce(:at, delivered_at),
                     failed_since = iif(:at IS NULL, failed_since, NULL),
                     failed_at = iif(:at IS NULL, failed_at, NULL),
                     failures = iif(:at IS NULL, failures, 0),
                     problem = iif(:at IS NULL, problem, '')
                 WHERE venue = :venue AND webhook = :id AND leased_by = :holder",
            )?
            .execute(named_params! {
                ":venue": venue,
                ":id": id,
                ":holder": holder,
                ":source": sending.source.word(),
                ":through": to_i64(sending.through.0)?,
                ":at": at.map(|at| at.0),
            })?,
        Sent::Failed {
            at,
            problem,
            next_attempt_at,
            pauses,
        } => connection
            .prepare_cached(
                "UPDATE webhooks SET failed_since = coalesce(failed_since, :at), failed_at = :at,
                     failures = failures + 1, problem = :problem, next_attempt_at = :next,
                     paused_at = iif(:pauses, :at, NULL), leased_until = 0
                 WHERE venue = :venue AND webhook = :id AND leased_by = :holder",
            )?
            .execute(named_params! {
                ":venue": venue,
                ":id": id,
                ":holder": holder,
                ":at": at.0,
                ":problem": problem,
                ":next": next_attempt_at.0,
                ":pauses": pauses,
            })?,
    };
    Ok(())
}

/// Gives the turn back.
pub(super) fn give_back(connection: &Connection, turn: &Turn) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE webhooks SET leased_until = 0
             WHERE venue = ?1 AND webhook = ?2 AND leased_by = ?3",
        )?
        .execute(params![turn.venue.0, turn.id.0, turn.holder])?;
    Ok(())
}

/// Ends all turns: whoever had them is gone.
pub(super) fn free(connection: &Connection) -> Result<()> {
    connection.execute(
        "UPDATE webhooks SET leased_until = 0 WHERE leased_until > 0",
        [],
    )?;
    Ok(())
}

fn webhook(row: &Row<'_>) -> rusqlite::Result<Webhook> {
    let position = |column| count(row, column).map(Position);
    let sending = match word_if_any(row, 12)? {
        Some(source) => Some(Sending {
            source,
            through: position(13)?,
        }),
        None => None,
    };
    let failing = match (millis_if_any(row, 15)?, millis_if_any(row, 16)?) {
        (Some(since), Some(at)) => Some(Failing {
            since,
            at,
            failures: count(row, 17)?,
            problem: row.get(18)?,
        }),
        _ => None,
    };
    Ok(Webhook {
        facts: WebhookFacts {
            id: WebhookId(row.get(0)?),
            venue: number(row, 1, |n| u16::try_from(n).ok().map(VenueNumber))?,
            name: row.get(2)?,
            origin: row.get(3)?,
            url: row.get(4)?,
            secret: row.get(5)?,
            carries: list(row, 6)?,
            template: parsed(row, 7)?,
            language: parsed(row, 8)?,
            created_at: millis(row, 9)?,
        },
        log_through: position(10)?,
        event_through: position(11)?,
        sending,
        delivered_at: millis_if_any(row, 14)?,
        failing,
        next_attempt_at: millis(row, 19)?,
        paused_at: millis_if_any(row, 20)?,
    })
}
