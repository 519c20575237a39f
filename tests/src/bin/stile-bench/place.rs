//! A museum with a day's tickets, and what the measurements take from it.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use stile_core::codes::Format;
use stile_core::device::{Candidate, Device};
use stile_core::protocol::EnrolAnswer;
use stile_tests::booking::{BookingDay, Kind, Order};
use stile_tests::museum::{Museum, Plan};

use crate::platform::Clocks;

/// A museum in working order.
pub struct Place {
    // Removed with all that is in it.
    folder: tempfile::TempDir,
    /// The museum.
    pub museum: Museum,
    /// What it has sold.
    pub day: BookingDay,
}

impl Place {
    /// Opens a museum that has sold so many tickets. It lies where the measurements are started:
    /// on a disk, as a gate has one, and not in memory.
    pub fn set_up(tickets: usize) -> Result<Self> {
        let folder = tempfile::tempdir_in(".").context("a folder to measure in")?;
        let (museum, day) = Museum::open(&folder.path().join("museum"), tickets, 1)?;
        Ok(Self {
            folder,
            museum,
            day,
        })
    }

    /// A path of its own for one thing.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A device in this process that serves a gate, without a list yet.
    pub fn device(&self, plan: Plan) -> Result<Device> {
        let clocks = Arc::new(Clocks::new());
        let candidate = Candidate::new(self.museum.invite(plan)?.parse()?, clocks.as_ref());
        let answer: EnrolAnswer = reqwest::blocking::Client::new()
            .post(format!("{}/v1/gate/enrol", self.museum.server.url()))
            .json(&candidate.request("bench", "bench"))
            .send()?
            .error_for_status()?
            .json()?;
        let folder = self.path(&format!("{}-in-process", plan.id));
        std::fs::create_dir_all(&folder)?;
        candidate.accept(answer)?.save(&folder)?;
        Ok(Device::open(&folder, None, clocks)?)
    }

    /// Tickets for one person that are admitted now: `count` behind the first `skip`.
    pub fn good(&self, skip: usize, count: usize) -> Result<Vec<&Order>> {
        let busy = &self.day.timetable.busy().session_id;
        let good = self.day.tickets.iter().filter(|ticket| {
            ticket.kind == Kind::Plain && ticket.session_id == *busy && ticket.admits == 1
        });
        let good: Vec<_> = good.skip(skip).take(count).collect();
        ensure!(
            good.len() == count,
            "too few good tickets; measure with more --tickets"
        );
        Ok(good)
    }

    /// Fresh codes of tickets.
    pub fn codes(&self, tickets: &[&Order], format: Format) -> Result<Vec<String>> {
        let ids: Vec<_> = tickets
            .iter()
            .map(|ticket| ticket.ticket_id.as_str())
            .collect();
        let minted = self.museum.api.mint_all(&ids, format, Some(3600))?;
        minted
            .into_iter()
            .map(|one| one.code.context("a code without a text"))
            .collect()
    }
}
