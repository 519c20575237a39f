//! Who wins and who loses where gates admitted a ticket for more persons than it has.

use serde_json::json;
use stile_core::protocol::{ConflictView, RecordStanding};
use stile_sync_server::import::TicketLine;
use stile_sync_server::store::{ConflictState, LogStream};

use super::Stores;
use super::bed::{Bed, NOW, TODAY, TestDevice, ticket};

const WINNER: Option<RecordStanding> = Some(RecordStanding::Winner);
const LOSER: Option<RecordStanding> = Some(RecordStanding::Loser);

async fn conflicts(bed: &Bed) -> Vec<ConflictView> {
    bed.server
        .conflicts(&bed.venue, ConflictState::Open)
        .await
        .unwrap()
        .conflicts
}

async fn standing(bed: &Bed, device: &TestDevice, record: String) -> Option<RecordStanding> {
    bed.file(device, &[record]).await.results[0].standing
}

async fn standings(bed: &Bed) -> Vec<Option<RecordStanding>> {
    let log = bed.pull_all(LogStream::CheckIns, 1_000).await;
    log.into_iter().map(|record| record.standing).collect()
}

pub async fn two_gates_that_admit_one_ticket_make_one_conflict(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(2).await;
    let (mut north, mut south) = (bed.device(1).await, bed.device(2).await);
    let first = north.check_in("t0");
    assert_eq!(standing(&bed, &north, first).await, WINNER);
    let at = NOW.0 + 500;
    let second = south
        .record(json!({ "ticket_id": "t0", "gate_id": "south", "at": at }))
        .to_string();
    assert_eq!(standing(&bed, &south, second).await, LOSER);
    let found = conflicts(&bed).await;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].ticket_id.as_str(), found[0].checkpoint.as_str()),
        ("t0", "entry")
    );
    assert_eq!(
        (found[0].service_day.as_str(), found[0].opened_at),
        (TODAY, NOW)
    );
    let entries: Vec<_> = found[0]
        .admissions
        .iter()
        .map(|entry| (entry.gate_id.as_str(), entry.at.0, entry.standing))
        .collect();
    let (winner, loser) = (RecordStanding::Winner, RecordStanding::Loser);
    assert_eq!(
        entries,
        [("north", NOW.0 + 1, winner), ("south", at, loser)]
    );
    // A third one joins the same conflict.
    let third = south.check_in("t0");
    bed.file(&south, &[third]).await;
    assert_eq!(conflicts(&bed).await.len(), 1);
    assert_eq!(
        bed.pull_all(LogStream::Records, 10).await.len(),
        3,
        "nothing is deleted"
    );
}

