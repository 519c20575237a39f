//! A venue of running programs: a `stile-server`, a `stile-gate` for each device with its screen
//! on a terminal, and a guard who reads the screens and presses the keys. Their clocks are set by
//! the test, as only programs that were built for tests allow; everything else is as at a museum.

mod clock;
mod gate;
mod guard;
mod server;
mod terminal;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use axum::http::Method;
use jiff::tz::TimeZone;
use serde_json::Value;
use stile_core::ids::{DeviceId, GateId, OrderNumber, RecordId, TicketId};
use stile_core::protocol::{Enrolment, NewEnrolment};
use stile_core::reason::Reason;
use stile_core::record::{Answer, PassageOutcome, Record, Scan, Via, What};
use stile_core::time::EpochMillis;
use stile_tests::programs::wait_until;
use tempfile::TempDir;

use crate::case::{Cases, Day, What as Step};
use crate::furnishing::text;
use crate::venue::{BackEnd, Came, NobodyCan, Overridden, Venue, Waiving, Written, same};

use gate::RunningDevice;
use guard::{Guard, Seen, Waived};
use server::RunningServer;
use words::words_for;

/// How long a relay is held open where the cases say nothing, in ms: nobody waits for it.
const HOLD_MS: u64 = 5;
/// What a busy machine may take for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// See the module. Dropped, its programs end before its folder goes.
pub struct RunningVenue {
    devices: BTreeMap<String, RunningDevice>,
    server: RunningServer,
    now: EpochMillis,
    zone: TimeZone,
    gates: Vec<GateId>,
    hold_ms: BTreeMap<GateId, u64>,
    digits: BTreeMap<TicketId, String>,
    sensors: BTreeSet<String>,
    /// By device: what its screen has shown since it was started, the newest last.
    shown: BTreeMap<String, Vec<Shown>>,
    folder: TempDir,
}

/// A verdict on a screen.
struct Shown {
    record: Option<RecordId>,
    seen: Seen,
}

impl RunningVenue {
    /// A new venue for a day, at a time.
    pub fn open(cases: &Cases, day: &Day, at: EpochMillis) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let server = RunningServer::start(folder.path(), &cases.venue, at)?;
        let gates = cases.gates.iter();
        let holds = gates.map(|gate| {
            let hold_ms = gate["hold_ms"].as_u64().unwrap_or(HOLD_MS);
            anyhow::Ok((text(gate, "id")?.parse()?, hold_ms))
        });
        let tickets = cases.tickets.iter();
        let digits = tickets.map(|ticket| {
            let digits = ticket["last_four"].as_str().unwrap_or_default();
            anyhow::Ok((text(ticket, "ticket_id")?.parse()?, digits.to_owned()))
        });
        let sensors = day.steps.iter().filter_map(|step| match &step.what {
            Step::Sensor { device, .. } => Some(device.clone()),
            _ => None,
        });
        Ok(Self {
            devices: BTreeMap::new(),
            server,
            now: at,
            zone: TimeZone::get(&cases.venue.time_zone)?,
            gates: Vec::new(),
            hold_ms: holds.collect::<Result<_>>()?,
            digits: digits.collect::<Result<_>>()?,
            sensors: sensors.collect(),
            shown: BTreeMap::new(),
            folder,
        })
    }

    fn device(&self, name: &str) -> Result<&RunningDevice> {
        let device = self.devices.get(name);
        device.with_context(|| format!("there is no device {name}"))
    }

    /// A device that is at work, at its first gate if it was not told another.
    fn at_work(&mut self, name: &str) -> Result<&mut RunningDevice> {
        if self.device(name)?.gate().is_none() {
            let first = self.gates.first().context("a venue has a gate")?.clone();
            self.serve(name, &first)?;
        }
        let device = self.devices.get_mut(name);
        device.with_context(|| format!("there is no device {name}"))
    }

    fn guard(&mut self, device: &str) -> Result<&mut Guard> {
        self.at_work(device)?.guard()
    }

    fn shown(&mut self, device: &str) -> &mut Vec<Shown> {
        self.shown.entry(device.to_owned()).or_default()
    }

    /// Records that a device has written since it had so many.
    fn since(&self, device: &str, count: usize) -> Result<Vec<Record>> {
        Ok(self.device(device)?.records()?.split_off(count))
    }

    /// How many verdicts ago an admission was shown; none if the screen does not know it.
    fn ago(&mut self, device: &str, of: RecordId) -> Option<usize> {
        let newest_first = self.shown(device).iter().rev();
        newest_first
            .enumerate()
            .find(|(_, shown)| shown.record == Some(of) && shown.seen == Seen::Admitted)
            .map(|(ago, _)| ago)
    }

    /// Has the guard take an admission back by keys; another device's is not to be chosen, which
    /// the screen is to say.
    fn take_back(
        &mut self,
        device: &str,
        of: RecordId,
        by: impl FnOnce(&mut Guard, usize) -> Result<bool>,
    ) -> Result<bool> {
        self.at_work(device)?;
        let ago = self.ago(device, of);
        let mut shown = self.shown(device).iter();
        let could_be_another = ago.is_none() && shown.any(|shown| shown.seen == Seen::Admitted);
        if could_be_another {
            bail!(NobodyCan(
                "the screen offers admissions of its own only".into()
            ));
        }
        let count = self.device(device)?.records()?.len();
        let is_done = by(self.guard(device)?, ago.unwrap_or(0))?;
        let undone = self.since(device, count)?.iter().any(|record| {
            matches!(&record.what, What::Undo(undo)
                if undo.denied.is_none() && undo.refers_to == Some(of))
        });
        same("an undo on record", &is_done, &undone)?;
        Ok(is_done)
    }
}

