//! What an upsert does to tickets and to the lists that they stand in.

use serde_json::json;
use stile_core::ids::{TicketId, TicketNumber, VenueNumber};
use stile_core::protocol::TicketChange;
use stile_core::ticket::{CancelCause, Standing, TicketStatus};
use stile_core::time::EpochSeconds;
use stile_sync_server::import::TicketLine;
use stile_sync_server::store::{TicketFields, TicketUpsert};

use super::Stores;
use super::bed::{Bed, NOW, TODAY, ticket};
use super::lists::{day, row, rows, version};

pub async fn a_ticket_without_a_session_is_refused_and_the_others_go_in(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let faults = bed
        .put_tickets(vec![
            ticket("a", "s1"),
            ticket("b", "nope"),
            ticket("c", "s3"),
        ])
        .await;
    assert_eq!(faults.len(), 1);
    assert_eq!((faults[0].0, faults[0].1.field), (2, "session_id"));
    assert_eq!(rows(&*store, TODAY).await.len(), 1);
    assert_eq!(rows(&*store, "2026-10-02").await.len(), 1);
}

pub async fn an_upsert_that_changes_nothing_keeps_the_version(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let lines: Vec<TicketLine> = ["a", "b"].map(|id| ticket(id, "s1")).into();
    let before = version(&*store, TODAY).await;
    bed.put_tickets(lines.clone()).await;
    assert_eq!(
        version(&*store, TODAY).await,
        before + 1,
        "one for the whole call"
    );
    bed.put_tickets(lines.clone()).await;
    assert_eq!(version(&*store, TODAY).await, before + 1);
    let label = TicketLine {
        label: "A-12-5".into(),
        ..lines[0].clone()
    };
    bed.put_tickets(vec![label, lines[1].clone()]).await;
    assert_eq!(version(&*store, TODAY).await, before + 2);
    let rows = rows(&*store, TODAY).await;
    assert_eq!(
        rows.iter().filter(|row| row.version == before + 2).count(),
        1
    );
}

pub async fn a_status_changes_only_when_the_line_says_so(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_tickets(vec![ticket("a", "s1")]).await;
    assert_eq!(row(&*store, TODAY, "a").await.status, TicketStatus::Valid);
    let cancelled = TicketLine {
        status: Some(TicketStatus::Cancelled),
        cancel_cause: Some(CancelCause::Refunded),
        ..ticket("a", "s1")
    };
    bed.put_tickets(vec![cancelled]).await;
    bed.put_tickets(vec![TicketLine {
        admits: 3,
        ..ticket("a", "s1")
    }])
    .await;
    let kept = row(&*store, TODAY, "a").await;
    assert_eq!(
        (kept.status, kept.fields.admits),
        (TicketStatus::Cancelled, 3)
    );
    assert_eq!(kept.cancel_cause, Some(CancelCause::Refunded));
    let valid = TicketLine {
        status: Some(TicketStatus::Valid),
        ..ticket("a", "s1")
    };
    bed.put_tickets(vec![valid]).await;
    let valid = row(&*store, TODAY, "a").await;
    assert_eq!(
        (valid.status, valid.cancel_cause),
        (TicketStatus::Valid, None)
    );
}

pub async fn a_line_that_is_out_of_date_is_refused(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let of_version = |source_version, admits| TicketLine {
        source_version,
        admits,
        ..ticket("a", "s1")
    };
    assert_eq!(bed.put_tickets(vec![of_version(Some(5), 1)]).await, []);
    let faults = bed.put_tickets(vec![of_version(Some(4), 2)]).await;
    assert_eq!(faults[0].1.field, "source_version");
    assert_eq!(row(&*store, TODAY, "a").await.fields.admits, 1);
    assert_eq!(
        bed.put_tickets(vec![of_version(None, 3), of_version(Some(5), 4)])
            .await,
        []
    );
    let stored = row(&*store, TODAY, "a").await.fields;
    assert_eq!((stored.admits, stored.source_version), (4, Some(5)));
}

pub async fn the_later_of_two_lines_of_one_ticket_stands(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let twice = [1, 2].map(|admits| TicketLine {
        admits,
        ..ticket("a", "s1")
    });
    assert_eq!(bed.put_tickets(twice.into()).await, []);
    assert_eq!(row(&*store, TODAY, "a").await.fields.admits, 2);
    assert_eq!(rows(&*store, TODAY).await.len(), 1);
}

