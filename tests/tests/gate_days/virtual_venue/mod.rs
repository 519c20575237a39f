//! A venue in one process and in virtual time: the product's real server handlers on a real
//! database, and the product's real devices on real folders. No sockets and no waiting; a minute
//! passes when a test says so.

mod gate;
mod server;
mod time;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use stile_core::device::{OrderTicket, OverrideAsked, Say, ScanOutcome};
use stile_core::ids::{DeviceId, GateId, OrderNumber, RecordId, TicketId};
use stile_core::record::{Denied, PassageOutcome};
use stile_core::time::EpochMillis;
use stile_core::verdict::{Detail, Verdict};

use crate::case::Venue as Named;
use crate::venue::{Came, Overridden, Venue, Waiving, Written, same};

use gate::VirtualDevice;
use server::{Answer, VirtualServer};
use time::{VirtualPlatform, VirtualTime};

/// See the module.
pub struct VirtualVenue {
    time: Arc<VirtualTime>,
    server: Arc<VirtualServer>,
    devices: BTreeMap<String, VirtualDevice>,
    answers: BTreeMap<String, ScanOutcome>,
}

impl VirtualVenue {
    /// A new venue, at a time.
    pub fn open(venue: &Named, at: EpochMillis) -> Result<Self> {
        let time = VirtualTime::new(at);
        let server = VirtualServer::open(&venue.id, &venue.time_zone, &time)?;
        Ok(Self {
            time,
            server: Arc::new(server),
            devices: BTreeMap::new(),
            answers: BTreeMap::new(),
        })
    }

    /// The body of the answer to a device that asks which lists it should hold.
    pub fn lists_as_told(&self, device: &str) -> Result<Vec<u8>> {
        self.device(device)?.lists_as_told(&self.server)
    }

    /// A device hears such an answer, whenever it was given.
    pub fn hears_lists(&self, device: &str, body: &[u8]) -> Result<()> {
        self.device(device)?.device().lists_answered(body)?;
        Ok(())
    }

    /// What the server does daily with its keys.
    pub fn tend_keys(&self) -> Result<()> {
        self.server.tend_keys()
    }

    fn device(&self, name: &str) -> Result<&VirtualDevice> {
        let device = self.devices.get(name);
        device.with_context(|| format!("there is no device {name}"))
    }
}

impl Venue for VirtualVenue {
    type Server = VirtualServer;

    fn server(&self) -> &VirtualServer {
        &self.server
    }

    fn move_to(&mut self, at: EpochMillis) -> Result<()> {
        self.time.move_to(at);
        Ok(())
    }

    fn enrol(&mut self, device: &str, gates: &[GateId]) -> Result<()> {
        let enrolled = VirtualDevice::enrol(device, gates, &self.server, &self.time)?;
        enrolled.sync(&self.server)?;
        self.devices.insert(device.to_owned(), enrolled);
        Ok(())
    }

    fn device_id(&self, device: &str) -> Result<DeviceId> {
        Ok(self.device(device)?.identity().device_id.clone())
    }

    fn serve(&mut self, device: &str, gate: &GateId) -> Result<()> {
        let known = self.devices.get_mut(device);
        let device = known.with_context(|| format!("there is no device {device}"))?;
        device.serve(gate)
    }

    fn sync(&mut self, device: &str) -> Result<()> {
        self.device(device)?.sync(&self.server)
    }

    fn set_network(&mut self, up: bool) -> Result<()> {
        let mut devices = self.devices.values();
        devices.try_for_each(|device| device.set_network(up.then_some(&self.server)))
    }

    fn set_wall_off(&mut self, device: &str, off_ms: i64) -> Result<()> {
        self.device(device)?.platform().set_wall_off(off_ms);
        Ok(())
    }

    /// Does with the outcome what a controller does: the gate opens, and closes behind the visitor.
    fn scan(&mut self, device: &str, code: &str, persons: Option<u8>) -> Result<Came> {
        let say = Say {
            persons,
            one_more: false,
        };
        let gate = self.device(device)?.device();
        let outcome = gate.scan_as(code.as_bytes(), say);
        if let (true, Some(record)) = (outcome.opens, outcome.record_id) {
            gate.released(record)?;
            gate.gate_closed();
        }
        let came = Came {
            verdict: name_of(&outcome.verdict),
            repeat: outcome.repeat,
            pulses: u32::from(outcome.opens),
            record: outcome.record_id.map(|id| Written {
                id,
                u_ms: outcome.now.u_ms,
                mode: outcome.mode,
            }),
        };
        self.answers.insert(device.to_owned(), outcome);
        Ok(came)
    }

