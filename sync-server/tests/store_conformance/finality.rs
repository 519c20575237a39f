//! When nothing more can be missing of a session, and what comes all the same.

use std::sync::Arc;

use serde_json::{Value, json};
use stile_core::protocol::{OutboxReport, SessionAttendance, SessionFinality};
use stile_core::time::{EpochMillis, ServiceDay};
use stile_sync_server::store::{EventKind, LogStream, Position, Store};

use super::Stores;
use super::bed::{Bed, NOW, TODAY, TestDevice, pull_request, ticket};

const HOUR_MS: i64 = 3_600_000;
/// The end of `s1`: 12:00.
const END: EpochMillis = EpochMillis(NOW.0 + 2 * HOUR_MS);

async fn bed(stores: &dyn Stores) -> (Bed, Arc<dyn Store>) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(3).await;
    (bed, store)
}

/// The device says that all before a moment is delivered.
async fn report(bed: &Bed, device: &TestDevice, through: EpochMillis) {
    report_of(bed, device, through, 0).await;
}

async fn report_of(bed: &Bed, device: &TestDevice, through: EpochMillis, generation: u64) {
    let report = OutboxReport {
        generation,
        delivered_through: through,
        outstanding: 0,
    };
    let server = &bed.server;
    server.hear_outbox(&device.device, report).await.unwrap();
}

async fn of(bed: &Bed, session: &str) -> SessionAttendance {
    let day = ServiceDay::new(TODAY).unwrap();
    let counts = bed.server.attendance(&bed.venue, &day, &day).await;
    let mut sessions = counts.unwrap().sessions.into_iter();
    sessions
        .find(|one| one.session_id.as_str() == session)
        .unwrap()
}

fn awaited(session: &SessionAttendance) -> Vec<String> {
    let gates = session.finality.awaits.iter();
    let named = gates.flat_map(|gate| {
        let of = |one: &stile_core::protocol::AwaitedDevice| {
            format!("{} {}", gate.gate_id, one.device_id)
        };
        gate.devices.iter().map(of).collect::<Vec<_>>()
    });
    named.collect()
}

/// The sessions that events say are final, in their order.
async fn finalized(bed: &Bed, store: &dyn Store) -> Vec<String> {
    let venue = store.venue(&bed.venue).await.unwrap().unwrap().number;
    let events = store.events(venue, Position(0), 100).await.unwrap();
    let positions: Vec<_> = events.iter().map(|event| event.position.0).collect();
    assert_eq!(positions, (1..=events.len() as u64).collect::<Vec<_>>());
    assert!(
        events
            .iter()
            .all(|event| event.kind == EventKind::SessionFinalized)
    );
    events.into_iter().map(|event| event.thing).collect()
}

pub async fn a_session_is_final_once_every_gate_has_reported_past_its_end(stores: &dyn Stores) {
    let (bed, store) = bed(stores).await;
    let mut one = bed.device(1).await;
    let two = bed.device(2).await;
    let check_in = one.check_in("t0");
    bed.file(&one, &[check_in]).await;
    bed.clock.move_by(3 * HOUR_MS);

    report(&bed, &one, END.plus(HOUR_MS)).await;
    let s1 = of(&bed, "s1").await;
    let waits = format!("{0} {1}", "north", two.device.device_id);
    assert_eq!(awaited(&s1)[0], waits);
    assert_eq!(awaited(&s1).len(), 2, "it may serve both gates");
    assert_eq!(s1.finality.complete_through, None);
    assert_eq!((s1.no_show, s1.no_show_tickets), (None, None));

    report(&bed, &two, END.plus(-1)).await;
    let s1 = of(&bed, "s1").await;
    assert_eq!(s1.finality.complete_through, Some(END.plus(-1)));
    assert_eq!((awaited(&s1).len(), s1.no_show), (2, None));
    assert!(finalized(&bed, &*store).await.is_empty());

    report(&bed, &two, END.plus(20_000)).await;
    let s1 = of(&bed, "s1").await;
    assert_eq!(s1.finality.finalized_at, Some(bed.server.now()));
    assert_eq!(s1.finality.complete_through, Some(END.plus(20_000)));
    assert_eq!(
        (s1.persons, s1.no_show, s1.no_show_tickets),
        (1, Some(2), Some(2))
    );
    assert_eq!(of(&bed, "s2").await.no_show, None, "it has not ended");
    // Once, whatever is said further.
    report(&bed, &one, END.plus(HOUR_MS)).await;
    report(&bed, &two, END.plus(HOUR_MS)).await;
    assert_eq!(bed.server.finalize().await.unwrap(), 0);
    assert_eq!(finalized(&bed, &*store).await, ["s1"]);
}

