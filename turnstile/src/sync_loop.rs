//! The network side of a gate, on one thread of its own beside the scan loop: records go up,
//! lists come down, the clock hears the server. A server that hangs blocks this thread alone.
//! What goes when, and what an answer means, is core's to say.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use stile_core::device::{Device, ListsError, Uploaded};
use stile_core::journal::JournalError;
use stile_core::outbox::{BACKOFF_BASE_MS, BACKOFF_CAP_MS, HttpAnswer};
use stile_core::platform::Platform;
use stile_core::time::ServiceDay;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::client::{Answer, Client, ClientError, complaint};
use crate::event::{Event, Tell};
use crate::threads;

/// Pause between two looks at the lists, in ms: a cancelled ticket is known within seconds, and a
/// thousand gates ask a server 200 times a second.
const POLL_MS: u64 = 5_000;
/// The same while no answer comes, in ms: the network is noticed soon after it is back, and a
/// connection that is refused costs nobody anything.
const POLL_DOWN_MS: u64 = 2_000;
/// The same after a 401 or 403, in ms: somebody must act before it changes.
const POLL_UNAUTHORISED_MS: u64 = 60_000;
/// Pauses vary by this share either way, in percent, so that gates switched on together do not
/// ask together.
const JITTER_PERCENT: u64 = 30;
/// The server counts as reachable this long after an answer, in ms: a dozen polls.
const REACHABLE_MS: i64 = 60_000;
/// An idle outbox is looked at this often without being woken, in ms: for the stuck records,
/// which core offers hourly.
const IDLE_LOOK_MS: u64 = 60_000;
/// Pause after the journal could not be read or marked, in ms.
const STORAGE_PAUSE_MS: u64 = 5_000;
/// Time for a last upload when the program ends.
const LAST_UPLOAD: Duration = Duration::from_secs(2);
/// Time for the thread to end after that.
const END: Duration = Duration::from_secs(1);
/// Threads that look names up; a resolver that hangs holds one.
const RESOLVERS: usize = 2;

/// Why the sync loop does not start.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The HTTP client.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The thread or its runtime.
    #[error("the sync loop: {0}")]
    Io(#[from] io::Error),
}

/// The running sync loop.
#[derive(Debug)]
pub struct SyncLoop {
    wake: Wake,
    stop: Arc<Notify>,
    ended: Receiver<()>,
}

/// Wakes the sync loop; cheap, and never waits.
#[derive(Debug, Clone, Default)]
pub struct Wake {
    uploads: Arc<Notify>,
    lists: Arc<Notify>,
}

impl Wake {
    /// There is a new record.
    pub fn record(&self) {
        self.uploads.notify_one();
    }

    /// The platform says that the network is back.
    pub fn network_is_here(&self, device: &Device) {
        device.network_is_here();
        self.uploads.notify_one();
        self.lists.notify_one();
    }
}

/// A client for the server that a device is enrolled at, which judges certificates by the
/// device's clock.
pub fn client_of(device: &Arc<Device>, platform: Arc<dyn Platform>) -> Result<Client, ClientError> {
    let identity = device.identity();
    let clock = Arc::clone(device);
    Client::new(
        &identity.server,
        identity.ca_pin.as_deref(),
        Arc::new(move || clock.time().at),
        platform,
    )
}

impl SyncLoop {
    /// Starts to sync. `every_second` is called about once a second, for what else is to be done
    /// beside the scan loop.
    pub fn start(
        device: Arc<Device>,
        platform: Arc<dyn Platform>,
        tell: Tell,
        every_second: impl FnMut() + Send + 'static,
    ) -> Result<Self, SyncError> {
        let client = client_of(&device, Arc::clone(&platform))?;
        let runtime = runtime()?;
        let wake = Wake::default();
        let stop = Arc::new(Notify::new());
        let (end, ended) = sync_channel(1);
        let (wake_inside, stop_inside) = (wake.clone(), Arc::clone(&stop));
        threads::spawn_large("sync", move || {
            let work = Work::new(device, platform, client, tell, wake_inside);
            runtime.block_on(work.run(&stop_inside, every_second));
            // A resolver that hangs must not keep the program from ending.
            runtime.shutdown_background();
            // Whoever waited may have given up.
            let _ = end.send(());
        })?;
        Ok(Self { wake, stop, ended })
    }