pub async fn a_moved_ticket_leaves_a_tombstone_that_follows_it(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_session("s4", "2026-10-03 10:00", "2026-10-03 12:00")
        .await;
    bed.put_tickets(vec![ticket("a", "s1")]).await;
    let (before, tomorrow) = (
        version(&*store, TODAY).await,
        version(&*store, "2026-10-02").await,
    );
    bed.put_tickets(vec![TicketLine {
        admits: 2,
        ..ticket("a", "s3")
    }])
    .await;
    let tombstone = row(&*store, TODAY, "a").await;
    let session = store
        .session(venue(&bed).await, &"s3".parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    let points_to_s3 = Standing::Moved {
        session_id: session.session_id,
        service_day: day("2026-10-02"),
        admit_from: session.admit_from,
    };
    assert_eq!(
        (tombstone.standing, tombstone.version),
        (points_to_s3, before + 1)
    );
    assert_eq!(
        tombstone.fields.session_id.as_str(),
        "s1",
        "it says what it was"
    );
    let live = row(&*store, "2026-10-02", "a").await;
    assert_eq!(
        (live.standing, live.version),
        (Standing::Live, tomorrow + 1)
    );
    assert_eq!(live.fields.admits, 2);

    bed.put_tickets(vec![ticket("a", "s4")]).await;
    for left in [TODAY, "2026-10-02"] {
        let Standing::Moved {
            session_id,
            service_day,
            ..
        } = row(&*store, left, "a").await.standing
        else {
            panic!("a tombstone must stand in {left}");
        };
        assert_eq!(
            (session_id.as_str(), service_day.as_str()),
            ("s4", "2026-10-03")
        );
    }
    // Within its day it follows too.
    bed.put_session("s5", "2026-10-03 14:00", "2026-10-03 16:00")
        .await;
    bed.put_tickets(vec![ticket("a", "s5")]).await;
    let Standing::Moved { session_id, .. } = row(&*store, TODAY, "a").await.standing else {
        panic!("a tombstone must stand");
    };
    assert_eq!(session_id.as_str(), "s5");
    let view = bed
        .server
        .ticket(&bed.venue, &TicketId::new("a").unwrap())
        .await
        .unwrap();
    assert_eq!(view.service_day.as_str(), "2026-10-03");
}

pub async fn a_ticket_that_comes_back_takes_its_tombstones_place(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    for session in ["s1", "s3", "s2"] {
        assert_eq!(bed.put_tickets(vec![ticket("a", session)]).await, []);
    }
    let rows = rows(&*store, TODAY).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (&rows[0].standing, rows[0].fields.session_id.as_str()),
        (&Standing::Live, "s2")
    );
    let Standing::Moved { session_id, .. } = row(&*store, "2026-10-02", "a").await.standing else {
        panic!("it left a tombstone");
    };
    assert_eq!(session_id.as_str(), "s2");
}

