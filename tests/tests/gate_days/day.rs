//! One day carried out at a venue: the server is furnished, the devices of the day are enrolled,
//! and the steps taken in their order. A step that comes out otherwise ends the day and says what
//! was there instead.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use axum::http::Method;
use serde_json::{Value, json};
use stile_core::ids::{GateId, OrderNumber, RecordId};
use stile_core::reason::Reason;
use stile_core::record::PassageOutcome;
use stile_core::time::{EpochMillis, EpochSeconds};

use crate::case::{Cases, Day, ExpectServer, Scan, Step, What};
use crate::codes::CodeBook;
use crate::furnishing::{RIGHT_PIN, first_line, furnish, text};
use crate::report::{compare_attendance, compare_winner};
use crate::venue::{BackEnd, Came, NobodyCan, Overridden, Venue, Waiving, compare, same};

/// Any PIN but the supervisor's.
const WRONG_PIN: &str = "13579024";
/// How fast the uncertainty of an anchor grows: 100 ppm, so that 1 ms takes this many.
const MS_PER_MS_OF_UNCERTAINTY: i64 = 10_000;
/// The venue is ready this long before the first step, in ms.
const AHEAD_MS: i64 = 120_000;

/// A step that was left out, by its number, and why nobody could take it.
#[derive(Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub step: usize,
    pub why: String,
}

/// When a day's venue opens: long enough before the first step.
pub fn opening(day: &Day) -> Result<EpochMillis> {
    let uncertain = day.steps.iter().filter_map(|step| match &step.what {
        What::Scan(scan) => scan.u_ms,
        _ => None,
    });
    let ahead_ms = match uncertain.max() {
        Some(u_ms) => u_ms * MS_PER_MS_OF_UNCERTAINTY,
        None => AHEAD_MS,
    };
    Ok(EpochMillis(first_ms(day)? - ahead_ms))
}

fn first_ms(day: &Day) -> Result<i64> {
    let first = day.steps.iter().find_map(|step| step.at);
    Ok(first.context("a day has a time somewhere")? * 1000)
}

/// Carries out a day from its first step to its last at a venue that has just opened. Returns the
/// steps that nobody can take there.
pub fn carry_out(cases: &Cases, day: &Day, venue: impl Venue) -> Result<Vec<LeftOut>> {
    let mut run = Run::prepare(cases, day, venue)?;
    let mut left_out = Vec::new();
    for (number, step) in (1..).zip(&day.steps) {
        let taken = run.step(step);
        match taken.as_ref().err().and_then(|error| error.downcast_ref()) {
            Some(NobodyCan(why)) => left_out.push(LeftOut {
                step: number,
                why: why.clone(),
            }),
            None => taken.with_context(|| format!("step {number}"))?,
        }
    }
    Ok(left_out)
}

fn id<T: std::str::FromStr>(text: &str) -> Result<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    text.parse::<T>().with_context(|| format!("\"{text}\""))
}

/// A day at work.
struct Run<'a, V> {
    cases: &'a Cases,
    devices: Vec<&'a str>,
    venue: V,
    codes: CodeBook,
    admissions: Vec<(String, RecordId)>,
    last_ms: i64,
}

