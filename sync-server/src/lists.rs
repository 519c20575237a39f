//! A day's list as gates get it: its bounds, the bytes of its rows, and its digest, kept bucket by
//! bucket so that a change costs one bucket. What is stored, and who may have it, is not known
//! here.

use data_encoding::BASE64;
use sha2::{Digest, Sha256};
use stile_core::codes::Format;
use stile_core::policy::{Policy, V1Key};
use stile_core::ticket::Ticket;
use stile_core::time::{EpochSeconds, ServiceDay};
use stile_core::whitelist::{BUCKETS, BucketDigest, ListDigest, encode, hex, leaf};

use crate::error::ServerError;
use crate::store::{ListRow, ListSnapshot, TicketFields};
use crate::vault::Vault;
use crate::venue_keys::{VenueKeys, unseal_document_key};

/// A day begins this long before its first session admits, in seconds: staff try the gates, early
/// visitors are told `too_early` and not `whitelist_stale` (gate-rules, Time).
const DAY_BEFORE_S: i64 = 6 * 3600;
/// A day ends this long after its last session admits, in seconds: stragglers are told `too_late`.
const DAY_AFTER_S: i64 = 3600;

/// `[day_from, day_until)` of a day whose sessions admit from `first` until `last`.
pub(crate) fn day_bounds(first: EpochSeconds, last: EpochSeconds) -> (EpochSeconds, EpochSeconds) {
    let from = EpochSeconds(first.0.saturating_sub(DAY_BEFORE_S));
    (from, EpochSeconds(last.0.saturating_add(DAY_AFTER_S)))
}

/// Which secrets of its tickets a list carries: those of the formats that the venue takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RowSecrets {
    ticket_keys: bool,
    rotation_keys: bool,
    documents: bool,
}

impl RowSecrets {
    pub(crate) fn of(policy: &Policy) -> Self {
        let takes = |format| policy.formats.contains(&format);
        Self {
            ticket_keys: takes(Format::V1) && policy.v1_key == V1Key::Derived,
            rotation_keys: takes(Format::G3),
            documents: takes(Format::Document),
        }
    }
}

/// The bytes of a row of a day's list.
pub(crate) fn row_bytes(
    row: ListRow,
    day: &ServiceDay,
    secrets: RowSecrets,
    keys: &VenueKeys,
) -> Vec<u8> {
    let venue = &keys.venue_id;
    let TicketFields {
        ticket_id,
        document,
        ..
    } = &row.fields;
    let ticket_key = secrets
        .ticket_keys
        .then(|| keys.issuer.ticket_key(venue, ticket_id, row.revision));
    let rotation_key = secrets
        .rotation_keys
        .then(|| keys.issuer.rotation_key(venue, row.number, row.revision));
    // Under another day's key it would be found by nobody here.
    let document = document
        .as_ref()
        .filter(|document| secrets.documents && document.day == *day);
    let document_hashes = document.map(|document| document.hash).into_iter().collect();
    let fields = row.fields;
    encode(&Ticket {
        number: row.number,
        ticket_id: fields.ticket_id,
        order_number: fields.order_number,
        session_id: fields.session_id,
        zones: fields.zones,
        label: fields.label,
        holder_mask: fields.holder_mask,
        last_four: fields.last_four,
        last_four_of: fields.last_four_of,
        category: fields.category,
        attention: fields.attention,
        source: fields.source,
        age_group: fields.age_group,
        admits: fields.admits,
        status: row.status,
        cancel_cause: row.cancel_cause,
        revision: row.revision,
        admit_from: fields.admit_from,
        admit_until: fields.admit_until,
        ticket_key,
        rotation_key,
        opaque_hashes: fields.opaque_hashes,
        document_hashes,
        standing: row.standing,
    })
}

/// A list's digest and settings, as of one version.
#[derive(Debug)]
pub(crate) struct ListSummary {
    /// The version; 0 before any was read.
    pub version: u64,
    /// What its rows carry.
    pub secrets: RowSecrets,
    /// Rows, tombstones included.
    pub count: u64,
    /// Settings as JSON text.
    pub settings: String,
    buckets: Vec<[u8; 32]>,
}

impl Default for ListSummary {
    fn default() -> Self {
        Self {
            version: 0,
            secrets: RowSecrets::default(),
            count: 0,
            settings: String::new(),
            buckets: vec![BucketDigest::default().finish(); BUCKETS],
        }
    }
}

impl ListSummary {
    /// The digest over the rows, hex.
    pub(crate) fn digest(&self) -> String {
        hex(&ListDigest::of_buckets(self.buckets.iter().copied()))
    }

    /// The digest over the settings, hex.
    pub(crate) fn settings_digest(&self) -> String {
        hex(&Sha256::digest(self.settings.as_bytes()).into())
    }

    /// Brings the summary up to a snapshot of the same list that is no older; says whether it was
    /// older.
    pub(crate) async fn refresh(
        &mut self,
        list: &mut dyn ListSnapshot,
        day: &ServiceDay,
        keys: &VenueKeys,
        vault: &Vault,
    ) -> Result<bool, ServerError> {
        let version = list.state().version;
        if version == self.version {
            return Ok(false);
        }
        let mut settings = list.settings().await?;
        let secrets = RowSecrets::of(&settings.policy);
        if secrets.documents
            && let Some(sealed) = list.document_key().await?
        {
            let key = unseal_document_key(vault, &keys.venue_id, day, &sealed)?;
            settings.document_key = Some(BASE64.encode(key.as_bytes()));
        }
        // Other secrets are other bytes in all rows, changed or not.
        let since = if secrets == self.secrets {
            self.version
        } else {
            0
        };
        let mut fresh = Vec::new();
        for bucket in list.buckets_changed_since(since).await? {
            let mut digest = BucketDigest::default();
            for row in list.bucket(bucket).await? {
                digest.add(leaf(&row_bytes(row, day, secrets, keys)));
            }
            fresh.push((bucket, digest.finish()));
        }
        let count = list.count().await?;
        let settings = serde_json::to_string(&settings).map_err(ServerError::internal)?;
        // Nothing is taken before everything was read, so that a broken reading leaves the old.
        for (bucket, digest) in fresh {
            self.buckets[usize::from(bucket)] = digest;
        }
        *self = Self {
            version,
            secrets,
            count,
            settings,
            buckets: std::mem::take(&mut self.buckets),
        };
        Ok(true)
    }
}