pub async fn a_session_that_moves_takes_its_tickets_along(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_tickets(vec![
        ticket("a", "s1"),
        ticket("b", "s1"),
        ticket("c", "s2"),
    ])
    .await;
    bed.put_tickets(vec![ticket("b", "s3")]).await;
    bed.put_session("s1", "2026-10-02 18:00", "2026-10-02 20:00")
        .await;
    assert!(matches!(
        row(&*store, TODAY, "a").await.standing,
        Standing::Moved { .. }
    ));
    assert_eq!(
        row(&*store, "2026-10-02", "a").await.standing,
        Standing::Live
    );
    assert_eq!(row(&*store, TODAY, "c").await.standing, Standing::Live);
    // A later start of a session is told by the tombstones that point to it.
    let before = version(&*store, TODAY).await;
    bed.put_session("s3", "2026-10-02 11:00", "2026-10-02 13:00")
        .await;
    let s3 = store
        .session(venue(&bed).await, &"s3".parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    let tombstone = row(&*store, TODAY, "b").await;
    let Standing::Moved { admit_from, .. } = tombstone.standing else {
        panic!("it left a tombstone");
    };
    assert_eq!((admit_from, tombstone.version), (s3.admit_from, before + 1));
}

pub async fn a_day_that_loses_its_last_session_keeps_its_list(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_tickets(vec![ticket("a", "s3")]).await;
    let venue = venue(&bed).await;
    let state = |list: Box<dyn stile_sync_server::store::ListSnapshot>| list.state().clone();
    let before = state(
        store
            .list(venue, &day("2026-10-02"))
            .await
            .unwrap()
            .unwrap(),
    );
    bed.put_session("s3", "2026-10-05 10:00", "2026-10-05 12:00")
        .await;
    let after = state(
        store
            .list(venue, &day("2026-10-02"))
            .await
            .unwrap()
            .unwrap(),
    );
    assert_eq!(
        (after.day_from, after.day_until),
        (before.day_from, before.day_until)
    );
    assert!(after.version > before.version);
    let tombstone = row(&*store, "2026-10-02", "a").await;
    assert!(matches!(tombstone.standing, Standing::Moved { .. }));
}

pub async fn cancelling_twice_is_cancelling_once(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_tickets(vec![ticket("a", "s1")]).await;
    let id = TicketId::new("a").unwrap();
    let cancel = |cause| bed.server.cancel_ticket(&bed.venue, &id, cause);
    let view = cancel(CancelCause::Visitor).await.unwrap();
    assert_eq!(view.status, TicketStatus::Cancelled);
    assert_eq!(view.cancel_cause, Some(CancelCause::Visitor));
    let once = version(&*store, TODAY).await;
    cancel(CancelCause::Visitor).await.unwrap();
    assert_eq!(version(&*store, TODAY).await, once);
    let view = cancel(CancelCause::Refunded).await.unwrap();
    assert_eq!(view.cancel_cause, Some(CancelCause::Refunded));
    assert_eq!(version(&*store, TODAY).await, once + 1);
    let missing = TicketId::new("b").unwrap();
    assert!(
        bed.server
            .cancel_ticket(&bed.venue, &missing, CancelCause::Visitor)
            .await
            .is_err()
    );
    // A session that is put as it was changes nothing either.
    bed.put_session_with(
        "s1",
        json!({ "starts_at": "2026-10-01 10:00", "ends_at": "2026-10-01 12:00" }),
    )
    .await;
    assert_eq!(version(&*store, TODAY).await, once + 1);
}

pub async fn a_ticket_is_issued_anew_one_revision_at_a_time(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_tickets(vec![ticket("a", "s1")]).await;
    let id = TicketId::new("a").unwrap();
    let reissue = |revision| bed.server.reissue_ticket(&bed.venue, &id, revision);
    let before = version(&*store, TODAY).await;
    assert_eq!(reissue(1).await.unwrap().revision, 1);
    assert_eq!(reissue(1).await.unwrap().revision, 1);
    assert_eq!(row(&*store, TODAY, "a").await.revision, 1);
    assert_eq!(version(&*store, TODAY).await, before + 1);
    for skipped in [0, 3, 255] {
        let refused = reissue(skipped).await.unwrap_err();
        assert!(
            refused.to_string().contains("its next one is 2"),
            "{refused}"
        );
    }
    // A line of the booking file does not bring an old issue back.
    bed.put_tickets(vec![ticket("a", "s1")]).await;
    assert_eq!(row(&*store, TODAY, "a").await.revision, 1);
    for revision in 2..=255 {
        reissue(revision).await.unwrap();
    }
    let refused = reissue(0).await.unwrap_err();
    assert!(refused.to_string().contains("the last one"), "{refused}");
    let missing = TicketId::new("b").unwrap();
    let missing = bed.server.reissue_ticket(&bed.venue, &missing, 1).await;
    assert!(missing.is_err());
}

fn id(text: &str) -> TicketId {
    TicketId::new(text).unwrap()
}

pub async fn a_move_goes_as_a_line_does_and_drops_a_window_of_its_own(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let own_window = TicketLine {
        admit_from: Some(EpochSeconds(NOW.0 / 1000)),
        label: "A-1".into(),
        ..ticket("a", "s1")
    };
    bed.put_tickets(vec![own_window]).await;
    let move_to = |session: &str| TicketChange::Move {
        ticket_id: id("a"),
        session_id: session.parse().unwrap(),
    };
    let moved = bed.server.change_ticket(&bed.venue, move_to("s3")).await;
    assert_eq!(moved.unwrap().service_day, day("2026-10-02"));
    let tombstone = row(&*store, TODAY, "a").await.standing;
    assert!(matches!(tombstone, Standing::Moved { .. }));
    let there = row(&*store, "2026-10-02", "a").await.fields;
    assert_eq!((there.admit_from, &*there.label), (None, "A-1"));
    let before = version(&*store, "2026-10-02").await;
    bed.server
        .change_ticket(&bed.venue, move_to("s3"))
        .await
        .unwrap();
    assert_eq!(version(&*store, "2026-10-02").await, before);
    let nowhere = bed.server.change_ticket(&bed.venue, move_to("s9")).await;
    assert!(nowhere.unwrap_err().to_string().starts_with("session_id"));
    // Back, in the place of its tombstone.
    bed.server
        .change_ticket(&bed.venue, move_to("s2"))
        .await
        .unwrap();
    assert_eq!(row(&*store, TODAY, "a").await.standing, Standing::Live);
}

pub async fn acts_of_one_call_give_a_list_one_version(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_tickets(["a", "b", "c"].map(|id| ticket(id, "s1")).into())
        .await;
    let before = version(&*store, TODAY).await;
    let cancel = |text: &str| TicketChange::Cancel {
        ticket_id: id(text),
        cause: CancelCause::Operator,
    };
    let restore = TicketChange::Restore { ticket_id: id("a") };
    let changes = vec![cancel("a"), cancel("b"), cancel("none"), restore];
    let changed = bed
        .server
        .change_tickets(&bed.venue, changes)
        .await
        .unwrap();
    assert_eq!(
        changed.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, true, false, true]
    );
    assert_eq!(version(&*store, TODAY).await, before + 1);
    let (restored, cancelled) = (
        row(&*store, TODAY, "a").await,
        row(&*store, TODAY, "b").await,
    );
    assert_eq!(
        (restored.status, restored.cancelled_at),
        (TicketStatus::Valid, None)
    );
    assert_eq!(cancelled.cancelled_at, Some(NOW));
}

