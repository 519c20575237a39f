//! Table `erased`, and what goes from the lists when a visitor is erased.

use rusqlite::{Connection, params};
use stile_core::ids::{OrderNumber, TicketNumber, VenueNumber};

use super::columns::number as number_of;
use super::holders;
use super::lists::Versions;
use super::ticket_rows::{DayRow, day_row, replace, rows_where};
use crate::store::{Erased, Result, TicketUpsert};

/// The tickets of an order. Goes through the venue's rows: orders have no index, and this is asked
/// a few times a year.
pub(super) fn of_order(
    connection: &Connection,
    venue: VenueNumber,
    order: &OrderNumber,
) -> Result<Vec<TicketNumber>> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT number FROM tickets WHERE venue = ?1 AND order_number = ?2",
    )?;
    let numbers = statement
        .query_map(params![venue.0, order.as_str()], |row| {
            number_of(row, 0, TicketNumber::from_i64)
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(numbers)
}

/// Erases the holders of these tickets, tombstones included.
pub(super) fn erase(
    connection: &Connection,
    venue: VenueNumber,
    numbers: &[TicketNumber],
) -> Result<Vec<Erased>> {
    let mut versions = Versions::new(connection, venue);
    let mut one = |number: &TicketNumber| erase_one(connection, venue, *number, &mut versions);
    numbers.iter().map(&mut one).collect()
}

fn erase_one(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
    versions: &mut Versions<'_>,
) -> Result<Erased> {
    let mut statement =
        connection.prepare_cached(rows_where!("INDEXED BY tickets_by_number", "number = ?2"))?;
    let rows: Vec<DayRow> = statement
        .query_map(params![venue.0, number.as_i64()], day_row)?
        .collect::<rusqlite::Result<_>>()?;
    if rows.is_empty() {
        return Ok(Erased::Unknown);
    }
    let key = params![venue.0, number.as_i64()];
    let had_phone = holders::get(connection, venue, number)?.is_some();
    holders::put(connection, venue, number, None)?;
    connection
        .prepare_cached(
            "INSERT INTO erased (venue, number) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        )?
        .execute(key)?;
    let mut outcome = if had_phone {
        Erased::Now
    } else {
        Erased::Before
    };
    for mut row in rows {
        if row.row.fields.erase_holder() {
            row.row.version = versions.next(&row.day)?;
            replace(connection, venue, &row)?;
            outcome = Erased::Now;
        }
    }
    Ok(outcome)
}

/// The lines with nothing of holders who were erased; `None` where all may stand as they are.
pub(super) fn without_erased(
    connection: &Connection,
    venue: VenueNumber,
    lines: &[TicketUpsert],
) -> Result<Option<Vec<TicketUpsert>>> {
    let any = connection
        .prepare_cached("SELECT 1 FROM erased WHERE venue = ?1 LIMIT 1")?
        .exists([venue.0])?;
    if !any {
        return Ok(None);
    }
    let mut is_erased =
        connection.prepare_cached("SELECT 1 FROM erased WHERE venue = ?1 AND number = ?2")?;
    let mut lines = lines.to_vec();
    for line in &mut lines {
        if is_erased.exists(params![venue.0, line.number.as_i64()])? {
            line.fields.erase_holder();
            line.holder = None;
        }
    }
    Ok(Some(lines))
}

/// The same of one line.
pub(super) fn one_without_erased(
    connection: &Connection,
    venue: VenueNumber,
    line: TicketUpsert,
) -> Result<TicketUpsert> {
    let stripped = without_erased(connection, venue, std::slice::from_ref(&line))?;
    Ok(stripped.and_then(|mut lines| lines.pop()).unwrap_or(line))
}
