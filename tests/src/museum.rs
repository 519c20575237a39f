//! A museum in a folder: a server with a venue, its timetable and tickets, and gates that reach
//! it over the network. One step per method, so that the demo can tell about each.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use stile_core::protocol::NewGate;
use stile_core::time::EpochSeconds;

use crate::api::Api;
use crate::booking::{
    BookingDay, Door, Header, MAIN_ZONE, Order, SPECIAL_ZONE, Timetable, write_csv,
};
use crate::gate::Gate;
use crate::network::Network;
use crate::programs::wait_until;
use crate::server::Server;

/// The museum's id.
pub const VENUE: &str = "museum-01";
/// Its time zone.
pub const TIME_ZONE: &str = "Asia/Shanghai";
/// The shape of the booking system's own codes: `MUS`, a date, a UUID.
pub const OPAQUE_SHAPE: &str = "MUS:0123456789abcdef-:47-47";
/// Scopes of the booking system's key.
const SCOPES: &str = "tickets:write,codes:mint,records:read,admin";
/// Longest wait for a gate to take a changed list: it asks every few seconds.
const LIST_TIME: Duration = Duration::from_secs(60);
/// Longest wait for an outbox to drain: a gate that was long alone waits between tries.
const DRAIN_TIME: Duration = Duration::from_secs(120);

/// A gate of the museum, as it is planned.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Its id.
    pub id: &'static str,
    /// What people call it.
    pub name: &'static str,
    /// Where it leads, and whether anybody stands there.
    pub door: Door,
}

/// Where a guard stands, to all halls.
pub const ENTRANCE: Plan = Plan {
    id: "main-entrance",
    name: "正门 / main entrance",
    door: Door {
        zones: &[MAIN_ZONE, SPECIAL_ZONE],
        unattended: false,
    },
};
/// A turnstile to the main halls.
pub const TURNSTILE: Plan = Plan {
    id: "turnstile-1",
    name: "一号闸机 / turnstile 1",
    door: Door {
        zones: &[MAIN_ZONE],
        unattended: true,
    },
};
/// Another, not yet in use.
pub const SPARE: Plan = Plan {
    id: "turnstile-2",
    name: "二号闸机 / turnstile 2",
    door: Door {
        zones: &[MAIN_ZONE],
        unattended: true,
    },
};

/// See the module.
pub struct Museum {
    /// The folder that everything lies in.
    pub folder: PathBuf,
    /// The server.
    pub server: Server,
    /// What lies between it and the gates.
    pub network: Network,
    /// The booking system's way to it, not over that network.
    pub api: Api,
}

impl Museum {
    /// Starts a server with a new database, and creates the venue and the booking system's key.
    pub fn found(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let mut server = Server::new(&folder.join("server"));
        let (formats, shape) = ("v1,G2,G3,opaque", OPAQUE_SHAPE);
        let flags = ["--formats", formats, "--opaque-shape", shape];
        server.add_venue(VENUE, "市博物馆 / City Museum", TIME_ZONE, &flags)?;
        let key = server.command(&[
            "key", "add", "--venue", VENUE, "--scopes", SCOPES, "--name", "booking",
        ])?;
        server.start()?;
        let network = Network::to(server.address())?;
        let api = Api::new(&server.url(), &key, VENUE)?;
        Ok(Self {
            folder: folder.to_owned(),
            server,
            network,
            api,
        })
    }

    /// The timetable in force now.
    pub fn timetable() -> Result<Timetable> {
        Timetable::around(Timestamp::now(), TimeZone::get(TIME_ZONE)?)
    }

    /// A museum with its timetable and this many tickets, open for gates.
    pub fn open(folder: &Path, tickets: usize, seed: u64) -> Result<(Self, BookingDay)> {
        let museum = Self::found(folder)?;
        let day = BookingDay::generate(Self::timetable()?, tickets, seed);
        museum.api.put_timetable(&day.timetable)?;
        let imported = museum
            .api
            .import_csv(&museum.export(&day, Header::English)?)?;
        ensure!(
            imported.refused_count == 0,
            "refused: {:?}",
            imported.refused
        );
        Ok((museum, day))
    }

