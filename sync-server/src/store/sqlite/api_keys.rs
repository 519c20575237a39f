//! Tables `api_keys`, `api_key_venues`.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::ids::VenueId;
use stile_core::time::EpochMillis;

use super::columns::{joined, list, millis, parsed, seconds_if_any};
use super::venues;
use crate::store::{ApiKey, ApiKeyId, NewApiKey, Result, StoreError};

macro_rules! key_where {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, scopes, created_at, expires_at, revoked_at FROM api_keys ",
            $rest
        )
    };
}

pub(super) fn add(connection: &Connection, key: &NewApiKey) -> Result<ApiKeyId> {
    connection.execute(
        "INSERT INTO api_keys (hash, name, scopes, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            key.hash,
            key.name,
            joined(&key.scopes),
            key.created_at.0,
            key.expires_at.map(|at| at.0)
        ],
    )?;
    let id = connection.last_insert_rowid();
    for venue in &key.venues {
        let venue = venues::get(connection, venue)?.ok_or(StoreError::Missing("venue"))?;
        connection.execute(
            "INSERT OR IGNORE INTO api_key_venues (venue, api_key) VALUES (?1, ?2)",
            params![venue.number.0, id],
        )?;
    }
    Ok(ApiKeyId(id))
}

pub(super) fn get(connection: &Connection, hash: &[u8; 32]) -> Result<Option<ApiKey>> {
    let mut statement = connection.prepare_cached(key_where!("WHERE hash = ?1"))?;
    let key = statement.query_row([hash], api_key).optional()?;
    key.map(|key| with_venues(connection, key)).transpose()
}

pub(super) fn all(connection: &Connection) -> Result<Vec<ApiKey>> {
    let mut statement = connection.prepare_cached(key_where!("ORDER BY id"))?;
    let keys = statement
        .query_map([], api_key)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    keys.into_iter()
        .map(|key| with_venues(connection, key))
        .collect()
}

pub(super) fn revoke(connection: &Connection, id: ApiKeyId, at: EpochMillis) -> Result<bool> {
    let revoked = connection.execute(
        "UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1",
        params![id.0, at.0],
    )?;
    Ok(revoked > 0)
}

fn api_key(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    Ok(ApiKey {
        id: ApiKeyId(row.get(0)?),
        name: row.get(1)?,
        venues: Vec::new(),
        scopes: list(row, 2)?,
        created_at: millis(row, 3)?,
        expires_at: seconds_if_any(row, 4)?,
        revoked_at: row.get::<_, Option<i64>>(5)?.map(EpochMillis),
    })
}

fn with_venues(connection: &Connection, key: ApiKey) -> Result<ApiKey> {
    let mut statement = connection.prepare_cached(
        "SELECT venue_id FROM api_key_venues JOIN venues USING (venue)
         WHERE api_key = ?1 ORDER BY venue_id",
    )?;
    let venues = statement
        .query_map([key.id.0], |row| parsed::<VenueId>(row, 0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(ApiKey { venues, ..key })
}
