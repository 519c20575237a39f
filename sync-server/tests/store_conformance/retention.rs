//! What goes when its time is over, step by step.

use stile_core::ids::VenueNumber;
use stile_core::protocol::{Act, ApiKeyId};
use stile_core::time::{EpochMillis, EpochSeconds};
use stile_core::whitelist::bucket_of;
use stile_sync_server::acting::{ActResult, ActRow, ActedBy, Acting};
use stile_sync_server::store::{Position, Swept, TicketUpsert};

use super::Stores;
use super::bed::{Bed, NOW, TODAY, ticket};

pub async fn hashes_go_from_lists_that_are_over_in_small_steps(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let venue = store.venue(&bed.venue).await.unwrap().unwrap().number;
    bed.put_tickets((0..5).map(|n| ticket(&format!("t{n}"), "s1")).collect())
        .await;
    let day = TODAY.parse().unwrap();
    let rows = async || {
        let mut list = store.list(venue, &day).await.unwrap().unwrap();
        (
            list.state().version,
            list.rows_after(None, 10).await.unwrap(),
        )
    };
    let (_, listed) = rows().await;
    let lines = listed.into_iter().map(|row| {
        let mut fields = row.fields;
        fields.opaque_hashes = vec![[9; 16]];
        TicketUpsert {
            number: row.number,
            bucket: bucket_of(row.number),
            fields,
            status: None,
            cancel_cause: None,
            holder: None,
        }
    });
    let lines: Vec<_> = lines.collect();
    store
        .upsert_tickets(venue, lines.clone(), NOW)
        .await
        .unwrap();
    let until = store
        .list_state(venue, &day)
        .await
        .unwrap()
        .unwrap()
        .day_until;
    let sweep = async |before: EpochSeconds| {
        let mut steps = Vec::new();
        loop {
            let Swept { removed, more } = store.forget_hashes(before, 2).await.unwrap();
            steps.push(removed);
            if !more {
                return steps;
            }
        }
    };
    let (version, _) = rows().await;
    assert_eq!(
        sweep(until).await,
        [0],
        "the day is not over before its end"
    );
    assert_eq!(rows().await.0, version);
    let over = EpochSeconds(until.0 + 1);
    assert_eq!(sweep(over).await, [2, 2, 1, 0]);
    let (now, swept) = rows().await;
    assert!(now > version);
    assert!(swept.iter().all(|row| row.fields.opaque_hashes.is_empty()));
    assert!(swept.iter().all(|row| row.fields.holder_mask == "**伟"));
    assert_eq!(
        sweep(over).await,
        [0],
        "what was swept is not looked through again"
    );
    // An import that brings some back does not bring them back for long.
    store.upsert_tickets(venue, lines, NOW).await.unwrap();
    assert_eq!(sweep(over).await.iter().sum::<u64>(), 5);
}

pub async fn acts_go_in_their_order_and_their_positions_are_not_given_again(stores: &dyn Stores) {
    let store = stores.make().await;
    let venue = VenueNumber(1);
    let at = async |at: i64| {
        let row = ActRow {
            at: EpochMillis(at),
            act: Act::GatePut,
            by: ActedBy::Key(ApiKeyId(5)),
            thing: None,
            result: ActResult::Done,
            count: None,
            trace: None,
        };
        let act = Acting::new(row, Some(venue));
        assert!(act.end(ActResult::Done));
        store.finish_act(&act).await.unwrap();
    };
    // By a clock that was ahead once, and set back once.
    for time in [10, 900, 20, 30, 50, 15] {
        at(time).await;
    }
    let left = async || {
        let page = store.audit(venue, Position(0), 10).await.unwrap();
        page.acts.iter().map(|act| act.at.0).collect::<Vec<_>>()
    };
    let forget = |before: i64| store.forget_acts(EpochMillis(before), EpochMillis(100), 2);
    let step = forget(40).await.unwrap();
    assert_eq!((step.removed, step.more), (2, true));
    let step = forget(40).await.unwrap();
    assert_eq!((step.removed, step.more), (1, false));
    assert_eq!(
        left().await,
        [900, 50, 15],
        "15 came after 50, and stays as long"
    );
    assert_eq!(forget(60).await.unwrap().removed, 2);
    at(70).await;
    let page = store.audit(venue, Position(6), 10).await.unwrap();
    assert_eq!((page.acts.len(), page.next), (1, Position(7)));
}
