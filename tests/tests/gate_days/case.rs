//! The file of gate days as it is written: a venue, and short days step by step.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

/// The whole file.
#[derive(Debug, Deserialize)]
pub struct Cases {
    pub venue: Venue,
    pub gates: Vec<Value>,
    pub sessions: Vec<Value>,
    pub tickets: Vec<Value>,
    pub days: Vec<Day>,
}

/// Where they happen.
#[derive(Debug, Deserialize)]
pub struct Venue {
    pub id: String,
    pub time_zone: String,
}

/// One day.
#[derive(Debug, Deserialize)]
pub struct Day {
    pub name: String,
    pub steps: Vec<Step>,
}

impl Day {
    /// The devices that have a part in it, each once.
    pub fn devices(&self) -> Vec<&str> {
        let named = self.steps.iter().flat_map(|step| step.what.devices());
        let named: BTreeSet<_> = named.collect();
        named.into_iter().collect()
    }
}

impl What {
    fn devices(&self) -> Vec<&str> {
        match self {
            Self::Scan(scan) => vec![&scan.device],
            Self::ScanText { device, .. }
            | Self::AdmitOrder { device, .. }
            | Self::WalkIn { device, .. }
            | Self::Undo { device, .. }
            | Self::Mismatch { device, .. }
            | Self::Override { device, .. }
            | Self::Sensor { device, .. }
            | Self::WallClock { device, .. }
            | Self::ExpectDevice { device, .. } => vec![device],
            Self::Sync { devices } => devices.iter().map(String::as_str).collect(),
            Self::ExpectServer(expected) => {
                let winner = expected.winner.iter();
                winner.map(|winner| winner.device.as_str()).collect()
            }
            Self::ServerTicket { .. }
            | Self::ImportLine { .. }
            | Self::Policy(_)
            | Self::Network { .. } => Vec::new(),
        }
    }
}

/// One step: when, and what.
#[derive(Debug, Deserialize)]
pub struct Step {
    /// Epoch seconds; without it, 1 ms after the step before.
    pub at: Option<i64>,
    #[serde(flatten)]
    pub what: What,
}

/// What is done, or looked at.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum What {
    Scan(Scan),
    ScanText {
        gate: String,
        device: String,
        text: String,
        expect: String,
    },
    AdmitOrder {
        gate: String,
        device: String,
        order_number: String,
        tickets: Vec<String>,
        expect: BTreeMap<String, String>,
    },
    WalkIn {
        gate: String,
        device: String,
        persons: u8,
        category: String,
        expect: String,
    },
    Undo {
        device: String,
        reason: String,
        expect: String,
    },
    Mismatch {
        device: String,
        expect: String,
    },
    Override {
        device: String,
        pin: String,
        reason: String,
        waive: Vec<String>,
        expect: String,
    },
    Sensor {
        device: String,
        says: String,
    },
    Sync {
        devices: Vec<String>,
    },
    ServerTicket {
        ticket: String,
        status: String,
    },
    ImportLine {
        ticket: String,
    },
    WallClock {
        device: String,
        shift: i64,
    },
    Policy(BTreeMap<String, Value>),
    Network {
        up: bool,
    },
    ExpectServer(ExpectServer),
    ExpectDevice {
        device: String,
        conflicts: Option<u64>,
        clock_warning: Option<bool>,
    },
}

/// A reading of a ticket's code.
#[derive(Debug, Deserialize)]
pub struct Scan {
    pub gate: String,
    pub device: String,
    pub ticket: String,
    pub expect: String,
    pub format: Option<String>,
    pub code_revision: Option<u8>,
    pub code_expired_by: Option<i64>,
    pub persons: Option<u8>,
    pub u_ms: Option<i64>,
    pub repeat: Option<bool>,
    pub pulses: Option<u32>,
    pub mode: Option<String>,
    #[serde(default)]
    pub carries: BTreeMap<String, Value>,
}

/// What the server shows; what is not named is not looked at.
#[derive(Debug, Deserialize)]
pub struct ExpectServer {
    pub check_ins: Option<u64>,
    pub conflicts: Option<u64>,
    pub cleared_conflicts: Option<u64>,
    pub undone: Option<u64>,
    pub after_cancel: Option<u64>,
    pub overrides: Option<u64>,
    pub walk_ins: Option<u64>,
    pub winner: Option<Winner>,
    #[serde(default)]
    pub attendance: BTreeMap<String, Attended>,
}

/// Who stands first.
#[derive(Debug, Deserialize)]
pub struct Winner {
    pub device: String,
    pub at: i64,
}

/// Who came to a session.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Attended {
    pub persons: u64,
    pub tickets: u64,
}