    /// Exports the booking system's tickets as a CSV file.
    pub fn export(&self, day: &BookingDay, header: Header) -> Result<PathBuf> {
        let path = self.folder.join("tickets.csv");
        write_csv(day, header, File::create(&path)?)?;
        Ok(path)
    }

    /// Creates a gate, invites a device to serve it and enrols it, over the network.
    pub fn enrol(&self, plan: Plan) -> Result<Gate> {
        let invitation = self.invite(plan)?;
        Gate::enrol(&self.folder.join(plan.id), &invitation, plan.id)
    }

    /// Creates a gate and invites a device to serve it. Returns the text of the enrolment QR.
    pub fn invite(&self, plan: Plan) -> Result<String> {
        let zones = plan.door.zones.iter().map(|zone| zone.parse());
        let gate = NewGate {
            name: plan.name.to_owned(),
            direction: Default::default(),
            checkpoint: None,
            zones: zones.collect::<Result<_, _>>()?,
            unattended: plan.door.unattended,
        };
        self.api.put_gate(plan.id, &gate)?;
        Ok(self.api.invite(plan.id, &self.network.url())?.text)
    }

    /// Waits until each of these gates holds a list with everything that was changed before. Marks
    /// that by one more change, a note on the night session: a list that the server signs after
    /// this moment has all that came before it.
    pub fn wait_for_changes(&self, gates: &[&Gate], timetable: &Timetable) -> Result<()> {
        let moment = Timestamp::now().as_millisecond();
        let mut night = timetable.night.clone();
        night.note = format!("changed at {moment}");
        self.api.put_session(&night)?;
        let today = timetable.day.to_string();
        for gate in gates {
            let what = format!("{} has the changed list", gate.name());
            wait_until(&what, LIST_TIME, || {
                let status = gate.status()?;
                let mut lists = status.lists.iter().filter(|list| list.service_day == today);
                Ok(lists.any(|list| list.issued_at.0 > moment))
            })?;
        }
        Ok(())
    }

    /// Enrols a gate, starts it, and waits until it holds today's list.
    pub fn open_gate(&self, plan: Plan, timetable: &Timetable) -> Result<Gate> {
        let mut gate = self.enrol(plan)?;
        gate.start()?;
        wait_for_today(&gate, timetable)?;
        Ok(gate)
    }
}

/// The wall clock, which server and gates share here.
pub fn now() -> EpochSeconds {
    EpochSeconds(Timestamp::now().as_second())
}

/// Waits until a gate holds today's list. Returns its tickets, tombstones included.
pub fn wait_for_today(gate: &Gate, timetable: &Timetable) -> Result<u64> {
    let today = timetable.day.to_string();
    let mut tickets = None;
    let what = format!("{} holds today's list", gate.name());
    wait_until(&what, LIST_TIME, || {
        let lists = gate.status()?.lists;
        let list = lists.iter().find(|list| list.service_day == today);
        tickets = list.map(|list| list.tickets);
        Ok(tickets.is_some())
    })?;
    tickets.context("a gate that holds today's list")
}

/// Waits until gates have nothing left to send.
pub fn wait_until_drained(gates: &[&Gate]) -> Result<()> {
    for gate in gates {
        let what = format!("{} has sent everything", gate.name());
        wait_until(&what, DRAIN_TIME, || Ok(gate.status()?.unsent == 0))?;
    }
    Ok(())
}

/// Hands out the tickets of a day, each once.
pub struct Tickets<'d> {
    day: &'d BookingDay,
    used: std::collections::HashSet<usize>,
}

impl<'d> Tickets<'d> {
    /// All of them.
    pub fn of(day: &'d BookingDay) -> Self {
        Self {
            day,
            used: Default::default(),
        }
    }

    /// The next ticket that answers to a description, which stands in the error if there is none.
    pub fn take(&mut self, what: &str, fits: impl Fn(&Order) -> bool) -> Result<&'d Order> {
        let mut all = self.day.tickets.iter().enumerate();
        let found = all.find(|(at, ticket)| !self.used.contains(at) && fits(ticket));
        let (at, ticket) = found.with_context(|| {
            format!("no ticket left in the day's file that {what}; generate more tickets")
        })?;
        self.used.insert(at);
        Ok(ticket)
    }
}
