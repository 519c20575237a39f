//! Lists on their way down: which to hold is asked every few seconds, and what is wanted is
//! fetched while the gate goes on with what it has.

use stile_core::device::{ListTaken, ListsError, Refused};
use stile_core::outbox::{BACKOFF_BASE_MS, BACKOFF_CAP_MS, HttpAnswer};
use stile_core::protocol::ReturnAnswer;
use stile_core::time::ServiceDay;

use super::Work;
use crate::client::{ClientError, complaint};
use crate::event::Event;
use crate::machine::{host_name, model};

/// Pause between two looks at the lists, in ms: a cancelled ticket is known within seconds, and a
/// thousand gates ask a server 200 times a second.
const POLL_MS: u64 = 5_000;
/// The same while no answer comes, in ms: the network is noticed soon after it is back, and a
/// connection that is refused costs nobody anything.
const POLL_DOWN_MS: u64 = 2_000;
/// The same after a 401 or 403, in ms: somebody must act before it changes.
const POLL_UNAUTHORISED_MS: u64 = 60_000;
/// The same while the server waits for an operator's word on this device, in ms: the operator looks
/// whether it worked.
const POLL_FORGOTTEN_MS: u64 = 10_000;

impl Work {
    pub(super) async fn lists(&self) {
        loop {
            let pause = match self.poll().await {
                Ok(pause) => pause,
                Err(error) => {
                    self.down.set(true);
                    // Later on a single poll says nothing yet.
                    if self.online.get().is_none() {
                        self.set_online(false, &error.to_string());
                    }
                    POLL_DOWN_MS
                }
            };
            self.pause(&self.wake.lists, self.jittered(pause)).await;
        }
    }

    /// Asks which lists to hold and fetches what is wanted. Says how long to pause, in ms.
    pub(crate) async fn poll(&self) -> Result<u64, ClientError> {
        let bearer = self.device.identity().bearer();
        let report = self.device.outbox_report();
        if let Err(error) = &report {
            self.tell_storage(error);
        }
        let answer = self.client.lists(bearer, report.as_ref().ok()).await?;
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
            401 | 403 => Ok(self.refused(&answer).await),
            _ => Ok(asked_ms.clamp(POLL_MS, BACKOFF_CAP_MS)),
        }
    }

    /// The server will not serve this device: core knows what that takes away, if anything.
    /// Says how long to pause, in ms.
    async fn refused(&self, answer: &HttpAnswer) -> u64 {
        let what = complaint(answer);
        match self.device.refused(&answer.body) {
            Ok(Refused::Revoked { at, is_new }) => {
                if self.unauthorised.is_new(&what) {
                    (self.tell)(Event::Revoked { at });
                }
                if is_new {
                    // What is unsent goes to quarantine now.
                    self.wake.network_is_here(&self.device);
                }
            }
            Ok(Refused::Unknown) if self.comes_back().await => {
                self.wake.network_is_here(&self.device);
                return self.forgotten();
            }
            Ok(Refused::Waits) => return self.forgotten(),
            Ok(Refused::Unknown | Refused::Kept) => {
                if self.unauthorised.is_new(&what) {
                    (self.tell)(Event::Unauthorised { what });
                }
            }
            Err(error) => self.tell_storage(&error),
        }
        POLL_UNAUTHORISED_MS
    }

    fn forgotten(&self) -> u64 {
        if self.unauthorised.is_new("forgotten") {
            (self.tell)(Event::Forgotten);
        }
        POLL_FORGOTTEN_MS
    }

    /// Shows the certificate to a server that does not know the bearer; says whether it does now.
    async fn comes_back(&self) -> bool {
        let name = match self.device.identity().name.as_str() {
            "" => host_name(),
            name => name.to_owned(),
        };
        let request = match self.device.return_request(&name, &model()) {
            Ok(request) => request,
            Err(error) => {
                self.tell_storage(&error);
                return false;
            }
        };
        let answer = async { self.client.come_back(&request).await?.read().await };
        let answer: Result<HttpAnswer, ClientError> = answer.await;
        answer.is_ok_and(|answer| {
            answer.status == 200 && serde_json::from_slice::<ReturnAnswer>(&answer.body).is_ok()
        })
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
                Ok(taken) => {
                    self.failed_days.borrow_mut().remove(&day);
                    (self.tell)(Event::ListApplied {
                        service_day: day,
                        tickets: taken.tickets,
                        settings_since: (!taken.changed.is_empty()).then_some(taken.since),
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
    async fn fetch(&self, day: &ServiceDay) -> Result<ListTaken, FetchError> {
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
