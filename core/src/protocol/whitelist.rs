//! How a day's list reaches a gate.
//!
//! `GET /v1/gate/lists` names the days to hold, each by its signed manifest. `GET
//! /v1/gate/whitelist/{service_day}` streams one list as NDJSON, all of one version: a
//! [`ListHead`], then [`ListPage`]s in the order of ticket numbers, then a [`ListEnd`].

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Operator;
use crate::ids::VenueId;
use crate::policy::Policy;
use crate::signed::Signed;
use crate::ticket::{Gate, Session};
use crate::time::{EpochMillis, EpochSeconds, ServiceDay};

/// What a list manifest's signed payload says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListManifest {
    /// The venue.
    pub venue_id: VenueId,
    /// The day.
    pub service_day: ServiceDay,
    /// The day's first moment.
    pub day_from: EpochSeconds,
    /// The first moment that is no longer the day's.
    pub day_until: EpochSeconds,
    /// The server's generation, decimal.
    #[serde(with = "crate::decimal")]
    #[schema(value_type = String)]
    pub generation: u64,
    /// Counts up with each change of the list, decimal.
    #[serde(with = "crate::decimal")]
    #[schema(value_type = String)]
    pub version: u64,
    /// Rows, tombstones included.
    pub count: u64,
    /// The digest over the rows, hex.
    pub digest: String,
    /// SHA-256 of the settings' text, hex.
    pub settings_digest: String,
    /// When it was signed.
    pub issued_at: EpochMillis,
    /// When the list is too old to be used without the venue's leave.
    pub not_after: EpochSeconds,
}

/// What travels beside the rows: the whole venue's sessions, gates and policy as they hold for
/// the day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Settings {
    /// Sessions of the day, and those that its moved tickets went to.
    pub sessions: Vec<Session>,
    /// The venue's gates.
    pub gates: Vec<Gate>,
    /// The venue's policy.
    pub policy: Policy,
    /// Who signs in at the gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<Operator>,
    /// The day's key for document hashes, 32 bytes in base64, where the venue takes documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_key: Option<String>,
    /// Since when these settings hold: when the server took the latest change of sessions, gates,
    /// policy or operators.
    #[serde(default)]
    pub since: EpochMillis,
}

/// `GET /v1/gate/lists`: the days that a gate should hold now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lists {
    /// The key manifest, signed by the root.
    pub key_manifest: Signed,
    /// A signed [`ListManifest`] for each of the previous, current and next day that has one.
    pub manifests: Vec<Signed>,
}

/// The first line of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListHead {
    /// The signed [`ListManifest`].
    pub manifest: Signed,
    /// The key manifest that knows the list key.
    pub key_manifest: Signed,
    /// [`Settings`] as JSON text, exactly as its digest was taken.
    pub settings: String,
}

/// A further line of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListPage {
    /// Rows in the order of ticket numbers, base64 of the bytes that are digested.
    pub rows: Vec<String>,
}

/// The last line of a list; a list without it was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListEnd {
    /// Rows sent.
    pub end: u64,
}