impl Venue for RunningVenue {
    type Server = RunningServer;

    fn server(&self) -> &RunningServer {
        &self.server
    }

    fn move_to(&mut self, at: EpochMillis) -> Result<()> {
        self.now = self.now.max(at);
        self.server.move_to(at)?;
        let mut devices = self.devices.values_mut();
        devices.try_for_each(|device| device.clock().move_to(at))
    }

    fn enrol(&mut self, device: &str, gates: &[GateId]) -> Result<()> {
        let network = self.server.network()?;
        let invitation: Enrolment = self.server.call(
            Method::POST,
            "/v1/enrolments",
            &NewEnrolment {
                gates: gates.to_vec(),
                server: Some(network.url()),
                confirm: false,
            },
        )?;
        let enrolled = RunningDevice::enrol(
            &self.folder.path().join(device),
            &invitation.text,
            network,
            self.now,
            self.sensors.contains(device),
        )?;
        enrolled.network.hold();
        self.devices.insert(device.to_owned(), enrolled);
        self.gates = gates.to_vec();
        Ok(())
    }

    fn device_id(&self, device: &str) -> Result<DeviceId> {
        Ok(self.device(device)?.identity.device_id.clone())
    }

    fn serve(&mut self, device: &str, gate: &GateId) -> Result<()> {
        let hold_ms = self.hold_ms.get(gate).copied().unwrap_or(HOLD_MS);
        let known = self.devices.get_mut(device);
        let known = known.with_context(|| format!("there is no device {device}"))?;
        if known.serve(gate, hold_ms)? {
            self.shown(device).clear();
        }
        Ok(())
    }

    fn sync(&mut self, device: &str) -> Result<()> {
        self.at_work(device)?;
        let device = self.device(device)?;
        device.network.mend();
        device.is_in_sync(&self.server)?;
        device.network.hold();
        Ok(())
    }

    fn set_network(&mut self, up: bool) -> Result<()> {
        let names: Vec<_> = self.devices.keys().cloned().collect();
        for name in names {
            let device = self.at_work(&name)?;
            if !up {
                device.network.hold();
                continue;
            }
            device.network.mend();
            device.is_online()?;
        }
        Ok(())
    }

    fn set_wall_off(&mut self, device: &str, off_ms: i64) -> Result<()> {
        self.at_work(device)?.clock().set_wall_off(off_ms)
    }

