//! Reads the log piece by piece from table `records`, as far as a filter wants it.

use rusqlite::{Connection, Row, params};
use stile_core::ids::{TicketNumber, VenueNumber};

use super::columns::{millis, number, parsed_if_any, word_if_any};
use super::records::{end_of, place, position};
use super::standings::damaged;
use super::{log_spans, removal};
use crate::store::{LogQuery, LogStream, Page, Result, StoredRecord};

/// Records that are looked at for one piece: some tens of milliseconds, for which a read keeps its
/// connection.
const LOOKED_AT: u32 = 20_000;

macro_rules! records_where {
    ($from:literal, $condition:literal) => {
        concat!(
            "SELECT place, check_in OR undoes, received_at, standing, after_cancel, taken_back, service_day,
                    record, late_after_final
             FROM records ",
            $from,
            " WHERE place > ?1 AND place <= ?2",
            $condition,
            " ORDER BY place LIMIT ?3"
        )
    };
}

pub(super) fn pull(connection: &Connection, venue: VenueNumber, query: &LogQuery) -> Result<Page> {
    let end = query.after.max(end_of(connection, venue)?);
    let removed = removal::through(connection, venue, query.stream)?;
    let mut page = Page {
        records: Vec::new(),
        next: query.after,
        more: false,
        end,
        removed: removed.filter(|removed| query.after < *removed),
    };
    if let Some(span) = log_spans::of(connection, venue, &query.filter)? {
        let behind = place(venue, query.after.0).max(span.first - 1);
        let until = place(venue, end.0).min(span.last);
        read(connection, query, behind, until, &mut page)?;
    }
    if !page.more {
        page.next = end;
    }
    Ok(page)
}

fn read(
    connection: &Connection,
    query: &LogQuery,
    behind: i64,
    until: i64,
    page: &mut Page,
) -> Result<()> {
    let rows = i64::from(LOOKED_AT) + 1;
    let ticket = query.filter.ticket.map(TicketNumber::as_i64);
    let mut statement = connection.prepare_cached(match ticket {
        None => records_where!("", ""),
        Some(_) => records_where!("INDEXED BY records_by_ticket", " AND of_ticket = ?4"),
    })?;
    let mut rows = match ticket {
        None => statement.query(params![behind, until, rows])?,
        Some(ticket) => statement.query(params![behind, until, rows, ticket])?,
    };
    let mut looked_at = 0;
    while let Some(row) = rows.next()? {
        if looked_at == LOOKED_AT {
            page.more = true;
            break;
        }
        looked_at += 1;
        let is_wanted = is_wanted(row, query)?;
        // One more than asked tells that there is more.
        if is_wanted && page.records.len() >= query.limit as usize {
            page.more = true;
            break;
        }
        page.next = number(row, 0, position)?;
        if is_wanted {
            page.records.push(stored(row)?);
        }
    }
    Ok(())
}

fn is_wanted(row: &Row<'_>, query: &LogQuery) -> Result<bool> {
    let is_of_stream = query.stream == LogStream::Records || row.get(1)?;
    if !is_of_stream || !query.filter.asks_the_record() {
        return Ok(is_of_stream);
    }
    let day = parsed_if_any(row, 6)?;
    let bytes = row.get_ref(7)?.as_blob().map_err(|error| damaged(&error))?;
    let wants = query.filter.wants(bytes, day.as_ref());
    wants.map_err(|error| damaged(&error))
}

fn stored(row: &Row<'_>) -> Result<StoredRecord> {
    Ok(StoredRecord {
        position: number(row, 0, position)?,
        received_at: millis(row, 2)?,
        standing: word_if_any(row, 3)?,
        after_cancel: row.get(4)?,
        taken_back: row.get(5)?,
        late_after_final: row.get(8)?,
        bytes: row.get(7)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_filter::LogFilter;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{Position, Store};

    const VENUE: VenueNumber = VenueNumber(1);

    /// A log of more records than are looked at for one piece; the last one is at another gate and
    /// of another session.
    const LONG_LOG: &str = r#"
        WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20001)
        INSERT INTO records (place, received_at, check_in, record)
        SELECT (1 << 47) + n, 0, 0, CAST(json_object('at', n, 'kind', 'scan',
            'gate_id', iif(n = 20001, 'south', 'north')) AS BLOB) FROM n;
        INSERT INTO log_spans VALUES (1, 'session', 's1', (1 << 47) + 20001, (1 << 47) + 20001);
        INSERT INTO positions VALUES (1, 20001);"#;

    #[tokio::test]
    async fn a_read_ends_after_enough_records_and_a_span_leads_past_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.db");
        let store = SqliteStore::open(&path, "1").unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(LONG_LOG).unwrap();
        let pull = |filter: LogFilter, after| {
            let query = LogQuery {
                stream: LogStream::Records,
                filter,
                after: Position(after),
                limit: 10,
            };
            let page = store.pull(VENUE, query);
            async {
                let page = page.await.unwrap();
                (page.records.len(), page.next.0, page.more)
            }
        };
        let south = LogFilter {
            gate_id: Some("south".parse().unwrap()),
            ..LogFilter::default()
        };
        assert_eq!(pull(south.clone(), 0).await, (0, 20_000, true));
        assert_eq!(pull(south.clone(), 20_000).await, (1, 20_001, false));
        // What the record does not say is not taken on trust from the span.
        let session = |id: &str| LogFilter {
            session_id: Some(id.parse().unwrap()),
            ..south.clone()
        };
        assert_eq!(pull(session("s1"), 0).await, (0, 20_001, false));
        assert_eq!(pull(session("s2"), 0).await, (0, 20_001, false));
    }
}
