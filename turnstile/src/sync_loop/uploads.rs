//! Records on their way up: the next batch as soon as there is one, at the pace that core sets.

use std::time::Duration;

use stile_core::device::Uploaded;
use stile_core::journal::JournalError;
use tokio::time::sleep;

use super::Work;
use crate::client::ClientError;
use crate::event::Event;

/// An idle outbox is looked at this often without being woken, in ms: for the stuck records,
/// which core offers hourly.
const IDLE_LOOK_MS: u64 = 60_000;
/// Pause after the journal could not be read or marked, in ms.
const STORAGE_PAUSE_MS: u64 = 5_000;

impl Work {
    pub(super) async fn uploads(&self) {
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

    pub(super) async fn last_uploads(&self) {
        while let Ok(Some(Uploaded::Delivered { .. })) = self.upload().await {}
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
            Uploaded::Delivered { again, .. } => {
                if self.upload_trouble.is_over() {
                    (self.tell)(Event::UploadResumed);
                }
                if *again > 0 {
                    (self.tell)(Event::ServerWentBack { again: *again });
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
}
