//! What gates hear of each other's admissions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use stile_core::ids::{RecordId, VenueNumber};
use stile_core::protocol::{FeedItem, FeedKind};
use stile_core::time::EpochSeconds;
use stile_sync_server::store::{Position, Store};

use super::Stores;
use super::bed::{Bed, NOW, ticket};

const VENUE: VenueNumber = VenueNumber(1);
const EARLIER: EpochSeconds = EpochSeconds(NOW.0 / 1000 - 86_400);

/// Everything behind a position, piece by piece, and where it ends.
async fn feed(store: &Arc<dyn Store>, after: Position, limit: u32) -> (Vec<FeedItem>, Position) {
    let (mut items, mut after) = (Vec::new(), after);
    loop {
        let page = store.feed(VENUE, after, limit, EARLIER).await.unwrap();
        items.extend(page.items);
        after = page.next;
        if !page.more {
            return (items, after);
        }
    }
}

pub async fn entries_exits_and_undos_come_in_the_order_in_which_they_were_stored(
    stores: &dyn Stores,
) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(2).await;
    let mut device = bed.device(1).await;
    let records = [
        device.record(json!({ "ticket_id": "t0", "claim": "granted" })),
        device.record(json!({ "ticket_id": "t0", "direction": "out" })),
        device.record(json!({ "ticket_id": "t1", "verdict": "refuse", "persons": 0 })),
        device.record(
            json!({ "kind": "override", "ticket_id": "t1", "trust": "unanchored",
                              "waived": ["already_used"], "why": "vip" }),
        ),
        device.record(
            json!({ "kind": "undo", "refers_to": device_record(&device, 4), "why": "x",
                              "persons": 1 }),
        ),
        device.record(json!({ "kind": "walk_in", "persons": 1, "category": "guest" })),
        device
            .record(json!({ "kind": "undo", "refers_to": device_record(&device, 6), "why": "x" })),
    ];
    let texts: Vec<String> = records.iter().map(ToString::to_string).collect();
    bed.file(&device, &texts).await;
    for limit in [1, 2, 100] {
        let (items, end) = feed(&store, Position(0), limit).await;
        let what: Vec<_> = items
            .iter()
            .map(|item| (item.record_id, item.kind, item.refers_to, item.persons))
            .collect();
        let id = |sequence| device.record_id(sequence);
        let expected = [
            (id(1), FeedKind::Entry, None, 1),
            (id(2), FeedKind::Exit, None, 1),
            (id(4), FeedKind::Entry, None, 1),
            (id(5), FeedKind::Undo, Some(id(4)), 0),
        ];
        assert_eq!(what, expected);
        assert!(items[0].claim_granted && items[0].anchored && !items[0].loses);
        assert!(items[2].waived_already_used && !items[2].anchored);
        assert_eq!(items[3].ticket_number, items[2].ticket_number);
        assert_eq!((items[0].sequence, items[0].gate_id.as_str()), (1, "north"));
        assert_eq!(feed(&store, end, limit).await, (vec![], end));
    }
}

fn device_record(device: &super::bed::TestDevice, sequence: u64) -> RecordId {
    device.record_id(sequence)
}

pub async fn an_entry_comes_again_when_its_standing_changes(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(1).await;
    let (mut north, mut south) = (bed.device(1).await, bed.device(2).await);
    let later = north
        .record(json!({ "ticket_id": "t0", "at": NOW.0 + 900 }))
        .to_string();
    bed.file(&north, &[later]).await;
    let (_, seen) = feed(&store, Position(0), 100).await;
    let earlier = south
        .record(json!({ "ticket_id": "t0", "at": NOW.0 + 100 }))
        .to_string();
    bed.file(&south, &[earlier]).await;
    let (items, seen) = feed(&store, seen, 100).await;
    let present: BTreeMap<_, _> = items
        .iter()
        .map(|item| (item.record_id, item.loses))
        .collect();
    let expected = [(north.record_id(1), true), (south.record_id(1), false)];
    assert_eq!(present, BTreeMap::from(expected));
    // Also when it is the ticket that changes.
    let mut wider = ticket("t0", "s1");
    wider.admits = 2;
    bed.put_tickets(vec![wider]).await;
    let (items, _) = feed(&store, seen, 100).await;
    assert_eq!(items.len(), 1);
    assert_eq!(
        (items[0].record_id, items[0].loses),
        (north.record_id(1), false)
    );
}

pub async fn records_that_waited_for_their_ticket_come_when_it_arrives(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let mut device = bed.device(1).await;
    let waiting = device.check_in("t0");
    bed.file(&device, &[waiting]).await;
    let (items, seen) = feed(&store, Position(0), 100).await;
    assert_eq!(items, []);
    bed.put_many_tickets(1).await;
    let (items, _) = feed(&store, seen, 100).await;
    assert_eq!(items.len(), 1);
}

pub async fn days_that_are_long_over_are_passed_over(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_tickets(vec![ticket("a", "s1"), ticket("b", "s3")])
        .await;
    let mut device = bed.device(1).await;
    let tomorrow = json!({ "ticket_id": "b", "service_day": "2026-10-02", "session_id": "s3" });
    let records = [device.check_in("a"), device.record(tomorrow).to_string()];
    bed.file(&device, &records).await;
    let after_today = EpochSeconds(NOW.0 / 1000 + 86_400);
    let page = store
        .feed(VENUE, Position(0), 100, after_today)
        .await
        .unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.items[0].service_day.as_str(), "2026-10-02");
    let much_later = EpochSeconds(NOW.0 / 1000 + 30 * 86_400);
    let page = store
        .feed(VENUE, Position(0), 100, much_later)
        .await
        .unwrap();
    assert_eq!((page.items.len(), page.more), (0, false));
    assert_eq!(page.next, Position(2));
    // A position that this store never gave, since it was put back from a backup.
    let page = store
        .feed(VENUE, Position(9_000), 100, EARLIER)
        .await
        .unwrap();
    assert_eq!(page.items.len(), 2);
}

pub async fn no_item_is_skipped_while_many_write(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Arc::new(Bed::on(store.clone()).await);
    bed.put_many_tickets(32 * 8).await;
    let mut tasks = Vec::new();
    for seed in 0..32_u8 {
        let mut device = bed.device(seed + 1).await;
        let bed = bed.clone();
        tasks.push(tokio::spawn(async move {
            for n in 0..8 {
                let record = device.check_in(&format!("t{}", usize::from(seed) * 8 + n));
                bed.file(&device, &[record]).await;
            }
        }));
    }
    let mut changes = store.ends();
    let (mut seen, mut after) = (Vec::new(), Position(0));
    while seen.len() < 32 * 8 {
        changes.mark_unchanged();
        let (items, next) = feed(&store, after, 7).await;
        after = next;
        if items.is_empty() && tasks.iter().any(|task| !task.is_finished()) {
            changes.changed().await.unwrap();
        }
        seen.extend(items.into_iter().map(|item| item.record_id));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((seen.len(), count), (32 * 8, 32 * 8));
    assert_eq!(feed(&store, after, 7).await.0, []);
}
