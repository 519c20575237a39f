//! Tables `api_keys`, `api_key_venues`.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::ids::VenueNumber;
use stile_core::time::EpochMillis;

use super::columns::{joined, list, millis, millis_if_any, parsed, seconds_if_any};
use super::venues;
use crate::store::{ApiKey, ApiKeyId, KeyVenue, NewApiKey, Result, StoreError};

macro_rules! key_where {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, scopes, made_by, created_at, expires_at, revoked_at FROM api_keys ",
            $rest
        )
    };
}

pub(super) fn add(connection: &Connection, key: &NewApiKey) -> Result<()> {
    let added = connection.execute(
        "INSERT INTO api_keys (id, hash, name, scopes, made_by, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
        params![
            key.id.0,
            key.hash,
            key.name,
            joined(&key.scopes),
            key.made_by.map(|id| id.0),
            key.created_at.0,
            key.expires_at.map(|at| at.0)
        ],
    )?;
    if added == 0 {
        return Err(StoreError::Exists("API key"));
    }
    for venue in &key.venues {
        let venue = venues::get(connection, venue)?.ok_or(StoreError::Missing("venue"))?;
        connection.execute(
            "INSERT OR IGNORE INTO api_key_venues (venue, api_key) VALUES (?1, ?2)",
            params![venue.number.0, key.id.0],
        )?;
    }
    Ok(())
}

pub(super) fn get(connection: &Connection, hash: &[u8; 32]) -> Result<Option<ApiKey>> {
    let mut statement = connection.prepare_cached(key_where!("WHERE hash = ?1"))?;
    let key = statement.query_row([hash], api_key).optional()?;
    key.map(|key| with_venues(connection, key)).transpose()
}

pub(super) fn all(connection: &Connection) -> Result<Vec<ApiKey>> {
    let mut statement = connection.prepare_cached(key_where!("ORDER BY created_at, id"))?;
    let keys = statement
        .query_map([], api_key)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    keys.into_iter()
        .map(|key| with_venues(connection, key))
        .collect()
}

/// Revokes a key at one venue, or everywhere.
pub(super) fn revoke(
    connection: &Connection,
    id: ApiKeyId,
    venue: Option<VenueNumber>,
    at: EpochMillis,
) -> Result<bool> {
    let revoked = match venue {
        Some(venue) => connection.execute(
            "UPDATE api_key_venues SET revoked_at = coalesce(revoked_at, ?3)
             WHERE venue = ?1 AND api_key = ?2",
            params![venue.0, id.0, at.0],
        )?,
        None => connection.execute(
            "UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1",
            params![id.0, at.0],
        )?,
    };
    Ok(revoked > 0)
}

pub(super) fn note_use(
    connection: &Connection,
    id: ApiKeyId,
    venue: VenueNumber,
    at: EpochMillis,
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE api_key_venues SET last_used_at = ?3 WHERE venue = ?1 AND api_key = ?2",
        )?
        .execute(params![venue.0, id.0, at.0])?;
    Ok(())
}

fn api_key(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    Ok(ApiKey {
        id: ApiKeyId(row.get(0)?),
        name: row.get(1)?,
        venues: Vec::new(),
        scopes: list(row, 2)?,
        made_by: row.get::<_, Option<i64>>(3)?.map(ApiKeyId),
        created_at: millis(row, 4)?,
        expires_at: seconds_if_any(row, 5)?,
        revoked_at: millis_if_any(row, 6)?,
    })
}

fn with_venues(connection: &Connection, key: ApiKey) -> Result<ApiKey> {
    let mut statement = connection.prepare_cached(
        "SELECT venue_id, last_used_at, revoked_at FROM api_key_venues JOIN venues USING (venue)
         WHERE api_key = ?1 ORDER BY venue_id",
    )?;
    let venues = statement
        .query_map([key.id.0], |row| {
            Ok(KeyVenue {
                venue_id: parsed(row, 0)?,
                last_used_at: millis_if_any(row, 1)?,
                revoked_at: millis_if_any(row, 2)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(ApiKey { venues, ..key })
}
