//! Records whose time is over: they go from the log's beginning, step by step, with all that hangs
//! on them, and what comes again is known.

use std::sync::Arc;

use serde_json::json;
use stile_core::ids::VenueId;
use stile_core::policy::Policy;
use stile_core::protocol::{
    Attendance, Carried, Filed, QuarantineCause, RecordsAnswer, WebhookId, WebhookLanguage,
    WebhookTemplate,
};
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};
use stile_sync_server::ServerError;
use stile_sync_server::store::{
    ConflictState, Ends, KeptSince, LogStream, Position, QuarantineQuery, Sending, Sent, Source,
    Store, Turn, Venue, WebhookFacts,
};

use super::Stores;
use super::bed::{Bed, NOW, TODAY, pull_request, ticket};

const DAY_MS: i64 = 24 * 3_600_000;

/// Half a year after the records of these tests.
const LATER: EpochMillis = EpochMillis(NOW.0 + 200 * DAY_MS);

/// What came on the first day is over, and what came later is not.
const FIRST_DAY_IS_OVER: KeptSince = KeptSince {
    all: EpochMillis(NOW.0 + DAY_MS),
    untold: EpochMillis(NOW.0 + DAY_MS),
};

async fn bed(stores: &dyn Stores) -> (Bed, Arc<dyn Store>, Venue) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let venue = store.venue(&bed.venue).await.unwrap().unwrap();
    (bed, store, venue)
}

async fn attendance(bed: &Bed) -> Attendance {
    let day = ServiceDay::new(TODAY).unwrap();
    let next = ServiceDay::new("2026-10-02").unwrap();
    bed.server
        .attendance(&bed.venue, &day, &next)
        .await
        .unwrap()
}

async fn texts(bed: &Bed) -> Vec<String> {
    let log = bed.pull_all(LogStream::Records, 2).await;
    log.iter().map(|one| one.record.get().to_owned()).collect()
}

fn became(answer: &RecordsAnswer) -> Vec<Filed> {
    answer.results.iter().map(|one| one.result).collect()
}

pub async fn records_go_in_small_steps_with_all_that_hangs_on_them(stores: &dyn Stores) {
    let (bed, store, venue) = bed(stores).await;
    bed.put_many_tickets(6).await;
    let (mut north, mut south) = (bed.device(1).await, bed.device(2).await);
    let old = [
        north.check_in("t0"),
        north.check_in("t1"),
        north.check_in("t2"),
        north
            .record(json!({ "kind": "undo", "refers_to": north.record_id(2), "verdict": null }))
            .to_string(),
        north
            .record(json!({ "kind": "walk_in", "persons": 3, "verdict": null }))
            .to_string(),
        north
            .record(json!({ "ticket_id": "t3", "verdict": "refuse", "reason": "wrong_gate" }))
            .to_string(),
    ];
    let first = bed.file(&north, &old).await;
    let conflict = [south.check_in("t0")];
    bed.file(&south, &conflict).await;
    bed.clock.move_by(2 * DAY_MS);
    let new = [south.check_in("t2"), south.check_in("t4")];
    bed.file(&south, &new).await;
    let conflicts = async || {
        let all = bed.server.conflicts(&bed.venue, ConflictState::All).await;
        all.unwrap().conflicts.len()
    };
    assert_eq!(
        (conflicts().await, attendance(&bed).await.kept_since),
        (2, None)
    );

    let mut left = [&old[..], &conflict, &new].concat();
    for (removed, more) in [(3, true), (3, true), (1, false)] {
        let step = store.forget_records(venue.number, FIRST_DAY_IS_OVER, LATER, 3);
        let step = step.await.unwrap();
        assert_eq!(step.removed, removed);
        left.drain(..usize::try_from(removed).unwrap());
        assert_eq!(texts(&bed).await, left, "only the beginning goes");
        // Spans and feed may take further steps, which remove no record.
        assert!(step.more || !more);
    }
    loop {
        let step = store.forget_records(venue.number, FIRST_DAY_IS_OVER, LATER, 3);
        let step = step.await.unwrap();
        assert_eq!(step.removed, 0);
        if !step.more {
            break;
        }
    }
    assert_eq!(texts(&bed).await, new);
    // Who won of t2 cannot be said any more, and nobody says it.
    assert_eq!(conflicts().await, 0);
    let feed = store.feed(venue.number, Position(0), 10, EpochSeconds(0));
    let feed = feed.await.unwrap().items;
    assert_eq!(feed.len(), 2);
    let report = attendance(&bed).await;
    assert_eq!(report.kept_since, ServiceDay::new("2026-10-02").ok());
    assert_eq!((report.walk_ins.len(), report.sessions.len()), (0, 1));

    // What comes again is known, and counts nowhere.
    let again = bed.file(&north, &old).await;
    assert_eq!(became(&again), [Filed::Replayed; 6]);
    assert!(again.results.iter().all(|one| one.standing.is_none()));
    assert_eq!(again.logs, first.logs);
    assert_eq!(texts(&bed).await, new);
    // What refers to something that is gone, and what comes to an admission of which a part is, is
    // filed as ever; a change of the ticket judges nothing anew.
    let late = [
        north
            .record(json!({ "kind": "undo", "refers_to": north.record_id(1), "verdict": null }))
            .to_string(),
        north.check_in("t2"),
        north
            .record(json!({ "kind": "resume", "refers_to": north.record_id(3), "verdict": null }))
            .to_string(),
    ];
    assert_eq!(became(&bed.file(&north, &late).await), [Filed::Accepted; 3]);
    let mut two = ticket("t2", "s1");
    two.admits = 2;
    assert_eq!(bed.put_tickets(vec![two]).await, []);
    assert_eq!(conflicts().await, 0);
    let Ends { log, .. } = store.ends().borrow()[&venue.number];
    assert_eq!(log, Position(12), "no position is given twice");
}

