//! The network side of a gate, on one thread of its own beside the scan loop: records go up,
//! lists come down, the clock hears the server. A server that hangs blocks this thread alone.
//! What goes when, and what an answer means, is core's to say.

mod feed;
mod lists;
mod uploads;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use stile_core::clock::Trust;
use stile_core::device::{ClockStatus, Device, LiveStatus};
use stile_core::journal::JournalError;
use stile_core::outbox::HttpAnswer;
use stile_core::platform::Platform;
use stile_core::time::ServiceDay;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::client::{Answer, Client, ClientError};
use crate::event::{Event, Tell};
use crate::threads;

/// Pauses vary by this share either way, in percent, so that gates switched on together do not
/// ask together.
const JITTER_PERCENT: u64 = 30;
/// The server counts as reachable this long after an answer, in ms: a dozen polls.
const REACHABLE_MS: i64 = 60_000;
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
    feed: Arc<Notify>,
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
        self.feed.notify_one();
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
    /// Starts to sync. `every_second` is told about once a second how the device is, for what else
    /// is to be done beside the scan loop.
    pub fn start(
        device: Arc<Device>,
        platform: Arc<dyn Platform>,
        tell: Tell,
        every_second: impl FnMut(LiveStatus) + Send + 'static,
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
    /// Whether the server answered lately, once that is known.
    online: Cell<Option<bool>>,
    /// No poll has been answered since the last that failed.
    down: Cell<bool>,
    answered_ms: Cell<Option<i64>>,
    clock_off: Cell<bool>,
    trust: Cell<Option<Trust>>,
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
            online: Cell::new(None),
            down: Cell::new(true),
            answered_ms: Cell::new(None),
            clock_off: Cell::new(false),
            trust: Cell::new(None),
            failed_days: RefCell::default(),
            list_trouble: Once::default(),
            upload_trouble: Once::default(),
            storage_trouble: Once::default(),
            unauthorised: Once::default(),
        }
    }

    async fn run(&self, stop: &Notify, every_second: impl FnMut(LiveStatus)) {
        tokio::select! {
            ((), (), (), ()) = async {
                tokio::join!(
                    self.uploads(),
                    self.lists(),
                    self.feed(),
                    self.seconds(every_second)
                )
            } => {}
            () = stop.notified() => {}
        }
        // An upload that was cut off by the end goes again: the server knows it by its ids.
        let _ = timeout(LAST_UPLOAD, self.last_uploads()).await;
    }

    async fn seconds(&self, mut every_second: impl FnMut(LiveStatus)) {
        let mut seconds = interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            seconds.tick().await;
            let now_ms = self.platform.moment().boot_ms;
            let is_late = |at| now_ms.saturating_sub(at) > REACHABLE_MS;
            if self.answered_ms.get().is_some_and(is_late) {
                self.set_online(false, "no answer for a minute");
            }
            if let Err(error) = self.device.maintain() {
                self.tell_storage(&error);
            }
            let live = self.device.live_status();
            self.tell_clock(&live.clock);
            every_second(live);
        }
    }

    fn tell_clock(&self, clock: &ClockStatus) {
        let is_off = clock.wall_off_ms.is_some();
        if self.clock_off.replace(is_off) != is_off {
            (self.tell)(match clock.wall_off_ms {
                Some(off_ms) => Event::ClockWarning { off_ms },
                None => Event::ClockRight,
            });
        }
        if self.trust.replace(Some(clock.trust)) != Some(clock.trust) {
            (self.tell)(Event::ClockTrust { trust: clock.trust });
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
        self.set_online(true, "");
        true
    }

    fn set_online(&self, online: bool, why_not: &str) {
        self.device.set_reachable(online);
        if self.online.replace(Some(online)) != Some(online) {
            (self.tell)(match online {
                true => Event::Online,
                false => Event::Offline {
                    why: why_not.to_owned(),
                },
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
