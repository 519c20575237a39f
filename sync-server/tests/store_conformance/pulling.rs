//! The log as back ends pull it: everything once, whoever writes meanwhile.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use stile_core::ids::{RecordId, VenueId};
use stile_core::policy::Policy;
use stile_core::protocol::{PulledRecord, RecordHead};
use stile_sync_server::store::{ConflictState, LogStream};

use super::Stores;
use super::bed::{Bed, pull_request, ticket};

fn id(pulled: &PulledRecord) -> RecordId {
    serde_json::from_str::<RecordHead>(pulled.record.get())
        .unwrap()
        .id
}

pub async fn every_record_comes_once_while_many_write(stores: &dyn Stores) {
    const DEVICES: u8 = 8;
    const BATCHES: usize = 12;
    const BATCH: usize = 20;
    let store = stores.make().await;
    let bed = Arc::new(Bed::on(store.clone()).await);
    bed.put_many_tickets(200).await;
    let mut writers = Vec::new();
    for seed in 1..=DEVICES {
        let (bed, mut device) = (bed.clone(), bed.device(seed).await);
        writers.push(tokio::spawn(async move {
            for batch in 0..BATCHES {
                let records: Vec<String> = (0..BATCH)
                    .map(|n| device.check_in(&format!("t{}", (batch * BATCH + n) % 200)))
                    .collect();
                bed.file(&device, &records).await;
                // Somebody else's writes lie between, and waiting records are let in.
                let late = format!("late-{seed}-{batch}");
                let waiting = device.check_in(&late);
                bed.file(&device, &[waiting]).await;
                bed.put_tickets(vec![ticket(&late, "s2")]).await;
            }
        }));
    }
    let done = Arc::new(AtomicBool::new(false));
    let mut readers = Vec::new();
    for stream in [LogStream::Records, LogStream::CheckIns] {
        for limit in [1, 7, 1_000] {
            let (bed, done) = (bed.clone(), done.clone());
            readers.push(tokio::spawn(async move {
                let (mut seen, mut cursor) = (Vec::new(), None);
                loop {
                    // Read before the look, so that the last look comes after the last write.
                    let is_last = done.load(Ordering::SeqCst);
                    let pulled = bed.pull(stream, cursor.as_deref(), limit).await;
                    assert!(pulled.records.len() <= limit as usize);
                    seen.extend(pulled.records.iter().map(id));
                    cursor = Some(pulled.cursor);
                    if is_last && !pulled.more {
                        return seen;
                    }
                }
            }));
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    done.store(true, Ordering::SeqCst);
    let expected = usize::from(DEVICES) * BATCHES * (BATCH + 1);
    let mut orders = HashSet::new();
    for reader in readers {
        let seen = reader.await.unwrap();
        let once: HashSet<RecordId> = seen.iter().copied().collect();
        assert_eq!((seen.len(), once.len()), (expected, expected));
        orders.insert(seen);
    }
    assert_eq!(orders.len(), 1, "all saw the same order");
}

pub async fn check_ins_are_the_admissions_at_in_gates(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(3).await;
    let mut device = bed.device(1).await;
    let records = [
        device.check_in("t0"),
        device
            .record(json!({ "ticket_id": "t1", "verdict": "refuse" }))
            .to_string(),
        device
            .record(json!({ "ticket_id": "t0", "direction": "out" }))
            .to_string(),
        device.record(json!({ "kind": "walk_in" })).to_string(),
        device.check_in("t2"),
    ];
    bed.file(&device, &records).await;
    let check_ins = bed.pull_all(LogStream::CheckIns, 1).await;
    let ids: Vec<RecordId> = check_ins.iter().map(id).collect();
    assert_eq!(ids, [device.record_id(1), device.record_id(5)]);
    assert_eq!(bed.pull_all(LogStream::Records, 2).await.len(), 5);
    // At the end the cursor stays where it is, and later records lie behind it.
    let end = bed.pull(LogStream::CheckIns, None, 10).await;
    assert!(!end.more);
    let after = Some(end.cursor.as_str());
    let empty = bed.pull(LogStream::CheckIns, after, 10).await;
    assert!(empty.records.is_empty() && empty.cursor == end.cursor);
    bed.file(&device.clone(), &[device.check_in("t1")]).await;
    let news = bed.pull(LogStream::CheckIns, after, 10).await;
    assert_eq!(
        news.records.iter().map(id).collect::<Vec<_>>(),
        [device.record_id(6)]
    );
}

pub async fn a_venue_never_sees_anothers_records(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let other = VenueId::new("museum-02").unwrap();
    bed.server
        .create_venue(other.clone(), "二馆", "Asia/Shanghai", Policy::default())
        .await
        .unwrap();
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    bed.file(&device.clone(), &[device.check_in("t0")]).await;
    let pulled = bed
        .server
        .pull(&other, &pull_request(LogStream::Records, None, 10))
        .await
        .unwrap();
    assert!(pulled.records.is_empty());
    assert_eq!(
        bed.server
            .conflicts(&other, ConflictState::Open)
            .await
            .unwrap()
            .conflicts,
        []
    );
    assert!(
        bed.server
            .ticket(&other, &"t0".parse().unwrap())
            .await
            .is_err()
    );
    assert_eq!(bed.server.sessions(&other, None).await.unwrap(), []);
    let own = bed.pull(LogStream::Records, None, 10).await;
    let strange = bed
        .server
        .pull(
            &other,
            &pull_request(LogStream::Records, Some(own.cursor.as_str()), 10),
        )
        .await;
    assert!(strange.is_err(), "a cursor is its venue's");
}
