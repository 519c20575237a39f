//! Keys for documents, one a day, and the hashes that they make.

use stile_core::ids::{TicketId, TicketNumber, VenueNumber};
use stile_core::ticket::Standing;
use stile_core::time::EpochSeconds;
use stile_sync_server::store::{
    Change, DocumentHash, Store, StoreError, TicketFields, TicketUpsert, Upserted,
};

use super::Stores;
use super::bed::{Bed, NOW, TODAY, ticket};
use super::lists::{day, row, rows, version};

const VENUE: VenueNumber = VenueNumber(1);
const TOMORROW: &str = "2026-10-02";

/// A line with a document under a day's key.
fn line(id: &str, session: &str, key_day: &str) -> TicketUpsert {
    let simple = ticket(id, session);
    TicketUpsert {
        number: TicketNumber::new(u64::from(id.as_bytes()[0])).unwrap(),
        bucket: 0,
        fields: TicketFields {
            ticket_id: TicketId::new(id).unwrap(),
            order_number: simple.order_number,
            session_id: simple.session_id,
            zones: Vec::new(),
            label: String::new(),
            holder_mask: String::new(),
            last_four: None,
            last_four_of: None,
            category: String::new(),
            attention: String::new(),
            source: String::new(),
            age_group: String::new(),
            admits: 1,
            admit_from: None,
            admit_until: None,
            opaque_hashes: Vec::new(),
            document: Some(DocumentHash {
                day: day(key_day),
                hash: [1, 2, 3, 4, 5],
            }),
            source_version: None,
        },
        status: None,
        cancel_cause: None,
        holder: None,
    }
}

async fn put(store: &dyn Store, line: TicketUpsert) -> Upserted {
    let mut outcomes = store.upsert_tickets(VENUE, vec![line], NOW).await.unwrap();
    outcomes.pop().unwrap()
}

pub async fn a_days_key_is_kept_once_and_gives_its_list_the_next_version(stores: &dyn Stores) {
    let store = stores.make().await;
    let _bed = Bed::on(store.clone()).await;
    let today = day(TODAY);
    assert_eq!(store.document_key(VENUE, &today).await, Ok(None));
    let (before, tomorrow) = (
        version(&*store, TODAY).await,
        version(&*store, TOMORROW).await,
    );
    let keep = |sealed: u8| store.keep_document_key(VENUE, &today, vec![sealed; 40], NOW);
    let both = futures_util::future::join(keep(1), keep(2)).await;
    let kept = both.0.unwrap();
    assert_eq!(both.1.as_ref(), Ok(&kept));
    assert_eq!(store.document_key(VENUE, &today).await, Ok(Some(kept)));
    assert_eq!(version(&*store, TODAY).await, before + 1);
    assert_eq!(version(&*store, TOMORROW).await, tomorrow);
    let never = day("2030-01-01");
    let nowhere = store.keep_document_key(VENUE, &never, vec![1], NOW);
    assert!(matches!(nowhere.await, Err(StoreError::Missing(_))));
}

pub async fn a_document_under_another_days_key_is_refused_and_leaves_no_trace(stores: &dyn Stores) {
    let store = stores.make().await;
    let _bed = Bed::on(store.clone()).await;
    assert_eq!(
        put(&*store, line("a", "s1", TOMORROW)).await,
        Upserted::OtherDay
    );
    assert!(rows(&*store, TODAY).await.is_empty());
    let right = line("a", "s1", TODAY);
    assert_eq!(
        put(&*store, right.clone()).await,
        Upserted::Put(Change::Created)
    );
    assert_eq!(
        put(&*store, right.clone()).await,
        Upserted::Put(Change::Unchanged)
    );
    assert_eq!(row(&*store, TODAY, "a").await.fields, right.fields);
}

pub async fn a_hash_goes_along_with_its_ticket_and_keeps_its_day(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    put(&*store, line("a", "s1", TODAY)).await;
    bed.put_session("s1", "2026-10-02 10:00", "2026-10-02 12:00")
        .await;
    let moved = row(&*store, TOMORROW, "a").await;
    let tombstone = row(&*store, TODAY, "a").await;
    assert!(matches!(tombstone.standing, Standing::Moved { .. }));
    for row in [moved, tombstone] {
        assert_eq!(row.fields.document.unwrap().day, day(TODAY));
    }
}

pub async fn keys_go_when_their_day_is_long_over(stores: &dyn Stores) {
    let store = stores.make().await;
    let _bed = Bed::on(store.clone()).await;
    for of in [day(TODAY), day(TOMORROW)] {
        let kept = store.keep_document_key(VENUE, &of, vec![7; 40], NOW);
        kept.await.unwrap();
    }
    let ends = store
        .list_state(VENUE, &day(TODAY))
        .await
        .unwrap()
        .unwrap()
        .day_until;
    assert_eq!(store.forget_document_keys(ends).await, Ok(0));
    let after = EpochSeconds(ends.0 + 1);
    assert_eq!(store.forget_document_keys(after).await, Ok(1));
    assert_eq!(store.document_key(VENUE, &day(TODAY)).await, Ok(None));
    assert!(
        store
            .document_key(VENUE, &day(TOMORROW))
            .await
            .unwrap()
            .is_some()
    );
}