impl<'a, V: Venue> Run<'a, V> {
    fn prepare(cases: &'a Cases, day: &'a Day, venue: V) -> Result<Self> {
        let mut run = Self {
            cases,
            devices: day.devices(),
            venue,
            codes: CodeBook::default(),
            admissions: Vec::new(),
            last_ms: first_ms(day)? - 60_001,
        };
        furnish(run.venue.server(), cases, &mut run.codes)?;
        let gates = cases.gates.iter();
        let gates = gates.map(|gate| id(text(gate, "id")?));
        let gates = gates.collect::<Result<Vec<GateId>>>()?;
        for device in &run.devices {
            run.venue.enrol(device, &gates)?;
        }
        run.codes.mint_later(run.venue.server(), day)?;
        Ok(run)
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        let now_ms = step.at.map_or(self.last_ms + 1, |at| at * 1000);
        self.last_ms = now_ms;
        self.venue.move_to(EpochMillis(now_ms))?;
        match &step.what {
            What::Scan(scan) => self.scan(scan),
            What::ScanText {
                gate,
                device,
                text,
                expect,
            } => {
                self.venue.serve(device, &id(gate)?)?;
                let came = self.venue.scan(device, text, None)?;
                self.note(device, &came);
                same("verdict", expect, &came.verdict)
            }
            What::AdmitOrder {
                gate,
                device,
                order_number,
                tickets,
                expect,
            } => {
                self.venue.serve(device, &id(gate)?)?;
                let order: OrderNumber = id(order_number)?;
                let wanted = tickets.iter().map(|ticket| id(ticket));
                let wanted = wanted.collect::<Result<Vec<_>>>()?;
                let verdicts = self.venue.admit_order(device, &order, &wanted)?;
                let came: BTreeMap<_, _> = tickets.iter().cloned().zip(verdicts).collect();
                same("verdicts", expect, &came)
            }
            What::WalkIn {
                gate,
                device,
                persons,
                category,
                expect,
            } => {
                self.venue.serve(device, &id(gate)?)?;
                let walked_in = self.venue.walk_in(device, *persons, category)?;
                same("walk-in", expect, &done(walked_in))
            }
            What::Undo {
                device,
                reason,
                expect,
            } => {
                let of = self.admission_of(device)?;
                same("undo", expect, &done(self.venue.undo(device, of, reason)?))
            }
            What::Mismatch { device, expect } => {
                let of = self.admission_of(device)?;
                let undone = self.venue.does_not_match(device, of)?;
                same("undo", expect, &done(undone))
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
                let asked = Waiving {
                    pin: if pin == "right" { RIGHT_PIN } else { WRONG_PIN },
                    why: reason,
                    waive: &waive,
                };
                let came = match self.venue.override_refusal(device, &asked)? {
                    Overridden::Admitted => "ok",
                    Overridden::Further(reason) => reason.name(),
                    Overridden::Denied => "refused",
                };
                same("override", expect, &came.to_owned())
            }
            What::Sensor { device, says } => {
                let of = self.admission_of(device)?;
                let outcome = match says.as_str() {
                    "passed" => PassageOutcome::Passed,
                    "not_passed" => PassageOutcome::NotPassed,
                    other => bail!("a sensor says \"{other}\""),
                };
                self.venue.passage(device, of, outcome)
            }
            What::Sync { devices } => {
                let mut devices = devices.iter();
                devices.try_for_each(|device| self.venue.sync(device))
            }
            What::ServerTicket { ticket, status } => {
                let mut line = first_line(self.ticket(ticket)?);
                line["status"] = json!(status);
                if status == "cancelled" {
                    line["cancel_cause"] = json!("operator");
                }
                self.venue.server().import(&[line])
            }
            What::ImportLine { ticket } => {
                let line = first_line(self.ticket(ticket)?);
                self.venue.server().import(&[line])
            }
            What::WallClock { device, shift } => self.venue.set_wall_off(device, shift * 1000),
            What::Policy(members) => self.policy(members),
            What::Network { up } => self.venue.set_network(*up),
            What::ExpectServer(expected) => self.expect_server(expected),
            What::ExpectDevice {
                device,
                conflicts,
                clock_warning,
            } => {
                if let Some(conflicts) = conflicts {
                    same("conflicts", conflicts, &self.venue.conflicts(device)?)?;
                }
                if let Some(warning) = clock_warning {
                    let warned = self.venue.warns_of_clock(device)?;
                    same("clock warning", warning, &warned)?;
                }
                Ok(())
            }
        }
    }

    fn scan(&mut self, scan: &Scan) -> Result<()> {
        let now = EpochSeconds(self.last_ms.div_euclid(1000));
        let code = self.codes.code_of(scan, now)?;
        self.venue.serve(&scan.device, &id(&scan.gate)?)?;
        let came = self.venue.scan(&scan.device, &code, scan.persons)?;
        self.note(&scan.device, &came);
        compare(&came, scan)?;
        let mut carries = scan.carries.iter();
        carries.try_for_each(|(name, value)| self.venue.tells(&scan.device, name, value))
    }

    fn note(&mut self, device: &str, came: &Came) {
        if let (true, Some(record)) = (came.pulses > 0, &came.record) {
            self.admissions.push((device.to_owned(), record.id));
        }
    }

    /// The last admission of a device; of another one if it has none, which it may not touch.
    fn admission_of(&self, device: &str) -> Result<RecordId> {
        let own = self.admissions.iter().rev().find(|(by, _)| by == device);
        let any = own.or(self.admissions.last());
        Ok(any.context("nobody was admitted")?.1)
    }

    fn ticket(&self, name: &str) -> Result<&'a Value> {
        let mut tickets = self.cases.tickets.iter();
        tickets
            .find(|ticket| ticket["ticket_id"] == name)
            .with_context(|| format!("there is no ticket {name}"))
    }

    fn policy(&mut self, members: &BTreeMap<String, Value>) -> Result<()> {
        let server = self.venue.server();
        let mut policy: Value = server.get("/v1/policy")?;
        for (name, value) in members {
            for gates in ["staffed", "unattended"] {
                policy[gates][name] = value.clone();
            }
        }
        server.call::<Value>(Method::PUT, "/v1/policy", &policy)?;
        let mut devices = self.devices.iter();
        devices.try_for_each(|device| self.venue.sync(device))
    }

    fn expect_server(&self, expected: &ExpectServer) -> Result<()> {
        let server = self.venue.server();
        compare_attendance(server, expected)?;
        if let Some(winner) = &expected.winner {
            let device = self.venue.device_id(&winner.device)?;
            compare_winner(server, winner, &device)?;
        }
        Ok(())
    }
}

fn reason_of(name: &str) -> Result<Reason> {
    Ok(serde_json::from_value(json!(name))?)
}

fn done(is_done: bool) -> String {
    if is_done { "ok" } else { "refused" }.to_owned()
}
