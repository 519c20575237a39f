//! Attendance by day, gate, hour and category, its rates, and who was refused.

use serde_json::{Value, json};
use stile_core::protocol::{Attendance, AttendanceGroup, OutboxReport};
use stile_core::ticket::{CancelCause, TicketStatus};
use stile_core::time::ServiceDay;
use stile_sync_server::attendance::GroupBy;

use super::Stores;
use super::bed::{Bed, NOW, TODAY, TestDevice, ticket};

const HOUR_MS: i64 = 3_600_000;

async fn report(bed: &Bed, by: GroupBy) -> Attendance {
    let day = ServiceDay::new(TODAY).unwrap();
    let report = bed.server.attendance_by(&bed.venue, &day, &day, by).await;
    report.unwrap()
}

/// Name, persons, tickets, expected and no-show of each group.
type Row = (String, u64, u64, Option<u64>, Option<u64>);

fn rows(report: &Attendance) -> Vec<Row> {
    assert!(report.sessions.is_empty());
    let row = |one: &AttendanceGroup| {
        let name = one.name.clone();
        (name, one.persons, one.tickets, one.expected, one.no_show)
    };
    report.groups.iter().map(row).collect()
}

fn row(name: &str, persons: u64, tickets: u64, expected: Option<u64>, absent: Option<u64>) -> Row {
    (name.to_owned(), persons, tickets, expected, absent)
}

/// Three tickets of `s1`: a child who came to the north, a family of three of whom two came an hour
/// later to the south, and one who did not come. And one of a session after midnight.
async fn day(bed: &Bed) -> TestDevice {
    let with = |id: &str, category: &str, admits| {
        let mut line = ticket(id, "s1");
        line.category = category.into();
        line.admits = admits;
        line
    };
    bed.put_session("night", "2026-10-02 00:30", "2026-10-02 02:00")
        .await;
    let mut late = with("late", "adult", 1);
    late.session_id = "night".parse().unwrap();
    let lines = vec![
        with("c", "child", 1),
        with("f", "family", 3),
        with("a", "adult", 1),
        late,
    ];
    assert_eq!(bed.put_tickets(lines).await, []);
    let mut device = bed.device(1).await;
    let later = NOW.0 + HOUR_MS;
    let records = [
        device.record(json!({ "ticket_id": "c" })),
        device.record(json!({ "ticket_id": "f", "gate_id": "south", "at": later })),
        device.record(json!({ "ticket_id": "f", "gate_id": "south", "at": later + 1 })),
        // It was in already, loses, and counts nowhere.
        device.record(json!({ "ticket_id": "c", "gate_id": "south", "at": later + 2 })),
        device.record(json!({ "ticket_id": "late", "session_id": "night" })),
    ];
    file(bed, &device, &records).await;
    device
}

async fn file(bed: &Bed, device: &TestDevice, records: &[Value]) {
    let texts: Vec<_> = records.iter().map(Value::to_string).collect();
    bed.file(device, &texts).await;
}

/// Everything of the day is here.
async fn complete(bed: &Bed, device: &TestDevice) {
    bed.clock.move_by(24 * HOUR_MS);
    let report = OutboxReport {
        generation: 0,
        delivered_through: bed.server.now(),
        outstanding: 0,
    };
    bed.server
        .hear_outbox(&device.device, report)
        .await
        .unwrap();
}

pub async fn attendance_is_told_apart_by_what_is_asked_for(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    let device = day(&bed).await;
    let by_day = report(&bed, GroupBy::ServiceDay).await;
    assert_eq!(rows(&by_day), [row(TODAY, 4, 3, Some(6), None)]);
    assert_eq!(by_day.groups[0].open_sessions, Some(2));

    complete(&bed, &device).await;
    let of = async |by| rows(&report(&bed, by).await);
    assert_eq!(
        of(GroupBy::ServiceDay).await,
        [row(TODAY, 4, 3, Some(6), Some(2))]
    );
    assert_eq!(
        of(GroupBy::NaturalDay).await,
        [
            row("2026-10-01", 3, 2, Some(5), Some(2)),
            row("2026-10-02", 1, 1, Some(1), Some(0)),
        ]
    );
    assert_eq!(
        of(GroupBy::Category).await,
        [
            row("adult", 1, 1, Some(2), Some(1)),
            row("child", 1, 1, Some(1), Some(0)),
            row("family", 2, 1, Some(3), Some(1)),
        ]
    );
    assert_eq!(
        of(GroupBy::Gate).await,
        [
            row("north", 2, 2, None, None),
            row("south", 2, 1, None, None)
        ]
    );
    assert_eq!(
        of(GroupBy::Hour).await,
        [
            row("2026-10-01T10:00", 2, 2, None, None),
            row("2026-10-01T11:00", 2, 1, None, None),
        ]
    );
    let by_gate = report(&bed, GroupBy::Gate).await.groups;
    assert_eq!(
        by_gate.iter().map(|one| one.check_ins).collect::<Vec<_>>(),
        [2, 3]
    );
    assert!(report(&bed, GroupBy::Session).await.groups.is_empty());
}