    /// What wakes it.
    pub fn wake(&self) -> &Wake {
        &self.wake
    }

    /// Tries a last upload briefly and ends.
    pub fn stop(self) {
        self.stop.notify_one();
        // A thread that hangs on a dead disk is left behind.
        let _ = self.ended.recv_timeout(LAST_UPLOAD + END);
    }
}

/// A runtime for one thread.
pub(crate) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(RESOLVERS)
        .build()
}

/// Says a trouble once, until it changes or is over.
#[derive(Debug, Default)]
struct Once(RefCell<Option<String>>);

impl Once {
    fn is_new(&self, what: &str) -> bool {
        let mut said = self.0.borrow_mut();
        if said.as_deref() == Some(what) {
            return false;
        }
        *said = Some(what.to_owned());
        true
    }

    fn end(&self) {
        self.0.borrow_mut().take();
    }

    fn is_over(&self) -> bool {
        self.0.borrow_mut().take().is_some()
    }
}

/// What the sync thread works with. Its parts run in turns on one thread, so that cells do.
pub(crate) struct Work {
    device: Arc<Device>,
    platform: Arc<dyn Platform>,
    client: Client,
    tell: Tell,
    wake: Wake,
    online: Cell<bool>,
    /// No poll has been answered since the last that failed.
    down: Cell<bool>,
    answered_ms: Cell<Option<i64>>,
    clock_off: Cell<bool>,
    /// Days whose list could not be taken: how often in a row, and when to try again.
    failed_days: RefCell<HashMap<ServiceDay, (u32, i64)>>,
    list_trouble: Once,
    upload_trouble: Once,
    storage_trouble: Once,
    unauthorised: Once,
}

impl Work {
    pub(crate) fn new(
        device: Arc<Device>,
        platform: Arc<dyn Platform>,
        client: Client,
        tell: Tell,
        wake: Wake,
    ) -> Self {
        Self {
            device,
            platform,
            client,
            tell,
            wake,
            online: Cell::new(false),
            down: Cell::new(true),
            answered_ms: Cell::new(None),
            clock_off: Cell::new(false),
            failed_days: RefCell::default(),
            list_trouble: Once::default(),
            upload_trouble: Once::default(),
            storage_trouble: Once::default(),
            unauthorised: Once::default(),
        }
    }

    async fn run(&self, stop: &Notify, every_second: impl FnMut()) {
        tokio::select! {
            ((), (), ()) = async {
                tokio::join!(self.uploads(), self.lists(), self.seconds(every_second))
            } => {}
            () = stop.notified() => {}
        }
        // An upload that was cut off by the end goes again: the server knows it by its ids.
        let _ = timeout(LAST_UPLOAD, self.last_uploads()).await;
    }

    async fn uploads(&self) {
        loop {
            let wait = self.device.upload_wait_ms();
            if wait > 0 {
                self.pause(&self.wake.uploads, wait).await;
                continue;
            }
            match self.upload().await {
                Ok(Some(_)) => {}
                Ok(None) => self.pause(&self.wake.uploads, IDLE_LOOK_MS).await,
                Err(error) => {
                    self.tell_storage(&error);
                    sleep(Duration::from_millis(STORAGE_PAUSE_MS)).await;
                }
            }
        }
    }

    async fn last_uploads(&self) {
        while let Ok(Some(Uploaded::Delivered(_))) = self.upload().await {}
    }

