//! What becomes of each record of a batch, however often and in whatever order it comes.

use serde_json::{Value, json};
use stile_core::ids::{TicketNumber, VenueNumber};
use stile_core::protocol::{Filed, QuarantineCause, RecordResult, RecordStanding, RecordsAnswer};
use stile_sync_server::store::{ConflictState, LogStream, QuarantineQuery, Store};

use super::Stores;
use super::bed::{Bed, ticket, uuid};

const VENUE: VenueNumber = VenueNumber(1);

fn became(answer: &RecordsAnswer) -> Vec<(Filed, Option<QuarantineCause>)> {
    answer
        .results
        .iter()
        .map(|result| (result.result, result.why))
        .collect()
}

fn texts(records: &[stile_core::protocol::PulledRecord]) -> Vec<&str> {
    records.iter().map(|pulled| pulled.record.get()).collect()
}

fn all_waiting() -> QuarantineQuery {
    QuarantineQuery::Waiting {
        device: None,
        limit: 100,
    }
}

async fn quarantined(store: &dyn Store) -> Vec<(QuarantineCause, String)> {
    let waiting = store.quarantine(VENUE, all_waiting()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    waiting
        .into_iter()
        .map(|record| (record.cause, text(record.bytes)))
        .collect()
}

pub async fn a_batch_repeated_in_any_order_changes_nothing(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(20).await;
    let mut device = bed.device(1).await;
    let mut records: Vec<String> = (0..20).map(|n| device.check_in(&format!("t{n}"))).collect();
    records.push(device.check_in("t3"));
    records.push(
        device
            .record(json!({ "kind": "walk_in", "persons": 2 }))
            .to_string(),
    );
    let first = bed.file(&device, &records).await;
    assert!(
        first
            .results
            .iter()
            .all(|result| result.result == Filed::Accepted)
    );
    let log = bed.pull_all(LogStream::Records, 7).await;
    assert_eq!(texts(&log), records);
    for turn in 1..records.len() {
        records.rotate_left(turn);
        if turn % 2 == 0 {
            records.reverse();
        }
        let part = &records[..=turn];
        let again = bed.file(&device, part).await;
        assert!(
            again
                .results
                .iter()
                .all(|result| result.result == Filed::Replayed)
        );
        assert_eq!(again.logs, first.logs);
        for result in &again.results {
            let before = first.results.iter().find(|before| before.id == result.id);
            assert_eq!(before.map(|before| before.standing), Some(result.standing));
        }
    }
    let twice_in_one_batch: Vec<String> = [records.clone(), records].concat();
    bed.file(&device, &twice_in_one_batch).await;
    let still = bed.pull_all(LogStream::Records, 1_000).await;
    assert_eq!(texts(&still), texts(&log));
    assert_eq!(
        bed.server
            .conflicts(&bed.venue, ConflictState::Open)
            .await
            .unwrap()
            .conflicts
            .len(),
        1
    );
    assert_eq!(quarantined(&*store).await, []);
}

pub async fn an_id_with_other_bytes_is_set_aside_and_both_are_kept(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let record = device.check_in("t0");
    // The same members in other bytes are other content.
    let other = record.replacen("\"persons\":1", "\"persons\": 1", 1);
    assert_ne!(record, other);
    bed.file(&device, std::slice::from_ref(&record)).await;
    for _ in 0..2 {
        let answer = bed.file(&device, std::slice::from_ref(&other)).await;
        let aside = (Filed::Quarantined, Some(QuarantineCause::IdTaken));
        assert_eq!(became(&answer), [aside]);
    }
    let again = bed.file(&device, std::slice::from_ref(&record)).await;
    assert_eq!(again.results[0].standing, Some(RecordStanding::Winner));
    assert_eq!(became(&again), [(Filed::Replayed, None)]);
    assert_eq!(
        quarantined(&*store).await,
        [(QuarantineCause::IdTaken, other)]
    );
    assert_eq!(
        texts(&bed.pull_all(LogStream::Records, 10).await),
        [&record]
    );
    let stored = store.record(VENUE, device.record_id(1)).await.unwrap();
    assert_eq!(stored, Some(record.into_bytes()));
}

pub async fn a_taken_place_in_the_log_is_set_aside(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(2).await;
    let mut device = bed.device(1).await;
    let (first, id) = (device.check_in("t0"), uuid(77));
    bed.file(&device, &[first]).await;
    device.sequence = 0;
    let usurper = device
        .record(json!({ "ticket_id": "t1", "id": id }))
        .to_string();
    for _ in 0..2 {
        let answer = bed.file(&device, std::slice::from_ref(&usurper)).await;
        let aside = (Filed::Quarantined, Some(QuarantineCause::SequenceTaken));
        assert_eq!(became(&answer), [aside]);
        assert_eq!(answer.logs[0].have_through, 1);
    }
    assert_eq!(
        quarantined(&*store).await,
        [(QuarantineCause::SequenceTaken, usurper)]
    );
    assert_eq!(bed.pull_all(LogStream::Records, 10).await.len(), 1);
    // Another device, and another log of the same one, have places of their own.
    let mut other_device = bed.device(2).await;
    let answer = bed
        .file(&other_device.clone(), &[other_device.check_in("t1")])
        .await;
    assert_eq!(became(&answer), [(Filed::Accepted, None)]);
    (device.log_id, device.sequence) = (uuid(5), 0);
    let refused = json!({ "verdict": "refuse", "reason": "bad_signature", "persons": 0 });
    let record = device.record(refused).to_string();
    assert_eq!(
        became(&bed.file(&device, &[record]).await),
        [(Filed::Accepted, None)]
    );
}

pub async fn an_unknown_ticket_waits_and_is_accepted_when_it_arrives(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let waiting = device.check_in("late");
    let twin = device.check_in("late");
    let other = device.check_in("never");
    let refused = device
        .record(json!({ "ticket_id": "ghost", "verdict": "refuse", "reason": "not_listed" }))
        .to_string();
    let batch = [
        waiting.clone(),
        twin.clone(),
        other.clone(),
        refused.clone(),
    ];
    let unknown = (Filed::Quarantined, Some(QuarantineCause::UnknownTicket));
    for refused_is in [Filed::Accepted, Filed::Replayed] {
        let answer = bed.file(&device, &batch).await;
        assert_eq!(
            became(&answer),
            [unknown, unknown, unknown, (refused_is, None)]
        );
        assert_eq!(answer.logs[0].have_through, 4, "what waits is here");
    }
    assert_eq!(
        texts(&bed.pull_all(LogStream::Records, 10).await),
        [&refused]
    );
    assert_eq!(bed.pull_all(LogStream::CheckIns, 10).await.len(), 0);
    let cursor = bed.pull(LogStream::Records, None, 10).await.cursor;

    bed.clock.move_by(60_000);
    bed.put_tickets(vec![ticket("late", "s1")]).await;
    let news = bed
        .pull(LogStream::Records, Some(cursor.as_str()), 10)
        .await;
    assert_eq!(
        texts(&news.records),
        [&waiting, &twin],
        "behind the cursor of before"
    );
    let received: Vec<i64> = news
        .records
        .iter()
        .map(|record| record.received_at.0)
        .collect();
    assert_eq!(
        received,
        [super::bed::NOW.0; 2],
        "as they came, not as they were accepted"
    );
    let standings: Vec<_> = news.records.iter().map(|record| record.standing).collect();
    assert_eq!(
        standings,
        [Some(RecordStanding::Winner), Some(RecordStanding::Loser)]
    );
    assert_eq!(
        quarantined(&*store).await,
        [(QuarantineCause::UnknownTicket, other)]
    );
    let again = bed.file(&device, &[waiting, twin]).await;
    assert_eq!(became(&again), [(Filed::Replayed, None); 2]);
    assert_eq!(again.results[1].standing, Some(RecordStanding::Loser));
}

pub async fn situation_29_a_foreign_venue_and_a_foreign_device_are_set_aside(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(3).await;
    let mut device = bed.device(1).await;
    let elsewhere = device
        .record(json!({ "ticket_id": "t0", "venue_id": "museum-02" }))
        .to_string();
    let somebody = device
        .record(json!({ "ticket_id": "t1", "device_id": "other" }))
        .to_string();
    let own = device.check_in("t2");
    let foreign = (Filed::Quarantined, Some(QuarantineCause::ForeignVenue));
    for own_is in [Filed::Accepted, Filed::Replayed] {
        let batch = [elsewhere.clone(), somebody.clone(), own.clone()];
        let answer = bed.file(&device, &batch).await;
        assert_eq!(became(&answer), [foreign, foreign, (own_is, None)]);
        assert_eq!(answer.logs[0].have_through, 3);
    }
    assert_eq!(quarantined(&*store).await.len(), 2);
    assert_eq!(texts(&bed.pull_all(LogStream::Records, 10).await), [&own]);
    // What another device claims of a record does not keep its own device from filing it.
    let mut robbed = bed.device(2).await;
    let record = robbed.check_in("t0");
    let theft = bed.file(&device, std::slice::from_ref(&record)).await;
    assert_eq!(became(&theft), [foreign]);
    let answer = bed.file(&robbed, &[record]).await;
    assert_eq!(became(&answer), [(Filed::Accepted, None)]);
}

pub async fn a_check_in_that_names_no_ticket_is_set_aside(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let mut device = bed.device(1).await;
    let nameless = device.record(json!({})).to_string();
    let answer = bed.file(&device, &[nameless]).await;
    let unknown = (Filed::Quarantined, Some(QuarantineCause::UnknownTicket));
    assert_eq!(became(&answer), [unknown]);
    // By number alone it is known: an unlisted G2 code has no more.
    bed.put_many_tickets(1).await;
    let id = "t0".parse().unwrap();
    let number = bed
        .server
        .ticket(&bed.venue, &id)
        .await
        .unwrap()
        .ticket_number;
    let by_number = json!({ "ticket_number": number, "service_day": null });
    let record = device.record(by_number).to_string();
    let answer = bed.file(&device, &[record]).await;
    let expected = RecordResult {
        id: device.record_id(2),
        result: Filed::Accepted,
        standing: Some(RecordStanding::Winner),
        why: None,
    };
    assert_eq!(answer.results, [expected]);
    // It counts to the ticket's day, as an admission that names the day does.
    let answer = bed.file(&device.clone(), &[device.check_in("t0")]).await;
    assert_eq!(answer.results[0].standing, Some(RecordStanding::Loser));
}

pub async fn gaps_in_a_log_are_known(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(10).await;
    let mut device = bed.device(1).await;
    let records: Vec<String> = (0..10).map(|n| device.check_in(&format!("t{n}"))).collect();
    let mut through = Vec::new();
    for part in [
        &records[4..6],
        &records[8..10],
        &records[..2],
        &records[3..4],
        &records[2..3],
    ] {
        through.push(bed.file(&device, part).await.logs[0].have_through);
    }
    assert_eq!(through, [0, 0, 2, 2, 6]);
    // A place within a range beyond the gap is taken as well.
    device.sequence = 8;
    let usurper = device
        .record(json!({ "ticket_id": "t0", "id": uuid(9) }))
        .to_string();
    let answer = bed
        .file(&device, &[usurper, records[6].clone(), records[7].clone()])
        .await;
    let taken = (Filed::Quarantined, Some(QuarantineCause::SequenceTaken));
    assert_eq!(
        became(&answer),
        [taken, (Filed::Accepted, None), (Filed::Accepted, None)]
    );
    assert_eq!(answer.logs[0].have_through, 10);
    // Two logs in one batch are answered apart, in the order in which they come.
    let highest = json!({ "sequence": i64::MAX, "log_id": uuid(3), "verdict": "refuse" });
    let far: Value = device.record(highest);
    let answer = bed
        .file(&device, &[far.to_string(), records[0].clone()])
        .await;
    let logs: Vec<_> = answer
        .logs
        .iter()
        .map(|log| (log.log_id.0, log.have_through))
        .collect();
    assert_eq!(logs, [(uuid(3), 0), (device.log_id, 10)]);
}

pub async fn kinds_and_members_of_newer_devices_are_kept_to_the_byte(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    bed.put_many_tickets(1).await;
    let mut device = bed.device(1).await;
    let newer = device.record(json!({ "kind": "telemetry", "what": { "deep": [1.50, null] } }));
    let reason = device.record(json!({ "verdict": "refuse", "reason": "moon_phase" }));
    let spaced = format!(
        "{{ \"unknown\" : \"\\u00e9 é\",\t{}",
        device.check_in("t0").trim_start_matches('{')
    );
    let records = [newer.to_string(), reason.to_string(), spaced];
    let answer = bed.file(&device, &records).await;
    assert_eq!(became(&answer), [(Filed::Accepted, None); 3]);
    assert_eq!(texts(&bed.pull_all(LogStream::Records, 10).await), records);
}

pub async fn an_exit_of_an_unknown_ticket_is_accepted(stores: &dyn Stores) {
    let store = stores.make().await;
    let bed = Bed::on(store.clone()).await;
    let mut device = bed.device(1).await;
    let exit = device
        .record(json!({ "direction": "out", "ticket_id": "ghost" }))
        .to_string();
    assert_eq!(
        became(&bed.file(&device, &[exit]).await),
        [(Filed::Accepted, None)]
    );
    let number = TicketNumber::new(5).unwrap();
    let entry = device
        .record(json!({ "ticket_number": number, "service_day": null }))
        .to_string();
    let unknown = (Filed::Quarantined, Some(QuarantineCause::UnknownTicket));
    assert_eq!(became(&bed.file(&device, &[entry]).await), [unknown]);
}
