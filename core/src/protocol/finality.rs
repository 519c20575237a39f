//! How complete what is known of a session is: what a device says of its outbox beside `GET
//! /v1/gate/lists`, and what a back end is told of it per session. Nobody is a no-show before.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{DeviceId, GateId, SessionId};
use crate::protocol::DeviceStanding;
use crate::time::{EpochMillis, EpochSeconds, ServiceDay};

/// What a device says of its outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxReport {
    /// The server's generation as the device knows it: what was delivered to an earlier one may be
    /// lost.
    pub generation: u64,
    /// Every record that the device made before this, ms by its own clock, is with the server.
    pub delivered_through: EpochMillis,
    /// Records that wait or are stuck.
    pub outstanding: u64,
}

/// How complete what is known of a session is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finality {
    /// The end (exclusive) of all admission to it: its own, or the latest of its tickets'.
    pub admit_until: EpochSeconds,
    /// When it was final: every gate that could have admitted to it had reported past
    /// `admit_until`. None before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalized_at: Option<EpochMillis>,
    /// Every record that was made before this, by a device that is waited for, is here. None while
    /// one of them has never reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete_through: Option<EpochMillis>,
    /// Gates that have not reported past `admit_until`, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaits: Vec<AwaitedGate>,
    /// Devices that have not either, and are not waited for, since they are out of use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_awaited: Vec<AwaitedDevice>,
    /// Records of it that came after it was final.
    #[serde(default)]
    pub late_after_final: u64,
}

/// A gate that may still have records of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AwaitedGate {
    /// The gate.
    pub gate_id: GateId,
    /// The devices that may serve it and are waited for.
    pub devices: Vec<AwaitedDevice>,
}

/// A device that may still have records of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AwaitedDevice {
    /// The device.
    pub device_id: DeviceId,
    /// What people call it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// When it last reported, by the server's clock; none if it never has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_at: Option<EpochMillis>,
    /// Every record that it made before this is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_through: Option<EpochMillis>,
    /// Records that it held back then.
    #[serde(default)]
    pub outstanding: u64,
}

/// How complete what is known of one session among several is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionFinality {
    /// The session.
    pub session_id: SessionId,
    /// Its day.
    pub service_day: ServiceDay,
    /// How complete.
    #[serde(flatten)]
    pub finality: Finality,
}

/// `GET /v1/devices`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Devices {
    /// By id.
    pub devices: Vec<DeviceView>,
}

/// An enrolled device as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceView {
    /// What it last said of its outbox.
    #[serde(flatten)]
    pub outbox: AwaitedDevice,
    /// Make and model.
    pub model: String,
    /// The gates that it may serve.
    pub gates: Vec<GateId>,
    /// When it was enrolled.
    pub enrolled_at: EpochMillis,
    /// How it stands with the venue.
    pub standing: DeviceStanding,
    /// Since when, unless it was never anything but enrolled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing_since: Option<EpochMillis>,
    /// Since when nothing waits for it: until it reports again, or for as long as it is not
    /// enrolled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_use_since: Option<EpochMillis>,
}
