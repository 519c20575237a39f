//! Tables `server`, `venues`, `venue_secrets`, `key_manifests`.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::ids::{Kid, VenueId, VenueNumber};
use stile_core::policy::Policy;
use stile_core::time::{EpochMillis, EpochSeconds};

use super::columns::{count, json, millis, parsed, to_i64, word};
use super::lists;
use super::words::Word;
use crate::store::{
    Change, Facts, KeyChange, NewVenue, Result, SealedSecret, StoreError, StoredKeyManifest, Venue,
};

macro_rules! venue_where {
    ($rest:literal) => {
        concat!(
            "SELECT venue, venue_id, name, time_zone, policy, created_at FROM venues ",
            $rest
        )
    };
}

pub(super) fn facts(connection: &Connection) -> Result<Facts> {
    let facts = connection.query_row("SELECT generation, vault_check FROM server", [], |row| {
        Ok(Facts {
            generation: count(row, 0)?,
            vault_check: row.get(1)?,
        })
    })?;
    Ok(facts)
}

pub(super) fn keep_vault_check(connection: &Connection, sealed: &[u8]) -> Result<()> {
    let kept = connection.execute(
        "UPDATE server SET vault_check = ?1 WHERE vault_check IS NULL",
        [sealed],
    )?;
    if kept == 1 {
        Ok(())
    } else {
        Err(StoreError::Exists("master key check"))
    }
}

pub(super) fn probe(connection: &Connection) -> Result<()> {
    connection
        .prepare_cached("UPDATE server SET probes = probes + 1")?
        .execute([])?;
    Ok(())
}

/// Gives all lists their next version if another version of the program wrote them last.
pub(super) fn note_software(connection: &Connection, software: &str) -> Result<()> {
    let changed = connection.execute(
        "UPDATE server SET software = ?1 WHERE software <> ?1",
        [software],
    )?;
    if changed > 0 {
        connection.execute("UPDATE list_days SET version = version + 1", [])?;
    }
    Ok(())
}

pub(super) fn create(connection: &Connection, venue: &NewVenue) -> Result<VenueNumber> {
    let taken = connection
        .query_row(
            "SELECT 1 FROM venues WHERE venue_id = ?1",
            [venue.venue_id.as_str()],
            |_| Ok(()),
        )
        .optional()?;
    if taken.is_some() {
        return Err(StoreError::Exists("venue"));
    }
    let highest: i64 =
        connection.query_row("SELECT coalesce(max(venue), 0) FROM venues", [], |row| {
            row.get(0)
        })?;
    let number = u16::try_from(highest + 1)
        .map_err(|_| StoreError::Fault("there are 65535 venues already".into()))?;
    connection.execute(
        "INSERT INTO venues (venue, venue_id, name, time_zone, policy, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            number,
            venue.venue_id.as_str(),
            venue.name,
            venue.time_zone,
            policy_text(&venue.policy)?,
            venue.created_at.0
        ],
    )?;
    for secret in &venue.secrets {
        connection.execute(
            "INSERT INTO venue_secrets (venue, kind, kid, sealed) VALUES (?1, ?2, ?3, ?4)",
            params![number, secret.kind.word(), secret.kid.0, secret.sealed],
        )?;
    }
    Ok(VenueNumber(number))
}

fn policy_text(policy: &Policy) -> Result<String> {
    serde_json::to_string(policy).map_err(|error| StoreError::Fault(error.to_string()))
}

pub(super) fn get(connection: &Connection, id: &VenueId) -> Result<Option<Venue>> {
    let mut statement = connection.prepare_cached(venue_where!("WHERE venue_id = ?1"))?;
    Ok(statement.query_row([id.as_str()], venue).optional()?)
}

pub(super) fn all(connection: &Connection) -> Result<Vec<Venue>> {
    let mut statement = connection.prepare_cached(venue_where!("ORDER BY venue"))?;
    let venues = statement
        .query_map([], venue)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(venues)
}

fn venue(row: &Row<'_>) -> rusqlite::Result<Venue> {
    Ok(Venue {
        number: VenueNumber(row.get(0)?),
        venue_id: parsed(row, 1)?,
        name: row.get(2)?,
        time_zone: row.get(3)?,
        policy: json(row, 4)?,
        created_at: millis(row, 5)?,
    })
}

