//! Records on their way up: signed batches and what their answers change.

use std::fs;

use stile_core::device::Uploaded;
use stile_core::ids::Kid;
use stile_core::journal::SyncStatus;
use stile_core::keys::DeviceVerifyingKey;
use stile_core::outbox::HttpAnswer;
use stile_core::protocol::{
    Batch, Code, Filed, LogState, Problem, RecordHead, RecordsAnswer, SequenceRange, SignedBatch,
};
use stile_core::signed::Domain;

use crate::bed::{at_gate, exported, ok, result};

#[test]
fn a_batch_is_signed_by_the_device_over_the_bytes_of_its_journal() {
    let gate = at_gate();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    let upload = device.next_upload().unwrap().unwrap();
    let SignedBatch(signed) = serde_json::from_slice(&upload.body).unwrap();
    let request = {
        // The identity's public key is what the certificate names.
        let text = fs::read_to_string(gate.folder.path().join("identity.json")).unwrap();
        let identity: serde_json::Value = serde_json::from_str(&text).unwrap();
        let seed = data_encoding::BASE64.decode(identity["seed"].as_str().unwrap().as_bytes());
        stile_core::keys::DeviceSigningKey::from_seed(&seed.unwrap().try_into().unwrap())
    };
    assert_eq!(signed.kid, Kid(0));
    let key = DeviceVerifyingKey::from_bytes(request.verifying_key().as_bytes()).unwrap();
    let payload = signed.verify(&Domain::RECORDS, &key).unwrap();
    let batch: Batch<'_> = serde_json::from_slice(&payload).unwrap();
    let mut in_journal = String::new();
    device
        .export(|text| {
            in_journal = text.to_owned();
            Ok::<_, stile_core::journal::JournalError>(())
        })
        .unwrap();
    assert_eq!(batch.records[0].get(), in_journal);
}

#[test]
fn only_records_that_a_well_formed_answer_names_leave_the_outbox() {
    let gate = at_gate();
    let device = gate.ready();
    for ticket in 0..3 {
        device.scan(&gate.g2(ticket));
    }
    let records = exported(&device);
    let upload = device.next_upload().unwrap().unwrap();
    let page = HttpAnswer {
        status: 200,
        body: b"<html>log in</html>".to_vec(),
        ..ok(vec![])
    };
    assert!(matches!(
        device.upload_answered(&upload, Some(&page)).unwrap(),
        Uploaded::Failed(_)
    ));
    assert!(matches!(
        device.upload_answered(&upload, None).unwrap(),
        Uploaded::Failed(_)
    ));
    assert_eq!(exported(&device).len(), 3);
    let answer = ok(vec![
        result(&records[0], Filed::Accepted),
        result(&records[2], Filed::Quarantined),
    ]);
    assert_eq!(
        device.upload_answered(&upload, Some(&answer)).unwrap(),
        Uploaded::Delivered {
            records: 2,
            again: 0
        }
    );
    assert_eq!(exported(&device).len(), 1);
    let status = device.status().unwrap();
    assert_eq!(
        (status.unsent, status.quarantined, status.records),
        (1, 1, 3)
    );
    let again = device.next_upload().unwrap().unwrap();
    let answer = ok(vec![result(&records[1], Filed::Replayed)]);
    device.upload_answered(&again, Some(&answer)).unwrap();
    assert!(device.next_upload().unwrap().is_none());
}

#[test]
fn one_poison_record_is_set_aside_as_stuck_and_the_others_go_up() {
    let gate = at_gate();
    let device = gate.ready();
    for ticket in 0..5 {
        device.scan(&gate.g2(ticket));
    }
    let records = exported(&device);
    let poison = records[2].id;
    let problem = Problem::new(Code::Unprocessable, "record 0");
    let body = serde_json::to_vec(&problem).unwrap();
    let refuse = HttpAnswer {
        status: 422,
        retry_after_s: None,
        body,
    };
    let mut rounds = 0;
    while let Some(upload) = device.next_upload().unwrap() {
        rounds += 1;
        assert!(rounds < 50, "the poison record blocks the outbox");
        let SignedBatch(signed) = serde_json::from_slice(&upload.body).unwrap();
        let payload = data_encoding::BASE64
            .decode(signed.payload.as_bytes())
            .unwrap();
        let batch: Batch<'_> = serde_json::from_slice(&payload).unwrap();
        let heads: Vec<RecordHead> = batch
            .records
            .iter()
            .map(|one| serde_json::from_str(one.get()).unwrap())
            .collect();
        if heads.iter().any(|head| head.id == poison) {
            device.upload_answered(&upload, Some(&refuse)).unwrap();
        } else {
            let results = heads
                .iter()
                .map(|head| result(head, Filed::Accepted))
                .collect();
            device.upload_answered(&upload, Some(&ok(results))).unwrap();
        }
    }
    let status = device.status().unwrap();
    assert_eq!((status.unsent, status.stuck, status.synced), (0, 1, 4));
    assert_eq!(exported(&device)[0].id, poison, "it is kept and exportable");
    let aside = device.set_aside(10).unwrap();
    assert_eq!(
        (aside[0].status, aside[0].record_id, aside.len()),
        (SyncStatus::Stuck, poison, 1)
    );
    gate.platform.pass_ms(3_600_000);
    let retry = device.next_upload().unwrap().unwrap();
    assert_eq!(retry.records(), 1, "it is tried again after an hour");
}

