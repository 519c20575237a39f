//! Capacity of sessions and zones, as a back end states it and a venue sees it fill.

use std::sync::Arc;

use serde_json::{Value, json};
use stile_sync_server::config::Limits;

use crate::site::{Gatekeeper, SetClock, Site, refusal};

/// A session that takes so many, with a hall that takes four, and what comes in and out.
struct Hall {
    site: Site,
    clock: SetClock,
    gate: Gatekeeper,
    tickets: Vec<Value>,
    day: String,
}

impl Hall {
    async fn of(capacity: u32) -> Self {
        let clock = SetClock::at("2026-10-01T02:00:00Z");
        let site = Site::start_by(Arc::new(clock.clone()), Limits::default()).await;
        site.furnish().await;
        for (gate, about) in [
            ("hall", json!({"zones": ["A"], "checkpoint": "hall"})),
            (
                "hall-out",
                json!({"zones": ["A"], "direction": "out", "checkpoint": "hall"}),
            ),
            ("exit", json!({"direction": "out"})),
        ] {
            let _: Value = site.done("PUT", &format!("/v1/gates/{gate}"), about).await;
        }
        let (gate, tickets) = (site.enrol(1).await, site.some_tickets(40).await);
        let day = tickets[0]["service_day"].as_str().unwrap().to_owned();
        let hall = Self {
            site,
            clock,
            gate,
            tickets,
            day,
        };
        hall.put(json!({"capacity": capacity, "zone_capacities": {"A": 4}}))
            .await;
        hall
    }

    /// The session, with members of its own.
    async fn put(&self, members: Value) -> Value {
        let mut session = json!({"starts_at": "2026-10-01 10:00", "ends_at": "2026-10-01 12:00"});
        let members = members.as_object().unwrap().clone();
        session.as_object_mut().unwrap().extend(members);
        self.site.done("PUT", "/v1/sessions/now", session).await
    }

    /// Tickets pass a gate; gives their records.
    async fn pass(&mut self, gate: &str, tickets: std::ops::Range<usize>) -> Vec<Value> {
        let (direction, checkpoint) = match gate {
            "north" => ("in", "entry"),
            "hall" => ("in", "hall"),
            "hall-out" => ("out", "hall"),
            _ => ("out", "entry"),
        };
        let records: Vec<Value> = tickets
            .map(|n| {
                let mut record = self.gate.admits(&self.site, &self.tickets[n]);
                record["gate_id"] = json!(gate);
                record["direction"] = json!(direction);
                record["checkpoint"] = json!(checkpoint);
                record
            })
            .collect();
        self.site.upload(&self.gate, &records).await;
        records
    }

    /// What is open, having looked: kind, thing, and how many were inside.
    async fn open(&self) -> Vec<(String, String, u64)> {
        self.site.server.check_capacity().await.unwrap();
        let alarms: Value = self.site.done("GET", "/v1/alarms", Value::Null).await;
        let mut open: Vec<_> = alarms["alarms"]
            .as_array()
            .unwrap()
            .iter()
            .map(|alarm| {
                let text = |name: &str| alarm[name].as_str().unwrap().to_owned();
                (
                    text("kind"),
                    text("thing"),
                    alarm["inside"].as_u64().unwrap(),
                )
            })
            .collect();
        open.sort();
        open
    }

    async fn all(&self) -> usize {
        let path = "/v1/alarms?all=true";
        let alarms: Value = self.site.done("GET", path, Value::Null).await;
        alarms["alarms"].as_array().unwrap().len()
    }

    async fn report(&self) -> Value {
        let path = format!("/v1/reports/attendance?from={}", self.day);
        let report: Value = self.site.done("GET", &path, Value::Null).await;
        report["sessions"][0].clone()
    }
}

fn filled(percent: u32, inside: u64) -> (String, String, u64) {
    (format!("capacity_{percent}"), "now".to_owned(), inside)
}

#[tokio::test]
async fn a_session_says_how_many_it_takes_within_bounds() {
    let hall = Hall::of(20).await;
    let site = &hall.site;
    let listed: Value = site.done("GET", "/v1/sessions", Value::Null).await;
    assert_eq!(listed["sessions"][0]["capacity"], 20);
    assert_eq!(listed["sessions"][0]["zone_capacities"], json!({"A": 4}));
    let put = hall.put(json!({})).await;
    assert_eq!(
        (put.get("capacity"), put.get("zone_capacities")),
        (None, None)
    );
    let times = json!({"starts_at": "2026-10-01 10:00", "ends_at": "2026-10-01 12:00"});
    for (name, wrong) in [
        ("capacity", json!(0)),
        ("capacity", json!(1_000_001)),
        ("capacity", json!(-1)),
        ("capacity", json!("many")),
        ("zone_capacities", json!({"A": 0})),
        ("zone_capacities", json!({"hall A": 3})),
        ("zone_capacities", json!(["A"])),
    ] {
        let mut session = times.clone();
        session[name] = wrong;
        let put = site.admin("PUT", "/v1/sessions/x").json(&session);
        let (status, ..) = refusal(put.send().await.unwrap()).await;
        assert!(status.is_client_error(), "{session}");
    }
    let mut many = times.clone();
    many["session_id"] = json!("y");
    many["capacity"] = json!(1_000_000);
    let put: Value = site
        .done("POST", "/v1/sessions", json!({"sessions": [many]}))
        .await;
    assert_eq!(put["results"][0]["session"]["capacity"], 1_000_000);
}

