//! `GET /v1/alarms`: what needs a person at a venue. Nothing personal stands in it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{SessionId, Zone};
use crate::time::{EpochMillis, ServiceDay};

/// What is wrong.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
pub enum AlarmKind {
    /// Four fifths of the persons that a session, or a zone during it, takes are inside.
    #[serde(rename = "capacity_80")]
    Capacity80,
    /// All of them are, or more.
    #[serde(rename = "capacity_100")]
    Capacity100,
    /// A service day comes, or has come, for which there is no ticket, or not even a session.
    #[serde(rename = "no_tickets_tomorrow")]
    NoTicketsTomorrow,
    /// The booking system has written no ticket for longer than it may.
    #[serde(rename = "feed_silent")]
    FeedSilent,
    /// The booking system stated another set of a day's tickets than is here.
    #[serde(rename = "reconciliation_differs")]
    ReconciliationDiffers,
    /// The booking system used to state its sets, and has not for longer than it may.
    #[serde(rename = "reconciliation_overdue")]
    ReconciliationOverdue,
}

impl AlarmKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Capacity80,
        Self::Capacity100,
        Self::NoTicketsTomorrow,
        Self::FeedSilent,
        Self::ReconciliationDiffers,
        Self::ReconciliationOverdue,
    ];

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Capacity80 => "capacity_80",
            Self::Capacity100 => "capacity_100",
            Self::NoTicketsTomorrow => "no_tickets_tomorrow",
            Self::FeedSilent => "feed_silent",
            Self::ReconciliationDiffers => "reconciliation_differs",
            Self::ReconciliationOverdue => "reconciliation_overdue",
        }
    }
}

impl fmt::Display for AlarmKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text is no kind of alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no alarm has this name")]
pub struct AlarmKindError;

impl FromStr for AlarmKind {
    type Err = AlarmKindError;
    fn from_str(text: &str) -> Result<Self, AlarmKindError> {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.name() == text).ok_or(AlarmKindError)
    }
}

/// What an alarm says beside its kind, as of its opening; each member where it has a meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AlarmDetail {
    /// The day that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_day: Option<ServiceDay>,
    /// The session that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The zone that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<Zone>,
    /// Persons that it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// Persons that were inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<u64>,
    /// Sessions of the day that take place and have no ticket; 0 where there is no session at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    /// When that which is missing was last there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<EpochMillis>,
    /// Tickets that differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differ: Option<u64>,
}

/// An alarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alarm {
    /// Its id, counted per venue from 1.
    pub alarm_id: u64,
    /// What is wrong.
    pub kind: AlarmKind,
    /// What it is about: a session, a session and a zone (`SESSION/ZONE`), a service day, or
    /// `venue`. There is one open alarm of a kind and a thing at most.
    pub thing: String,
    /// When it was opened.
    pub opened_at: EpochMillis,
    /// When it was over; absent while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<EpochMillis>,
    /// What it says beside.
    #[serde(flatten)]
    pub detail: AlarmDetail,
}

/// `GET /v1/alarms`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alarms {
    /// The newest first.
    pub alarms: Vec<Alarm>,
    /// Whether there are older ones: ask for those before the last one's `alarm_id`.
    pub more: bool,
}
