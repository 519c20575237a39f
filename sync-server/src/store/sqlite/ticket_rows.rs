//! Rows of the table `tickets`, as the domain's list rows, both ways.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stile_core::codes::document::DOCUMENT_HASH_BYTES;
use stile_core::ids::{LastFour, TicketNumber, VenueNumber};
use stile_core::ticket::{DigitsOf, Standing};
use stile_core::time::ServiceDay;

use super::columns::{
    count, joined, list, millis_if_any, number, parsed, seconds, seconds_if_any, to_i64, word,
    word_if_any,
};
use super::words::Word;
use crate::store::{DocumentHash, ListRow, Result, TicketFields};

/// A row of the list of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DayRow {
    pub day: ServiceDay,
    pub bucket: u8,
    pub row: ListRow,
}

// Without statistics SQLite would walk through the venue's whole clustered table rather than look
// into an index, so each statement names the one that it needs.
macro_rules! rows_where {
    ($rest:literal) => {
        rows_where!("", $rest)
    };
    ($index:literal, $rest:literal) => {
        concat!(
            "SELECT service_day, bucket, number, version, standing, moved_session, moved_day,
                    moved_admit_from, ticket_id, order_number, session_id, status, cancel_cause,
                    revision, admits, zones, label, holder_mask, last_four, category, attention,
                    source, age_group, admit_from, admit_until, opaque_hashes, source_version,
                    cancelled_at, last_four_of, document_day, document_hash
             FROM tickets ",
            $index,
            " WHERE venue = ?1 AND ",
            $rest
        )
    };
}
pub(super) use rows_where;

/// The ticket itself, whatever its day; never a tombstone of a moved one.
pub(super) fn current(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
) -> Result<Option<DayRow>> {
    let mut statement = connection.prepare_cached(rows_where!(
        "INDEXED BY tickets_by_number",
        "number = ?2 AND standing <> 'moved'"
    ))?;
    Ok(statement
        .query_row(params![venue.0, number.as_i64()], day_row)
        .optional()?)
}

pub(super) fn day_row(row: &Row<'_>) -> rusqlite::Result<DayRow> {
    Ok(DayRow {
        day: parsed(row, 0)?,
        bucket: row.get(1)?,
        row: list_row(row)?,
    })
}

pub(super) fn list_row(row: &Row<'_>) -> rusqlite::Result<ListRow> {
    Ok(ListRow {
        number: number(row, 2, TicketNumber::from_i64)?,
        version: count(row, 3)?,
        standing: standing(row)?,
        fields: fields(row)?,
        status: word(row, 11)?,
        cancel_cause: word_if_any(row, 12)?,
        revision: row.get(13)?,
        cancelled_at: millis_if_any(row, 27)?,
    })
}

fn standing(row: &Row<'_>) -> rusqlite::Result<Standing> {
    Ok(match row.get_ref(4)?.as_str()? {
        "moved" => Standing::Moved {
            session_id: parsed(row, 5)?,
            service_day: parsed(row, 6)?,
            admit_from: seconds(row, 7)?,
        },
        "deleted" => Standing::Deleted,
        _ => Standing::Live,
    })
}

fn fields(row: &Row<'_>) -> rusqlite::Result<TicketFields> {
    let last_four: Option<u16> = row.get(18)?;
    let hashes: Vec<u8> = row.get(25)?;
    let (hashes, _) = hashes.as_chunks();
    Ok(TicketFields {
        ticket_id: parsed(row, 8)?,
        order_number: parsed(row, 9)?,
        session_id: parsed(row, 10)?,
        admits: row.get(14)?,
        zones: list(row, 15)?,
        label: row.get(16)?,
        holder_mask: row.get(17)?,
        last_four: last_four.and_then(LastFour::new),
        last_four_of: last_four.map(|_| word(row, 28)).transpose()?,
        category: row.get(19)?,
        attention: row.get(20)?,
        source: row.get(21)?,
        age_group: row.get(22)?,
        admit_from: seconds_if_any(row, 23)?,
        admit_until: seconds_if_any(row, 24)?,
        opaque_hashes: hashes.to_vec(),
        document: document(row)?,
        source_version: row.get(26)?,
    })
}

fn document(row: &Row<'_>) -> rusqlite::Result<Option<DocumentHash>> {
    let hash: Option<[u8; DOCUMENT_HASH_BYTES]> = row.get(30)?;
    let document = |hash| {
        let day = parsed(row, 29)?;
        Ok(DocumentHash { day, hash })
    };
    hash.map(document).transpose()
}

/// Puts a row into a day's list in place of the one that the ticket had there.
pub(super) fn replace(connection: &Connection, venue: VenueNumber, row: &DayRow) -> Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM tickets WHERE venue = ?1 AND service_day = ?2 AND number = ?3",
        )?
        .execute(params![venue.0, row.day.as_str(), row.row.number.as_i64()])?;
    insert(connection, venue, row)
}

/// Puts a row into a day's list that has none of the ticket.
pub(super) fn insert(
    connection: &Connection,
    venue: VenueNumber,
    DayRow { day, bucket, row }: &DayRow,
) -> Result<()> {
    let (standing, moved) = match &row.standing {
        Standing::Live => ("live", None),
        Standing::Deleted => ("deleted", None),
        Standing::Moved {
            session_id,
            service_day,
            admit_from,
        } => (
            "moved",
            Some((session_id.as_str(), service_day.as_str(), admit_from.0)),
        ),
    };
    let fields = &row.fields;
    connection
        .prepare_cached(
            "INSERT INTO tickets
             (venue, service_day, bucket, number, version, standing, moved_session, moved_day,
              moved_admit_from, ticket_id, order_number, session_id, status, cancel_cause,
              revision, admits, zones, label, holder_mask, last_four, category, attention, source,
              age_group, admit_from, admit_until, opaque_hashes, source_version,
              cancelled_at, last_four_of, document_day, document_hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                     ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32)",
        )?
        .execute(params![
            venue.0,
            day.as_str(),
            bucket,
            row.number.as_i64(),
            to_i64(row.version)?,
            standing,
            moved.map(|to| to.0),
            moved.map(|to| to.1),
            moved.map(|to| to.2),
            fields.ticket_id.as_str(),
            fields.order_number.as_str(),
            fields.session_id.as_str(),
            row.status.word(),
            row.cancel_cause.map(Word::word),
            row.revision,
            fields.admits,
            joined(&fields.zones),
            fields.label,
            fields.holder_mask,
            fields.last_four.map(LastFour::get),
            fields.category,
            fields.attention,
            fields.source,
            fields.age_group,
            fields.admit_from.map(|at| at.0),
            fields.admit_until.map(|at| at.0),
            fields.opaque_hashes.concat(),
            fields.source_version,
            row.cancelled_at.map(|at| at.0),
            fields.last_four_of.unwrap_or(DigitsOf::Phone).word(),
            fields
                .document
                .as_ref()
                .map(|document| document.day.as_str()),
            fields.document.as_ref().map(|document| document.hash)
        ])?;
    Ok(())
}

/// Every row of a ticket but the one of `day`: its tombstones.
pub(super) fn elsewhere(
    connection: &Connection,
    venue: VenueNumber,
    number: TicketNumber,
    day: &ServiceDay,
) -> Result<Vec<DayRow>> {
    let mut statement = connection.prepare_cached(rows_where!(
        "INDEXED BY tickets_by_number",
        "number = ?2 AND service_day <> ?3"
    ))?;
    let rows = statement
        .query_map(params![venue.0, number.as_i64(), day.as_str()], day_row)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}
