//! How records go up: the next signed batch, and what its answer changes.

use serde_json::value::RawValue;

use super::Device;
use super::identity::DEVICE_KID;
use crate::ids::RecordId;
use crate::journal::{JournalError, SyncStatus};
use crate::outbox::{HttpAnswer, Meaning, STUCK_RETRY_MS, read_answer};
use crate::protocol::{Batch, OutboxReport, SignedBatch};
use crate::signed::{Domain, Signed};

/// A signed batch that is ready to go to `POST /v1/gate/records`.
#[derive(Debug)]
pub struct Upload {
    /// The request's JSON body.
    pub body: Vec<u8>,
    sent: Vec<(RecordId, i64)>,
}

impl Upload {
    /// Records in it.
    pub fn records(&self) -> usize {
        self.sent.len()
    }
}

/// What came of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uploaded {
    /// Records are known to be on the server.
    Delivered {
        /// So many.
        records: usize,
        /// So many that it had confirmed before are missing there, and go again.
        again: u64,
    },
    /// The server refused the batch as a whole; the next one is smaller, or the lone record is
    /// stuck.
    Refused(String),
    /// Nothing is known; wait before the next try.
    Failed(String),
}

/// What a device says of its outbox ends this long before now, in ms: a scan whose claim is asked
/// for carries its time already and has no record yet.
const SETTLED_MS: i64 = 10_000;

impl Device {
    /// What the server is told of the outbox, so that it knows when a session is complete.
    pub fn outbox_report(&self) -> Result<OutboxReport, JournalError> {
        // Taken first: what is made from now on is later than what the report speaks of.
        let settled = self.time().at.plus(-SETTLED_MS);
        let outgoing = self.outgoing();
        let (outstanding, oldest) = outgoing.sync_log.outstanding()?;
        Ok(OutboxReport {
            generation: outgoing.key_manifest.generation,
            delivered_through: oldest.map_or(settled, |oldest| oldest.min(settled)),
            outstanding,
        })
    }

    /// The next batch to send, or none if nothing waits.
    pub fn next_upload(&self) -> Result<Option<Upload>, JournalError> {
        let boot_ms = self.platform.moment().boot_ms;
        let mut outgoing = self.outgoing();
        let mut waiting = outgoing.sync_log.unsent(outgoing.pace.records())?;
        let stuck_due = outgoing
            .stuck_tried_ms
            .is_none_or(|tried| boot_ms - tried >= STUCK_RETRY_MS);
        if waiting.is_empty() && stuck_due {
            outgoing.stuck_tried_ms = Some(boot_ms);
            // Alone, so that a record which is still refused holds nothing up.
            waiting = outgoing.sync_log.stuck(1)?;
        }
        drop(outgoing);
        let Some(key) = self.identity.signing_key() else {
            return Err(JournalError::Foreign("device key"));
        };
        if waiting.is_empty() {
            return Ok(None);
        }
        let records = waiting
            .iter()
            .map(|one| serde_json::from_str::<&RawValue>(&one.record))
            .collect::<Result<_, _>>()?;
        let batch = Batch {
            device_id: self.identity.device_id.clone(),
            records,
        };
        let payload = serde_json::to_vec(&batch)?;
        let signed = Signed::sign(&Domain::RECORDS, &payload, DEVICE_KID, &key)
            .map_err(|_| JournalError::Foreign("batch that cannot be signed"))?;
        Ok(Some(Upload {
            body: serde_json::to_vec(&SignedBatch(signed))?,
            sent: waiting
                .iter()
                .map(|one| (one.record_id, one.position))
                .collect(),
        }))
    }

    /// Milliseconds to wait before the next upload; 0 if it may go now.
    pub fn upload_wait_ms(&self) -> u64 {
        let boot_ms = self.platform.moment().boot_ms;
        self.outgoing().pace.wait_ms(boot_ms)
    }

    /// Reads the answer to an upload; `None` if no answer came.
    pub fn upload_answered(
        &self,
        upload: &Upload,
        answer: Option<&HttpAnswer>,
    ) -> Result<Uploaded, JournalError> {
        let ids: Vec<_> = upload.sent.iter().map(|(id, _)| *id).collect();
        let meaning = read_answer(&ids, answer);
        let at = self.time().at;
        let mut outgoing = self.outgoing();
        let uploaded = match meaning {
            Meaning::Marks { marks, logs } => {
                let positions: std::collections::HashMap<_, _> =
                    upload.sent.iter().copied().collect();
                let marks: Vec<_> = marks
                    .into_iter()
                    .filter_map(|(id, status)| Some((*positions.get(&id)?, status)))
                    .collect();
                outgoing.sync_log.mark(&marks, at)?;
                let mut again = 0;
                for log in &logs {
                    again += outgoing.sync_log.send_again(log.log_id, &log.missing)?;
                }
                outgoing.pace.succeeded();
                Uploaded::Delivered {
                    records: marks.len(),
                    again,
                }
            }
            Meaning::Refused(why) => {
                if let [(_, position)] = upload.sent.as_slice() {
                    outgoing
                        .sync_log
                        .mark(&[(*position, SyncStatus::Stuck)], at)?;
                    outgoing.stuck_tried_ms = Some(self.platform.moment().boot_ms);
                }
                outgoing.pace.refused(upload.sent.len());
                Uploaded::Refused(why)
            }
            Meaning::Transport {
                what,
                retry_after_ms,
            } => {
                let mut random = [0; 8];
                self.platform.fill(&mut random);
                let boot_ms = self.platform.moment().boot_ms;
                outgoing
                    .pace
                    .failed(boot_ms, retry_after_ms, u64::from_le_bytes(random));
                Uploaded::Failed(what)
            }
        };
        outgoing.last_trouble = match &uploaded {
            Uploaded::Delivered { .. } => None,
            Uploaded::Refused(what) | Uploaded::Failed(what) => Some(what.clone()),
        };
        Ok(uploaded)
    }
}