/// Which records of a stream came after their session was final.
async fn marks(bed: &Bed, stream: LogStream) -> Vec<bool> {
    let log = bed.pull_all(stream, 100).await;
    log.iter().map(|one| one.late_after_final).collect()
}

pub async fn what_comes_afterwards_is_marked_and_counted(stores: &dyn Stores) {
    let (bed, _) = bed(stores).await;
    let mut one = bed.device(1).await;
    let first = one.check_in("t0");
    bed.file(&one, &[first]).await;
    bed.clock.move_by(3 * HOUR_MS);
    report(&bed, &one, bed.server.now()).await;
    assert_eq!(of(&bed, "s1").await.no_show, Some(2));

    let late = one.check_in("t1");
    let refused = one.record(json!({
        "ticket_id": "t2", "verdict": "refuse", "reason": "too_early", "persons": 0 }));
    let exit = one.record(json!({
        "ticket_id": "t0", "direction": "out", "at": END.0 + 1 }));
    let elsewhere = one.record(json!({ "ticket_id": "t2", "session_id": "s2" }));
    // What an unlisted code admitted names no session, and its ticket has one.
    let unlisted = one.record(json!({ "ticket_id": "t2", "session_id": null, "at": END.0 + 1 }));
    let undo = one.record(json!({
        "kind": "undo", "refers_to": one.record_id(1), "verdict": null, "at": END.0 + 2 }));
    let texts: Vec<String> = [refused, exit, elsewhere, unlisted, undo]
        .iter()
        .map(Value::to_string)
        .collect();
    bed.file(&one, &[late]).await;
    bed.file(&one, &texts).await;

    assert_eq!(
        marks(&bed, LogStream::Records).await,
        [false, true, true, false, false, true, true]
    );
    assert_eq!(
        marks(&bed, LogStream::CheckIns).await,
        [false, true, false, true, true]
    );
    let s1 = of(&bed, "s1").await;
    assert_eq!(
        (s1.finality.late_after_final, s1.late_check_ins),
        (4, 3 - 1)
    );
    assert_eq!(s1.persons, 2, "t0 was taken back, t1 and t2 came");
    assert_eq!(s1.no_show, Some(1));
    // Who pulls is told the same.
    let mut request = pull_request(LogStream::Records, None, 100);
    let named = |sessions: Vec<SessionFinality>| -> Vec<_> {
        let named = sessions.into_iter();
        let named = named.map(|one| (one.session_id.to_string(), one.finality.late_after_final));
        named.collect()
    };
    let pulled = bed.server.pull(&bed.venue, &request).await.unwrap();
    let both = [("s1".to_owned(), 4), ("s2".to_owned(), 0)];
    assert_eq!(named(pulled.sessions), both);
    request.filter.service_day = Some("2026-10-02".parse().unwrap());
    let pulled = bed.server.pull(&bed.venue, &request).await.unwrap();
    assert_eq!(named(pulled.sessions), [("s3".to_owned(), 0)]);
}

