//! What these tests share: a museum with two gates at work, fresh codes, and the comparison at
//! the end.

use std::collections::HashSet;

use stile_core::codes::Format;
use stile_core::protocol::{PulledRecord, RecordHead};
use stile_core::record::Answer;
use stile_tests::api::Stream;
use stile_tests::booking::{BookingDay, Order};
use stile_tests::comparison::Comparison;
use stile_tests::gate::Gate;
use stile_tests::journal;
use stile_tests::museum::{ENTRANCE, Museum, Plan, TURNSTILE, Tickets, now, wait_until_drained};
use tempfile::TempDir;

/// How long codes are good, in seconds.
const TTL_S: u32 = 3_600;
/// Records of one pull: so few that every test pulls in several pieces.
const PULL: usize = 7;

/// A museum at work. Dropped, its programs end before its folder goes.
pub struct House {
    pub entrance: Gate,
    pub turnstile: Gate,
    pub museum: Museum,
    pub day: &'static BookingDay,
    pub tickets: Tickets<'static>,
    _folder: TempDir,
}

impl House {
    /// A museum that has sold so many tickets.
    pub fn open(tickets: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (museum, day) = Museum::open(&folder.path().join("museum"), tickets, 1).unwrap();
        // One per test, for as long as the test runs.
        let day: &BookingDay = Box::leak(Box::new(day));
        let gate = |plan| museum.open_gate(plan, &day.timetable).unwrap();
        Self {
            entrance: gate(ENTRANCE),
            turnstile: gate(TURNSTILE),
            museum,
            day,
            tickets: Tickets::of(day),
            _folder: folder,
        }
    }

    /// A ticket for one that both gates admit now and for the next half hour.
    pub fn ticket(&mut self) -> &'static Order {
        self.take(|ticket| ticket.admits == 1)
    }

    /// A fresh code of such a ticket.
    pub fn code(&mut self) -> String {
        let ticket = self.ticket();
        let minted = self
            .museum
            .api
            .mint(&ticket.ticket_id, Format::V1, Some(TTL_S))
            .unwrap();
        minted.code.unwrap()
    }

    /// Fresh codes of different tickets for any number, good at both gates.
    pub fn codes(&mut self, count: usize) -> Vec<String> {
        let ids: Vec<_> = (0..count)
            .map(|_| self.take(|_| true).ticket_id.as_str())
            .collect();
        let minted = self
            .museum
            .api
            .mint_all(&ids, Format::V1, Some(TTL_S))
            .unwrap();
        minted.into_iter().map(|one| one.code.unwrap()).collect()
    }

    fn take(&mut self, fits: impl Fn(&Order) -> bool) -> &'static Order {
        let day = self.day;
        let is_good =
            |plan: Plan, ticket: &Order| day.expected(ticket, plan.door, now(), 0).is_none();
        let busy = |ticket: &Order| ticket.session_id == day.timetable.busy().session_id;
        let good = |ticket: &Order| {
            busy(ticket) && is_good(ENTRANCE, ticket) && is_good(TURNSTILE, ticket) && fits(ticket)
        };
        self.tickets.take("is good now", good).unwrap()
    }

    /// Pulls the whole log, as the booking system does.
    pub fn log(&self) -> Vec<PulledRecord> {
        self.museum.api.pull_all(Stream::Records, PULL).unwrap().0
    }

    /// Waits until both outboxes are empty, and compares the journals and whatever the gates have
    /// said with the pulled log: nothing lost, nothing doubled, not one byte other.
    pub fn everything_has_arrived_once(&self) -> Vec<PulledRecord> {
        let gates = [&self.entrance, &self.turnstile];
        wait_until_drained(&gates).unwrap();
        let log = self.log();
        let journals = gates.map(|gate| journal::read(gate.data()).unwrap());
        let said = gates.map(|gate| gate.heard.as_slice());
        let found = Comparison::of(&journals, &said, &log).unwrap();
        assert!(found.is_whole(), "{found}");
        for gate in gates {
            let records: HashSet<_> = gate
                .heard
                .iter()
                .filter_map(|said| said.record_id)
                .collect();
            let opened = gate.heard.iter().filter(|said| said.opens);
            assert!(opened.clone().all(|said| said.record_id.is_some()));
            assert!(opened.count() <= records.len());
        }
        log
    }

    /// The ids of the tickets that were admitted, once per check-in.
    pub fn check_ins(&self) -> Vec<String> {
        let (check_ins, _) = self.museum.api.pull_all(Stream::CheckIns, PULL).unwrap();
        // Without what took one back.
        let check_ins = check_ins.iter().filter(|pulled| {
            let head: RecordHead = serde_json::from_str(pulled.record.get()).unwrap();
            head.is_check_in()
        });
        let heads = check_ins.map(head);
        heads.map(|head| head.ticket_id.unwrap()).collect()
    }
}

/// What these tests read of a record.
#[derive(Debug, serde::Deserialize)]
pub struct Head {
    pub id: stile_core::ids::RecordId,
    pub at: stile_core::time::EpochMillis,
    pub trust: stile_core::clock::Trust,
    pub ticket_id: Option<String>,
    pub verdict: Answer,
}

/// Reads a pulled record.
pub fn head(pulled: &PulledRecord) -> Head {
    serde_json::from_str(pulled.record.get()).unwrap()
}
