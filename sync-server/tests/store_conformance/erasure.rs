//! Erased holders: out of rows, tombstones and phones, and not brought back.

use stile_core::ids::TicketNumber;
use stile_core::whitelist::bucket_of;
use stile_sync_server::store::{Erased, TicketUpsert};

use super::Stores;
use super::bed::{Bed, NOW, ticket};

pub async fn an_erased_holder_is_gone_from_every_list_and_stays_gone(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let venue = store.venue(&bed.venue).await.unwrap().unwrap().number;
    // A ticket that left today for tomorrow, where it stands; today has its tombstone.
    bed.put_tickets(vec![ticket("t1", "s1")]).await;
    bed.put_tickets(vec![ticket("t1", "s3")]).await;
    let view = bed.server.ticket(&bed.venue, &"t1".parse().unwrap()).await;
    let number = view.unwrap().ticket_number;
    let days = ["2026-10-01", "2026-10-02"];
    let fields = async |day: &str| {
        let day = day.parse().unwrap();
        let mut list = store.list(venue, &day).await.unwrap().unwrap();
        let version = list.state().version;
        let row = list.rows_after(None, 10).await.unwrap().remove(0);
        (version, row)
    };
    let before = [fields(days[0]).await, fields(days[1]).await];
    let line = |holder: Option<Vec<u8>>| TicketUpsert {
        number,
        bucket: bucket_of(number),
        fields: before[1].1.fields.clone(),
        status: None,
        cancel_cause: None,
        holder,
    };
    let with_phone = vec![line(Some(vec![1, 2, 3]))];
    store
        .upsert_tickets(venue, with_phone.clone(), NOW)
        .await
        .unwrap();
    let unknown = TicketNumber::from_i64(5).unwrap();
    let asked = [number, unknown];
    let erase = || store.erase_holders(venue, &asked);
    assert_eq!(erase().await.unwrap(), [Erased::Now, Erased::Unknown]);
    let mut after = Vec::new();
    for (day, (version, row)) in days.iter().zip(&before) {
        let (now, gone) = fields(day).await;
        assert!(now > *version && gone.version == now);
        let mut expected = row.fields.clone();
        assert!(expected.erase_holder());
        assert_eq!(
            (gone.fields, gone.standing),
            (expected, row.standing.clone())
        );
        after.push(now);
    }
    assert_eq!(store.holder(venue, number).await.unwrap(), None);

    assert_eq!(erase().await.unwrap(), [Erased::Before, Erased::Unknown]);
    store.upsert_tickets(venue, with_phone, NOW).await.unwrap();
    assert_eq!(store.holder(venue, number).await.unwrap(), None);
    for (day, version) in days.iter().zip(after) {
        assert_eq!(fields(day).await.0, version, "nothing was brought back");
    }
}

pub async fn an_order_is_known_by_its_tickets(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let venue = store.venue(&bed.venue).await.unwrap().unwrap().number;
    bed.put_many_tickets(3).await;
    let of = |order: &str| {
        let order = order.parse().unwrap();
        let store = store.clone();
        async move { store.tickets_of_order(venue, &order).await.unwrap().len() }
    };
    assert_eq!((of("o-1").await, of("o-2").await), (3, 0));
}
