//! Claims: who may have an admission, asked before the gate opens.

use std::sync::Arc;

use serde_json::{Value, json};
use stile_core::ids::{RecordId, TicketId};
use stile_core::protocol::{CLAIM_LIFE_MS, ClaimAnswer, ClaimRequest, RecordStanding};

use super::Stores;
use super::bed::{Bed, NOW, TODAY, TestDevice, ticket};

/// The claim of the device's next record, for one person of a ticket of `s1`.
async fn request(bed: &Bed, device: &TestDevice, of: &str, members: Value) -> ClaimRequest {
    let number = match bed
        .server
        .ticket(&bed.venue, &TicketId::new(of).unwrap())
        .await
    {
        Ok(ticket) => json!(ticket.ticket_number),
        Err(_) => json!("77"),
    };
    let sequence = device.sequence + 1;
    let mut request = json!({
        "scan_id": device.record_id(sequence), "log_id": device.log_id, "sequence": sequence,
        "gate_id": "north", "ticket_number": number, "service_day": TODAY,
        "checkpoint": "entry", "persons": 1, "at": NOW,
    });
    let of_request = request.as_object_mut().unwrap();
    of_request.extend(members.as_object().unwrap().clone());
    serde_json::from_value(request).unwrap()
}

async fn claim(bed: &Bed, device: &TestDevice, of: &str, members: Value) -> ClaimAnswer {
    let request = request(bed, device, of, members).await;
    bed.server.claim(&device.device, request).await.unwrap()
}

async fn is_granted(bed: &Bed, device: &TestDevice, of: &str) -> bool {
    claim(bed, device, of, json!({})).await.granted
}

async fn file(bed: &Bed, device: &mut TestDevice, members: Value) {
    let record = device.record(members).to_string();
    bed.file(device, &[record]).await;
}

pub async fn a_claim_holds_the_admission_and_the_other_hears_who_has_it(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(2).await;
    let (mut north, south) = (bed.device(1).await, bed.device(2).await);
    let granted = claim(&bed, &north, "t0", json!({})).await;
    assert_eq!((granted.granted, granted.remaining), (true, 0));
    let denied = claim(&bed, &south, "t0", json!({ "gate_id": "south" })).await;
    let winner = denied.winner.clone().unwrap();
    assert!(!denied.granted);
    assert_eq!(winner.device_id, north.device.device_id);
    assert_eq!((winner.gate_id.as_str(), winner.at), ("north", NOW));
    // Asked again, each hears the same.
    assert_eq!(claim(&bed, &north, "t0", json!({})).await, granted);
    assert_eq!(claim(&bed, &south, "t0", json!({})).await, denied);
    // Another ticket, and another checkpoint, are free.
    let elsewhere = json!({ "checkpoint": "special", "scan_id": RecordId::at(NOW, [9; 10]) });
    assert!(claim(&bed, &south, "t0", elsewhere).await.granted);
    // The record consumes it, and the claim with it.
    file(
        &bed,
        &mut north,
        json!({ "ticket_id": "t0", "claim": "granted" }),
    )
    .await;
    let later = json!({ "scan_id": RecordId::at(NOW, [8; 10]) });
    let denied = claim(&bed, &south, "t0", later).await;
    let winner = denied.winner.unwrap();
    assert_eq!(
        (winner.device_id, winner.at),
        (north.device.device_id.clone(), NOW.plus(1))
    );
}

pub async fn a_device_that_died_before_the_record_is_not_refused_by_its_own_claim(
    stores: &dyn Stores,
) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(1).await;
    let (mut north, south) = (bed.device(1).await, bed.device(2).await);
    assert!(is_granted(&bed, &north, "t0").await);
    // Started again, it gives the same place of its log to a new scan.
    let again = json!({ "scan_id": RecordId::at(NOW, [7; 10]) });
    assert!(claim(&bed, &north, "t0", again).await.granted);
    assert!(
        !is_granted(&bed, &south, "t0").await,
        "others still hear that it is taken"
    );
    // With the record there, another scan is one too many at the same gate as well.
    file(
        &bed,
        &mut north,
        json!({ "ticket_id": "t0", "claim": "granted" }),
    )
    .await;
    let later = json!({ "scan_id": RecordId::at(NOW, [8; 10]) });
    assert!(!claim(&bed, &north, "t0", later).await.granted);
}

pub async fn a_device_that_begins_another_log_gives_up_what_it_claimed_in_the_one_before(
    stores: &dyn Stores,
) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(3).await;
    let (mut north, south) = (bed.device(1).await, bed.device(2).await);
    let with = |n: u8| json!({ "scan_id": RecordId::at(NOW, [n; 10]) });
    assert!(claim(&bed, &north, "t0", with(1)).await.granted);
    assert!(claim(&bed, &north, "t1", with(2)).await.granted);
    // It died before either record, and starts again.
    north.log_id = RecordId::at(NOW, [3; 10]).0;
    assert!(claim(&bed, &north, "t0", with(4)).await.granted);
    assert!(!claim(&bed, &south, "t0", with(5)).await.granted);
    assert!(!claim(&bed, &south, "t1", with(6)).await.granted);
    // Whatever it uploads of the new log is later than all of the one before.
    file(
        &bed,
        &mut north,
        json!({ "ticket_id": "t2", "at": NOW.plus(5) }),
    )
    .await;
    assert!(claim(&bed, &south, "t1", with(7)).await.granted);
}