pub async fn sessions_put_together_give_their_day_one_version(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let before = version(&*store, TODAY).await;
    let session = |name: &str, ends_at: &str| {
        let session = json!({ "starts_at": "2026-10-01 18:00", "ends_at": ends_at });
        (
            name.parse().unwrap(),
            serde_json::from_value(session).unwrap(),
        )
    };
    let sessions = vec![
        session("e1", "2026-10-01 19:00"),
        session("e2", "2026-10-05 19:00"),
        session("e3", "2026-10-01 20:00"),
    ];
    let put = bed.server.put_sessions(&bed.venue, sessions).await.unwrap();
    assert_eq!(
        put.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, false, true]
    );
    assert_eq!(version(&*store, TODAY).await, before + 1);
}

async fn venue(bed: &Bed) -> stile_core::ids::VenueNumber {
    bed.server.venue(&bed.venue).await.unwrap().number
}

pub async fn phones_are_kept_for_as_long_as_their_tickets_days(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let venue = VenueNumber(1);
    let put = |id: &str, session: &str, holder: Option<&[u8]>| {
        let id = TicketId::new(id).unwrap();
        let number = TicketNumber::new(u64::from(id.as_str().as_bytes()[0])).unwrap();
        let line = TicketUpsert {
            number,
            bucket: 0,
            fields: TicketFields {
                ticket_id: id,
                order_number: "o-1".parse().unwrap(),
                session_id: session.parse().unwrap(),
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
                document: None,
                source_version: None,
            },
            status: None,
            cancel_cause: None,
            holder: holder.map(<[u8]>::to_vec),
        };
        let store = store.clone();
        async move {
            store.upsert_tickets(venue, vec![line], NOW).await.unwrap();
            number
        }
    };
    let today = put("a", "s1", Some(b"sealed")).await;
    let tomorrow = put("b", "s3", Some(b"sealed")).await;
    let gone = put("c", "s1", Some(b"sealed")).await;
    put("c", "s1", None).await;
    let kept = |number| {
        let store = store.clone();
        async move { store.holder(venue, number).await.unwrap().is_some() }
    };
    assert_eq!(
        (kept(today).await, kept(tomorrow).await, kept(gone).await),
        (true, true, false)
    );
    let over = |days: i64| EpochSeconds(NOW.0 / 1000 + days * 86_400);
    assert_eq!(store.forget_holders(over(0)).await.unwrap(), 0);
    assert_eq!(store.forget_holders(over(1)).await.unwrap(), 1);
    assert_eq!((kept(today).await, kept(tomorrow).await), (false, true));
    drop(bed);
}
