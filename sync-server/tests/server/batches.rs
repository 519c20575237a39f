//! Batches that cannot be filed whole are not filed at all, and say what is in the way.

use data_encoding::BASE64;
use serde_json::json;
use stile_core::ids::Kid;
use stile_core::keys::SigningKey;
use stile_core::protocol::{Code, MAX_RECORD_BYTES, SignedBatch};
use stile_core::signed::{Domain, Signed};
use stile_sync_server::ServerError;
use stile_sync_server::store::{ConflictState, LogStream};

use super::bed::{Bed, TestDevice};

async fn bed() -> (Bed, TestDevice, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let bed = Bed::in_folder(folder.path()).await;
    bed.put_many_tickets(3).await;
    let device = bed.device(1).await;
    (bed, device, folder)
}

async fn refused(bed: &Bed, device: &TestDevice, batch: SignedBatch) -> ServerError {
    let error = bed
        .server
        .file_records(&device.device, batch)
        .await
        .unwrap_err();
    assert_eq!(
        bed.pull_all(LogStream::Records, 100).await.len(),
        0,
        "nothing was filed"
    );
    error
}

fn signed(device: &TestDevice, payload: &[u8]) -> SignedBatch {
    SignedBatch(Signed::sign(&Domain::RECORDS, payload, Kid(0), &device.key).unwrap())
}

#[tokio::test]
async fn a_batch_that_its_device_did_not_sign_is_forbidden() {
    let (bed, mut device, _folder) = bed().await;
    let record = device.check_in("t0");
    let stranger = TestDevice {
        key: SigningKey::from_seed(&[77; 32]),
        ..device.clone()
    };
    let by_stranger = stranger.batch(std::slice::from_ref(&record));
    let error = refused(&bed, &device, by_stranger).await;
    assert_eq!(error.code(), Code::Forbidden);
    let mut altered = device.batch(std::slice::from_ref(&record));
    let payload = BASE64.decode(altered.0.payload.as_bytes()).unwrap();
    let payload = String::from_utf8(payload)
        .unwrap()
        .replace("north", "south");
    altered.0.payload = BASE64.encode(payload.as_bytes());
    assert_eq!(
        refused(&bed, &device, altered).await.code(),
        Code::Forbidden
    );
    // Another device's batch, although well signed by that one.
    let other = bed.device(2).await;
    let error = refused(&bed, &device, other.batch(&[record])).await;
    assert_eq!(error.code(), Code::Forbidden);
}

#[tokio::test]
async fn a_payload_that_is_no_batch_is_an_invalid_body() {
    let (bed, device, _folder) = bed().await;
    let deep = "[".repeat(100_000);
    let payloads: [&[u8]; 7] = [
        b"",
        b"{}",
        b"[]",
        b"{\"device_id\":\"d\",\"records\":[{}",
        b"{\"device_id\":\"d\",\"records\":{}}",
        b"\xff\xfe{\0}\0",
        deep.as_bytes(),
    ];
    for payload in payloads {
        let error = refused(&bed, &device, signed(&device, payload)).await;
        assert_eq!(error.code(), Code::InvalidBody, "{error}");
    }
    let mut spelled = device.batch(&[]);
    spelled.0.payload = "not base64!".into();
    assert_eq!(
        refused(&bed, &device, spelled).await.code(),
        Code::InvalidBody
    );
    let mut large = device.batch(&[]);
    large.0.payload = "A".repeat(8 * 1024 * 1024);
    assert_eq!(refused(&bed, &device, large).await.code(), Code::TooLarge);
}

#[tokio::test]
async fn the_record_that_is_in_the_way_is_named() {
    let (bed, mut device, _folder) = bed().await;
    let good = device.check_in("t0");
    let long = device.record(json!({ "padding": "x".repeat(MAX_RECORD_BYTES) }));
    let mut nameless = device.record(json!({}));
    nameless.as_object_mut().unwrap().remove("id");
    let unplaced = device.record(json!({ "sequence": 0 }));
    let beyond = device.record(json!({ "sequence": u64::MAX }));
    let mistyped = device.record(json!({ "persons": "one" }));
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(1_500), "]".repeat(1_500));
    let records = [
        long,
        nameless,
        unplaced,
        beyond,
        mistyped,
        json!(7),
        json!(null),
    ];
    let texts = records.iter().map(ToString::to_string).chain([deep]);
    for record in texts {
        let batch = [good.clone(), record];
        let error = refused(&bed, &device, device.batch(&batch)).await;
        assert_eq!(error.code(), Code::Unprocessable, "{error}");
        assert!(error.to_string().starts_with("records[1]: "), "{error}");
    }
    let none = refused(&bed, &device, device.batch(&[])).await;
    assert_eq!(none.code(), Code::Unprocessable);
    let many: Vec<String> = (0..501).map(|_| good.clone()).collect();
    assert_eq!(
        refused(&bed, &device, device.batch(&many)).await.code(),
        Code::TooLarge
    );
    // Without it, the others go in.
    bed.file(&device, &[good]).await;
    assert_eq!(bed.pull_all(LogStream::Records, 100).await.len(), 1);
}

#[tokio::test]
async fn a_record_may_say_any_time_and_nest_as_deep_as_its_length_allows() {
    let (bed, mut device, _folder) = bed().await;
    let nested = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let nested: String = device
        .record(json!({ "ticket_id": "t0", "at": i64::MAX }))
        .to_string()
        .replacen('{', &format!(r#"{{"newer":{nested},"#), 1);
    let early = device
        .record(json!({ "ticket_id": "t0", "at": i64::MIN }))
        .to_string();
    bed.file(&device, &[nested.clone(), early.clone()]).await;
    let pulled = bed.pull_all(LogStream::Records, 100).await;
    let texts: Vec<&str> = pulled.iter().map(|record| record.record.get()).collect();
    assert_eq!(texts, [&nested, &early]);
    let conflicts = bed
        .server
        .conflicts(&bed.venue, ConflictState::Open)
        .await
        .unwrap()
        .conflicts;
    assert_eq!(conflicts[0].admissions[0].at.0, i64::MIN);
}
