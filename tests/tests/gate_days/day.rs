//! One day carried out: a server with the venue of the file, its devices, and the steps in their
//! order. A step that comes out otherwise ends the day and says what was there instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use axum::http::Method;
use serde_json::{Value, json};
use stile_core::device::{OrderTicket, OverrideAsked, Say, ScanOutcome};
use stile_core::ids::{GateId, OrderNumber, RecordId};
use stile_core::reason::Reason;
use stile_core::record::PassageOutcome;
use stile_core::time::{EpochMillis, EpochSeconds};
use stile_core::verdict::{Detail, Verdict};

use crate::case::{Cases, Day, ExpectServer, Scan, Step, What};
use crate::codes::CodeBook;
use crate::virtual_venue::{VirtualDevice, VirtualServer, VirtualTime};

/// The supervisor's PIN; the file calls it `right`.
const RIGHT_PIN: &str = "24680135";
/// Any other.
const WRONG_PIN: &str = "13579024";
/// How fast the uncertainty of an anchor grows: 100 ppm, so that 1 ms takes this many.
const MS_PER_MS_OF_UNCERTAINTY: i64 = 10_000;
/// The venue is ready this long before the first step, in ms.
const AHEAD_MS: i64 = 120_000;

/// A day at work.
pub struct Run<'a> {
    cases: &'a Cases,
    time: Arc<VirtualTime>,
    server: Arc<VirtualServer>,
    codes: CodeBook,
    devices: BTreeMap<String, VirtualDevice>,
    admissions: Vec<(String, RecordId)>,
    last_ms: i64,
}

/// Carries out a day from its first step to its last.
pub fn carry_out(cases: &Cases, day: &Day) -> Result<()> {
    let mut run = Run::prepare(cases, day)?;
    for (number, step) in (1..).zip(&day.steps) {
        run.step(step).with_context(|| format!("step {number}"))?;
    }
    Ok(())
}

fn id<T: std::str::FromStr>(text: &str) -> Result<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    text.parse::<T>().with_context(|| format!("\"{text}\""))
}

impl<'a> Run<'a> {
    fn prepare(cases: &'a Cases, day: &Day) -> Result<Self> {
        let first = day.steps.iter().find_map(|step| step.at);
        let first_ms = first.context("a day has a time somewhere")? * 1000;
        let uncertain = day.steps.iter().filter_map(|step| match &step.what {
            What::Scan(scan) => scan.u_ms,
            _ => None,
        });
        let ahead_ms = match uncertain.max() {
            Some(u_ms) => u_ms * MS_PER_MS_OF_UNCERTAINTY,
            None => AHEAD_MS,
        };
        let time = VirtualTime::new(EpochMillis(first_ms - ahead_ms));
        let server = VirtualServer::open(&cases.venue.id, &cases.venue.time_zone, &time)?;
        let mut run = Self {
            cases,
            time,
            server: Arc::new(server),
            codes: CodeBook::default(),
            devices: BTreeMap::new(),
            admissions: Vec::new(),
            last_ms: first_ms - 60_001,
        };
        run.furnish()?;
        for name in ["pda-1", "pda-2", "box-1"] {
            let gates = run.gates()?;
            let device = VirtualDevice::enrol(name, &gates, &run.server, &run.time)?;
            device.sync(&run.server)?;
            run.devices.insert(name.to_owned(), device);
        }
        run.codes.mint_later(&run.server, day)?;
        Ok(run)
    }

    fn gates(&self) -> Result<Vec<GateId>> {
        let gates = self.cases.gates.iter();
        gates.map(|gate| id(text(gate, "id")?)).collect()
    }