pub async fn sixty_four_devices_at_once_make_one_winner(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = std::sync::Arc::new(Bed::on(store.clone()).await);
    bed.put_many_tickets(4).await;
    let mut tasks = Vec::new();
    for seed in 1..=64 {
        let mut device = bed.device(seed).await;
        let records: Vec<String> = (0..4).map(|n| device.check_in(&format!("t{n}"))).collect();
        let bed = bed.clone();
        tasks.push(tokio::spawn(
            async move { bed.file(&device, &records).await },
        ));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let found = conflicts(&bed).await;
    assert_eq!(found.len(), 4, "one a ticket");
    for conflict in found {
        assert_eq!(conflict.admissions.len(), 64);
        let winners = conflict
            .admissions
            .iter()
            .filter(|a| a.standing == RecordStanding::Winner);
        assert_eq!(winners.count(), 1);
        assert_eq!(conflict.admissions[0].standing, RecordStanding::Winner);
    }
    let winners = standings(&bed)
        .await
        .into_iter()
        .filter(|standing| *standing == WINNER);
    assert_eq!(winners.count(), 4);
}

pub async fn the_earlier_admission_wins_also_when_it_comes_later(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(1).await;
    let (mut north, mut south) = (bed.device(1).await, bed.device(2).await);
    let later = north
        .record(json!({ "ticket_id": "t0", "at": NOW.0 + 9_000 }))
        .to_string();
    assert_eq!(standing(&bed, &north, later.clone()).await, WINNER);
    let earlier = south
        .record(json!({ "ticket_id": "t0", "at": NOW.0 + 1_000 }))
        .to_string();
    assert_eq!(standing(&bed, &south, earlier).await, WINNER);
    assert_eq!(
        standing(&bed, &north, later).await,
        LOSER,
        "its present standing"
    );
    // One whose clock nobody vouches for ranks last, whatever time it says.
    let mut west = bed.device(3).await;
    let adrift = json!({ "ticket_id": "t0", "at": NOW.0, "trust": "unanchored" });
    let adrift = west.record(adrift).to_string();
    assert_eq!(standing(&bed, &west, adrift).await, LOSER);
    assert_eq!(standings(&bed).await, [LOSER, WINNER, LOSER]);
}

pub async fn a_party_fits_until_it_is_full(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_tickets(vec![TicketLine {
        admits: 4,
        ..ticket("party", "s1")
    }])
    .await;
    let mut device = bed.device(1).await;
    let mut found = Vec::new();
    for persons in [1, 2, 3, 1] {
        let record = device
            .record(json!({ "ticket_id": "party", "persons": persons }))
            .to_string();
        found.push(standing(&bed, &device, record).await);
    }
    assert_eq!(found, [WINNER, WINNER, LOSER, LOSER]);
    bed.put_tickets(vec![ticket("one", "s1")]).await;
    let two = device
        .record(json!({ "ticket_id": "one", "persons": 2 }))
        .to_string();
    assert_eq!(
        standing(&bed, &device, two).await,
        LOSER,
        "the first one need not fit"
    );
    assert_eq!(conflicts(&bed).await.len(), 2);
}

pub async fn an_exit_gives_the_admission_back_where_the_session_says_so(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_session_with(
        "s1",
        json!({
            "starts_at": "2026-10-01 10:00", "ends_at": "2026-10-01 12:00",
            "reentry": "after_exit",
        }),
    )
    .await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let entry = device.check_in("t0");
    let exit = device
        .record(json!({ "ticket_id": "t0", "direction": "out" }))
        .to_string();
    let again = device.check_in("t0");
    let twice = device.check_in("t0");
    let answer = bed
        .file(&device, &[entry, exit, again, twice.clone()])
        .await;
    let found: Vec<_> = answer
        .results
        .iter()
        .map(|result| result.standing)
        .collect();
    assert_eq!(found, [WINNER, None, WINNER, LOSER]);
    assert_eq!(conflicts(&bed).await.len(), 1);
    // An exit that had been on its way clears it; nobody is un-admitted.
    let between = json!({ "ticket_id": "t0", "direction": "out", "at": NOW.0 + 3 });
    let exit = device.record(between).to_string();
    bed.file(&device, &[exit]).await;
    assert_eq!(conflicts(&bed).await, []);
    assert_eq!(standing(&bed, &device, twice).await, WINNER);
}

pub async fn a_ticket_that_admits_more_clears_its_conflict(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let records = [device.check_in("t0"), device.check_in("t0")];
    bed.file(&device, &records).await;
    assert_eq!(standings(&bed).await, [WINNER, LOSER]);
    bed.put_tickets(vec![TicketLine {
        admits: 2,
        ..ticket("t0", "s1")
    }])
    .await;
    assert_eq!(conflicts(&bed).await, []);
    assert_eq!(standings(&bed).await, [WINNER, WINNER]);
    bed.clock.move_by(5_000);
    bed.put_tickets(vec![ticket("t0", "s1")]).await;
    assert_eq!(standings(&bed).await, [WINNER, LOSER]);
    let again = conflicts(&bed).await;
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].opened_at, NOW, "when it was first seen");
}

pub async fn a_session_that_changes_its_rule_settles_its_tickets_anew(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let records = [device.check_in("t0"), device.check_in("t0")];
    bed.file(&device, &records).await;
    let session = |reentry: &str| {
        json!({
            "starts_at": "2026-10-01 10:00", "ends_at": "2026-10-01 12:00", "reentry": reentry,
        })
    };
    bed.put_session_with("s1", session("free")).await;
    assert_eq!(conflicts(&bed).await, []);
    bed.put_session_with("s1", session("none")).await;
    assert_eq!(conflicts(&bed).await.len(), 1);
}

pub async fn checkpoints_and_days_are_apart(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let places = [
        json!({ "ticket_id": "t0" }),
        json!({ "ticket_id": "t0", "checkpoint": "special" }),
        json!({ "ticket_id": "t0", "service_day": "2026-10-02" }),
    ];
    for place in places {
        if place["service_day"] == "2026-10-02" {
            bed.put_tickets(vec![ticket("t0", "s3")]).await;
        }
        let record = device.record(place).to_string();
        assert_eq!(standing(&bed, &device, record).await, WINNER);
    }
    assert_eq!(conflicts(&bed).await, []);
}
