//! One moment of one day's list, held by a connection of its own.

use async_trait::async_trait;
use rusqlite::{Connection, params};
use stile_core::ids::{TicketNumber, VenueNumber};
use stile_core::protocol::Settings;
use stile_core::time::ServiceDay;
use tokio::sync::OwnedSemaphorePermit;

use super::columns::{count, to_i64};
use super::readers::blocking;
use super::ticket_rows::{list_row, rows_where};
use super::{document_keys, gates, lists, operators, sessions, venues};
use crate::store::{ListRow, ListSnapshot, ListState, Result, StoreError};

/// A connection within a reading transaction.
pub(super) struct Snapshot {
    /// Away while a thread reads with it; gone if the reading was given up.
    connection: Option<Connection>,
    venue: VenueNumber,
    day: ServiceDay,
    state: ListState,
    _permit: OwnedSemaphorePermit,
}

impl Snapshot {
    /// Begins the moment; `None` if there is no such day.
    pub(super) async fn begin(
        connection: Connection,
        permit: OwnedSemaphorePermit,
        venue: VenueNumber,
        day: &ServiceDay,
    ) -> Result<Option<Self>> {
        let asked = day.clone();
        let (connection, state) = blocking(move || {
            connection.execute_batch("BEGIN")?;
            let state = lists::state(&connection, venue, &asked)?;
            Ok((connection, state))
        })
        .await?;
        Ok(state.map(|state| Self {
            connection: Some(connection),
            venue,
            day: day.clone(),
            state,
            _permit: permit,
        }))
    }

    async fn read<T: Send + 'static>(
        &mut self,
        read: impl FnOnce(&Connection, VenueNumber, &ServiceDay) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let connection = self.connection.take().ok_or(StoreError::Closed)?;
        let (venue, day) = (self.venue, self.day.clone());
        let (connection, value) = blocking(move || {
            let value = read(&connection, venue, &day);
            Ok((connection, value))
        })
        .await?;
        self.connection = Some(connection);
        value
    }
}

#[async_trait]
impl ListSnapshot for Snapshot {
    fn state(&self) -> &ListState {
        &self.state
    }

    async fn settings(&mut self) -> Result<Settings> {
        self.read(|connection, venue, day| {
            Ok(Settings {
                sessions: sessions::of_list(connection, venue, day)?,
                gates: gates::all(connection, venue)?,
                policy: venues::policy(connection, venue)?,
                operators: operators::all(connection, venue)?,
                document_key: None,
                since: lists::settings_since(connection, venue, day)?,
            })
        })
        .await
    }

    async fn document_key(&mut self) -> Result<Option<Vec<u8>>> {
        self.read(document_keys::get).await
    }

    async fn buckets_changed_since(&mut self, version: u64) -> Result<Vec<u8>> {
        self.read(move |connection, venue, day| {
            // 256 look-ups of a maximum, instead of a walk over the whole list.
            let mut newest = connection.prepare_cached(
                "SELECT max(version) FROM tickets INDEXED BY tickets_by_bucket
                 WHERE venue = ?1 AND service_day = ?2 AND bucket = ?3",
            )?;
            let since = to_i64(version)?;
            let mut changed = Vec::new();
            for bucket in 0..=u8::MAX {
                let newest: Option<i64> =
                    newest.query_row(params![venue.0, day.as_str(), bucket], |row| row.get(0))?;
                changed.extend(newest.filter(|newest| *newest > since).map(|_| bucket));
            }
            Ok(changed)
        })
        .await
    }

    async fn bucket(&mut self, bucket: u8) -> Result<Vec<ListRow>> {
        self.read(move |connection, venue, day| {
            let mut statement = connection.prepare_cached(rows_where!(
                "INDEXED BY tickets_by_bucket",
                "service_day = ?2 AND bucket = ?3"
            ))?;
            let rows = statement
                .query_map(params![venue.0, day.as_str(), bucket], list_row)?
                .collect::<rusqlite::Result<_>>()?;
            Ok(rows)
        })
        .await
    }

    async fn rows_after(
        &mut self,
        after: Option<TicketNumber>,
        limit: u32,
    ) -> Result<Vec<ListRow>> {
        self.read(move |connection, venue, day| {
            let mut statement = connection.prepare_cached(rows_where!(
                "service_day = ?2 AND number > ?3 ORDER BY number LIMIT ?4"
            ))?;
            // Numbers begin at 1.
            let after = after.map_or(0, TicketNumber::as_i64);
            let rows = statement
                .query_map(params![venue.0, day.as_str(), after, limit], list_row)?
                .collect::<rusqlite::Result<_>>()?;
            Ok(rows)
        })
        .await
    }

    async fn count(&mut self) -> Result<u64> {
        self.read(|connection, venue, day| {
            let rows = connection
                .prepare_cached(
                    "SELECT count(*) FROM tickets WHERE venue = ?1 AND service_day = ?2",
                )?
                .query_row(params![venue.0, day.as_str()], |row| count(row, 0))?;
            Ok(rows)
        })
        .await
    }
}