pub async fn nothing_goes_before_its_day_is_over_or_behind_what_is_kept(stores: &dyn Stores) {
    // By a clock that was ahead for a while: what seems to come from the future goes with what is
    // old behind it.
    let left = left_day_by_day(stores, &[0, 900, 1, 3]).await;
    assert_eq!(left, [4, 4, 3, 1, 1, 0]);
    // By a clock that was set back: what seems old stays as long as what is before it.
    let left = left_day_by_day(stores, &[0, 3, 0]).await;
    assert_eq!(left, [3, 3, 2, 2, 2, 0]);
}

/// How much is left of records that came on these days, when those before the first day are over,
/// those before a moment within it, and those before each day after it.
async fn left_day_by_day(stores: &dyn Stores, days: &[i64]) -> Vec<usize> {
    let (bed, store, venue) = bed(stores).await;
    bed.put_many_tickets(days.len()).await;
    let mut device = bed.device(1).await;
    for (n, day) in days.iter().enumerate() {
        bed.clock.move_by(day * DAY_MS);
        let record = device.check_in(&format!("t{n}"));
        bed.file(&device, &[record]).await;
        bed.clock.move_by(-day * DAY_MS);
    }
    let mut left = Vec::new();
    for after in [-DAY_MS, 1, DAY_MS, 2 * DAY_MS, 3 * DAY_MS, 4 * DAY_MS] {
        let since = NOW.plus(after);
        let kept = KeptSince {
            all: since,
            untold: since,
        };
        let step = store.forget_records(venue.number, kept, LATER, 100);
        step.await.unwrap();
        left.push(texts(&bed).await.len());
    }
    left
}

pub async fn what_is_gone_before_it_was_pulled_is_said(stores: &dyn Stores) {
    let (bed, store, venue) = bed(stores).await;
    bed.put_many_tickets(4).await;
    let mut device = bed.device(1).await;
    let old = [
        device.check_in("t0"),
        device.check_in("t1"),
        device
            .record(json!({ "ticket_id": "t3", "verdict": "refuse", "reason": "wrong_gate" }))
            .to_string(),
    ];
    bed.file(&device, &old).await;
    let half = bed.pull(LogStream::Records, None, 1).await.cursor;
    let all = bed.pull(LogStream::Records, None, 3).await.cursor;
    let check_ins = bed.pull(LogStream::CheckIns, None, 2).await.cursor;
    bed.clock.move_by(2 * DAY_MS);
    let new = device.check_in("t2");
    bed.file(&device, std::slice::from_ref(&new)).await;
    let step = store.forget_records(venue.number, FIRST_DAY_IS_OVER, LATER, 100);
    assert_eq!(step.await.unwrap().removed, 3);

    // Who has read all that is gone, or all that it asked for, goes on as if nothing had been.
    for (stream, cursor) in [
        (LogStream::Records, &all),
        (LogStream::CheckIns, &check_ins),
    ] {
        let page = bed.pull(stream, Some(cursor), 10).await;
        assert_eq!(page.records.len(), 1);
    }
    let late = pull_request(LogStream::Records, Some(&half), 10);
    let Err(ServerError::CursorExpired { go_on }) = bed.server.pull(&bed.venue, &late).await else {
        panic!("two records were never read");
    };
    let page = bed.pull(LogStream::Records, Some(&go_on), 10).await;
    assert_eq!(page.records[0].record.get(), new);
    // Whoever begins takes what there is.
    assert_eq!(
        bed.pull(LogStream::Records, None, 10).await.records.len(),
        1
    );
}

pub async fn an_id_is_free_again_when_nobody_can_come_back_with_it(stores: &dyn Stores) {
    let (bed, store, venue) = bed(stores).await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let undo =
        device.record(json!({ "kind": "undo", "refers_to": device.record_id(9), "verdict": null }));
    let records = [device.check_in("t0"), undo.to_string()];
    bed.file(&device, &records).await;
    let forget_ids = async |before: i64| {
        let step = store.forget_record_ids(venue.number, EpochMillis(before), 1);
        let step = step.await.unwrap();
        (step.removed, step.more)
    };
    assert_eq!(forget_ids(LATER.0).await, (0, false), "they are there");
    let step = store.forget_records(venue.number, FIRST_DAY_IS_OVER, LATER, 100);
    assert_eq!(step.await.unwrap().removed, 2);
    assert_eq!(forget_ids(NOW.0 + 1).await, (0, false));
    assert_eq!(
        became(&bed.file(&device, &records).await),
        [Filed::Replayed; 2]
    );
    for step in [(1, true), (1, true), (0, false)] {
        assert_eq!(forget_ids(NOW.0 + DAY_MS).await, step);
    }
    // Their places in the device's log stay taken: they are not counted a second time.
    let again = bed.file(&device, &records).await;
    let why = again.results.iter().map(|one| one.why);
    assert!(
        why.into_iter()
            .all(|why| why == Some(QuarantineCause::SequenceTaken))
    );
    assert_eq!(texts(&bed).await.len(), 0);
}