    /// Sends the next batch, if there is one.
    async fn upload(&self) -> Result<Option<Uploaded>, JournalError> {
        let Some(upload) = self.device.next_upload()? else {
            return Ok(None);
        };
        let bearer = self.device.identity().bearer();
        let answer = self.small(self.client.records(bearer, upload.body.clone()));
        let answer = answer.await;
        let uploaded = self.device.upload_answered(&upload, answer.as_ref().ok())?;
        self.tell_upload(&uploaded, answer.err());
        Ok(Some(uploaded))
    }

    fn tell_upload(&self, uploaded: &Uploaded, error: Option<ClientError>) {
        match uploaded {
            Uploaded::Delivered(_) => {
                if self.upload_trouble.is_over() {
                    (self.tell)(Event::UploadResumed);
                }
            }
            Uploaded::Refused(what) | Uploaded::Failed(what) => {
                let what = error.map_or_else(|| what.clone(), |error| error.to_string());
                if self.upload_trouble.is_new(&what) {
                    (self.tell)(Event::UploadTrouble { what });
                }
            }
        }
    }

    async fn lists(&self) {
        loop {
            let pause = match self.poll().await {
                Ok(pause) => pause,
                Err(_) => {
                    self.down.set(true);
                    POLL_DOWN_MS
                }
            };
            self.pause(&self.wake.lists, self.jittered(pause)).await;
        }
    }

    /// Asks which lists to hold and fetches what is wanted. Says how long to pause, in ms.
    pub(crate) async fn poll(&self) -> Result<u64, ClientError> {
        let bearer = self.device.identity().bearer();
        let answer = self.client.lists(bearer).await?;
        let is_ours = self.heard(&answer);
        let answer = answer.read().await?;
        if !is_ours {
            return Err(ClientError::Transport(complaint(&answer)));
        }
        if self.down.replace(false) {
            self.wake.network_is_here(&self.device);
        }
        let asked_ms = answer.retry_after_s.unwrap_or(0).saturating_mul(1000);
        match answer.status {
            200 => {
                self.unauthorised.end();
                self.take_lists(&answer).await;
                Ok(POLL_MS)
            }
            401 | 403 => {
                let what = complaint(&answer);
                if self.unauthorised.is_new(&what) {
                    (self.tell)(Event::Unauthorised { what });
                }
                Ok(POLL_UNAUTHORISED_MS)
            }
            _ => Ok(asked_ms.clamp(POLL_MS, BACKOFF_CAP_MS)),
        }
    }

    async fn take_lists(&self, answer: &HttpAnswer) {
        let wanted = match self.device.lists_answered(&answer.body) {
            Ok(wanted) => wanted,
            Err(error) => return self.list_trouble(&error.to_string()),
        };
        match wanted.refused.first() {
            Some(refused) => self.list_trouble(&refused.to_string()),
            None if wanted.fetch.is_empty() => self.list_trouble.end(),
            None => {}
        }
        for day in wanted.fetch {
            let now_ms = self.platform.moment().boot_ms;
            let failed = self.failed_days.borrow().get(&day).copied();
            if failed.is_some_and(|(_, not_before)| now_ms < not_before) {
                continue;
            }
            match self.fetch(&day).await {
                Ok(tickets) => {
                    self.failed_days.borrow_mut().remove(&day);
                    (self.tell)(Event::ListApplied {
                        service_day: day,
                        tickets,
                    });
                }
                Err(why) => {
                    self.list_failed(day, failed.map_or(0, |(times, _)| times));
                    self.list_trouble(&why.to_string());
                }
            }
        }
    }

    /// Fetches one day's list while the gate goes on with the one it has.
    async fn fetch(&self, day: &ServiceDay) -> Result<u64, FetchError> {
        let bearer = self.device.identity().bearer();
        let mut answer = self.client.list(bearer, day).await?;
        self.heard(&answer);
        if answer.status() != 200 {
            return Err(FetchError::Refused(complaint(&answer.read().await?)));
        }
        let mut download = self.device.begin_list(day.clone());
        while let Some(chunk) = answer.chunk().await? {
            download.feed(chunk.as_ref())?;
        }
        Ok(download.finish()?)
    }

