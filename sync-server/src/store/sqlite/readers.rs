//! The connections that read, each from one moment at a time, on blocking threads.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::open::read_only;
use crate::store::{Result, StoreError};

/// Reads at the same time: enough to keep the disks of a small server busy; each connection may
/// hold 2 MiB of pages.
const READERS: usize = 8;
/// Lists that are read out at the same time. They have connections of their own, since a slow gate
/// may hold one for minutes.
const LISTS: usize = 64;
/// Memory that each of those may hold pages in, in KiB: they read each page once.
const LIST_CACHE_KIB: i64 = 256;

/// Hands out reading connections.
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    reads: Semaphore,
    lists: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            idle: Mutex::new(Vec::new()),
            reads: Semaphore::new(READERS),
            lists: Arc::new(Semaphore::new(LISTS)),
        }
    }

    /// The file that is read.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a read that sees one moment.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let _permit = self.reads.acquire().await.map_err(|_| StoreError::Closed)?;
        let idle = self.idle().pop();
        let path = self.path.clone();
        let (connection, value) = blocking(move || {
            let connection = match idle {
                Some(connection) => connection,
                None => read_only(&path)?,
            };
            let value = at_one_moment(&connection, read);
            // One that is still within its moment is of no more use.
            Ok((connection.is_autocommit().then_some(connection), value))
        })
        .await?;
        self.idle().extend(connection);
        value
    }

    /// Opens a connection for one list, as long as the permit is held.
    pub(super) async fn for_list(&self) -> Result<(Connection, OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.lists)
            .acquire_owned()
            .await
            .map_err(|_| StoreError::Closed)?;
        let path = self.path.clone();
        let connection = blocking(move || {
            let connection = read_only(&path)?;
            connection.pragma_update(None, "cache_size", -LIST_CACHE_KIB)?;
            Ok(connection)
        })
        .await?;
        Ok((connection, permit))
    }

    /// Lets no further read in, and closes the connections that lie idle.
    pub(super) fn close(&self) {
        self.reads.close();
        self.lists.close();
        self.idle().clear();
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn at_one_moment<T>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let value = read(connection);
    connection.prepare_cached("COMMIT")?.execute([])?;
    value
}

/// Runs what blocks on a thread for it.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(StoreError::Fault(error.to_string())),
    }
}