#[tokio::test]
async fn alarms_open_once_at_80_and_100_percent_and_one_visitor_at_the_edge_opens_no_second() {
    let mut hall = Hall::of(20).await;
    hall.pass("north", 0..15).await;
    assert_eq!(hall.open().await, []);
    hall.pass("north", 15..16).await;
    assert_eq!(hall.open().await, [filled(80, 16)]);
    // In and out at the edge: it is the same alarm.
    for n in 0..3 {
        hall.pass("exit", n..n + 1).await;
        assert_eq!(hall.open().await, [filled(80, 16)]);
        hall.pass("north", 16 + n..17 + n).await;
        assert_eq!(hall.open().await, [filled(80, 16)]);
    }
    assert_eq!(hall.all().await, 1);
    hall.pass("north", 19..23).await;
    assert_eq!(hall.open().await, [filled(100, 20), filled(80, 16)]);
    // 18 are 90 percent: no longer full, and above 75 still.
    hall.pass("exit", 3..5).await;
    assert_eq!(hall.open().await, [filled(80, 16)]);
    hall.pass("exit", 5..9).await;
    assert_eq!(hall.open().await, []);
    assert_eq!(hall.all().await, 2);
}

#[tokio::test]
async fn who_was_taken_back_or_came_twice_on_one_ticket_is_counted_as_the_fold_does() {
    let mut hall = Hall::of(5).await;
    let entered = hall.pass("north", 0..4).await;
    assert_eq!(hall.open().await, [filled(80, 4)]);
    let mut undo = hall.gate.admits(&hall.site, &hall.tickets[0]);
    undo["kind"] = json!("undo");
    undo["refers_to"] = entered[0]["id"].clone();
    undo["verdict"] = Value::Null;
    hall.site.upload(&hall.gate, &[undo]).await;
    assert_eq!(hall.open().await, []);
    // A second person on one ticket is a conflict, and inside.
    hall.pass("north", 1..2).await;
    assert_eq!(hall.open().await, [filled(80, 4)]);
    let report = hall.report().await;
    assert_eq!(
        [&report["persons"], &report["inside"], &report["capacity"]],
        [3, 4, 5]
    );
    assert_eq!(report["share_of_capacity"], 0.8);
    // Where tickets enter freely, who enters again is the same person.
    hall.put(json!({"capacity": 5, "reentry": "free"})).await;
    assert_eq!(hall.open().await, []);
    assert_eq!(hall.report().await["inside"], 3);
}

#[tokio::test]
async fn a_zone_fills_by_its_own_gates_and_empties_by_those_of_the_house_as_well() {
    let mut hall = Hall::of(1000).await;
    hall.pass("north", 0..6).await;
    assert_eq!(hall.open().await, [], "nobody is in the hall");
    hall.pass("hall", 0..4).await;
    let of = |percent: u32| (format!("capacity_{percent}"), "now/A".to_owned(), 4);
    assert_eq!(hall.open().await, [of(100), of(80)]);
    let zone = hall.report().await["zones"][0].clone();
    assert_eq!(
        zone,
        json!({"zone": "A", "inside": 4, "capacity": 4, "share_of_capacity": 1.0})
    );
    assert_eq!(hall.report().await["inside"], 6);
    hall.pass("hall-out", 0..1).await;
    assert_eq!(hall.open().await, [of(80)]);
    hall.pass("exit", 1..2).await;
    assert_eq!(hall.open().await, []);
    assert_eq!(hall.report().await["zones"][0]["inside"], 2);
}

#[tokio::test]
async fn an_alarm_is_over_with_its_session_or_its_cancelling_or_its_capacity() {
    let mut hall = Hall::of(5).await;
    hall.pass("north", 0..5).await;
    let full = [filled(100, 5), filled(80, 5)];
    assert_eq!(hall.open().await, full);
    hall.put(json!({})).await;
    assert_eq!(hall.open().await, []);
    hall.put(json!({"capacity": 5})).await;
    assert_eq!(hall.open().await, full);
    hall.put(json!({"capacity": 5, "status": "cancelled"}))
        .await;
    assert_eq!(hall.open().await, []);
    hall.put(json!({"capacity": 5})).await;
    assert_eq!(hall.open().await, full);
    hall.clock.set("2026-10-01T03:59:59Z");
    assert_eq!(hall.open().await, full);
    hall.clock.set("2026-10-01T04:00:00Z");
    assert_eq!(hall.open().await, []);
    // Twice by two servers at once changes nothing twice.
    hall.clock.set("2026-10-01T03:00:00Z");
    let (one, other) = tokio::join!(
        hall.site.server.check_capacity(),
        hall.site.server.check_capacity()
    );
    assert_eq!(one.unwrap() + other.unwrap(), 2);
}