pub async fn a_device_out_of_use_holds_nothing_open_until_it_reports_again(stores: &dyn Stores) {
    let (bed, store) = bed(stores).await;
    let (one, drawer) = (bed.device(1).await, bed.device(2).await);
    bed.clock.move_by(3 * HOUR_MS);
    report(&bed, &one, bed.server.now()).await;
    assert!(finalized(&bed, &*store).await.is_empty());

    let server = &bed.server;
    let nobody = "nobody".parse().unwrap();
    assert!(server.device_out_of_use(&bed.venue, &nobody).await.is_err());
    let id = &drawer.device.device_id;
    server.device_out_of_use(&bed.venue, id).await.unwrap();
    assert_eq!(finalized(&bed, &*store).await, ["s1"]);
    let s1 = of(&bed, "s1").await;
    assert_eq!((awaited(&s1).len(), s1.no_show), (0, Some(3)));
    assert_eq!(&s1.finality.not_awaited[0].device_id, id);
    let listed = server.devices(&bed.venue).await.unwrap().devices;
    let out_of_use = listed.iter().filter(|one| one.out_of_use_since.is_some());
    assert_eq!(
        out_of_use
            .map(|one| &one.outbox.device_id)
            .collect::<Vec<_>>(),
        [id]
    );

    // It is found again, and may have been anywhere.
    report(&bed, &drawer, NOW).await;
    assert_eq!(of(&bed, "s1").await.no_show, Some(3), "final is final");
    bed.clock.move_by(4 * HOUR_MS);
    report(&bed, &one, bed.server.now()).await;
    let s2 = of(&bed, "s2").await;
    assert_eq!((awaited(&s2).len(), s2.finality.finalized_at), (2, None));
}

pub async fn a_ticket_that_admits_longer_holds_its_session_open(stores: &dyn Stores) {
    let (bed, store) = bed(stores).await;
    let one = bed.device(1).await;
    let mut long = ticket("long", "s1");
    long.admit_from = Some(NOW.seconds());
    long.admit_until = Some(END.plus(HOUR_MS).seconds());
    assert_eq!(bed.put_tickets(vec![long]).await, []);
    bed.clock.move_by(3 * HOUR_MS);
    report(&bed, &one, END.plus(HOUR_MS - 60_000)).await;
    let s1 = of(&bed, "s1").await;
    assert_eq!(s1.finality.admit_until, END.plus(HOUR_MS).seconds());
    assert_eq!((awaited(&s1).len(), s1.no_show), (2, None));
    report(&bed, &one, END.plus(HOUR_MS)).await;
    bed.server.finalize().await.unwrap();
    assert_eq!(finalized(&bed, &*store).await, ["s1"]);
}

pub async fn a_session_that_is_put_with_a_later_end_is_open_again(stores: &dyn Stores) {
    let (bed, store) = bed(stores).await;
    bed.clock.move_by(2 * HOUR_MS);
    assert_eq!(
        bed.server.finalize().await.unwrap(),
        1,
        "nobody could admit"
    );
    bed.put_session("s1", "2026-10-01 10:00", "2026-10-01 13:00")
        .await;
    let one = bed.device(1).await;
    let s1 = of(&bed, "s1").await;
    assert_eq!((s1.finality.finalized_at, s1.no_show), (None, None));
    bed.clock.move_by(HOUR_MS);
    report(&bed, &one, bed.server.now()).await;
    assert_eq!(finalized(&bed, &*store).await, ["s1", "s1"]);
}

pub async fn what_was_delivered_before_a_restore_says_nothing(stores: &dyn Stores) {
    let (bed, store) = bed(stores).await;
    let one = bed.device(1).await;
    bed.clock.move_by(3 * HOUR_MS);
    report_of(&bed, &one, bed.server.now(), 7).await;
    let s1 = of(&bed, "s1").await;
    assert_eq!(s1.finality.awaits[0].devices[0].reported_at, None);
    // Nor does a clock that runs ahead speak for what is still to come.
    report(&bed, &one, bed.server.now().plus(24 * HOUR_MS)).await;
    assert_eq!(finalized(&bed, &*store).await, ["s1"]);
    let s2 = of(&bed, "s2").await;
    assert_eq!(s2.finality.complete_through, Some(bed.server.now()));
}