pub async fn refusals_are_counted_by_reason_where_they_belong(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    let mut device = day(&bed).await;
    let refused = |members: Value| {
        let mut all = json!({ "verdict": "refuse", "persons": 0 });
        all.as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        all
    };
    let no_ticket = json!({ "session_id": null, "service_day": null, "reason": "not_listed" });
    let counted = json!({
        "session_id": null, "service_day": null, "verdict": null, "kind": "refusals",
        "reason": "bad_signature", "count": 7, "gate_id": "south" });
    let records = [
        device.record(refused(json!({ "ticket_id": "a", "reason": "too_early" }))),
        device.record(refused(
            json!({ "ticket_id": "a", "reason": "too_early", "gate_id": "south" }),
        )),
        device.record(refused(
            json!({ "ticket_id": "a", "reason": "blocked", "flags": ["practice"] }),
        )),
        device.record(refused(no_ticket)),
        device.record(counted),
        // Of another day.
        device.record(refused(json!({
            "reason": "not_listed", "session_id": null, "service_day": null,
            "at": NOW.0 + 24 * HOUR_MS }))),
    ];
    file(&bed, &device, &records).await;
    let refused = async |by| {
        let report = report(&bed, by).await;
        let groups = report.groups.iter().filter(|one| !one.refused.is_empty());
        let groups = groups.map(|one| json!([one.name, one.refused]));
        (groups.collect::<Vec<_>>(), json!(report.refused_elsewhere))
    };
    let elsewhere = json!({ "not_listed": 1, "bad_signature": 7 });
    let sessions = report(&bed, GroupBy::Session).await;
    assert_eq!(
        json!(sessions.sessions[0].refused),
        json!({ "too_early": 2 })
    );
    assert_eq!(json!(sessions.refused_elsewhere), elsewhere);
    assert_eq!(
        refused(GroupBy::Gate).await,
        (
            vec![
                json!(["north", { "not_listed": 1, "too_early": 1 }]),
                json!(["south", { "bad_signature": 7, "too_early": 1 }]),
            ],
            json!({})
        )
    );
    assert_eq!(
        refused(GroupBy::Category).await,
        (vec![json!(["adult", { "too_early": 2 }])], elsewhere)
    );
    let all = json!({ "not_listed": 1, "bad_signature": 7, "too_early": 2 });
    for by in [GroupBy::ServiceDay, GroupBy::NaturalDay] {
        assert_eq!(refused(by).await, (vec![json!([TODAY, all])], json!({})));
    }
}

pub async fn two_rates_tell_cancelled_tickets_apart(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(3).await;
    let mut cancelled = ticket("gone", "s1");
    cancelled.status = Some(TicketStatus::Cancelled);
    cancelled.cancel_cause = Some(CancelCause::Refunded);
    assert_eq!(bed.put_tickets(vec![cancelled]).await, []);
    let mut device = bed.device(1).await;
    let check_in = device.check_in("t0");
    bed.file(&device, &[check_in]).await;
    let s1 = report(&bed, GroupBy::Session).await.sessions.remove(0);
    assert_eq!((s1.persons, s1.expected, s1.booked), (1, 3, 4));
    assert_eq!(
        (s1.rate_of_expected, s1.rate_of_booked),
        (Some(0.3333), Some(0.25))
    );
    let nobody = report(&bed, GroupBy::Session).await.sessions.remove(1);
    assert_eq!(
        (nobody.rate_of_expected, nobody.rate_of_booked),
        (None, None)
    );
}
