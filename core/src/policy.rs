//! What a venue may decide for itself, with the defaults for gates with and without staff.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::codes::{CodeRules, Format, OpaqueShape, VenueShapes};
use crate::ids::{GateId, Zone};
use crate::reason::Reason;
use crate::ticket::Gate;
use crate::time::{EpochSeconds, TimeOfDay};

/// A staffed gate admits by a list this long past its `not_after`, in seconds: half a day, so
/// that a weekend morning starts while somebody is called.
pub const STALE_ADMIT_STAFFED_S: u32 = 12 * 3600;

/// Whether a gate admits or refuses where the rules leave it to the venue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Leave {
    /// Let in, marked.
    Admit,
    /// Keep shut.
    Refuse,
}

/// What a gate does with a v1 code that was signed with the shared key, when nobody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum V1SharedOffline {
    /// Refuse as `unverifiable_offline`.
    UnverifiableOffline,
    /// Admit if its id is listed and its text has not expired, marked `unverified`.
    ListedMatch,
}

/// How v1 codes of the venue are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum V1Key {
    /// A key per ticket, derived on the server and sent in the list.
    #[default]
    Derived,
    /// One key of the booking system's, over the full phone number; gates never get it.
    Shared,
}

/// What a gate may decide without server or hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Everything, marked `isolated`.
    #[default]
    Lenient,
    /// Nothing: refuse as `isolated`.
    Strict,
}

/// Shortest and longest wait for the answer to a claim at a staffed gate, in ms: mobile networks
/// are slow.
pub const CLAIM_DEADLINE_STAFFED_MS: (u32, u32) = (150, 800);
/// The same where nobody stands: a visitor at a turnstile pushes.
pub const CLAIM_DEADLINE_UNATTENDED_MS: (u32, u32) = (150, 400);

/// How a reading of a ticket for several persons is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Party {
    /// Each reading admits one person.
    OneByOne,
    /// One reading admits all that remain.
    All,
}

/// A time for which gates stand open for everybody, by plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FreePassageTime {
    /// Which gate.
    pub gate_id: GateId,
    /// From.
    pub from: EpochSeconds,
    /// Until, exclusive.
    pub until: EpochSeconds,
    /// Why, for the record.
    #[serde(default)]
    pub why: String,
}

/// The part of the policy that differs between gates with and without staff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GatePolicy {
    /// A verified G2 code whose ticket is in no list.
    pub unlisted: Leave,
    /// Zones that such a code may enter; empty means any.
    #[serde(default)]
    pub unlisted_zones: Vec<Zone>,
    /// A v1 code of the shared key, when nobody can be asked.
    pub v1_shared_offline: V1SharedOffline,
    /// Seconds past the list's `not_after` for which it still admits; 0 refuses at once.
    pub whitelist_stale_admit_s: u32,
    /// A plausible but unanchored clock.
    pub clock_unanchored: Leave,
    /// Cut off from server and hub.
    #[serde(default)]
    pub isolation: Isolation,
    /// Several persons on one ticket. Staff choose the number; this is what a reading means before
    /// they do.
    #[serde(default = "one_by_one")]
    pub party: Party,
    /// Least and most that the gate waits for the answer to a claim, in ms; between them it waits
    /// twice the median round trip. (0, 0) makes no claims.
    #[serde(default = "claim_deadline_unattended")]
    pub claim_deadline_ms: (u32, u32),
}

fn one_by_one() -> Party {
    Party::OneByOne
}

fn claim_deadline_unattended() -> (u32, u32) {
    CLAIM_DEADLINE_UNATTENDED_MS
}

impl GatePolicy {
    /// The defaults where a guard stands at the gate.
    pub fn staffed() -> Self {
        Self {
            unlisted: Leave::Admit,
            unlisted_zones: Vec::new(),
            v1_shared_offline: V1SharedOffline::ListedMatch,
            whitelist_stale_admit_s: STALE_ADMIT_STAFFED_S,
            clock_unanchored: Leave::Admit,
            isolation: Isolation::Lenient,
            party: Party::OneByOne,
            claim_deadline_ms: CLAIM_DEADLINE_STAFFED_MS,
        }
    }

    /// The defaults where nobody does.
    pub fn unattended() -> Self {
        Self {
            unlisted: Leave::Refuse,
            v1_shared_offline: V1SharedOffline::UnverifiableOffline,
            whitelist_stale_admit_s: 0,
            claim_deadline_ms: CLAIM_DEADLINE_UNATTENDED_MS,
            ..Self::staffed()
        }
    }
}

/// Percent of a day's tickets that a whole set may leave out without a person's word: more than
/// visitors cancel from one evening to the next, and far less than a file that was cut in half.
pub const VANISH_PERCENT: u8 = 20;

