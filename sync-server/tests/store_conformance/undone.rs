//! Admissions that are taken back, waived, claimed, practised, or of cancelled tickets: what counts
//! and what does not.

use serde_json::{Value, json};
use stile_core::protocol::{
    Attendance, Filed, PulledRecord, RecordHead, RecordStanding, SessionAttendance,
};
use stile_core::ticket::CancelCause;
use stile_core::time::{EpochMillis, ServiceDay};
use stile_sync_server::store::{ConflictState, LogStream};

use super::Stores;
use super::bed::{Bed, NOW, TODAY, TestDevice, pull_request, ticket};

const WINNER: Option<RecordStanding> = Some(RecordStanding::Winner);
const LOSER: Option<RecordStanding> = Some(RecordStanding::Loser);

async fn attendance(bed: &Bed, day: &str) -> Attendance {
    let day = ServiceDay::new(day).unwrap();
    bed.server.attendance(&bed.venue, &day, &day).await.unwrap()
}

/// Attendance of session `s1` today.
async fn s1(bed: &Bed) -> SessionAttendance {
    let sessions = attendance(bed, TODAY).await.sessions;
    let found = sessions
        .into_iter()
        .find(|one| one.session_id.as_str() == "s1");
    found.unwrap()
}

/// Open conflicts, and cleared ones.
async fn conflicts(bed: &Bed) -> (usize, Vec<Option<EpochMillis>>) {
    let of = |state| bed.server.conflicts(&bed.venue, state);
    let open = of(ConflictState::Open).await.unwrap().conflicts;
    let cleared = of(ConflictState::Cleared).await.unwrap().conflicts;
    let all = of(ConflictState::All).await.unwrap().conflicts;
    assert_eq!(all.len(), open.len() + cleared.len());
    assert!(open.iter().all(|conflict| conflict.cleared_at.is_none()));
    (
        open.len(),
        cleared.iter().map(|conflict| conflict.cleared_at).collect(),
    )
}

fn head(pulled: &PulledRecord) -> RecordHead {
    serde_json::from_str(pulled.record.get()).unwrap()
}

async fn standings(bed: &Bed) -> Vec<(Option<RecordStanding>, bool)> {
    let log = bed.pull_all(LogStream::CheckIns, 1_000).await;
    log.into_iter()
        .filter(|pulled| head(pulled).is_check_in())
        .map(|record| (record.standing, record.taken_back))
        .collect()
}

/// The next record of the log, which speaks of an earlier one.
fn undo(device: &mut TestDevice, of: u64) -> Value {
    let of = device.record_id(of);
    device
        .record(json!({ "kind": "undo", "refers_to": of, "why": "wrong person", "verdict": null }))
}

pub async fn check_ins_come_with_what_takes_them_back_after_them(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(4).await;
    let mut device = bed.device(1).await;
    let about = |n: u32| json!({ "ticket_id": format!("t{n}") });
    let first = [
        device.record(about(0)),
        device.record(about(1)),
        device.record(json!({ "ticket_id": "t2", "direction": "out" })),
    ];
    file(&bed, &device, &first.iter().collect::<Vec<_>>()).await;
    let seen = bed.pull(LogStream::CheckIns, None, 10).await;
    assert_eq!(seen.records.len(), 2);

    let undone = undo(&mut device, 1);
    let not_passed = json!({ "kind": "passage", "outcome": "not_passed", "frees": true,
                             "refers_to": device.record_id(2), "verdict": null });
    let not_passed = device.record(not_passed);
    // An exit is no check-in, an undo is undone by nothing, and an undo that comes first shows in
    // its check-in.
    let of_an_exit = undo(&mut device, 3);
    let again = undo(&mut device, 1);
    let early = undo(&mut device, 9);
    let later = [&undone, &not_passed, &of_an_exit, &again, &early];
    file(&bed, &device, &later).await;
    let late = device.record(about(3));
    file(&bed, &device, &[&late]).await;

    let news = bed.pull(LogStream::CheckIns, Some(&seen.cursor), 10).await;
    let ids: Vec<_> = news.records.iter().map(|one| json!(head(one).id)).collect();
    assert_eq!(
        json!(ids),
        json!([undone["id"], not_passed["id"], late["id"]])
    );
    let last = news.records.last().unwrap();
    assert!(last.taken_back && last.standing.is_none());
    // Whoever begins anew is told the same, and finds the undo by the ticket and the day.
    let whole = bed.pull_all(LogStream::CheckIns, 2).await;
    assert_eq!(whole.len(), 5);
    assert!(whole[0].taken_back && whole[1].taken_back);
    let mut request = pull_request(LogStream::CheckIns, None, 10);
    request.filter.ticket_id = Some("t1".parse().unwrap());
    request.filter.service_day = Some(TODAY.parse().unwrap());
    let found = bed.server.pull(&bed.venue, &request).await.unwrap().records;
    let ids: Vec<_> = found.iter().map(|one| json!(head(one).id)).collect();
    assert_eq!(json!(ids), json!([first[1]["id"], not_passed["id"]]));
}

