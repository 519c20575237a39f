//! Table `holders`: sealed phones, for codes that a shared secret signs.

use rusqlite::{Connection, OptionalExtension, params};
use stile_core::ids::{TicketNumber, VenueNumber};
use stile_core::time::EpochSeconds;

use crate::store::Result;

/// Keeps a ticket's sealed phone, or forgets it where there is none any more.
pub(super) fn put(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
    sealed: Option<&[u8]>,
) -> Result<()> {
    match sealed {
        Some(sealed) => connection
            .prepare_cached(
                "INSERT INTO holders (venue, number, sealed) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET sealed = excluded.sealed",
            )?
            .execute(params![venue.0, number.as_i64(), sealed])?,
        None => connection
            .prepare_cached("DELETE FROM holders WHERE venue = ?1 AND number = ?2")?
            .execute(params![venue.0, number.as_i64()])?,
    };
    Ok(())
}

pub(super) fn get(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
) -> Result<Option<Vec<u8>>> {
    let sealed = connection
        .prepare_cached("SELECT sealed FROM holders WHERE venue = ?1 AND number = ?2")?
        .query_row(params![venue.0, number.as_i64()], |row| row.get(0))
        .optional()?;
    Ok(sealed)
}

pub(super) fn forget(connection: &Connection, ended_before: EpochSeconds) -> Result<u64> {
    let forgotten = connection.execute(
        "DELETE FROM holders WHERE NOT EXISTS (
             SELECT 1 FROM tickets t INDEXED BY tickets_by_number
             JOIN list_days d USING (venue, service_day)
             WHERE t.venue = holders.venue AND t.number = holders.number
               AND t.standing <> 'moved' AND d.day_until >= ?1)",
        [ended_before.0],
    )?;
    Ok(forgotten as u64)
}