pub async fn what_was_set_aside_goes_and_does_not_come_back_as_new(stores: &dyn Stores) {
    let (bed, store, venue) = bed(stores).await;
    let mut device = bed.device(1).await;
    let records = [device.check_in("nobody"), device.check_in("no-one")];
    bed.file(&device, &records).await;
    let forget = async |before: i64| {
        let step = store.forget_quarantined(venue.number, EpochMillis(before), 1);
        let step = step.await.unwrap();
        (step.removed, step.more)
    };
    assert_eq!(forget(NOW.0).await, (0, false));
    for step in [(1, true), (1, true), (0, false)] {
        assert_eq!(forget(NOW.0 + 1).await, step);
    }
    let again = bed.file(&device, &records).await;
    assert_eq!(became(&again), [Filed::Quarantined; 2]);
    let waiting = QuarantineQuery::Waiting {
        device: None,
        limit: 10,
    };
    assert_eq!(store.quarantine(venue.number, waiting).await.unwrap(), []);
    // Their ticket comes too late for them.
    bed.put_tickets(vec![ticket("nobody", "s1")]).await;
    assert_eq!(texts(&bed).await.len(), 0);
    let ids = store.forget_record_ids(venue.number, LATER, 10);
    assert_eq!(ids.await.unwrap().removed, 2);
}

pub async fn what_a_webhook_has_yet_to_tell_stays_longer(stores: &dyn Stores) {
    let (bed, store, venue) = bed(stores).await;
    bed.put_many_tickets(1).await;
    let facts = WebhookFacts {
        id: WebhookId(7),
        venue: venue.number,
        name: "office".into(),
        origin: "https://example.org".into(),
        url: vec![1],
        secret: vec![2],
        carries: vec![Carried::CheckIns, Carried::Conflicts],
        template: WebhookTemplate::Plain,
        language: WebhookLanguage::En,
        created_at: NOW,
    };
    store.add_webhook(facts, 1).await.unwrap();
    let (mut north, mut south) = (bed.device(1).await, bed.device(2).await);
    for device in [&mut north, &mut south] {
        let record = device.check_in("t0");
        bed.file(device, &[record]).await;
    }
    let forget = async |untold: i64| {
        let kept = KeptSince {
            untold: EpochMillis(untold),
            ..FIRST_DAY_IS_OVER
        };
        let records = store.forget_records(venue.number, kept, LATER, 10);
        let events = store.forget_events(venue.number, kept, LATER, 10);
        (
            records.await.unwrap().removed,
            events.await.unwrap().removed,
        )
    };
    assert_eq!(forget(NOW.0).await, (0, 0));
    let turn = Turn {
        venue: venue.number,
        id: WebhookId(7),
        holder: 1,
    };
    store
        .take_webhook(turn, NOW, NOW.plus(60_000))
        .await
        .unwrap();
    let sending = Sending {
        source: Source::Log,
        through: Position(1),
    };
    let sent = Sent::Done { at: Some(NOW) };
    store.end_message(turn, sending, sent).await.unwrap();
    assert_eq!(forget(NOW.0).await, (1, 0), "one was told");
    assert_eq!(
        forget(NOW.0 + DAY_MS).await,
        (1, 1),
        "nothing waits for ever"
    );
}

pub async fn another_venues_records_stay(stores: &dyn Stores) {
    let (bed, store, venue) = bed(stores).await;
    let other = VenueId::new("other").unwrap();
    let made = bed
        .server
        .create_venue(other.clone(), "O", "UTC", Policy::default());
    made.await.unwrap();
    let other = Bed {
        server: bed.server.clone(),
        clock: bed.clock.clone(),
        venue: other,
    };
    other.put_gate("north").await;
    other.put_gate("south").await;
    other
        .put_session("s1", "2026-10-01 10:00", "2026-10-01 12:00")
        .await;
    for bed in [&bed, &other] {
        bed.put_many_tickets(1).await;
        let mut device = bed.device(1).await;
        let record = device.check_in("t0");
        bed.file(&device, &[record]).await;
    }
    let step = store.forget_records(venue.number, FIRST_DAY_IS_OVER, LATER, 10);
    assert_eq!(step.await.unwrap().removed, 1);
    assert_eq!((texts(&bed).await.len(), texts(&other).await.len()), (0, 1));
    assert_eq!(attendance(&other).await.kept_since, None);
}