    fn scan(&mut self, device: &str, code: &str, persons: Option<u8>) -> Result<Came> {
        let at_work = self.at_work(device)?;
        let (count, pulses) = (at_work.records()?.len(), at_work.pulses());
        match persons {
            Some(persons) => at_work.guard()?.next_persons(persons)?,
            None => at_work.guard()?.rest()?,
        }
        at_work.read(code)?;
        let seen = at_work.screen()?.verdict()?;
        let pulses = at_work.pulses() - pulses;
        let mut written = self.since(device, count)?.into_iter();
        let record = written.rfind(|record| matches!(record.what, What::Scan(_)));
        if let Some(What::Scan(scan)) = record.as_ref().map(|record| &record.what) {
            agrees(scan, seen)?;
        } else {
            ensure!(
                matches!(seen, Seen::Again | Seen::Refused(_)),
                "the gate opened without a record"
            );
        }
        let came = Came {
            verdict: name_of(seen).to_owned(),
            repeat: record.is_none(),
            pulses,
            record: record.as_ref().and_then(written_of),
        };
        self.shown(device).push(Shown {
            record: record.map(|record| record.id),
            seen,
        });
        Ok(came)
    }

    fn tells(&self, device: &str, name: &str, expected: &Value) -> Result<()> {
        let words = words_for(name, expected, &self.zone)?;
        self.device(device)?.screen()?.reads(&words)
    }

    fn admit_order(
        &mut self,
        device: &str,
        order: &OrderNumber,
        tickets: &[TicketId],
    ) -> Result<Vec<String>> {
        let digits = self.digits.clone();
        let is_of = |ticket: &TicketId, line: &str| {
            let digits = digits.get(ticket).map_or("", String::as_str);
            line.split_whitespace().any(|word| word == digits)
        };
        let at_work = self.at_work(device)?;
        let count = at_work.records()?.len();
        let guard = at_work.guard()?;
        let lines = guard.look_up(order.as_str())?;
        let places = tickets.iter().map(|ticket| {
            let mut places = (0..lines.len()).filter(|at| is_of(ticket, &lines[*at]));
            match (places.next(), places.next()) {
                (Some(place), None) => Ok(place),
                (None, _) => bail!("{ticket} is not found by {order}: {lines:#?}"),
                _ => bail!(NobodyCan("two tickets of the order look alike".into())),
            }
        });
        let places = places.collect::<Result<Vec<_>>>()?;
        let wanted = |line: &str| tickets.iter().any(|ticket| is_of(ticket, line));
        let ticked = guard.admit_ticked(order.as_str(), wanted)?;
        let together = self.since(device, count)?;
        same("records of the order", &ticked, &together.len())?;

        // A ticket that nobody may enter by any more cannot be ticked: it is asked for alone.
        for (ticket, place) in tickets.iter().zip(places) {
            if verdict_of(&together, ticket, Via::Order).is_none() {
                let guard = self.guard(device)?;
                guard.look_up(order.as_str())?;
                guard.admit(place)?;
            }
        }
        let records = self.since(device, count)?;
        let verdicts = tickets.iter().map(|ticket| {
            let verdict = verdict_of(&records, ticket, Via::Order)
                .or_else(|| verdict_of(&records, ticket, Via::LookUp));
            verdict.with_context(|| format!("nothing is on record of {ticket}"))
        });
        verdicts.collect()
    }

    fn walk_in(&mut self, device: &str, persons: u8, category: &str) -> Result<bool> {
        let count = self.at_work(device)?.records()?.len();
        let is_done = self.guard(device)?.walk_in(persons, category)?;
        let written = self.since(device, count)?;
        let is_written = written.iter().any(|record| {
            matches!(&record.what, What::WalkIn(one)
                if one.persons == persons && one.category == category)
        });
        same("a walk-in on record", &is_done, &is_written)?;
        Ok(is_done)
    }

    fn undo(&mut self, device: &str, of: RecordId, reason: &str) -> Result<bool> {
        self.take_back(device, of, |guard, ago| guard.undo(ago, reason))
    }

