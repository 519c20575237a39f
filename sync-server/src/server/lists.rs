//! Lists on their way to gates: which days a gate should hold, each by its signed manifest, and a
//! day's rows as a stream from one moment of the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use data_encoding::BASE64;
use serde::Serialize;
use stile_core::ids::VenueNumber;
use stile_core::protocol::{ListEnd, ListHead, ListManifest, ListPage, Lists};
use stile_core::signed::{Domain, Signed};
use stile_core::time::{EpochSeconds, ServiceDay};
use tokio::sync::mpsc;

use super::{Device, Server, WhitelistStream};
use crate::error::ServerError;
use crate::lists::{ListSummary, RowSecrets, row_bytes};
use crate::store::{ListSnapshot, ListState, StoreError};
use crate::venue_keys::VenueKeys;

/// A list is not given away any more this long after its day, in seconds, and personal data with
/// it (sync-protocol, Whitelist).
pub(super) const KEPT_AFTER_DAY_S: i64 = 72 * 3600;
/// A list is good this long after it was signed at least, in seconds, so that a night without
/// network does not make it stale.
const GOOD_FOR_S: i64 = 24 * 3600;
/// A manifest is signed anew when it is this old, in ms: gates take its time as a second source.
const SIGNED_ANEW_MS: i64 = 15 * 60 * 1000;
/// Rows of one line of a list: some 150 KiB.
const PAGE_ROWS: u32 = 500;
/// Lines read ahead of a gate.
const PAGES_AHEAD: usize = 4;
/// How long a gate may take for a line before its list is broken off.
const PAGE_TIME: Duration = Duration::from_secs(60);
/// How long it may take for the whole list: 100,000 rows at 256 kbit/s, compressed, take ten
/// minutes. While one reads, the store cannot let go of what has changed since.
const LIST_TIME: Duration = Duration::from_secs(30 * 60);
/// Lists whose digests are kept in memory, some 10 KiB each.
const LISTS_KEPT: usize = 1_024;

/// The digests and manifests of lists that were asked for lately.
#[derive(Default)]
pub(super) struct KnownLists {
    lists: Mutex<HashMap<(VenueNumber, ServiceDay), Shared>>,
}

type Shared = Arc<tokio::sync::Mutex<KnownList>>;

#[derive(Default)]
struct KnownList {
    summary: ListSummary,
    manifest: Option<(ListManifest, Signed)>,
}

/// A list as of one moment.
struct CurrentList {
    manifest: ListManifest,
    signed: Signed,
    settings: String,
    secrets: RowSecrets,
    rows: Box<dyn ListSnapshot>,
}

impl KnownLists {
    fn of(&self, venue: VenueNumber, day: &ServiceDay) -> Shared {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.len() >= LISTS_KEPT {
            // Those in use stay; the others are read anew when they are asked for.
            lists.retain(|_, list| Arc::strong_count(list) > 1);
        }
        Arc::clone(lists.entry((venue, day.clone())).or_default())
    }
}

impl KnownLists {
    /// The manifests that are known.
    pub(super) async fn manifests(&self) -> Vec<ListManifest> {
        let lists = || self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<Shared> = lists().values().cloned().collect();
        let mut manifests = Vec::new();
        for list in all {
            let known = list.lock().await;
            manifests.extend(
                known
                    .manifest
                    .as_ref()
                    .map(|(manifest, _)| manifest.clone()),
            );
        }
        manifests
    }
}

impl Server {
    /// The lists that the device should hold now.
    pub async fn lists(&self, device: &Device) -> Result<Lists, ServerError> {
        let keys = self.keys(&device.venue_id).await?;
        let now = self.now().seconds();
        let ended_since = EpochSeconds(now.0.saturating_sub(KEPT_AFTER_DAY_S));
        let mut manifests = Vec::new();
        for day in self.store.held_days(keys.number, now, ended_since).await? {
            manifests.extend(self.current_manifest(&keys, &day).await?);
        }
        Ok(Lists {
            key_manifest: self.key_manifest(&keys).await?,
            manifests,
        })
    }

    /// A day's list. Broken off when the receiver is dropped, or takes nothing for a minute.
    pub async fn whitelist(
        &self,
        device: &Device,
        day: &ServiceDay,
    ) -> Result<WhitelistStream, ServerError> {
        let no_list = ServerError::NotFound("list");
        let keys = self.keys(&device.venue_id).await?;
        let list = self.current_list(&keys, day).await?.ok_or(no_list)?;
        if list.manifest.day_until.0.saturating_add(KEPT_AFTER_DAY_S) <= self.now().seconds().0 {
            return Err(ServerError::NotFound("list any more; its day is over"));
        }
        let head = ListHead {
            manifest: list.signed.clone(),
            key_manifest: self.key_manifest(&keys).await?,
            settings: list.settings.clone(),
        };
        let manifest = list.manifest.clone();
        let (sender, chunks) = mpsc::channel(PAGES_AHEAD);
        tokio::spawn(async move {
            let sent = tokio::time::timeout(LIST_TIME, send(&sender, head, list, &keys)).await;
            if let Err(error) = sent.unwrap_or_else(|_| Err(too_slow())) {
                // If nobody listens any more, nobody needs to hear it.
                let _ = sender.send_timeout(Err(error), PAGE_TIME).await;
            }
        });
        Ok(WhitelistStream { manifest, chunks })
    }