    /// A list that cannot be taken is not fetched again at each poll.
    fn list_failed(&self, day: ServiceDay, times: u32) {
        let doubled = BACKOFF_BASE_MS.saturating_mul(1_u64.checked_shl(times).unwrap_or(u64::MAX));
        let span = self.jittered(POLL_MS.saturating_add(doubled).min(BACKOFF_CAP_MS));
        let now_ms = self.platform.moment().boot_ms;
        let not_before = now_ms.saturating_add(i64::try_from(span).unwrap_or(i64::MAX));
        self.failed_days
            .borrow_mut()
            .insert(day, (times.saturating_add(1), not_before));
    }

    fn list_trouble(&self, why: &str) {
        if self.list_trouble.is_new(why) {
            (self.tell)(Event::ListRefused {
                why: why.to_owned(),
            });
        }
    }

    async fn seconds(&self, mut every_second: impl FnMut()) {
        let mut seconds = interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            seconds.tick().await;
            let now_ms = self.platform.moment().boot_ms;
            let lately = self
                .answered_ms
                .get()
                .is_some_and(|at| now_ms.saturating_sub(at) <= REACHABLE_MS);
            if !lately {
                self.set_online(false);
            }
            if let Err(error) = self.device.maintain() {
                self.tell_storage(&error);
            }
            let warning = self.device.live_status().clock.wall_off_ms;
            if self.clock_off.replace(warning.is_some()) != warning.is_some() {
                (self.tell)(match warning {
                    Some(off_ms) => Event::ClockWarning { off_ms },
                    None => Event::ClockRight,
                });
            }
            every_second();
        }
    }

    /// Reads the whole of a small answer, and hears what it says of the time.
    async fn small(
        &self,
        asked: impl Future<Output = Result<Answer, ClientError>>,
    ) -> Result<HttpAnswer, ClientError> {
        let answer = asked.await?;
        self.heard(&answer);
        answer.read().await
    }

    /// Hears the server's time. Without it nobody of ours has answered.
    fn heard(&self, answer: &Answer) -> bool {
        let Some(server_time) = answer.server_time else {
            return false;
        };
        match self.device.hear_server(server_time, answer.sent_boot_ms) {
            Ok(_) => self.storage_trouble.end(),
            Err(error) => self.tell_storage(&error),
        }
        self.answered_ms.set(Some(self.platform.moment().boot_ms));
        self.set_online(true);
        true
    }

    fn set_online(&self, online: bool) {
        self.device.set_reachable(online);
        if self.online.replace(online) != online {
            (self.tell)(match online {
                true => Event::Online,
                false => Event::Offline,
            });
        }
    }

    fn tell_storage(&self, error: &JournalError) {
        let what = error.to_string();
        if self.storage_trouble.is_new(&what) {
            (self.tell)(Event::StorageTrouble { what });
        }
    }

    async fn pause(&self, wake: &Notify, ms: u64) {
        // Elapsed or woken is all the same.
        let _ = timeout(Duration::from_millis(ms), wake.notified()).await;
    }

    fn jittered(&self, ms: u64) -> u64 {
        let mut random = [0; 8];
        self.platform.fill(&mut random);
        let spread = ms.saturating_mul(2 * JITTER_PERCENT) / 100;
        let least = ms.saturating_sub(spread / 2);
        least.saturating_add(u64::from_le_bytes(random) % (spread + 1))
    }
}

/// Why a list was not fetched.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    /// No answer, or not the whole.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server's word.
    #[error("the server gives no list: {0}")]
    Refused(String),
    /// The list.
    #[error(transparent)]
    Lists(#[from] ListsError),
}