    fn tells(&self, device: &str, name: &str, expected: &Value) -> Result<()> {
        let outcome = self.answers.get(device).context("nothing was read")?;
        same(name, expected, &carried(outcome, name)?)
    }

    fn admit_order(
        &mut self,
        device: &str,
        order: &OrderNumber,
        tickets: &[TicketId],
    ) -> Result<Vec<String>> {
        let wanted = tickets.iter().map(|ticket_id| OrderTicket {
            ticket_id: ticket_id.clone(),
            persons: None,
        });
        let wanted: Vec<_> = wanted.collect();
        let outcomes = self.device(device)?.device().admit_order(order, &wanted);
        let verdicts = outcomes.iter().map(|outcome| name_of(&outcome.verdict));
        Ok(verdicts.collect())
    }

    fn walk_in(&mut self, device: &str, persons: u8, category: &str) -> Result<bool> {
        let gate = self.device(device)?.device();
        Ok(gate.walk_in(persons, category, None).is_ok())
    }

    fn undo(&mut self, device: &str, of: RecordId, reason: &str) -> Result<bool> {
        let undone = self.device(device)?.device().undo(of, reason)?;
        Ok(undone.denied.is_none())
    }

    fn does_not_match(&mut self, device: &str, of: RecordId) -> Result<bool> {
        let undone = self.device(device)?.device().does_not_match(of)?;
        Ok(undone.denied.is_none())
    }

    fn override_refusal(&mut self, device: &str, asked: &Waiving<'_>) -> Result<Overridden> {
        let shown = self.answers.get(device);
        let asked = OverrideAsked {
            of: shown.and_then(|shown| shown.record_id.or(shown.repeats)),
            pin: asked.pin,
            why: asked.why,
            waive: asked.waive,
            persons: None,
        };
        let overridden = self.device(device)?.device().override_refusal(&asked);
        Ok(match (overridden.denied, overridden.outcome.verdict) {
            (None, Verdict::Admit(_)) => Overridden::Admitted,
            (Some(Denied::FurtherReason), Verdict::Refuse(refusal)) => {
                Overridden::Further(refusal.reason)
            }
            _ => Overridden::Denied,
        })
    }

    fn passage(&mut self, device: &str, of: RecordId, outcome: PassageOutcome) -> Result<()> {
        self.device(device)?.device().passage(Some(of), outcome)?;
        Ok(())
    }

    fn conflicts(&self, device: &str) -> Result<u64> {
        Ok(self.device(device)?.device().conflicts()?.len() as u64)
    }

    fn warns_of_clock(&self, device: &str) -> Result<bool> {
        let live = self.device(device)?.device().live_status();
        Ok(live.clock.wall_off_ms.is_some())
    }
}

fn name_of(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Admit(_) => "admit".to_owned(),
        Verdict::Refuse(refusal) => refusal.reason.name().to_owned(),
    }
}

/// What an answer tells the guard beside its reason.
fn carried(outcome: &ScanOutcome, name: &str) -> Result<Value> {
    let detail = match &outcome.verdict {
        Verdict::Refuse(refusal) => refusal.detail.as_ref(),
        Verdict::Admit(_) => None,
    };
    Ok(match (name, detail) {
        ("attention", _) => json!(outcome.ticket.as_ref().map(|ticket| &ticket.attention)),
        ("cause", Some(Detail::Cause(cause))) => json!(cause),
        ("cause", Some(Detail::SessionCancelled(_))) => json!("session_cancelled"),
        ("service_day", Some(Detail::Day { service_day, .. })) => json!(service_day),
        ("session", Some(Detail::Day { session_id, .. })) => json!(session_id),
        ("at", Some(Detail::Used { last, .. })) => {
            json!(last.as_ref().map(|last| last.at.seconds()))
        }
        ("gate", Some(Detail::Used { last, .. })) => {
            json!(last.as_ref().map(|last| &last.gate_id))
        }
        ("remaining", Some(Detail::Used { remaining, .. })) => json!(remaining),
        _ => bail!("no {name} is carried: {:?}", outcome.verdict),
    })
}
