//! Whose turn at a webhook it is, and how far it has come, whichever server asks.

use std::sync::Arc;

use stile_core::protocol::{Carried, WebhookId, WebhookLanguage, WebhookTemplate};
use stile_sync_server::store::{
    Position, Sending, Sent, Source, Store, StoreError, Turn, WebhookFacts,
};

use super::Stores;
use super::bed::{Bed, NOW};

const ID: WebhookId = WebhookId(7);

/// A venue with a webhook, a check-in since, and the turns of two servers.
async fn stage(stores: &dyn Stores) -> (Bed, Arc<dyn Store>, [Turn; 2]) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(2).await;
    let mut device = bed.device(1).await;
    bed.file(&device, &[device.clone().check_in("t0")]).await;
    let venue = store.venue(&bed.venue).await.unwrap().unwrap().number;
    let facts = WebhookFacts {
        id: ID,
        venue,
        name: "office".into(),
        origin: "https://example.org".into(),
        url: vec![1],
        secret: vec![2],
        carries: vec![Carried::CheckIns],
        template: WebhookTemplate::Plain,
        language: WebhookLanguage::En,
        created_at: NOW,
    };
    store.add_webhook(facts.clone(), 1).await.unwrap();
    let another = WebhookFacts {
        id: WebhookId(8),
        ..facts
    };
    let refused = store.add_webhook(another, 1).await;
    assert!(matches!(refused, Err(StoreError::Missing(_))));
    // There is nothing for it yet.
    assert_eq!(store.due_webhooks(NOW).await.unwrap(), []);
    device.sequence = 1;
    let check_in = device.check_in("t1");
    bed.file(&device, &[check_in]).await;
    assert_eq!(store.due_webhooks(NOW).await.unwrap(), [(venue, ID)]);
    let turn = |holder| Turn {
        venue,
        id: ID,
        holder,
    };
    (bed, store, [turn(1), turn(2)])
}

const FIRST: Sending = Sending {
    source: Source::Log,
    through: Position(2),
};

pub async fn of_two_servers_one_has_the_turn_until_it_is_over(stores: &dyn Stores) {
    let (_bed, store, [one, two]) = stage(stores).await;
    let (until, later) = (NOW.plus(60_000), NOW.plus(120_000));
    let taken = store.take_webhook(one, NOW, until).await.unwrap().unwrap();
    assert_eq!((taken.log_through, taken.sending), (Position(1), None));
    assert_eq!(store.take_webhook(two, NOW, until).await.unwrap(), None);
    assert_eq!(store.due_webhooks(NOW).await.unwrap(), []);
    assert!(store.begin_message(one, FIRST).await.unwrap());
    assert!(!store.begin_message(two, FIRST).await.unwrap());

    // The first one is gone: the other sends what it began, and what it still says counts nowhere.
    let taken = store
        .take_webhook(two, until, later)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(taken.sending, Some(FIRST));
    let done = |at| Sent::Done { at: Some(at) };
    store.end_message(one, FIRST, done(until)).await.unwrap();
    let webhook = || async { store.webhooks(one.venue).await.unwrap().remove(0) };
    assert_eq!(webhook().await.sending, Some(FIRST));
    store.end_message(two, FIRST, done(until)).await.unwrap();
    let ended = webhook().await;
    assert_eq!((ended.log_through, ended.sending), (Position(2), None));
    assert_eq!(ended.delivered_at, Some(until));
}

pub async fn a_message_that_fails_is_begun_again_when_its_time_has_come(stores: &dyn Stores) {
    let (_bed, store, [one, two]) = stage(stores).await;
    let (next, until) = (NOW.plus(5_000), NOW.plus(60_000));
    store.take_webhook(one, NOW, until).await.unwrap().unwrap();
    store.begin_message(one, FIRST).await.unwrap();
    let failed = |at, pauses| Sent::Failed {
        at,
        problem: "it answers 500".into(),
        next_attempt_at: next,
        pauses,
    };
    store
        .end_message(one, FIRST, failed(NOW, false))
        .await
        .unwrap();
    assert_eq!(store.take_webhook(two, NOW, until).await.unwrap(), None);
    let taken = store.take_webhook(two, next, until).await.unwrap().unwrap();
    assert_eq!(taken.sending, Some(FIRST));
    store
        .end_message(two, FIRST, failed(next, true))
        .await
        .unwrap();
    let paused = store.webhooks(one.venue).await.unwrap().remove(0);
    let failing = paused.failing.unwrap();
    assert_eq!(
        (failing.since, failing.at, failing.failures),
        (NOW, next, 2)
    );
    assert_eq!(paused.paused_at, Some(next));
    assert_eq!(store.due_webhooks(until).await.unwrap(), []);
    assert_eq!(store.take_webhook(two, until, until).await.unwrap(), None);

    assert!(store.resume_webhook(one.venue, ID).await.unwrap());
    let taken = store.take_webhook(one, NOW, until).await.unwrap().unwrap();
    assert_eq!((taken.sending, taken.failing), (Some(FIRST), None));
    assert!(store.remove_webhook(one.venue, ID).await.unwrap());
    assert!(!store.remove_webhook(one.venue, ID).await.unwrap());
    assert!(!store.begin_message(one, FIRST).await.unwrap());
}