pub(super) fn policy(connection: &Connection, venue: VenueNumber) -> Result<Policy> {
    connection
        .prepare_cached("SELECT policy FROM venues WHERE venue = ?1")?
        .query_row([venue.0], |row| json(row, 0))
        .optional()?
        .ok_or(StoreError::Missing("venue"))
}

pub(super) fn set_policy(
    connection: &Connection,
    venue: VenueNumber,
    new: &Policy,
    now: EpochMillis,
) -> Result<Change> {
    if policy(connection, venue)? == *new {
        return Ok(Change::Unchanged);
    }
    connection.execute(
        "UPDATE venues SET policy = ?2 WHERE venue = ?1",
        params![venue.0, policy_text(new)?],
    )?;
    lists::touch_all(connection, venue, now)?;
    Ok(Change::Changed)
}

pub(super) fn secrets(connection: &Connection, venue: VenueNumber) -> Result<Vec<SealedSecret>> {
    let mut statement = connection
        .prepare_cached("SELECT kind, kid, sealed FROM venue_secrets WHERE venue = ?1")?;
    let secrets = statement.query_map([venue.0], |row| {
        Ok(SealedSecret {
            kind: word(row, 0)?,
            kid: Kid(row.get(1)?),
            sealed: row.get(2)?,
        })
    })?;
    Ok(secrets.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn keep_secret(
    connection: &Connection,
    venue: VenueNumber,
    secret: &SealedSecret,
) -> Result<()> {
    connection.execute(
        "INSERT INTO venue_secrets (venue, kind, kid, sealed) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET sealed = excluded.sealed",
        params![venue.0, secret.kind.word(), secret.kid.0, secret.sealed],
    )?;
    Ok(())
}

pub(super) fn key_manifest(
    connection: &Connection,
    venue: VenueNumber,
) -> Result<Option<StoredKeyManifest>> {
    let mut statement = connection.prepare_cached(
        "SELECT version, generation, not_after, signed FROM key_manifests
         WHERE venue = ?1 ORDER BY version DESC LIMIT 1",
    )?;
    Ok(statement.query_row([venue.0], manifest).optional()?)
}

/// All of them, oldest first.
pub(super) fn key_manifests(
    connection: &Connection,
    venue: VenueNumber,
) -> Result<Vec<StoredKeyManifest>> {
    let mut statement = connection.prepare_cached(
        "SELECT version, generation, not_after, signed FROM key_manifests
         WHERE venue = ?1 ORDER BY version",
    )?;
    let manifests = statement.query_map([venue.0], manifest)?;
    Ok(manifests.collect::<rusqlite::Result<_>>()?)
}

fn manifest(row: &Row<'_>) -> rusqlite::Result<StoredKeyManifest> {
    Ok(StoredKeyManifest {
        version: count(row, 0)?,
        generation: count(row, 1)?,
        not_after: EpochSeconds(row.get(2)?),
        signed: json(row, 3)?,
    })
}

/// Keeps a manifest with the private keys that go with it.
pub(super) fn change_keys(
    connection: &Connection,
    venue: VenueNumber,
    manifest: &StoredKeyManifest,
    secrets: &KeyChange,
) -> Result<bool> {
    if !keep_key_manifest(connection, venue, manifest)? {
        return Ok(false);
    }
    for secret in &secrets.added {
        keep_secret(connection, venue, secret)?;
    }
    for (kind, kid) in &secrets.destroyed {
        connection.execute(
            "DELETE FROM venue_secrets WHERE venue = ?1 AND kind = ?2 AND kid = ?3",
            params![venue.0, kind.word(), kid.0],
        )?;
    }
    Ok(true)
}

pub(super) fn keep_key_manifest(
    connection: &Connection,
    venue: VenueNumber,
    manifest: &StoredKeyManifest,
) -> Result<bool> {
    let newest = key_manifest(connection, venue)?.map_or(0, |kept| kept.version);
    if newest.checked_add(1) != Some(manifest.version) {
        return Ok(false);
    }
    let signed = serde_json::to_string(&manifest.signed)
        .map_err(|error| StoreError::Fault(error.to_string()))?;
    connection.execute(
        "INSERT INTO key_manifests (venue, version, generation, not_after, signed)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            venue.0,
            to_i64(manifest.version)?,
            to_i64(manifest.generation)?,
            manifest.not_after.0,
            signed
        ],
    )?;
    Ok(true)
}