    /// Puts gates, sessions, a supervisor and tickets, the way a back end does.
    fn furnish(&mut self) -> Result<()> {
        let server = &self.server;
        for gate in &self.cases.gates {
            let mut body = gate.clone();
            let members = body.as_object_mut().context("a gate is an object")?;
            members.retain(|name, _| {
                ["direction", "checkpoint", "zones", "unattended"].contains(&name.as_str())
            });
            let path = format!("/v1/gates/{}", text(gate, "id")?);
            server.call::<Value>(Method::PUT, &path, &body)?;
        }
        for session in &self.cases.sessions {
            let mut body = session.clone();
            let members = body.as_object_mut().context("a session is an object")?;
            members.remove("id");
            let path = format!("/v1/sessions/{}", text(session, "id")?);
            server.call::<Value>(Method::PUT, &path, &body)?;
        }
        let supervisor = json!({ "role": "supervisor", "pin": RIGHT_PIN });
        server.call::<Value>(Method::PUT, "/v1/operators/boss", &supervisor)?;

        let lines: Vec<_> = self.cases.tickets.iter().map(first_line).collect();
        server.import(&lines)?;
        self.codes.mint(server, &self.cases.tickets)?;
        let later: Vec<_> = self.cases.tickets.iter().filter_map(second_line).collect();
        server.import(&later)
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        let now_ms = step.at.map_or(self.last_ms + 1, |at| at * 1000);
        self.last_ms = now_ms;
        self.time.move_to(EpochMillis(now_ms));
        match &step.what {
            What::Scan(scan) => self.scan(scan),
            What::ScanText {
                gate,
                device,
                text,
                expect,
            } => {
                let outcome = self.at(device, gate)?.device().scan(text.as_bytes());
                self.came(device, &outcome)?;
                same("verdict", expect, &name_of(&outcome.verdict))
            }
            What::AdmitOrder {
                gate,
                device,
                order_number,
                tickets,
                expect,
            } => {
                let wanted = tickets.iter().map(|ticket| {
                    Ok(OrderTicket {
                        ticket_id: id(ticket)?,
                        persons: None,
                    })
                });
                let wanted = wanted.collect::<Result<Vec<_>>>()?;
                let order: OrderNumber = id(order_number)?;
                let outcomes = self.at(device, gate)?.device().admit_order(&order, &wanted);
                let named = tickets.iter().cloned();
                let came: BTreeMap<_, _> = named
                    .zip(outcomes.iter().map(|outcome| name_of(&outcome.verdict)))
                    .collect();
                same("verdicts", expect, &came)
            }
            What::WalkIn {
                gate,
                device,
                persons,
                category,
                expect,
            } => {
                let device = self.at(device, gate)?.device();
                let walked = device.walk_in(*persons, category, None);
                same("walk-in", expect, &done(walked.is_ok()))
            }
            What::Undo {
                device,
                reason,
                expect,
            } => {
                let of = self.admission_of(device)?;
                let undone = self.device(device)?.device().undo(of, reason)?;
                same("undo", expect, &done(undone.denied.is_none()))
            }
            What::Mismatch { device, expect } => {
                let of = self.admission_of(device)?;
                let undone = self.device(device)?.device().does_not_match(of)?;
                same("undo", expect, &done(undone.denied.is_none()))
            }
            What::Override {
                device,
                pin,
                reason,
                waive,
                expect,
            } => {
                let waive = waive.iter().map(|name| reason_of(name));
                let waive = waive.collect::<Result<Vec<_>>>()?;
                let asked = OverrideAsked {
                    pin: if pin == "right" { RIGHT_PIN } else { WRONG_PIN },
                    why: reason,
                    waive: &waive,
                    persons: None,
                };
                let overridden = self.device(device)?.device().override_refusal(&asked);
                let came = match (&overridden.denied, &overridden.outcome.verdict) {
                    (None, Verdict::Admit(_)) => "ok".to_owned(),
                    (Some(stile_core::record::Denied::FurtherReason), verdict) => name_of(verdict),
                    _ => "refused".to_owned(),
                };
                same("override", expect, &came)
            }
            What::Sensor { device, says } => {
                let of = self.admission_of(device)?;
                let outcome = match says.as_str() {
                    "passed" => PassageOutcome::Passed,
                    "not_passed" => PassageOutcome::NotPassed,
                    other => bail!("a sensor says \"{other}\""),
                };
                self.device(device)?.device().passage(Some(of), outcome)?;
                Ok(())
            }
            What::Sync { devices } => {
                for name in devices {
                    self.device(name)?.sync(&self.server)?;
                }
                Ok(())
            }
            What::ServerTicket { ticket, status } => {
                let mut line = first_line(self.ticket(ticket)?);
                line["status"] = json!(status);
                if status == "cancelled" {
                    line["cancel_cause"] = json!("operator");
                }
                self.server.import(&[line])
            }
            What::ImportLine { ticket } => {
                let line = first_line(self.ticket(ticket)?);
                self.server.import(&[line])
            }
            What::WallClock { device, shift } => {
                self.device(device)?.platform().set_wall_off(shift * 1000);
                Ok(())
            }
            What::Policy(members) => self.policy(members),
            What::Network { up } => {
                for device in self.devices.values() {
                    device.set_network(up.then_some(&self.server))?;
                }
                Ok(())
            }
            What::ExpectServer(expected) => self.expect_server(expected),
            What::ExpectDevice {
                device,
                conflicts,
                clock_warning,
            } => {
                let device = self.device(device)?.device();
                if let Some(conflicts) = conflicts {
                    same("conflicts", conflicts, &(device.conflicts()?.len() as u64))?;
                }
                if let Some(warning) = clock_warning {
                    let warned = device.live_status().clock.wall_off_ms.is_some();
                    same("clock warning", warning, &warned)?;
                }
                Ok(())
            }
        }
    }