    fn does_not_match(&mut self, device: &str, of: RecordId) -> Result<bool> {
        self.take_back(device, of, |guard, ago| {
            ensure!(
                ago == 0,
                NobodyCan("`x` takes back what was shown last".into())
            );
            guard.does_not_match()
        })
    }

    fn override_refusal(&mut self, device: &str, asked: &Waiving<'_>) -> Result<Overridden> {
        self.at_work(device)?;
        let last = self.shown(device).last().map(|shown| shown.seen);
        if let Some(Seen::Refused(reason)) = last
            && !asked.waive.contains(&reason)
        {
            bail!(NobodyCan(
                "the screen waives the refusal that it shows".into()
            ));
        }
        let guard = self.guard(device)?;
        let mut waived = guard.waive(asked.why, asked.pin)?;
        loop {
            match waived {
                Waived::Admitted => break,
                Waived::No => return Ok(Overridden::Denied),
                Waived::Asks(reason) if asked.waive.contains(&reason) => {
                    waived = guard.waive_further(reason)?;
                }
                Waived::Asks(reason) => {
                    guard.waive_no_further()?;
                    return Ok(Overridden::Further(reason));
                }
            }
        }
        let records = self.device(device)?.records()?;
        let record = records.last().context("nothing is on record")?;
        ensure!(
            matches!(&record.what, What::Override(one) if one.denied.is_none()),
            "on record is {record:?}"
        );
        let (record, seen) = (Some(record.id), Seen::Admitted);
        self.shown(device).push(Shown { record, seen });
        Ok(Overridden::Admitted)
    }

    fn passage(&mut self, device: &str, of: RecordId, outcome: PassageOutcome) -> Result<()> {
        let device = self.at_work(device)?;
        let passes = outcome == PassageOutcome::Passed;
        if passes {
            device.sensor(true)?;
        }
        wait_until("the passage is on record", PATIENCE, || {
            let records = device.records()?;
            Ok(records.iter().any(|record| {
                matches!(&record.what, What::Passage(one)
                    if one.refers_to == Some(of) && one.outcome == outcome)
            }))
        })?;
        device.sensor(false)
    }

    fn conflicts(&self, device: &str) -> Result<u64> {
        let status = self.device(device)?.status()?;
        let conflicts = status["live"]["conflicts"].as_u64();
        conflicts.context("a status counts conflicts")
    }

    fn warns_of_clock(&self, device: &str) -> Result<bool> {
        let status = self.device(device)?.status()?;
        Ok(!status["live"]["clock"]["wall_off_ms"].is_null())
    }
}

fn name_of(seen: Seen) -> &'static str {
    match seen {
        Seen::Admitted | Seen::Again => "admit",
        Seen::Refused(reason) => reason.name(),
    }
}

/// Whether the record of a reading says what the screen shows.
fn agrees(scan: &Scan, seen: Seen) -> Result<()> {
    let on_record = match (scan.verdict, scan.reason) {
        (Answer::Admit, _) => Seen::Admitted,
        (Answer::Refuse, reason) => Seen::Refused(reason.unwrap_or(Reason::Malformed)),
    };
    same("the screen beside the record", &on_record, &seen)
}

fn written_of(record: &Record) -> Option<Written> {
    let What::Scan(scan) = &record.what else {
        return None;
    };
    Some(Written {
        id: record.id,
        u_ms: record.u_ms,
        mode: scan.mode,
    })
}

/// What came of a ticket, by the records of its look-up or order.
fn verdict_of(records: &[Record], ticket: &TicketId, via: Via) -> Option<String> {
    let scans = records.iter().filter_map(|record| match &record.what {
        What::Scan(scan) => Some(scan),
        _ => None,
    });
    let mut its = scans.filter(|scan| scan.ticket_id.as_ref() == Some(ticket) && scan.via == via);
    let scan = its.next_back()?;
    Some(match scan.reason {
        Some(reason) => reason.name().to_owned(),
        None => "admit".to_owned(),
    })
}