async fn file(bed: &Bed, device: &TestDevice, records: &[&Value]) -> Vec<Option<RecordStanding>> {
    let records: Vec<String> = records.iter().map(|record| record.to_string()).collect();
    let results = bed.file(device, &records).await.results;
    assert!(
        results.iter().all(|one| one.result != Filed::Quarantined),
        "{results:?}"
    );
    results.into_iter().map(|one| one.standing).collect()
}

pub async fn an_undo_clears_a_conflict_and_another_admission_opens_it_again(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(1).await;
    let (mut north, mut south) = (bed.device(1).await, bed.device(2).await);
    let first = north.record(json!({ "ticket_id": "t0" }));
    let second = south.record(json!({ "ticket_id": "t0", "at": NOW.0 + 500 }));
    assert_eq!(file(&bed, &north, &[&first]).await, [WINNER]);
    assert_eq!(file(&bed, &south, &[&second]).await, [LOSER]);
    bed.clock.move_by(1_000);
    let taken_back = undo(&mut south, 1);
    assert_eq!(file(&bed, &south, &[&taken_back]).await, [None]);
    let cleared = Some(NOW.plus(1_000));
    assert_eq!(conflicts(&bed).await, (0, vec![cleared]));
    // Again is as once, also later.
    bed.clock.move_by(1_000);
    assert_eq!(
        file(&bed, &south, &[&taken_back, &second]).await,
        [None, None]
    );
    assert_eq!(conflicts(&bed).await, (0, vec![cleared]));
    assert_eq!(standings(&bed).await, [(WINNER, false), (None, true)]);
    let counts = s1(&bed).await;
    assert_eq!((counts.persons, counts.check_ins, counts.undone), (1, 2, 1));
    assert_eq!((counts.conflicts_open, counts.conflicts_cleared), (0, 1));
    // The winner is undone, so there is room for another; the one after it loses.
    let taken_back = undo(&mut north, 1);
    file(&bed, &north, &[&taken_back]).await;
    let third = south.record(json!({ "ticket_id": "t0", "at": NOW.0 + 900 }));
    assert_eq!(file(&bed, &south, &[&third]).await, [WINNER]);
    let fourth = north.record(json!({ "ticket_id": "t0", "at": NOW.0 + 950 }));
    assert_eq!(file(&bed, &north, &[&fourth]).await, [LOSER]);
    assert_eq!(conflicts(&bed).await, (1, vec![]));
    assert_eq!(
        bed.pull_all(LogStream::Records, 10).await.len(),
        6,
        "nothing is deleted"
    );
}

pub async fn an_undo_may_come_before_what_it_takes_back(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let check_in = device.record(json!({ "ticket_id": "t0" }));
    let taken_back = undo(&mut device, 1);
    assert_eq!(file(&bed, &device, &[&taken_back]).await, [None]);
    assert_eq!(s1(&bed).await.undone, 0);
    assert_eq!(file(&bed, &device, &[&check_in]).await, [None]);
    let counts = s1(&bed).await;
    assert_eq!((counts.persons, counts.check_ins, counts.undone), (0, 1, 1));
    // The admission is free again.
    let again = device.record(json!({ "ticket_id": "t0" }));
    assert_eq!(file(&bed, &device, &[&again]).await, [WINNER]);
    assert_eq!(conflicts(&bed).await, (0, vec![]));
}

