//! Acts and the log of them: one row in the transaction of what was done.

use serde_json::json;
use stile_core::ids::VenueNumber;
use stile_core::protocol::{Act, ApiKeyId, Code};
use stile_core::ticket::Gate;
use stile_sync_server::acting::{ActResult, ActRow, ActedBy, Acting, WHOLE_SERVER};
use stile_sync_server::store::{Position, Store, StoreError};

use super::Stores;
use super::bed::{Bed, NOW};

fn acting(venue: Option<VenueNumber>) -> Acting {
    let row = ActRow {
        at: NOW,
        act: Act::GatePut,
        by: ActedBy::Key(ApiKeyId(5)),
        thing: Some("west".into()),
        result: ActResult::Done,
        count: None,
        trace: None,
    };
    Acting::new(row, venue)
}

fn gate(id: &str) -> Gate {
    serde_json::from_value(json!({ "gate_id": id, "checkpoint": "entry" })).unwrap()
}

async fn results(store: &dyn Store, log: VenueNumber) -> Vec<ActResult> {
    let page = store.audit(log, Position(0), 10).await.unwrap();
    page.acts.into_iter().map(|act| act.result).collect()
}

pub async fn an_act_is_in_the_log_as_soon_as_it_is_stored(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let venue = store.venue(&bed.venue).await.unwrap().unwrap().number;
    let act = acting(Some(venue));
    act.carry_out(store.put_gate(venue, &gate("west"), NOW))
        .await
        .unwrap();
    // Nobody has said yet that it is over: the server may have died here.
    let page = store.audit(venue, Position(0), 10).await.unwrap();
    assert_eq!(page.acts, [act.to_keep().0]);
    // What else it stores, and its end, add no row.
    act.carry_out(store.put_gate(venue, &gate("east"), NOW))
        .await
        .unwrap();
    assert!(!act.end(ActResult::Done), "the log says so already");
    assert!(act.end(ActResult::Refused(Code::Conflict)));
    store.finish_act(&act).await.unwrap();
    let page = store.audit(venue, Position(0), 10).await.unwrap();
    assert_eq!(page.acts.len(), 1);
    assert_eq!(page.acts[0].result, ActResult::Refused(Code::Conflict));
    assert_eq!(page.acts[0].thing, None, "it may have been no id");
    // Outside of an act nothing is kept.
    store.put_gate(venue, &gate("out"), NOW).await.unwrap();
    assert_eq!(results(&*store, venue).await.len(), 1);
}

pub async fn what_was_not_stored_is_not_in_the_log_until_the_act_ends(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let venue = store.venue(&bed.venue).await.unwrap().unwrap().number;
    let nowhere = VenueNumber(99);
    let act = acting(None);
    let failed = act
        .carry_out(store.put_gate(nowhere, &gate("west"), NOW))
        .await;
    assert!(failed.is_err());
    assert_eq!(results(&*store, WHOLE_SERVER).await, []);
    assert!(act.end(ActResult::Refused(Code::NotFound)));
    store.finish_act(&act).await.unwrap();
    let refused = [ActResult::Refused(Code::NotFound)];
    assert_eq!(results(&*store, WHOLE_SERVER).await, refused);
    assert_eq!(results(&*store, venue).await, [], "logs are apart");
    store.close().await;
    assert_eq!(store.finish_act(&act).await, Err(StoreError::Closed));
}

pub async fn an_audit_log_is_read_piece_by_piece(stores: &dyn Stores) {
    let store = stores.make().await;
    for _ in 0..5 {
        let act = acting(Some(VenueNumber(1)));
        assert!(act.end(ActResult::Done));
        store.finish_act(&act).await.unwrap();
    }
    let mut after = Position(0);
    let mut pieces = Vec::new();
    loop {
        let page = store.audit(VenueNumber(1), after, 2).await.unwrap();
        pieces.push(page.acts.len());
        after = page.next;
        if !page.more {
            break;
        }
    }
    assert_eq!((pieces, after), (vec![2, 2, 1], Position(5)));
    let end = store.audit(VenueNumber(1), after, 2).await.unwrap();
    assert_eq!((end.acts.len(), end.next), (0, after));
}
