//! The one thread that writes. Jobs that wait together go into one transaction, so that one disk
//! flush serves them all. Nobody is answered before the commit, and one job that fails undoes
//! nothing of the others.
//!
//! Savepoints would do the latter too, and copy every page aside that a job changes: with lists and
//! movements in no order that is most of the work. Instead, a job that fails before it has written
//! anything is simply left out, as all are that find their request wanting; and where one fails
//! later, on a full disk or by a fault of ours, the transaction is taken back and the others are
//! run again, each by itself.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use stile_core::ids::VenueNumber;
use tokio::sync::{mpsc, oneshot, watch};

use super::{audit, feed, records};
use crate::acting::{self, Acting};
use crate::store::{Ends, Result, StoreError};
use crate::traced;

/// Jobs that wait at most; whoever comes then waits to be let in. Bounds memory: the largest job
/// is a batch of 500 records of 4 KiB.
const QUEUE_JOBS: usize = 64;
/// Jobs of one transaction at most: more than wait at once under load.
const GROUP_JOBS: usize = 128;
/// A transaction takes no further job after this long, so that the first in it is not kept
/// waiting for an import behind it.
const GROUP_TIME: Duration = Duration::from_millis(50);

/// A job and whoever waits for it.
trait Job: Send {
    /// Runs within a transaction; may be run again after it was taken back.
    fn run(&mut self, connection: &Connection) -> Result<()>;
    /// Says what became of it.
    fn answer(self: Box<Self>, outcome: Result<()>);
}

struct Task<T, F> {
    job: F,
    value: Option<T>,
    answer: oneshot::Sender<Result<T>>,
}

impl<T: Send, F: FnMut(&Connection) -> Result<T> + Send> Job for Task<T, F> {
    fn run(&mut self, connection: &Connection) -> Result<()> {
        self.value = Some((self.job)(connection)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<()>) {
        let Self { value, answer, .. } = *self;
        // Nobody may be waiting any more.
        let _ = answer.send(outcome.and_then(|()| value.ok_or(StoreError::Closed)));
    }
}

/// Hands jobs to the writing thread.
pub(super) struct Writer {
    jobs: Mutex<Option<mpsc::Sender<Message>>>,
    urgent: Urgent,
    thread: Mutex<Option<JoinHandle<()>>>,
    ends: watch::Receiver<AllEnds>,
}

/// Of each venue that has added anything.
type AllEnds = HashMap<VenueNumber, Ends>;

/// A job, or word that an urgent one waits.
type Message = Option<Box<dyn Job>>;

/// Jobs that go before all others; as many at most as there are connections.
type Urgent = Arc<Mutex<VecDeque<Box<dyn Job>>>>;

impl Writer {
    /// Starts the thread. It owns the connection, and closes it when the writer is closed.
    pub(super) fn start(connection: Connection) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel(QUEUE_JOBS);
        let (added, ends) = watch::channel(AllEnds::new());
        let urgent = Urgent::default();
        let queue = Queue {
            jobs: receiver,
            urgent: Arc::clone(&urgent),
            held: None,
        };
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || run(&connection, queue, &added))?;
        Ok(Self {
            jobs: Mutex::new(Some(sender)),
            urgent,
            thread: Mutex::new(Some(thread)),
            ends,
        })
    }

    /// How far logs and feeds go, after each commit.
    pub(super) fn ends(&self) -> watch::Receiver<AllEnds> {
        self.ends.clone()
    }

    /// Runs a job in a transaction; when this answers `Ok`, its effect is durable, otherwise it
    /// had none. Once handed over, the job is run whether or not anybody still waits for it. The
    /// administrative act within which this is, if any, gets its row in the same transaction.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        mut job: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let trace = traced::current();
        let mut job =
            move |connection: &Connection| traced::surround_here(trace, || job(connection));
        let Some(acting) = acting::current().filter(Acting::take) else {
            return self.hand_over(job).await;
        };
        let act = acting.clone();
        let written = self.hand_over(move |connection| {
            let value = job(connection)?;
            let (row, venues) = act.to_keep();
            let places = audit::add(connection, &row, &venues)?;
            Ok((value, (row, places)))
        });
        let (value, kept) = written.await.inspect_err(|_| acting.kept(None))?;
        acting.kept(Some(kept));
        Ok(value)
    }

    async fn hand_over<T: Send + 'static>(
        &self,
        job: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let jobs = lock(&self.jobs).clone().ok_or(StoreError::Closed)?;
        let (task, answered) = task(job);
        jobs.send(Some(task))
            .await
            .map_err(|_| StoreError::Closed)?;
        drop(jobs);
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// The same, before all jobs that wait: for what a person at a gate waits for. The transaction
    /// that takes it takes no other job any more.
    pub(super) async fn write_urgently<T: Send + 'static>(
        &self,
        job: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let jobs = lock(&self.jobs).clone().ok_or(StoreError::Closed)?;
        let (task, answered) = task(job);
        lock(&self.urgent).push_back(task);
        // Where there is no room for a word, the thread is at work and looks by itself. It does
        // not end while this sender is there.
        let _ = jobs.try_send(None);
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