pub async fn of_many_claims_at_once_exactly_one_is_granted(stores: &dyn Stores) {
    let bed = Arc::new(Bed::on(stores.make().await).await);
    bed.put_many_tickets(8).await;
    let mut tasks = Vec::new();
    for seed in 1..=32 {
        let device = bed.device(seed).await;
        let bed = bed.clone();
        tasks.push(tokio::spawn(async move {
            let mut granted = Vec::new();
            for n in 0..8_u8 {
                let id = json!({ "scan_id": RecordId::at(NOW, [0, 0, 0, 0, 0, 0, 0, 0, seed, n]) });
                granted.push(claim(&bed, &device, &format!("t{n}"), id).await.granted);
            }
            granted
        }));
    }
    let mut per_ticket = [0; 8];
    for task in tasks {
        for (count, granted) in per_ticket.iter_mut().zip(task.await.unwrap()) {
            *count += i32::from(granted);
        }
    }
    assert_eq!(per_ticket, [1; 8]);
}

pub async fn a_claim_is_answered_while_imports_are_written(stores: &dyn Stores) {
    let bed = Arc::new(Bed::on(stores.make().await).await);
    bed.put_many_tickets(1).await;
    let device = bed.device(1).await;
    let imports: Vec<_> = (0..4)
        .map(|_| {
            let bed = bed.clone();
            tokio::spawn(async move { bed.put_many_tickets(3_000).await })
        })
        .collect();
    assert!(is_granted(&bed, &device, "t0").await);
    for import in imports {
        import.await.unwrap();
    }
}

pub async fn a_refusal_frees_what_was_claimed(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(1).await;
    let (mut north, south) = (bed.device(1).await, bed.device(2).await);
    assert!(is_granted(&bed, &north, "t0").await);
    let refused = json!({ "ticket_id": "t0", "verdict": "refuse", "reason": "store_unavailable",
                          "persons": 0, "claim": "granted" });
    file(&bed, &mut north, refused).await;
    assert!(is_granted(&bed, &south, "t0").await);
}

pub async fn a_device_that_uploads_further_without_the_record_gives_its_claim_up(
    stores: &dyn Stores,
) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(3).await;
    let (mut north, south) = (bed.device(1).await, bed.device(2).await);
    assert!(is_granted(&bed, &north, "t0").await);
    let with = |n: u8| json!({ "scan_id": RecordId::at(NOW, [n; 10]) });
    // Another record took the place that the claim had foreseen; its own may still come.
    file(
        &bed,
        &mut north,
        json!({ "kind": "walk_in", "persons": 1, "category": "child",
                                   "id": RecordId::at(NOW, [7; 10]) }),
    )
    .await;
    assert!(!claim(&bed, &south, "t0", with(1)).await.granted);
    file(&bed, &mut north, json!({ "ticket_id": "t1" })).await;
    assert!(claim(&bed, &south, "t0", with(2)).await.granted);
}

pub async fn a_claim_without_a_record_is_over_after_ten_minutes(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(1).await;
    let (north, south) = (bed.device(1).await, bed.device(2).await);
    assert!(is_granted(&bed, &north, "t0").await);
    bed.clock.move_by(CLAIM_LIFE_MS - 1);
    assert!(!is_granted(&bed, &south, "t0").await);
    bed.clock.move_by(1);
    let again = json!({ "scan_id": RecordId::at(NOW, [1; 10]) });
    assert!(claim(&bed, &south, "t0", again).await.granted);
}

pub async fn a_party_claims_until_it_is_full_and_exits_make_room(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    let whole_day = json!({ "starts_at": "2026-10-01 09:00", "ends_at": "2026-10-01 18:00",
                            "reentry": "after_exit" });
    bed.put_session_with("out", whole_day).await;
    let mut party = ticket("p", "out");
    party.admits = 4;
    bed.put_tickets(vec![party]).await;
    let mut device = bed.device(1).await;
    file(
        &bed,
        &mut device,
        json!({ "ticket_id": "p", "session_id": "out", "persons": 2 }),
    )
    .await;
    let other = bed.device(2).await;
    let ask = |persons: u8, n: u8| {
        let id = RecordId::at(NOW, [n; 10]);
        json!({ "persons": persons, "scan_id": id, "sequence": n })
    };
    let first = claim(&bed, &other, "p", ask(1, 1)).await;
    assert_eq!((first.granted, first.remaining), (true, 1));
    let second = claim(&bed, &other, "p", ask(2, 2)).await;
    assert_eq!((second.granted, second.remaining), (false, 1));
    let left = json!({ "ticket_id": "p", "session_id": "out", "direction": "out", "persons": 2 });
    file(&bed, &mut device, left).await;
    assert!(claim(&bed, &other, "p", ask(3, 3)).await.granted);
}

pub async fn a_ticket_that_nobody_knows_is_granted_and_practice_holds_nothing(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(1).await;
    let (mut north, south) = (bed.device(1).await, bed.device(2).await);
    for device in [&north, &south] {
        assert!(is_granted(&bed, device, "nobody").await);
    }
    assert!(is_granted(&bed, &north, "t0").await);
    file(
        &bed,
        &mut north,
        json!({ "ticket_id": "t0", "flags": ["practice"] }),
    )
    .await;
    let fresh = json!({ "scan_id": RecordId::at(NOW, [1; 10]) });
    assert!(claim(&bed, &south, "t0", fresh).await.granted);
    let none = request(&bed, &south, "t0", json!({ "persons": 0 })).await;
    assert!(bed.server.claim(&south.device, none).await.is_err());
}

pub async fn a_scan_that_was_uploaded_first_is_granted_what_it_has(stores: &dyn Stores) {
    let bed = Bed::on(stores.make().await).await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let asked = request(&bed, &device, "t0", json!({})).await;
    let record = device.record(json!({ "ticket_id": "t0" })).to_string();
    let answer = bed.file(&device, &[record]).await;
    assert_eq!(answer.results[0].standing, Some(RecordStanding::Winner));
    assert!(
        bed.server
            .claim(&device.device, asked)
            .await
            .unwrap()
            .granted
    );
}