    fn scan(&mut self, scan: &Scan) -> Result<()> {
        let now = EpochSeconds(self.last_ms.div_euclid(1000));
        let code = self.codes.code_of(scan, now)?;
        let say = Say {
            persons: scan.persons,
            one_more: false,
        };
        let outcome = self
            .at(&scan.device, &scan.gate)?
            .device()
            .scan_as(code.as_bytes(), say);
        self.came(&scan.device, &outcome)?;
        same("verdict", &scan.expect, &name_of(&outcome.verdict))?;
        same("repeat", &scan.repeat.unwrap_or(false), &outcome.repeat)?;
        if let Some(pulses) = scan.pulses {
            same("pulses", &pulses, &u32::from(outcome.opens))?;
        }
        if let Some(u_ms) = scan.u_ms {
            ensure!(
                outcome.now.u_ms >= u_ms,
                "u is {} ms only",
                outcome.now.u_ms
            );
        }
        if let Some(mode) = &scan.mode {
            same("mode", &json!(mode), &serde_json::to_value(outcome.mode)?)?;
        }
        for (name, expected) in &scan.carries {
            same(name, expected, &carried(&outcome, name)?)?;
        }
        Ok(())
    }

    /// What a controller does with an outcome: the gate opens, and closes behind the visitor.
    fn came(&mut self, device: &str, outcome: &ScanOutcome) -> Result<()> {
        if let (true, Some(record)) = (outcome.opens, outcome.record_id) {
            let gate = self.device(device)?.device();
            gate.released(record)?;
            gate.gate_closed();
            self.admissions.push((device.to_owned(), record));
        }
        Ok(())
    }

    /// The last admission of a device; of another one if it has none, which it may not touch.
    fn admission_of(&self, device: &str) -> Result<RecordId> {
        let own = self.admissions.iter().rev().find(|(by, _)| by == device);
        let any = own.or(self.admissions.last());
        Ok(any.context("nobody was admitted")?.1)
    }

    fn device(&self, name: &str) -> Result<&VirtualDevice> {
        self.devices
            .get(name)
            .with_context(|| format!("there is no device {name}"))
    }

    fn at(&mut self, name: &str, gate: &str) -> Result<&VirtualDevice> {
        let gate = id(gate)?;
        let device = self.devices.get_mut(name);
        let device = device.with_context(|| format!("there is no device {name}"))?;
        device.serve(&gate)?;
        Ok(device)
    }

    fn ticket(&self, name: &str) -> Result<&Value> {
        let mut tickets = self.cases.tickets.iter();
        tickets
            .find(|ticket| ticket["ticket_id"] == name)
            .with_context(|| format!("there is no ticket {name}"))
    }

    fn policy(&self, members: &BTreeMap<String, Value>) -> Result<()> {
        let mut policy: Value = self.server.get("/v1/policy")?;
        for (name, value) in members {
            for gates in ["staffed", "unattended"] {
                policy[gates][name] = value.clone();
            }
        }
        self.server
            .call::<Value>(Method::PUT, "/v1/policy", &policy)?;
        for device in self.devices.values() {
            device.sync(&self.server)?;
        }
        Ok(())
    }

