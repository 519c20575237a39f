//! What a person does about records in quarantine: look, accept, dismiss.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use stile_core::ids::{DeviceId, RecordId, VenueId};
use stile_core::protocol::{
    DeviceStanding, Judged, JudgedRecord, MAX_JUDGED, Quarantine, QuarantineChoice,
    QuarantineJudged, QuarantinedRecord,
};

use super::{Server, at_most};
use crate::acting;
use crate::admissions::{Sender, read};
use crate::error::ServerError;
use crate::store::{FilingBatch, FilingRecord, QuarantineQuery, Quarantined};

impl Server {
    /// The venue's records that wait for a person or for their ticket, of one device or of all,
    /// oldest first, at most `limit`.
    pub async fn quarantine(
        &self,
        venue: &VenueId,
        device: Option<DeviceId>,
        limit: u32,
    ) -> Result<Quarantine, ServerError> {
        let number = self.keys(venue).await?.number;
        let query = QuarantineQuery::Waiting {
            device,
            limit: limit.saturating_add(1),
        };
        let found = self.store.quarantine(number, query).await?;
        let (found, more) = at_most(limit as usize, found);
        Ok(Quarantine {
            records: found.into_iter().map(shown).collect(),
            more,
        })
    }

    /// Takes records out of quarantine into the log, where they count from now on.
    pub async fn accept_quarantined(
        &self,
        venue: &VenueId,
        choice: QuarantineChoice,
    ) -> Result<QuarantineJudged, ServerError> {
        let keys = self.keys(venue).await?;
        let of_device = |device, limit| QuarantineQuery::OfStanding { device, limit };
        let (meant, more) = self.meant(venue, choice, of_device).await?;
        say_which(&meant);
        let mut by_device: BTreeMap<DeviceId, Vec<FilingRecord>> = BTreeMap::new();
        let mut results = Vec::new();
        for one in meant {
            let sender = Sender {
                device_id: &one.device_id,
                venue_id: venue,
                numbering: &keys.numbering,
            };
            match read(&one.bytes, sender) {
                Ok(record) => by_device.entry(one.device_id).or_default().push(record),
                Err(_) => results.push(JudgedRecord {
                    id: one.id,
                    result: Judged::CannotBeAccepted,
                }),
            }
        }
        for (device_id, records) in by_device {
            let batch = FilingBatch {
                device_id,
                // A person's word stands for the device's.
                sender: DeviceStanding::Enrolled,
                records,
            };
            let now = self.now();
            let judged = self.store.accept_quarantined(keys.number, batch, now);
            let judged = judged.await?.into_iter();
            results.extend(judged.map(|(id, result)| JudgedRecord { id, result }));
        }
        Ok(QuarantineJudged { results, more })
    }

    /// Keeps that records stay out of the log.
    pub async fn dismiss_quarantined(
        &self,
        venue: &VenueId,
        choice: QuarantineChoice,
    ) -> Result<QuarantineJudged, ServerError> {
        let number = self.keys(venue).await?.number;
        let of_device = |device, limit| QuarantineQuery::Waiting {
            device: Some(device),
            limit,
        };
        let (meant, more) = self.meant(venue, choice, of_device).await?;
        say_which(&meant);
        let ids: Vec<RecordId> = meant.into_iter().map(|one| one.id).collect();
        let now = self.now();
        let dismissed = self.store.dismiss_quarantined(number, ids, now).await?;
        let results = dismissed.into_iter().map(|id| JudgedRecord {
            id,
            result: Judged::Dismissed,
        });
        Ok(QuarantineJudged {
            results: results.collect(),
            more,
        })
    }

    /// The records that a choice means, and whether it means more than those.
    async fn meant(
        &self,
        venue: &VenueId,
        choice: QuarantineChoice,
        of_device: impl FnOnce(DeviceId, u32) -> QuarantineQuery,
    ) -> Result<(Vec<Quarantined>, bool), ServerError> {
        let number = self.keys(venue).await?.number;
        let query = match (choice.records, choice.device_id) {
            (records, None) if (1..=MAX_JUDGED).contains(&records.len()) => {
                QuarantineQuery::These(records)
            }
            (records, Some(device)) if records.is_empty() => {
                of_device(device, MAX_JUDGED as u32 + 1)
            }
            _ => {
                let problem = format!("name 1 to {MAX_JUDGED} of them, or else a `device_id`");
                return Err(ServerError::invalid("records", problem));
            }
        };
        if let QuarantineQuery::Waiting {
            device: Some(device),
            ..
        }
        | QuarantineQuery::OfStanding { device, .. } = &query
        {
            let device = self.store.device_of_id(number, device).await?;
            device.ok_or(ServerError::NotFound("device"))?;
        }
        let found = self.store.quarantine(number, query).await?;
        Ok(at_most(MAX_JUDGED, found))
    }
}

/// A record as a person sees it.
fn shown(one: Quarantined) -> QuarantinedRecord {
    // Of what is no JSON any more, that it is there can be said and no more.
    let record = serde_json::from_slice::<&RawValue>(&one.bytes).unwrap_or(RawValue::NULL);
    QuarantinedRecord {
        id: one.id,
        device_id: one.device_id,
        cause: one.cause,
        received_at: one.received_at,
        record: record.to_owned(),
    }
}

/// Says in the audit log which records a person judged: the only one, or the device of several.
fn say_which(meant: &[Quarantined]) {
    acting::counts(meant.len() as u64);
    match meant {
        [] => {}
        [one] => acting::names(one.id),
        [first, ..] => acting::names(&first.device_id),
    }
}
