//! What a day is carried out at, whatever it is made of: a server that a booking system talks to,
//! and devices with a guard before them.

use std::fmt;

use anyhow::{Context, Result, ensure};
use axum::http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stile_core::ids::{DeviceId, GateId, OrderNumber, RecordId, TicketId};
use stile_core::reason::Reason;
use stile_core::record::{Mode, PassageOutcome};
use stile_core::time::EpochMillis;

use crate::case::Scan;

/// A booking system's way to the server.
pub trait BackEnd {
    /// Sends a request with a body of a media type, and returns the body of a good answer.
    fn send(&self, method: Method, path: &str, media_type: &str, body: Vec<u8>) -> Result<Vec<u8>>;

    /// A request with a body of JSON.
    fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T> {
        let body = serde_json::to_vec(body)?;
        let answer = self.send(method.clone(), path, "application/json", body)?;
        read(&answer).with_context(|| format!("{method} {path}"))
    }

    /// What the booking system reads.
    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let answer = self.send(Method::GET, path, "application/json", Vec::new())?;
        read(&answer).with_context(|| format!("GET {path}"))
    }

    /// Puts tickets as lines of JSON; all must go in.
    fn import(&self, lines: &[Value]) -> Result<()> {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let kind = "application/x-ndjson";
        let answer = self.send(Method::POST, "/v1/tickets", kind, text.into_bytes())?;
        let answer: Value = read(&answer)?;
        ensure!(
            answer["accepted"] == lines.len(),
            "not every line went in: {answer}"
        );
        Ok(())
    }
}

/// The body of an answer as what it is.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).with_context(|| String::from_utf8_lossy(body).into_owned())
}

/// A venue at work. Its devices are enrolled for each of its gates, and serve one at a time.
pub trait Venue {
    /// Its server.
    type Server: BackEnd;

    /// The booking system's way to its server.
    fn server(&self) -> &Self::Server;

    /// Moves time; it never runs backwards, and stands until it is moved again.
    fn move_to(&mut self, at: EpochMillis) -> Result<()>;

    /// Enrols a device, which holds then what the server has for it.
    fn enrol(&mut self, device: &str, gates: &[GateId]) -> Result<()>;

    /// Who a device is to the server.
    fn device_id(&self, device: &str) -> Result<DeviceId>;

    /// A device serves this gate from now on.
    fn serve(&mut self, device: &str, gate: &GateId) -> Result<()>;

    /// A device uploads all that waits, and fetches lists and the admissions feed.
    fn sync(&mut self, device: &str) -> Result<()>;

    /// Every device can reach the server from now on, or none can but in its syncs.
    fn set_network(&mut self, up: bool) -> Result<()>;

    /// A device's wall clock shows another time than the true one by so many ms.
    fn set_wall_off(&mut self, device: &str, off_ms: i64) -> Result<()>;

    /// A code is read, after the guard has said how many persons come with it.
    fn scan(&mut self, device: &str, code: &str, persons: Option<u8>) -> Result<Came>;

    /// Whether the last answer of a device tells a guard this, under this name of the cases.
    fn tells(&self, device: &str, name: &str, expected: &Value) -> Result<()>;

    /// Tickets of an order are admitted at once. Returns what came of each.
    fn admit_order(
        &mut self,
        device: &str,
        order: &OrderNumber,
        tickets: &[TicketId],
    ) -> Result<Vec<String>>;

    /// Persons come without a ticket. Says whether they were let in.
    fn walk_in(&mut self, device: &str, persons: u8, category: &str) -> Result<bool>;

    /// An admission is taken back. Says whether it was.
    fn undo(&mut self, device: &str, of: RecordId, reason: &str) -> Result<bool>;

    /// The same, since the ticket is somebody else's.
    fn does_not_match(&mut self, device: &str, of: RecordId) -> Result<bool>;

    /// A supervisor waives the last refusal of a device.
    fn override_refusal(&mut self, device: &str, asked: &Waiving<'_>) -> Result<Overridden>;

    /// A sensor sees somebody pass, or nobody.
    fn passage(&mut self, device: &str, of: RecordId, outcome: PassageOutcome) -> Result<()>;

    /// Admissions of a device that it knows to be losers of a conflict.
    fn conflicts(&self, device: &str) -> Result<u64>;

    /// Whether a device warns that its wall clock is off.
    fn warns_of_clock(&self, device: &str) -> Result<bool>;
}

/// What came of a reading.
#[derive(Debug)]
pub struct Came {
    /// `admit`, or the reason of the refusal.
    pub verdict: String,
    /// It was the same reading once more.
    pub repeat: bool,
    /// How often the gate opened.
    pub pulses: u32,
    /// The record that was written.
    pub record: Option<Written>,
}

/// What days look at in the record of a reading.
#[derive(Debug)]
pub struct Written {
    /// Its id.
    pub id: RecordId,
    /// Uncertainty of its time, in ms.
    pub u_ms: i64,
    /// Whether anybody could be asked.
    pub mode: Mode,
}

/// What a supervisor does about a refusal.
#[derive(Debug)]
pub struct Waiving<'a> {
    /// The PIN.
    pub pin: &'a str,
    /// The words.
    pub why: &'a str,
    /// Each reason that is waived.
    pub waive: &'a [Reason],
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Overridden {
    /// The visitor was let in.
    Admitted,
    /// This reason stands against it, too.
    Further(Reason),
    /// It was not done.
    Denied,
}

/// A step that nobody can take at a venue of this kind, and why. What it would have tested there
/// is not tested.
#[derive(Debug)]
pub struct NobodyCan(pub String);

impl fmt::Display for NobodyCan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NobodyCan {}

/// Holds what came of a reading against what a step expects of it.
pub fn compare(came: &Came, expected: &Scan) -> Result<()> {
    same("verdict", &expected.expect, &came.verdict)?;
    same("repeat", &expected.repeat.unwrap_or(false), &came.repeat)?;
    if let Some(pulses) = expected.pulses {
        same("pulses", &pulses, &came.pulses)?;
    }
    let written = || came.record.as_ref().context("no record was written");
    if let Some(u_ms) = expected.u_ms {
        let came = written()?.u_ms;
        ensure!(came >= u_ms, "u is {came} ms only");
    }
    if let Some(mode) = &expected.mode {
        let came = serde_json::to_value(written()?.mode)?;
        same("mode", &Value::from(mode.as_str()), &came)?;
    }
    Ok(())
}

/// Holds something that was looked at against what is expected.
pub fn same<T: PartialEq + fmt::Debug>(what: &str, expected: &T, came: &T) -> Result<()> {
    ensure!(expected == came, "{what}: {came:?} instead of {expected:?}");
    Ok(())
}
