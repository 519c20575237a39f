//! Whole sets of tickets: applied at once or not at all.

use serde_json::json;
use stile_core::protocol::{Filed, SessionAttendance};
use stile_core::ticket::{CancelCause, Standing, TicketStatus};
use stile_sync_server::import::{Chunk, LineFault, NumberedLine, TicketLine};
use stile_sync_server::server::{SetChanges, TicketSet, Vanish};
use stile_sync_server::store::{LogStream, VanishCounts};

use super::Stores;
use super::bed::{Bed, TODAY, ticket};
use super::lists::{day, row, rows, version};

/// A set of today with these tickets, kept aside; all must be taken.
async fn staged(bed: &Bed, tickets: Vec<TicketLine>) -> TicketSet {
    let mut set = bed.server.begin_set(&bed.venue, Some(day(TODAY)), false);
    assert_eq!(stage(bed, &mut set, tickets).await, []);
    set
}

async fn stage(bed: &Bed, set: &mut TicketSet, tickets: Vec<TicketLine>) -> Vec<(u64, LineFault)> {
    let tickets = (1..)
        .zip(tickets)
        .map(|(line, ticket)| NumberedLine { line, ticket })
        .collect();
    let unread = Vec::new();
    bed.server
        .stage_tickets(set, Chunk { tickets, unread })
        .await
        .unwrap()
}

async fn apply(bed: &Bed, set: &TicketSet, confirmed: u64) -> Result<SetChanges, Vanish> {
    let applied = bed.server.apply_set(set, confirmed).await.unwrap();
    bed.server.end_set(set).await.unwrap();
    applied
}

async fn s1(bed: &Bed) -> SessionAttendance {
    let today = day(TODAY);
    let report = bed.server.attendance(&bed.venue, &today, &today).await;
    report.unwrap().sessions.remove(0)
}

fn of_s1<const N: usize>(ids: [&str; N]) -> Vec<TicketLine> {
    ids.map(|id| ticket(id, "s1")).into()
}

pub async fn a_set_changes_nothing_until_it_is_applied_and_then_all_at_once(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_tickets(vec![ticket("a", "s1"), ticket("b", "s3")])
        .await;
    let before = version(&*store, TODAY).await;
    let tickets = vec![ticket("a", "s2"), ticket("b", "s1"), ticket("c", "s1")];
    let set = staged(&bed, tickets).await;
    let other = staged(&bed, of_s1(["z"])).await;
    let plan = bed.server.plan_set(&set, 0).await.unwrap();
    assert_eq!(version(&*store, TODAY).await, before);
    assert_eq!(rows(&*store, TODAY).await.len(), 1);

    let applied = apply(&bed, &set, 0).await.unwrap();
    assert_eq!(applied.counts, plan.counts);
    let counts = [applied.counts.created, applied.counts.changed];
    assert_eq!(counts, [1, 2]);
    assert_eq!(version(&*store, TODAY).await, before + 1);
    let today = rows(&*store, TODAY).await;
    assert_eq!(today.len(), 3, "the other set is its own");
    assert!(today.iter().all(|row| row.version == before + 1));
    let left = row(&*store, "2026-10-02", "b").await.standing;
    assert!(matches!(left, Standing::Moved { .. }));

    // Again, it changes nothing.
    let set = staged(&bed, vec![ticket("a", "s2"), ticket("b", "s1")]).await;
    let applied = apply(&bed, &set, 1).await.unwrap();
    assert_eq!(applied.counts.unchanged, 2);
    bed.server.end_set(&other).await.unwrap();
}

pub async fn more_than_may_vanish_leaves_all_as_it_was(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_tickets(of_s1(["a", "b", "c", "d", "e"])).await;
    let before = version(&*store, TODAY).await;
    let set = staged(&bed, of_s1(["a", "b", "c", "new"])).await;
    let refused = apply(&bed, &set, 1).await.unwrap_err();
    let counts = VanishCounts {
        of: 5,
        vanishing: 2,
        admitted: 0,
    };
    assert_eq!((refused.counts, refused.allowed), (counts, 1));
    assert!(refused.needs_confirmation());
    assert_eq!(version(&*store, TODAY).await, before);
    assert_eq!(rows(&*store, TODAY).await.len(), 5);
    // A fifth of them is the share itself.
    let set = staged(&bed, of_s1(["a", "b", "c", "d", "new"])).await;
    apply(&bed, &set, 0).await.unwrap();
    assert_eq!(row(&*store, TODAY, "e").await.standing, Standing::Deleted);
}