    fn expect_server(&self, expected: &ExpectServer) -> Result<()> {
        let day = "/v1/reports/attendance?from=2026-10-01&to=2026-10-02";
        let report: Value = self.server.get(day)?;
        let sum = |list: &str, name: &str| -> u64 {
            let rows = report[list].as_array().map_or(&[][..], Vec::as_slice);
            rows.iter().filter_map(|row| row[name].as_u64()).sum()
        };
        let counts = [
            (expected.check_ins, "sessions", "check_ins"),
            (expected.conflicts, "sessions", "conflicts_open"),
            (expected.cleared_conflicts, "sessions", "conflicts_cleared"),
            (expected.undone, "sessions", "undone"),
            (expected.after_cancel, "sessions", "after_cancel"),
            (expected.overrides, "sessions", "overrides"),
            (expected.walk_ins, "walk_ins", "persons"),
        ];
        for (expected, list, name) in counts {
            if let Some(expected) = expected {
                same(name, &expected, &sum(list, name))?;
            }
        }
        for (session, expected) in &expected.attendance {
            let rows = report["sessions"].as_array().context("no sessions")?;
            let row = rows.iter().find(|row| row["session_id"] == *session);
            let row = row.with_context(|| format!("no session {session}"))?;
            let came = serde_json::from_value(json!({
                "persons": row["persons"], "tickets": row["tickets"],
            }))?;
            same(session, expected, &came)?;
        }
        if let Some(expected) = &expected.winner {
            let conflicts: Value = self.server.get("/v1/conflicts?state=all")?;
            let admissions = conflicts["conflicts"][0]["admissions"].as_array();
            let admissions = admissions.context("no conflict has admissions")?;
            let winner = admissions.iter().find(|one| one["standing"] == "winner");
            let winner = winner.context("nobody won")?;
            let pulled: Value = self.server.get("/v1/records")?;
            let records = pulled["records"].as_array().context("no records")?;
            let record = records
                .iter()
                .find(|one| one["record"]["id"] == winner["record_id"])
                .context("the winner's record was not pulled")?;
            let device = self.device(&expected.device)?.identity();
            same(
                "winner's device",
                &json!(device.device_id),
                &record["record"]["device_id"],
            )?;
            same("winner's time", &json!(expected.at * 1000), &winner["at"])?;
        }
        Ok(())
    }
}

/// A ticket's line as the booking system first sends it: confirmed, in its first session.
fn first_line(ticket: &Value) -> Value {
    let digits = ticket["last_four"].as_str().unwrap_or_default();
    let mut line = json!({
        "ticket_id": ticket["ticket_id"],
        "order_number": ticket["order_number"],
        "session_id": ticket["session"],
        "holder_name": "张三",
        "phone": format!("1380000{digits}"),
        "admits": ticket["admits"],
    });
    for name in ["zones", "attention", "admit_from", "admit_until"] {
        if !ticket[name].is_null() {
            line[name] = ticket[name].clone();
        }
    }
    line
}

/// The line that gives a ticket its status, or moves it.
fn second_line(ticket: &Value) -> Option<Value> {
    let mut line = first_line(ticket);
    let moved_to = &ticket["moved_to"]["session"];
    if !moved_to.is_null() {
        line["session_id"] = moved_to.clone();
    }
    line["status"] = ticket["status"].clone();
    if !ticket["cancel_cause"].is_null() {
        line["cancel_cause"] = ticket["cancel_cause"].clone();
    }
    (ticket["status"] != "valid" || !moved_to.is_null()).then_some(line)
}

fn text<'v>(value: &'v Value, name: &str) -> Result<&'v str> {
    value[name]
        .as_str()
        .with_context(|| format!("{value} has no {name}"))
}

fn name_of(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Admit(_) => "admit".to_owned(),
        Verdict::Refuse(refusal) => refusal.reason.name().to_owned(),
    }
}

fn reason_of(name: &str) -> Result<Reason> {
    Ok(serde_json::from_value(json!(name))?)
}

fn done(is_done: bool) -> String {
    if is_done { "ok" } else { "refused" }.to_owned()
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

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, came: &T) -> Result<()> {
    ensure!(expected == came, "{what}: {came:?} instead of {expected:?}");
    Ok(())
}