pub async fn an_undo_of_a_quarantined_admission_holds_when_its_ticket_arrives(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    let mut device = bed.device(1).await;
    let waiting = device.record(json!({ "ticket_id": "t0" })).to_string();
    let answer = bed.file(&device, &[waiting]).await;
    assert_eq!(answer.results[0].result, Filed::Quarantined);
    let taken_back = undo(&mut device, 1);
    file(&bed, &device, &[&taken_back]).await;
    bed.put_many_tickets(1).await;
    let counts = s1(&bed).await;
    assert_eq!((counts.persons, counts.check_ins, counts.undone), (0, 1, 1));
    assert_eq!(standings(&bed).await, [(None, true)]);
}

pub async fn only_the_same_device_takes_back_and_only_what_was_carried_out(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(1).await;
    let (mut north, mut south) = (bed.device(1).await, bed.device(2).await);
    let check_in = north.record(json!({ "ticket_id": "t0" }));
    let of = north.record_id(1);
    let strangers = south.record(json!({ "kind": "undo", "refers_to": of, "why": "x" }));
    let ahead = south.record(json!({ "kind": "undo", "refers_to": of, "why": "x" }));
    file(&bed, &south, &[&ahead]).await;
    file(&bed, &north, &[&check_in]).await;
    file(&bed, &south, &[&strangers]).await;
    for not_carried_out in [
        json!({ "kind": "undo", "refers_to": of, "why": "", "denied": "too_late" }),
        json!({ "kind": "undo", "refers_to": of, "why": "x", "flags": ["practice"] }),
        json!({ "kind": "passage", "refers_to": of, "outcome": "not_passed", "frees": false }),
        json!({ "kind": "passage", "refers_to": of, "outcome": "sideways" }),
        json!({ "kind": "resume", "refers_to": of, "persons": 0 }),
    ] {
        let record = north.record(not_carried_out);
        file(&bed, &north, &[&record]).await;
    }
    assert_eq!((s1(&bed).await.persons, s1(&bed).await.undone), (1, 0));
    let freed =
        json!({ "kind": "passage", "refers_to": of, "outcome": "not_passed", "frees": true });
    let freed = north.record(freed);
    file(&bed, &north, &[&freed]).await;
    // What takes back cannot be taken back.
    let last = north.sequence;
    let undone_undo = undo(&mut north, last);
    file(&bed, &north, &[&undone_undo]).await;
    assert_eq!((s1(&bed).await.persons, s1(&bed).await.undone), (0, 1));
}

pub async fn an_override_is_a_check_in_and_never_loses_where_it_waived_already_used(
    stores: &dyn Stores,
) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let first = device.record(json!({ "ticket_id": "t0" }));
    let waived = |reasons: Value| json!({ "kind": "override", "ticket_id": "t0", "waived": reasons, "why": "manager" });
    let fine = device.record(waived(json!(["cancelled", "already_used"])));
    let refused = waived(json!(["already_used"]));
    let mut refused = device.record(refused);
    refused["verdict"] = json!("refuse");
    refused["persons"] = json!(0);
    refused["denied"] = json!("wrong_pin");
    assert_eq!(
        file(&bed, &device, &[&first, &fine, &refused]).await,
        [WINNER, WINNER, None]
    );
    assert_eq!(conflicts(&bed).await, (0, vec![]));
    let counts = s1(&bed).await;
    assert_eq!(
        (counts.persons, counts.check_ins, counts.overrides),
        (1, 2, 1)
    );
    // One that waived something else does lose.
    let other = device.record(waived(json!(["too_late"])));
    assert_eq!(file(&bed, &device, &[&other]).await, [LOSER]);
    assert_eq!(conflicts(&bed).await.0, 1);
}

