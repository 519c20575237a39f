//! The one thread that writes. Jobs that wait together go into one transaction, each behind a
//! savepoint of its own, so that one disk flush serves them all and one that fails undoes nothing
//! of the others. Nobody is answered before the commit.

use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::store::{Result, StoreError};

/// Jobs that wait at most; whoever comes then waits to be let in. Bounds memory: the largest job
/// is a batch of 500 records of 4 KiB.
const QUEUE_JOBS: usize = 64;
/// Jobs of one transaction at most: more than wait at once under load.
const GROUP_JOBS: usize = 128;
/// A transaction takes no further job after this long, so that the first in it is not kept
/// waiting for an import behind it.
const GROUP_TIME: Duration = Duration::from_millis(50);

/// Runs within the transaction, or hears why there is none; what it gives back is run with the
/// commit's outcome.
type Job = Box<dyn FnOnce(Result<&Connection>) -> Answer + Send>;
type Answer = Box<dyn FnOnce(Result<()>) + Send>;

/// Hands jobs to the writing thread.
pub(super) struct Writer {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread. It owns the connection, and closes it when the writer is closed.
    pub(super) fn start(connection: Connection) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel(QUEUE_JOBS);
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || run(&connection, receiver))?;
        Ok(Self {
            jobs: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Runs a job in a transaction; when this answers `Ok`, its effect is durable, otherwise it
    /// had none. Once handed over, the job is run whether or not anybody still waits for it.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let jobs = lock(&self.jobs).clone().ok_or(StoreError::Closed)?;
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let done = connection.and_then(|connection| behind_savepoint(connection, job));
            Box::new(move |committed: Result<()>| {
                // Nobody may be waiting any more.
                let _ = answer.send(done.and_then(|value| committed.map(|()| value)));
            })
        });
        jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        drop(jobs);
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Takes no further job, runs those that wait, and ends the thread. Blocks.
    pub(super) fn close(&self) {
        lock(&self.jobs).take();
        if let Some(thread) = lock(&self.thread).take() {
            // The thread's own panic has nothing to say to whoever closes.
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn behind_savepoint<T>(
    connection: &Connection,
    job: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    connection.prepare_cached("SAVEPOINT job")?.execute([])?;
    let done = job(connection).and_then(|value| {
        Ok(connection
            .prepare_cached("RELEASE job")?
            .execute([])
            .map(|_| value)?)
    });
    if done.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK TO job; RELEASE job")?;
    }
    done
}

fn run(connection: &Connection, mut jobs: mpsc::Receiver<Job>) {
    while let Some(job) = jobs.blocking_recv() {
        commit_group(connection, job, &mut jobs);
    }
    // Leaves one file behind instead of two; if it cannot, the next start reads both.
    if let Err(error) = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)") {
        tracing::warn!(%error, "the write-ahead log could not be emptied");
    }
}

fn commit_group(connection: &Connection, first: Job, jobs: &mut mpsc::Receiver<Job>) {
    let begun = Instant::now();
    if let Err(error) = connection.execute_batch("BEGIN IMMEDIATE") {
        let error = StoreError::from(error);
        tracing::error!(%error, "no transaction could be begun");
        return first(Err(error.clone()))(Err(error));
    }
    let mut answers = Vec::new();
    let mut next = Some(first);
    while let Some(job) = next {
        answers.push(job(Ok(connection)));
        // A full or broken disk can make SQLite take the whole transaction back.
        let goes_on = !connection.is_autocommit()
            && answers.len() < GROUP_JOBS
            && begun.elapsed() < GROUP_TIME;
        next = goes_on.then(|| jobs.try_recv().ok()).flatten();
    }
    let outcome = commit(connection);
    if let Err(error) = &outcome {
        tracing::error!(%error, writes = answers.len(), "a transaction failed; nothing was stored");
    }
    for answer in answers {
        answer(outcome.clone());
    }
}

fn commit(connection: &Connection) -> Result<()> {
    if connection.is_autocommit() {
        return Err(StoreError::Unavailable(
            "another write of the same moment failed".into(),
        ));
    }
    connection.execute_batch("COMMIT").map_err(|error| {
        // If this fails too, there is nothing left to take back.
        let _ = connection.execute_batch("ROLLBACK");
        StoreError::from(error)
    })
}
