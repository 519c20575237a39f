//! Alarms: opened and ended once each, with their events.

use stile_core::ids::VenueId;
use stile_core::policy::Policy;
use stile_core::time::ServiceDay;
use stile_sync_server::store::{
    AlarmChange, AlarmDetail, AlarmKind, AlarmQuery, Differences, EventKind, NewReconciliation,
    Position, ReconciliationForm,
};

use super::Stores;
use super::bed::{Bed, NOW, TODAY, ticket};

const ALL: AlarmQuery = AlarmQuery {
    ended: true,
    before: None,
    limit: 100,
};

fn change(thing: &str, opens: bool) -> Vec<AlarmChange> {
    vec![AlarmChange {
        kind: AlarmKind::Capacity80,
        thing: thing.to_owned(),
        open: opens.then(AlarmDetail::default),
    }]
}

pub async fn of_two_that_find_the_same_one_opens_and_one_ends_it(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let number = store.venue(&bed.venue).await.unwrap().unwrap().number;
    for opens in [true, false, true] {
        let changes = (0..8).map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let changed = store.change_alarms(number, change("s1", opens), NOW);
                changed.await.unwrap()
            })
        });
        let mut changed = 0;
        for one in changes.collect::<Vec<_>>() {
            changed += one.await.unwrap();
        }
        assert_eq!(changed, 1);
    }
    let alarms = store.alarms(number, ALL).await.unwrap();
    let ids: Vec<_> = alarms.iter().map(|alarm| alarm.alarm_id).collect();
    assert_eq!(ids, [2, 1]);
    assert_eq!(alarms[0].ended_at, None);
    // By a clock that was set back, it is over when it began.
    let changed = store.change_alarms(number, change("s1", false), NOW.plus(-9_000));
    assert_eq!(changed.await.unwrap(), 1);
    let alarms = store.alarms(number, ALL).await.unwrap();
    assert_eq!(alarms[0].ended_at, Some(NOW));
    let events = store.events(number, Position(0), 100).await.unwrap();
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    let (opened, ended) = (EventKind::AlarmOpened, EventKind::AlarmEnded);
    assert_eq!(kinds, [opened, ended, opened, ended]);
}

pub async fn an_alarm_is_its_venues(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let one = store.venue(&bed.venue).await.unwrap().unwrap().number;
    let other = VenueId::new("other").unwrap();
    let created = bed
        .server
        .create_venue(other.clone(), "", "UTC", Policy::default());
    created.await.unwrap();
    let other = store.venue(&other).await.unwrap().unwrap().number;
    let changed = store.change_alarms(one, change("s1", true), NOW);
    assert_eq!(changed.await.unwrap(), 1);
    assert_eq!(store.alarms(other, ALL).await.unwrap(), []);
    let changed = store.change_alarms(other, change("s1", false), NOW);
    assert_eq!(changed.await.unwrap(), 0);
    let open = AlarmQuery {
        ended: false,
        ..ALL
    };
    assert_eq!(store.alarms(one, open).await.unwrap().len(), 1);

    bed.put_tickets(vec![ticket("t1", "s1")]).await;
    assert_eq!(store.ticket_feed(one).await.unwrap(), Some(NOW));
    assert_eq!(store.ticket_feed(other).await.unwrap(), None);
}

pub async fn the_evenings_look_is_kept_once_and_only_where_a_set_was_stated(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let number = store.venue(&bed.venue).await.unwrap().unwrap().number;
    let day = ServiceDay::new(TODAY).unwrap();
    bed.put_tickets(vec![ticket("t1", "s1")]).await;
    let look = async || store.look_at_set(number, &day, None, NOW).await.unwrap();
    assert_eq!(look().await, None);
    let new = NewReconciliation {
        service_day: day.clone(),
        form: ReconciliationForm::Set,
        stated: 1,
        sha256: Some([7; 32]),
        differences: Differences::default(),
    };
    let kept = store.keep_reconciliation(number, new, NOW).await.unwrap();
    assert_eq!((kept.equal, kept.held), (true, 1));
    let same = store.look_at_set(number, &day, Some((1, [7; 32])), NOW);
    assert!(same.await.unwrap().unwrap().equal);
    bed.put_tickets(vec![ticket("t2", "s1")]).await;
    let (one, other) = tokio::join!(look(), look());
    let looked: Vec<_> = [one, other].into_iter().flatten().collect();
    assert_eq!(looked.len(), 1);
    assert_eq!(looked[0].changed_since, Some(1));
    let state = store.reconciliation_state(number).await.unwrap();
    assert_eq!((state.reconciles, state.last_at), (true, Some(NOW)));
}
