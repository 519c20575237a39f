//! Records on their way up: batches of devices are verified, read and filed; and what came of them
//! for a person to see.

use std::sync::Arc;

use stile_core::ids::VenueId;
use stile_core::protocol::{
    Batch, ConflictAdmission, ConflictView, Conflicts, Filed, MAX_BATCH, MAX_RECORD_BYTES,
    RecordResult, RecordsAnswer, SignedBatch,
};
use stile_core::signed::{Domain, SignedError};

use super::{Device, Server};
use crate::admissions::{Sender, read};
use crate::error::ServerError;
use crate::store::{Conflict, ConflictState, FilingBatch, FilingResult};
use crate::venue_keys::VenueKeys;

/// Conflicts that are listed at most; a venue with more has another problem.
const MAX_CONFLICTS: u32 = 1_000;

impl Server {
    /// Files a batch of records: what becomes of each, and how far its logs are here. A batch that
    /// cannot be filed whole is not filed at all; the error names the record that is in the way.
    pub async fn file_records(
        &self,
        device: &Device,
        batch: SignedBatch,
    ) -> Result<RecordsAnswer, ServerError> {
        let keys = self.keys(&device.venue_id).await?;
        let (sender, venue) = (device.clone(), Arc::clone(&keys));
        // Hashing and verifying take long enough to be kept away from those who only wait.
        let batch = tokio::task::spawn_blocking(move || open_batch(&sender, &batch, &venue))
            .await
            .map_err(ServerError::internal)??;
        let ids: Vec<_> = batch.records.iter().map(|record| record.id).collect();
        let outcome = self
            .store
            .file_records(keys.number, batch, self.now())
            .await?;
        let quarantined = outcome.results.iter();
        let quarantined = quarantined
            .filter(|one| matches!(one, FilingResult::Quarantined(_)))
            .count();
        if quarantined > 0 {
            let (venue, device) = (&device.venue_id, &device.device_id);
            tracing::warn!(%venue, %device, quarantined, "records were set aside for a person");
        }
        self.metrics.filed(&device.venue_id, &outcome.results);
        let results = ids.into_iter().zip(outcome.results).map(|(id, result)| {
            let (result, standing, why) = match result {
                FilingResult::Accepted(standing) => (Filed::Accepted, standing, None),
                FilingResult::Replayed(standing) => (Filed::Replayed, standing, None),
                FilingResult::Quarantined(why) => (Filed::Quarantined, None, Some(why)),
            };
            RecordResult {
                id,
                result,
                standing,
                why,
            }
        });
        Ok(RecordsAnswer {
            results: results.collect(),
            logs: outcome.logs,
        })
    }

    /// The venue's conflicts in a state, newest first, at most 1,000.
    pub async fn conflicts(
        &self,
        venue: &VenueId,
        state: ConflictState,
    ) -> Result<Conflicts, ServerError> {
        let number = self.keys(venue).await?.number;
        let conflicts = self.store.conflicts(number, state, MAX_CONFLICTS).await?;
        Ok(Conflicts {
            conflicts: conflicts.into_iter().map(conflict_view).collect(),
        })
    }
}

fn open_batch(
    device: &Device,
    SignedBatch(signed): &SignedBatch,
    keys: &VenueKeys,
) -> Result<FilingBatch, ServerError> {
    let payload = signed
        .verify(&Domain::RECORDS, &device.public_key)
        .map_err(|error| match error {
            SignedError::TooLarge(_) => ServerError::TooLarge(error.to_string()),
            SignedError::Spelling(_) => ServerError::InvalidBody(error.to_string()),
            SignedError::BadSignature => ServerError::Forbidden(
                "the batch is not signed with this device's key; enrol the device again".into(),
            ),
        })?;
    let batch: Batch<'_> = serde_json::from_slice(&payload)
        .map_err(|error| ServerError::InvalidBody(format!("the signed payload: {error}")))?;
    if batch.device_id != device.device_id {
        return Err(ServerError::Forbidden(
            "the batch names another device than the one that sent it".into(),
        ));
    }
    let count = batch.records.len();
    if count > MAX_BATCH {
        let problem = format!("records: {count}, and a batch has at most {MAX_BATCH}");
        return Err(ServerError::TooLarge(problem));
    }
    if count == 0 {
        return Err(ServerError::Unprocessable(
            "records: a batch has at least one".into(),
        ));
    }
    let sender = Sender {
        device_id: &device.device_id,
        venue_id: &device.venue_id,
        numbering: &keys.numbering,
    };
    let records = batch.records.iter().enumerate().map(|(index, record)| {
        let bytes = record.get().as_bytes();
        if bytes.len() > MAX_RECORD_BYTES {
            let problem = format!(
                "records[{index}]: {} bytes, and a record has at most {MAX_RECORD_BYTES}",
                bytes.len()
            );
            return Err(ServerError::Unprocessable(problem));
        }
        read(bytes, sender)
            .map_err(|error| ServerError::Unprocessable(format!("records[{index}]: {error}")))
    });
    Ok(FilingBatch {
        device_id: device.device_id.clone(),
        sender: device.standing,
        records: records.collect::<Result<_, _>>()?,
    })
}

fn conflict_view(conflict: Conflict) -> ConflictView {
    let admissions = conflict.entries.into_iter().map(|entry| ConflictAdmission {
        record_id: entry.record_id,
        gate_id: entry.gate_id,
        at: entry.at,
        persons: entry.persons,
        standing: entry.standing,
    });
    ConflictView {
        ticket_id: conflict.ticket_id,
        ticket_number: conflict.number,
        checkpoint: conflict.checkpoint,
        service_day: conflict.service_day,
        opened_at: conflict.opened_at,
        cleared_at: conflict.cleared_at,
        admissions: admissions.collect(),
    }
}