pub async fn a_granted_claim_ranks_before_an_earlier_admission(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(1).await;
    let (mut north, mut south) = (bed.device(1).await, bed.device(2).await);
    let isolated = north.record(json!({ "ticket_id": "t0", "claim": "no_answer" }));
    let claimed = json!({ "ticket_id": "t0", "at": NOW.0 + 5_000, "claim": "granted" });
    let claimed = south.record(claimed);
    let odd = south.record(json!({ "ticket_id": "t0", "at": NOW.0, "claim": "perhaps" }));
    assert_eq!(file(&bed, &north, &[&isolated]).await, [WINNER]);
    assert_eq!(file(&bed, &south, &[&claimed, &odd]).await, [WINNER, LOSER]);
    assert_eq!(file(&bed, &north, &[&isolated]).await, [LOSER]);
}

pub async fn practice_counts_nowhere(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let practice = json!({ "ticket_id": "t0", "flags": ["practice"] });
    let (one, two) = (device.record(practice.clone()), device.record(practice));
    // Nor does it matter whether the ticket is there.
    let unknown = device.record(json!({ "ticket_id": "nobody", "flags": ["practice"] }));
    let walk_in = json!({ "kind": "walk_in", "persons": 2, "category": "child",
                          "flags": ["practice"] });
    let walk_in = device.record(walk_in);
    file(&bed, &device, &[&one, &two, &unknown, &walk_in]).await;
    let counts = attendance(&bed, TODAY).await;
    let s1 = &counts.sessions[0];
    assert_eq!((s1.persons, s1.check_ins, s1.conflicts_open), (0, 0, 0));
    assert_eq!(counts.walk_ins, []);
    assert_eq!(bed.pull_all(LogStream::CheckIns, 10).await.len(), 0);
    assert_eq!(bed.pull_all(LogStream::Records, 10).await.len(), 4);
}

pub async fn a_scan_after_the_cancelling_is_marked_and_one_before_is_not(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(4).await;
    let mut device = bed.device(1).await;
    let cancel = |id: &str| {
        let id = id.parse().unwrap();
        let bed = &bed;
        async move {
            let cause = CancelCause::Refunded;
            bed.server
                .cancel_ticket(&bed.venue, &id, cause)
                .await
                .unwrap();
        }
    };
    bed.clock.move_by(60_000);
    for id in ["t0", "t1", "t2"] {
        cancel(id).await;
    }
    // A second cancelling does not move the first.
    bed.clock.move_by(600_000);
    cancel("t0").await;
    bed.put_tickets(vec![ticket("t2", "s1")]).await;
    let later = |id: &str| json!({ "ticket_id": id, "at": NOW.0 + 120_000 });
    let records = [
        device.record(later("t0")),
        device.record(json!({ "ticket_id": "t1", "at": NOW.0 + 30_000 })),
        device.record(later("t2")),
        device.record(later("t3")),
    ];
    file(&bed, &device, &records.iter().collect::<Vec<_>>()).await;
    let log = bed.pull_all(LogStream::CheckIns, 10).await;
    let marks: Vec<bool> = log.iter().map(|record| record.after_cancel).collect();
    assert_eq!(
        marks,
        [true, false, true, false],
        "a line without a status restores nothing"
    );
    let counts = s1(&bed).await;
    assert_eq!(
        (counts.after_cancel, counts.persons, counts.expected),
        (2, 4, 4)
    );
    // A session that does not take place cancels its tickets.
    let cancelled = json!({ "starts_at": "2026-10-01 14:00", "ends_at": "2026-10-01 16:00",
                            "status": "cancelled" });
    bed.put_session_with("s2", cancelled).await;
    bed.put_tickets(vec![ticket("u0", "s2"), ticket("u1", "s2")])
        .await;
    let late = json!({ "ticket_id": "u0", "session_id": "s2", "at": NOW.0 + 700_000 });
    let late = device.record(late);
    file(&bed, &device, &[&late]).await;
    let sessions = attendance(&bed, TODAY).await.sessions;
    let s2 = &sessions[1];
    assert_eq!((s2.after_cancel, s2.persons, s2.expected), (1, 1, 1));
}