pub async fn what_vanished_is_a_tombstone_and_comes_back_as_it_was(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let with = |id: &str, status| TicketLine {
        status: Some(status),
        ..ticket(id, "s1")
    };
    bed.put_tickets(vec![
        ticket("a", "s1"),
        with("b", TicketStatus::Pending),
        with("c", TicketStatus::Blocked),
        TicketLine {
            cancel_cause: Some(CancelCause::Refunded),
            ..with("d", TicketStatus::Cancelled)
        },
    ])
    .await;
    let was = row(&*store, TODAY, "b").await;
    let set = staged(&bed, Vec::new()).await;
    let applied = apply(&bed, &set, 2).await.unwrap();
    assert_eq!(applied.vanish.unwrap().counts.vanishing, 2);
    for (id, standing) in [
        ("a", Standing::Deleted),
        ("b", Standing::Deleted),
        ("c", Standing::Live),
        ("d", Standing::Live),
    ] {
        assert_eq!(row(&*store, TODAY, id).await.standing, standing, "{id}");
    }
    assert_eq!(s1(&bed).await.expected, 0);

    let set = staged(&bed, of_s1(["b"])).await;
    apply(&bed, &set, 0).await.unwrap();
    let back = row(&*store, TODAY, "b").await;
    assert_eq!(
        (back.status, &back.standing),
        (TicketStatus::Pending, &Standing::Live)
    );
    assert_eq!(back.cancelled_at, was.cancelled_at);
}

pub async fn records_that_waited_for_a_ticket_of_a_set_are_accepted(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let mut device = bed.device(1).await;
    let waiting = bed.file(&device.clone(), &[device.check_in("a")]).await;
    assert_eq!(waiting.results[0].result, Filed::Quarantined);
    let set = staged(&bed, of_s1(["a"])).await;
    assert!(bed.pull_all(LogStream::Records, 100).await.is_empty());
    apply(&bed, &set, 0).await.unwrap();
    assert_eq!(bed.pull_all(LogStream::Records, 100).await.len(), 1);
}

pub async fn a_scan_of_what_vanished_is_marked(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_tickets(of_s1(["a"])).await;
    let mut device = bed.device(1).await;
    bed.clock.move_by(-60_000);
    let set = staged(&bed, Vec::new()).await;
    apply(&bed, &set, 1).await.unwrap();
    // A gate that was offline meanwhile let them in.
    let filed = bed.file(&device.clone(), &[device.check_in("a")]).await;
    assert_eq!(filed.results[0].result, Filed::Accepted);
    assert_eq!(s1(&bed).await.after_cancel, 1);
}

pub async fn of_two_lines_of_a_ticket_the_one_of_the_higher_version_is_kept(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let of_version = |source_version, admits| TicketLine {
        source_version,
        admits,
        ..ticket("a", "s1")
    };
    let mut set = bed.server.begin_set(&bed.venue, Some(day(TODAY)), false);
    let lines = vec![
        of_version(Some(5), 1),
        of_version(None, 2),
        of_version(Some(4), 3),
    ];
    let faults = stage(&bed, &mut set, lines).await;
    assert_eq!(faults.len(), 1);
    assert_eq!((faults[0].0, faults[0].1.field), (3, "source_version"));
    let applied = apply(&bed, &set, 0).await.unwrap();
    assert_eq!(applied.counts.created, 1);
    assert_eq!(row(&*store, TODAY, "a").await.fields.admits, 2);
}

pub async fn a_session_that_goes_away_meanwhile_refuses_its_lines(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_tickets(vec![ticket("a", "s1"), ticket("b", "s2")])
        .await;
    let tickets = vec![ticket("a", "s1"), ticket("b", "s2"), ticket("c", "s2")];
    let set = staged(&bed, tickets).await;
    let elsewhere = json!({ "starts_at": "2026-10-02 14:00", "ends_at": "2026-10-02 16:00" });
    bed.put_session_with("s2", elsewhere).await;
    let applied = apply(&bed, &set, 0).await.unwrap();
    assert_eq!(applied.counts.refused_count, 2);
    assert_eq!(
        (applied.refused[0].1.field, applied.counts.unchanged),
        ("session_id", 1)
    );
    assert_eq!(applied.vanish.unwrap().counts.vanishing, 0);
}

pub async fn a_set_that_was_given_up_is_forgotten_after_a_day(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let set = staged(&bed, of_s1(["a", "b"])).await;
    assert_eq!(bed.server.forget_sets().await.unwrap(), 0);
    bed.clock.move_by(25 * 3_600_000);
    assert_eq!(bed.server.forget_sets().await.unwrap(), 2);
    let applied = bed.server.apply_set(&set, 0).await.unwrap().unwrap();
    assert_eq!(applied.counts.created, 0);
    assert!(rows(&*store, TODAY).await.is_empty());
    assert_eq!(store.forget_sets(bed.server.now()).await.unwrap(), 0);
}