/// The answer of a server that takes the records, and misses others of their log.
fn missing(records: &[RecordHead], missing: &[(u64, u64)]) -> HttpAnswer {
    let range = |(first, last): &(u64, u64)| SequenceRange {
        first: *first,
        last: *last,
    };
    let state = LogState {
        log_id: records[0].log_id,
        have_through: missing.first().map_or(0, |(first, _)| first - 1),
        missing: missing.iter().map(range).collect(),
    };
    let results = records.iter().map(|one| result(one, Filed::Accepted));
    let answer = RecordsAnswer {
        results: results.collect(),
        logs: vec![state],
    };
    HttpAnswer {
        status: 200,
        retry_after_s: None,
        body: serde_json::to_vec(&answer).unwrap(),
    }
}

#[test]
fn situation_28_what_a_server_lacks_of_what_it_had_confirmed_goes_up_again() {
    let gate = at_gate();
    let device = gate.ready();
    for ticket in 0..4 {
        device.scan(&gate.g2(ticket));
    }
    let records = exported(&device);
    let upload = device.next_upload().unwrap().unwrap();
    let all = records.iter().map(|one| result(one, Filed::Accepted));
    device
        .upload_answered(&upload, Some(&ok(all.collect())))
        .unwrap();
    assert_eq!(exported(&device).len(), 0);

    device.scan(&gate.g2(4));
    let newest = exported(&device);
    let upload = device.next_upload().unwrap().unwrap();
    // The newest one is there; 2 and 3 are not, nor are any that this device never made.
    let answer = missing(&newest, &[(2, 3), (6, 900)]);
    assert_eq!(
        device.upload_answered(&upload, Some(&answer)).unwrap(),
        Uploaded::Delivered {
            records: 1,
            again: 2
        }
    );
    let again: Vec<_> = exported(&device).iter().map(|one| one.id).collect();
    assert_eq!(again, [records[1].id, records[2].id], "the bytes they were");
    assert_eq!(device.next_upload().unwrap().unwrap().records(), 2);
    drop(device);
    assert_eq!(
        gate.open().next_upload().unwrap().unwrap().records(),
        2,
        "also after a restart"
    );
}

#[test]
fn of_another_devices_log_nothing_goes_up_again() {
    let gate = at_gate();
    let device = gate.ready();
    device.scan(&gate.g2(0));
    let mut records = exported(&device);
    let upload = device.next_upload().unwrap().unwrap();
    records[0].log_id = stile_core::ids::LogId(uuid::Uuid::from_u128(1));
    let answer = missing(&records, &[(1, 900)]);
    device.upload_answered(&upload, Some(&answer)).unwrap();
    assert!(device.next_upload().unwrap().is_none());
}

#[test]
fn a_device_says_up_to_when_all_its_records_are_delivered() {
    let gate = at_gate();
    let device = gate.ready();
    let report = || device.outbox_report().unwrap();
    let nothing = report();
    assert_eq!((nothing.outstanding, nothing.generation), (0, 0));
    assert!(nothing.delivered_through < device.time().at);

    device.scan(&gate.g2(0));
    gate.platform.pass_ms(60_000);
    device.scan(&gate.g2(1));
    gate.platform.pass_ms(60_000);
    let records = exported(&device);
    assert_eq!(report().outstanding, 2);
    assert_eq!(report().delivered_through, records[0].at);

    let upload = device.next_upload().unwrap().unwrap();
    let first = ok(vec![result(&records[0], Filed::Accepted)]);
    device.upload_answered(&upload, Some(&first)).unwrap();
    assert_eq!(report().outstanding, 1);
    assert_eq!(report().delivered_through, records[1].at);

    // A record that the server refuses alone is with nobody but the device.
    let upload = device.next_upload().unwrap().unwrap();
    let problem = serde_json::to_vec(&Problem::new(Code::Unprocessable, "no")).unwrap();
    let refused = HttpAnswer {
        status: 422,
        body: problem,
        ..HttpAnswer::default()
    };
    device.upload_answered(&upload, Some(&refused)).unwrap();
    gate.platform.pass_ms(60_000);
    assert_eq!(report().outstanding, 1);
    assert_eq!(report().delivered_through, records[1].at);

    gate.platform.pass_ms(3_600_000);
    let upload = device.next_upload().unwrap().unwrap();
    let taken = ok(vec![result(&records[1], Filed::Quarantined)]);
    device.upload_answered(&upload, Some(&taken)).unwrap();
    assert_eq!(report().outstanding, 0);
    assert!(report().delivered_through > records[1].at);
}