    /// A day's manifest as it is now; `None` if there is no such day. The rows are looked at only
    /// where they have changed.
    async fn current_manifest(
        &self,
        keys: &VenueKeys,
        day: &ServiceDay,
    ) -> Result<Option<Signed>, ServerError> {
        let known = self.lists.of(keys.number, day);
        // Held while the store is read, so that what is known never goes back.
        let mut known = known.lock().await;
        match self.store.list_state(keys.number, day).await? {
            None => Ok(None),
            Some(state) if state.version == known.summary.version => {
                Ok(Some(self.manifest(keys, day, &state, &mut known)?.1))
            }
            Some(_) => Ok(self
                .refreshed(keys, day, &mut known)
                .await?
                .map(|list| list.signed)),
        }
    }

    /// A day's list as it is now, with its manifest; `None` if there is no such day.
    async fn current_list(
        &self,
        keys: &VenueKeys,
        day: &ServiceDay,
    ) -> Result<Option<CurrentList>, ServerError> {
        let known = self.lists.of(keys.number, day);
        let mut known = known.lock().await;
        self.refreshed(keys, day, &mut known).await
    }

    async fn refreshed(
        &self,
        keys: &VenueKeys,
        day: &ServiceDay,
        known: &mut KnownList,
    ) -> Result<Option<CurrentList>, ServerError> {
        let Some(mut rows) = self.store.list(keys.number, day).await? else {
            return Ok(None);
        };
        if known
            .summary
            .refresh(&mut *rows, day, keys, &self.vault)
            .await?
        {
            known.manifest = None;
        }
        let (manifest, signed) = self.manifest(keys, day, rows.state(), known)?;
        Ok(Some(CurrentList {
            manifest,
            signed,
            settings: known.summary.settings.clone(),
            secrets: known.summary.secrets,
            rows,
        }))
    }

    /// The manifest of what is known, signed anew when it is old.
    fn manifest(
        &self,
        keys: &VenueKeys,
        day: &ServiceDay,
        state: &ListState,
        known: &mut KnownList,
    ) -> Result<(ListManifest, Signed), ServerError> {
        let now = self.now();
        let manifest = match known.manifest.take() {
            Some(kept)
                if now.since(kept.0.issued_at).saturating_abs() < SIGNED_ANEW_MS
                    && kept.1.kid == keys.list.at(now.seconds()).0 =>
            {
                kept
            }
            _ => self.sign_list(keys, day, state, &known.summary)?,
        };
        known.manifest = Some(manifest.clone());
        Ok(manifest)
    }

    fn sign_list(
        &self,
        keys: &VenueKeys,
        day: &ServiceDay,
        state: &ListState,
        summary: &ListSummary,
    ) -> Result<(ListManifest, Signed), ServerError> {
        let issued_at = self.now();
        let manifest = ListManifest {
            venue_id: keys.venue_id.clone(),
            service_day: day.clone(),
            day_from: state.day_from,
            day_until: state.day_until,
            generation: self.generation,
            version: summary.version,
            count: summary.count,
            digest: summary.digest(),
            settings_digest: summary.settings_digest(),
            issued_at,
            not_after: EpochSeconds(issued_at.seconds().0.saturating_add(GOOD_FOR_S))
                .max(state.day_until),
        };
        let payload = serde_json::to_vec(&manifest).map_err(ServerError::internal)?;
        let (kid, key) = keys.list.at(issued_at.seconds());
        let signed =
            Signed::sign(&Domain::WHITELIST, &payload, kid, key).map_err(ServerError::internal)?;
        Ok((manifest, signed))
    }
}

type Chunks = mpsc::Sender<Result<Vec<u8>, ServerError>>;

async fn send(
    chunks: &Chunks,
    head: ListHead,
    mut list: CurrentList,
    keys: &VenueKeys,
) -> Result<(), ServerError> {
    send_line(chunks, &head).await?;
    let (mut sent, mut after) = (0, None);
    loop {
        let rows = list.rows.rows_after(after, PAGE_ROWS).await?;
        let Some(last) = rows.last() else {
            break;
        };
        after = Some(last.number);
        sent += rows.len() as u64;
        let encoded = |row| {
            BASE64.encode(&row_bytes(
                row,
                &list.manifest.service_day,
                list.secrets,
                keys,
            ))
        };
        send_line(
            chunks,
            &ListPage {
                rows: rows.into_iter().map(encoded).collect(),
            },
        )
        .await?;
    }
    send_line(chunks, &ListEnd { end: sent }).await
}

async fn send_line(chunks: &Chunks, line: &impl Serialize) -> Result<(), ServerError> {
    let mut bytes = serde_json::to_vec(line).map_err(ServerError::internal)?;
    bytes.push(b'\n');
    chunks
        .send_timeout(Ok(bytes), PAGE_TIME)
        .await
        .map_err(|_| too_slow())
}

fn too_slow() -> ServerError {
    ServerError::StoreUnavailable(StoreError::Unavailable("the gate took too long".into()))
}
