//! What is counted for whoever watches.

use serde_json::json;
use stile_core::protocol::AlarmKind;
use stile_core::time::EpochMillis;
use stile_sync_server::store::VenueFigures;

use super::Stores;
use super::bed::{Bed, NOW, ticket};

pub async fn what_is_counted_of_a_venue_is_as_of_that_moment(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let number = store.venue(&bed.venue).await.unwrap().unwrap().number;
    let at = async |now: EpochMillis| {
        let mut venues = store.figures(now.seconds()).await.unwrap();
        assert_eq!(venues.len(), 1);
        venues.remove(0)
    };
    let before = at(NOW).await;
    let nothing = VenueFigures {
        venue_id: bed.venue.clone(),
        heard: Vec::new(),
        conflicts_open: 0,
        alarms_open: AlarmKind::ALL.map(|kind| (kind, 0)).to_vec(),
        quarantined: 0,
        missing: 0,
        admitting: 1,
        list_version: before.list_version,
    };
    assert_eq!(before, nothing);

    bed.put_tickets(vec![ticket("t1", "s1")]).await;
    let (mut one, mut other) = (bed.device(1).await, bed.device(2).await);
    let heard = store.note_heard(number, &one.device.device_id, NOW);
    heard.await.unwrap();
    let first = one.check_in("t1");
    let _lost = one.check_in("t1");
    let unknown = one.check_in("t9");
    let last = one.record(json!({ "verdict": "refuse", "reason": "too_early" }));
    bed.file(&one, &[first, unknown, last.to_string()]).await;
    let again = other.check_in("t1");
    bed.file(&other, &[again]).await;
    let mut after = at(NOW).await;
    after.heard.sort();
    let counted = VenueFigures {
        heard: vec![None, Some(NOW)],
        conflicts_open: 1,
        quarantined: 1,
        missing: 1,
        list_version: before.list_version.map(|version| version + 1),
        ..nothing
    };
    assert_eq!(after, counted);
    // Between the sessions, and long after the days.
    let hours = |hours: i64| NOW.plus(hours * 3_600_000);
    assert_eq!(at(hours(3)).await.admitting, 0);
    assert_eq!(at(hours(24 * 9)).await.list_version, None);
}
