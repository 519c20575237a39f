//! Lists as the store keeps them: versions, snapshots, buckets, order, days.

use std::collections::BTreeSet;

use stile_core::ids::{TicketId, TicketNumber, VenueNumber};
use stile_core::policy::Policy;
use stile_core::time::{EpochSeconds, ServiceDay};
use stile_core::whitelist::bucket_of;
use stile_sync_server::import::TicketLine;
use stile_sync_server::store::{ListRow, ListSnapshot, Store};

use super::Stores;
use super::bed::{Bed, NOW, TODAY, ticket};

/// The only venue of a bed.
const VENUE: VenueNumber = VenueNumber(1);

pub fn day(day: &str) -> ServiceDay {
    ServiceDay::new(day).unwrap()
}

async fn list(store: &dyn Store, of: &str) -> Box<dyn ListSnapshot> {
    store.list(VENUE, &day(of)).await.unwrap().unwrap()
}

pub async fn version(store: &dyn Store, of: &str) -> u64 {
    list(store, of).await.state().version
}

pub async fn rows(store: &dyn Store, of: &str) -> Vec<ListRow> {
    list(store, of)
        .await
        .rows_after(None, u32::MAX)
        .await
        .unwrap()
}

pub async fn row(store: &dyn Store, of: &str, ticket: &str) -> ListRow {
    let id = TicketId::new(ticket).unwrap();
    let rows = rows(store, of).await;
    rows.into_iter()
        .find(|row| row.fields.ticket_id == id)
        .unwrap()
}

pub async fn what_changes_gives_lists_their_next_version_and_nothing_else_does(
    stores: &dyn Stores,
) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let versions = || async {
        (
            version(&*store, TODAY).await,
            version(&*store, "2026-10-02").await,
        )
    };
    let (today, tomorrow) = versions().await;
    bed.put_gate("west").await;
    assert_eq!(
        versions().await,
        (today + 1, tomorrow + 1),
        "gates stand beside all lists"
    );
    bed.put_gate("west").await;
    assert_eq!(versions().await, (today + 1, tomorrow + 1));
    let policy = Policy {
        formats: vec![stile_core::codes::Format::G3],
        ..Policy::default()
    };
    bed.server
        .set_policy(&bed.venue, policy.clone())
        .await
        .unwrap();
    bed.server.set_policy(&bed.venue, policy).await.unwrap();
    assert_eq!(versions().await, (today + 2, tomorrow + 2));
    bed.put_session("s9", "2026-10-01 20:00", "2026-10-01 21:00")
        .await;
    assert_eq!(versions().await, (today + 3, tomorrow + 2));
    let mut device = bed.device(1).await;
    bed.put_tickets(vec![ticket("a", "s1")]).await;
    bed.file(&device.clone(), &[device.check_in("a")]).await;
    assert_eq!(
        versions().await,
        (today + 4, tomorrow + 2),
        "admissions are no part of lists"
    );
}

pub async fn a_snapshot_sees_one_moment(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(50).await;
    let mut before = list(&*store, TODAY).await;
    let first = before.rows_after(None, 10).await.unwrap();
    bed.put_tickets((0..50).map(|n| ticket(&format!("t{n}"), "s3")).collect())
        .await;
    bed.put_gate("west").await;
    let mut all = first;
    loop {
        let after = all.last().map(|row| row.number);
        let more = before.rows_after(after, 10).await.unwrap();
        if more.is_empty() {
            break;
        }
        all.extend(more);
    }
    assert_eq!(all.len(), 50);
    assert!(
        all.iter()
            .all(|row| row.standing == stile_core::ticket::Standing::Live)
    );
    assert_eq!(before.count().await, Ok(50));
    assert_eq!(before.settings().await.unwrap().gates.len(), 2);
    assert_eq!(
        list(&*store, TODAY)
            .await
            .settings()
            .await
            .unwrap()
            .gates
            .len(),
        3
    );
}

pub async fn changed_buckets_are_found_and_no_others(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(300).await;
    let mut list_then = list(&*store, TODAY).await;
    let then = list_then.state().version;
    let all: BTreeSet<u8> = rows(&*store, TODAY)
        .await
        .iter()
        .map(|row| bucket_of(row.number))
        .collect();
    let every_bucket = list_then.buckets_changed_since(0).await.unwrap();
    assert_eq!(every_bucket, all.into_iter().collect::<Vec<_>>());
    assert_eq!(list_then.buckets_changed_since(then).await, Ok(Vec::new()));
    let changed = ["t7", "t8", "t9"].map(|id| TicketLine {
        admits: 9,
        ..ticket(id, "s1")
    });
    bed.put_tickets(changed.into()).await;
    let mut list_now = list(&*store, TODAY).await;
    let mut expected = BTreeSet::new();
    for id in ["t7", "t8", "t9"] {
        expected.insert(bucket_of(row(&*store, TODAY, id).await.number));
    }
    let found = list_now.buckets_changed_since(then).await.unwrap();
    assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    for bucket in found {
        let rows = list_now.bucket(bucket).await.unwrap();
        assert!(rows.iter().all(|row| bucket_of(row.number) == bucket));
        assert!(rows.iter().any(|row| row.fields.admits == 9));
    }
}

pub async fn rows_come_in_the_order_of_their_numbers(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(100).await;
    let mut list = list(&*store, TODAY).await;
    let numbers = |rows: &[ListRow]| rows.iter().map(|row| row.number).collect::<Vec<_>>();
    let all = numbers(&list.rows_after(None, 1_000).await.unwrap());
    assert!(all.is_sorted() && all.len() == 100);
    let page = numbers(&list.rows_after(Some(all[39]), 20).await.unwrap());
    assert_eq!(page, all[40..60]);
    let none = list
        .rows_after(TicketNumber::new(i64::MAX as u64), 10)
        .await;
    assert_eq!(none, Ok(Vec::new()));
}

pub async fn held_days_are_the_current_the_last_and_the_next(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    for (id, date) in [
        ("a", "2026-09-28"),
        ("b", "2026-09-30"),
        ("c", "2026-10-04"),
    ] {
        bed.put_session(id, &format!("{date} 10:00"), &format!("{date} 12:00"))
            .await;
    }
    let held = |now: i64, since: i64| {
        let (now, since) = (EpochSeconds(now), EpochSeconds(since));
        let store = store.clone();
        async move {
            let days = store.held_days(VENUE, now, since).await.unwrap();
            days.iter().map(|day| day.to_string()).collect::<Vec<_>>()
        }
    };
    let now = NOW.seconds().0;
    assert_eq!(held(now, 0).await, ["2026-09-30", TODAY, "2026-10-02"]);
    assert_eq!(
        held(now, now - 3600).await,
        [TODAY, "2026-10-02"],
        "the last ended too long ago"
    );
    // Between two days neither is the current one.
    let evening = now + 10 * 3600;
    assert_eq!(held(evening, 0).await, [TODAY, "2026-10-02"]);
    assert_eq!(held(now + 30 * 86_400, 0).await, ["2026-10-04"]);
    assert_eq!(held(0, 0).await, ["2026-09-28"]);
    assert_eq!(
        store
            .held_days(VenueNumber(9), EpochSeconds(now), EpochSeconds(0))
            .await,
        Ok(vec![])
    );
}