fn task<T: Send + 'static>(
    job: impl FnMut(&Connection) -> Result<T> + Send + 'static,
) -> (Box<dyn Job>, oneshot::Receiver<Result<T>>) {
    let (answer, answered) = oneshot::channel();
    let task = Task {
        job,
        value: None,
        answer,
    };
    (Box::new(task), answered)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The jobs that wait, as the thread sees them.
struct Queue {
    jobs: mpsc::Receiver<Message>,
    urgent: Urgent,
    /// A job that was taken while an urgent one came.
    held: Option<Box<dyn Job>>,
}

impl Queue {
    /// Waits for a job, and says whether it is urgent; `None` once the writer is closed and
    /// nothing waits any more.
    fn wait(&mut self) -> Option<(Box<dyn Job>, bool)> {
        loop {
            if let Some(job) = self.waiting() {
                return Some(job);
            }
            match self.jobs.blocking_recv() {
                Some(job) => self.held = job,
                // Whoever handed an urgent job over held a sender meanwhile, so it is there now.
                None => return self.waiting(),
            }
        }
    }

    /// The next job if one waits; urgent ones first.
    fn waiting(&mut self) -> Option<(Box<dyn Job>, bool)> {
        if let Some(job) = self.next_urgent() {
            return Some((job, true));
        }
        while self.held.is_none() {
            self.held = self.jobs.try_recv().ok()?;
        }
        self.held.take().map(|job| (job, false))
    }

    fn next_urgent(&mut self) -> Option<Box<dyn Job>> {
        lock(&self.urgent).pop_front()
    }
}

fn run(connection: &Connection, mut queue: Queue, added: &watch::Sender<AllEnds>) {
    while let Some((job, is_urgent)) = queue.wait() {
        commit_group(connection, job, is_urgent, &mut queue);
        match ends(connection) {
            Ok(ends) => {
                added.send_if_modified(|known| {
                    let changed = *known != ends;
                    *known = ends;
                    changed
                });
            }
            Err(error) => tracing::warn!(%error, "those who wait are not told of what was added"),
        }
    }
    // Leaves one file behind instead of two; if it cannot, the next start reads both.
    if let Err(error) = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)") {
        tracing::warn!(%error, "the write-ahead log could not be emptied");
    }
}

fn ends(connection: &Connection) -> Result<AllEnds> {
    let mut ends = AllEnds::new();
    records::each_end(connection, |venue, end| {
        ends.entry(venue).or_default().log = end;
    })?;
    feed::each_end(connection, |venue, end| {
        ends.entry(venue).or_default().feed = end;
    })?;
    Ok(ends)
}

fn commit_group(connection: &Connection, first: Box<dyn Job>, is_urgent: bool, queue: &mut Queue) {
    let began = Instant::now();
    if let Err(error) = begin(connection) {
        return first.answer(Err(error));
    }
    let mut done = Vec::new();
    let mut next = Some(first);
    let mut urgent_only = is_urgent;
    while let Some(mut job) = next {
        let written = connection.total_changes();
        match job.run(connection) {
            Ok(()) => done.push(job),
            Err(error) if written == connection.total_changes() && in_transaction(connection) => {
                job.answer(Err(error));
            }
            Err(error) => {
                tracing::error!(%error, others = done.len(), "a write failed half-way");
                take_back(connection);
                job.answer(Err(error));
                return done
                    .into_iter()
                    .for_each(|job| commit_alone(connection, job));
            }
        }
        let goes_on = done.len() < GROUP_JOBS && began.elapsed() < GROUP_TIME;
        next = match goes_on {
            true if urgent_only => queue.next_urgent(),
            true => queue.waiting().map(|(job, is_urgent)| {
                urgent_only = is_urgent;
                job
            }),
            false => None,
        };
    }
    let outcome = commit(connection);
    for job in done {
        job.answer(outcome.clone());
    }
}

fn commit_alone(connection: &Connection, mut job: Box<dyn Job>) {
    let outcome = begin(connection)
        .and_then(|()| job.run(connection).inspect_err(|_| take_back(connection)))
        .and_then(|()| commit(connection));
    job.answer(outcome);
}

fn begin(connection: &Connection) -> Result<()> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    Ok(())
}

fn commit(connection: &Connection) -> Result<()> {
    let commit = || connection.prepare_cached("COMMIT")?.execute([]);
    commit().map_err(|error| {
        tracing::error!(%error, "a transaction failed; nothing of it was stored");
        take_back(connection);
        StoreError::from(error)
    })?;
    Ok(())
}

/// SQLite may have taken the transaction back by itself, when the disk was full or broken.
fn take_back(connection: &Connection) {
    if in_transaction(connection)
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        tracing::error!(%error, "a transaction could not be taken back");
    }
}

fn in_transaction(connection: &Connection) -> bool {
    !connection.is_autocommit()
}