pub async fn an_admission_counts_to_the_day_that_its_ticket_stands_in(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(2).await;
    let (mut north, mut south) = (bed.device(1).await, bed.device(2).await);
    // Booked since the gate's last list, so it guessed the day by its clock.
    let unlisted = json!({ "ticket_id": "t0", "session_id": null, "flags": ["unlisted"],
                           "service_day": "2026-10-02" });
    let unlisted = north.record(unlisted);
    let without = json!({ "ticket_id": "t0", "session_id": null, "service_day": null,
                          "at": NOW.0 + 10 });
    let without = south.record(without);
    assert_eq!(file(&bed, &north, &[&unlisted]).await, [WINNER]);
    assert_eq!(file(&bed, &south, &[&without]).await, [LOSER]);
    assert_eq!(
        (s1(&bed).await.persons, s1(&bed).await.conflicts_open),
        (1, 1)
    );
    // One that was moved since counts to the day on which it was admitted.
    bed.put_tickets(vec![ticket("t1", "s3")]).await;
    let before = north.record(json!({ "ticket_id": "t1" }));
    file(&bed, &north, &[&before]).await;
    let counts = s1(&bed).await;
    assert_eq!((counts.persons, counts.tickets, counts.expected), (2, 2, 2));
    let tomorrow = attendance(&bed, "2026-10-02").await.sessions;
    assert_eq!((tomorrow[0].persons, tomorrow[0].expected), (0, 1));
}

pub async fn attendance_counts_people_once(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    let whole_day = |reentry: &str| {
        json!({ "starts_at": "2026-10-01 09:00", "ends_at": "2026-10-01 18:00",
                "reentry": reentry })
    };
    bed.put_session_with("out", whole_day("after_exit")).await;
    bed.put_session_with("free", whole_day("free")).await;
    let party = |id: &str, session: &str| {
        let mut party = ticket(id, session);
        party.admits = 3;
        party
    };
    bed.put_tickets(vec![
        party("p", "s1"),
        party("o", "out"),
        party("f", "free"),
        ticket("nobody", "s1"),
    ])
    .await;
    let mut device = bed.device(1).await;
    let mut records = Vec::new();
    let mut pass = |members: Value| records.push(device.record(members).to_string());
    // Two at the door, one of whom sees the special exhibition.
    pass(json!({ "ticket_id": "p", "persons": 2 }));
    pass(json!({ "ticket_id": "p", "persons": 1, "checkpoint": "special" }));
    // Two in, one out and in again.
    pass(json!({ "ticket_id": "o", "session_id": "out", "persons": 2 }));
    pass(json!({ "ticket_id": "o", "session_id": "out", "direction": "out", "persons": 1 }));
    pass(json!({ "ticket_id": "o", "session_id": "out", "persons": 1 }));
    for persons in [1, 2, 1] {
        pass(json!({ "ticket_id": "f", "session_id": "free", "persons": persons }));
    }
    for (category, persons, direction) in [
        ("child", 2, "in"),
        ("child", 1, "in"),
        ("guest", 4, "in"),
        ("guest", 1, "out"),
    ] {
        pass(
            json!({ "kind": "walk_in", "persons": persons, "category": category,
                     "direction": direction, "service_day": null }),
        );
    }
    bed.file(&device, &records).await;
    let taken_back = undo(&mut device, 10);
    file(&bed, &device, &[&taken_back]).await;
    let counts = attendance(&bed, TODAY).await;
    let of = |id: &str| {
        let found = counts
            .sessions
            .iter()
            .find(|one| one.session_id.as_str() == id);
        let found = found.unwrap();
        (
            found.persons,
            found.tickets,
            found.expected,
            found.check_ins,
        )
    };
    assert_eq!(of("s1"), (2, 1, 4, 2));
    assert_eq!(of("out"), (2, 1, 3, 2));
    assert_eq!(of("free"), (2, 1, 3, 3));
    assert_eq!(of("s2"), (0, 0, 0, 0));
    let walk_ins: Vec<_> = counts
        .walk_ins
        .iter()
        .map(|count| (&*count.category, count.direction, count.persons))
        .collect();
    let (inward, outward) = (
        stile_core::ticket::Direction::In,
        stile_core::ticket::Direction::Out,
    );
    assert_eq!(
        walk_ins,
        [
            ("child", inward, 2),
            ("guest", inward, 4),
            ("guest", outward, 1)
        ]
    );
}