fn vanish_percent() -> u8 {
    VANISH_PERCENT
}

fn is_default_vanish_percent(percent: &u8) -> bool {
    *percent == VANISH_PERCENT
}

/// Hours of opening days for which the booking system may write no ticket: a whole day in which
/// nobody books, pays or cancels is a feed that hangs.
pub const FEED_SILENT_H: u16 = 24;

/// Hours within which a booking system that states its sets states the next one: a day, and time for
/// a job that runs late.
pub const RECONCILED_WITHIN_H: u16 = 26;

/// When the server raises alarms about the booking system. The server's own: gates make nothing of
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AlarmRules {
    /// When tomorrow must have tickets, by the venue's clock; by default 21:00.
    #[schema(value_type = String, pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$", example = "21:00")]
    pub tickets_due: TimeOfDay,
    /// Hours of opening days for which no ticket may be written, up to 720; by default 24. 0 raises
    /// no such alarm.
    #[schema(minimum = 0, maximum = 720)]
    pub feed_silent_h: u16,
    /// Hours within which a booking system that states its sets must state the next one, up to 720;
    /// by default 26. 0 raises no such alarm.
    #[schema(minimum = 0, maximum = 720)]
    pub reconciled_within_h: u16,
}

impl Default for AlarmRules {
    fn default() -> Self {
        Self {
            tickets_due: TimeOfDay::NINE_IN_THE_EVENING,
            feed_silent_h: FEED_SILENT_H,
            reconciled_within_h: RECONCILED_WITHIN_H,
        }
    }
}

impl AlarmRules {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn walk_in_categories() -> Vec<String> {
    ["child", "guest", "staff"].map(str::to_owned).to_vec()
}

/// A venue's policy, as it travels to its gates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Policy {
    /// The formats that the venue takes. To take v1, G2 or opaque codes beside G3 gives away
    /// G3's protection against screenshots.
    pub formats: Vec<Format>,
    /// The shapes of the venue's opaque codes.
    #[serde(default)]
    pub opaque_shapes: Vec<OpaqueShape>,
    /// Leeway and longest life of codes.
    #[serde(default)]
    pub codes: CodeRules,
    /// How v1 codes are signed.
    #[serde(default)]
    pub v1_key: V1Key,
    /// Prefix of the passport numbers that the venue's readers give; none if it takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passport_prefix: Option<String>,
    /// The refusals that its supervisors may waive; all that can be waived if none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waivable: Option<Vec<Reason>>,
    /// What persons without a ticket may be, such as `child`, `guest`, `staff`.
    #[serde(default = "walk_in_categories")]
    pub walk_in_categories: Vec<String>,
    /// Percent of a day's tickets, 0 to 100, that a whole set (`PUT
    /// /v1/service-days/{service_day}/tickets`) may leave out without a person's word; by default
    /// 20. The server's own: gates make nothing of it.
    #[serde(
        default = "vanish_percent",
        skip_serializing_if = "is_default_vanish_percent"
    )]
    #[schema(minimum = 0, maximum = 100, default = 20)]
    pub vanish_percent: u8,
    /// When the server raises alarms about the booking system.
    #[serde(default, skip_serializing_if = "AlarmRules::is_default")]
    pub alarms: AlarmRules,
    /// When gates stand open for everybody, by plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free_passage: Vec<FreePassageTime>,
    /// Gates with staff.
    #[serde(default = "GatePolicy::staffed")]
    pub staffed: GatePolicy,
    /// Gates without.
    #[serde(default = "GatePolicy::unattended")]
    pub unattended: GatePolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            formats: vec![Format::V1, Format::G2, Format::G3],
            opaque_shapes: Vec::new(),
            codes: CodeRules::default(),
            v1_key: V1Key::default(),
            passport_prefix: None,
            waivable: None,
            walk_in_categories: walk_in_categories(),
            vanish_percent: VANISH_PERCENT,
            alarms: AlarmRules::default(),
            free_passage: Vec::new(),
            staffed: GatePolicy::staffed(),
            unattended: GatePolicy::unattended(),
        }
    }
}

impl Policy {
    /// The shapes of texts that the venue takes beside v1, G2 and G3. Documents only where its
    /// formats say so.
    pub fn shapes(&self) -> VenueShapes<'_> {
        VenueShapes {
            opaque: &self.opaque_shapes,
            documents: self.formats.contains(&Format::Document),
            passport_prefix: self.passport_prefix.as_deref(),
        }
    }

    /// The part that holds at this gate.
    pub fn at(&self, gate: &Gate) -> &GatePolicy {
        if gate.unattended {
            &self.unattended
        } else {
            &self.staffed
        }
    }
}
