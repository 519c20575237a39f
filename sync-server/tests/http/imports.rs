//! Ticket files over HTTP. What their lines mean is tested with the import itself; here it is
//! that they arrive, whatever the network does.

use std::convert::Infallible;
use std::io::Write;
use std::time::Duration;

use futures_util::stream;
use reqwest::{Body, StatusCode};
use serde_json::{Value, json};
use stile_sync_server::config::Limits;
use tokio::sync::mpsc;

use crate::site::{Site, csv, read, refusal};
use crate::workbook::workbook;

fn ids(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|n| format!("T{n}"))
}

/// Waits for something that an upload in the background does.
async fn until_there(site: &Site, id: &str) {
    while !has_ticket(site, id).await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn has_ticket(site: &Site, id: &str) -> bool {
    let response = site
        .admin("GET", &format!("/v1/tickets/{id}"))
        .send()
        .await
        .unwrap();
    response.status() == StatusCode::OK
}

#[tokio::test]
async fn a_csv_file_goes_in_and_its_bad_lines_are_named() {
    let site = Site::start().await;
    site.furnish().await;
    let file = "ticket_id,order_number,session_id,holder_name,phone,admits\n\
                T1,O1,now,张三,13812345678,1\n\
                T2,O1,now,欧阳娜娜,13900001111,2\n\
                T 3,O1,now,,,1\n\
                T4,O2,no-such-session,,,1\n";
    let report: Value = read(site.import("text/csv", file).send().await.unwrap()).await;
    assert_eq!(report["accepted"], 2, "{report}");
    assert_eq!(report["refused_count"], 2, "{report}");
    let lines: Vec<_> = report["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["line"])
        .collect();
    assert_eq!(lines, [&json!(4), &json!(5)]);
    let ticket: Value = site.done("GET", "/v1/tickets/T2", Value::Null).await;
    assert_eq!(ticket["holder_mask"], "***娜");
    assert_eq!(ticket["last_four"], "1111");
    assert_eq!(ticket["admits"], 2);
    assert_eq!(ticket["status"], "valid");
}

#[tokio::test]
async fn lines_of_json_go_in_too() {
    let site = Site::start().await;
    site.furnish().await;
    let file = "{\"ticket_id\":\"T1\",\"order_number\":\"O1\",\"session_id\":\"now\"}\n\
                {\"ticket_id\":7,\"order_number\":\"O1\",\"session_id\":\"now\"}\n{broken\n";
    for media_type in [
        "application/x-ndjson",
        "application/x-ndjson; charset=utf-8",
    ] {
        let report: Value = read(site.import(media_type, file).send().await.unwrap()).await;
        assert_eq!(
            (&report["accepted"], &report["refused_count"]),
            (&json!(2), &json!(1))
        );
    }
    assert!(has_ticket(&site, "7").await);
}

#[tokio::test]
async fn a_file_sent_again_changes_nothing() {
    let site = Site::start().await;
    site.furnish().await;
    site.put_tickets(ids(2500)).await;
    let device = site.enrol(1).await;
    let lists = || async {
        let request = site
            .request("GET", "/v1/gate/lists")
            .bearer_auth(device.bearer());
        read::<Value>(request.send().await.unwrap()).await
    };
    let before = lists().await;
    site.put_tickets(ids(2500)).await;
    assert_eq!(
        lists().await["manifests"],
        before["manifests"],
        "gates have nothing to fetch"
    );
}

#[tokio::test]
async fn a_file_of_another_kind_is_refused_whole() {
    let site = Site::start().await;
    for (media_type, status, code) in [
        (
            "text/csv; charset=klingon",
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
        ),
        (
            "application/json",
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
        ),
        (
            "multipart/form-data; boundary=x",
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
        ),
    ] {
        let response = site.import(media_type, csv(ids(1))).send().await.unwrap();
        let refused = refusal(response).await;
        assert_eq!((refused.0, &*refused.1), (status, code), "{media_type}");
    }
    for file in [
        &b""[..],
        b"\n\n",
        b"name,colour\na,b\n",
        b"PK\x03\x04",
        b"ticket_id\xff\n",
    ] {
        let response = site.import("text/csv", file.to_vec()).send().await.unwrap();
        let (status, code, problem) = refusal(response).await;
        assert_eq!(
            (status, &*code),
            (StatusCode::BAD_REQUEST, "invalid_file"),
            "{file:?}"
        );
        assert_eq!(problem["accepted"], 0);
    }
}

#[tokio::test]
async fn a_fault_late_in_a_long_file_says_how_much_had_gone_in() {
    let site = Site::start().await;
    site.furnish().await;
    let mut file = csv(ids(2500)).into_bytes();
    file.extend_from_slice(b"T\xff,O,now\n");
    let (status, code, problem) =
        refusal(site.import("text/csv", file).send().await.unwrap()).await;
    assert_eq!((status, &*code), (StatusCode::BAD_REQUEST, "invalid_file"));
    assert_eq!(problem["accepted"], 2000);
    assert!(
        problem["detail"].as_str().unwrap().contains("line 2502"),
        "{problem}"
    );
    assert!(has_ticket(&site, "T1999").await);
    assert!(!has_ticket(&site, "T2400").await);
}

#[tokio::test]
async fn an_upload_cut_off_leaves_what_went_in_and_is_simply_sent_again() {
    let site = Site::start().await;
    site.furnish().await;
    let file = csv(ids(40_000));
    let (head, _) = file.split_at(file.len() * 7 / 10);
    let parts = stream::iter([
        Ok(head.to_owned().into_bytes()),
        Err(std::io::Error::other("the cable was pulled")),
    ]);
    let cut = site
        .import("text/csv", Body::wrap_stream(parts))
        .send()
        .await;
    assert!(cut.is_err() || !cut.unwrap().status().is_success());
    until_there(&site, "T9999").await;
    assert!(!has_ticket(&site, "T30000").await);
    site.put_tickets(ids(40_000)).await;
    for id in ["T0", "T9999", "T30000", "T39999"] {
        assert!(has_ticket(&site, id).await, "{id}");
    }
}

#[tokio::test]
async fn tickets_go_in_while_their_file_is_still_being_sent() {
    let site = Site::start().await;
    site.furnish().await;
    let (send, received) = mpsc::channel::<Result<String, Infallible>>(1);
    let parts = stream::unfold(received, |mut received| async {
        received.recv().await.map(|part| (part, received))
    });
    let import = site.import("text/csv", Body::wrap_stream(parts)).send();
    let import = tokio::spawn(import);
    // Enough that what is buffered on the way is pushed through.
    send.send(Ok(csv(ids(20_000)))).await.unwrap();
    until_there(&site, "T999").await;
    send.send(Ok("last,O,now\n".to_owned())).await.unwrap();
    drop(send);
    let report: Value = read(import.await.unwrap().unwrap()).await;
    assert_eq!(report["accepted"], 20_001);
}

#[tokio::test]
async fn a_file_may_come_compressed_within_bounds() {
    let limits = Limits {
        compressed_import_bytes: 2_000_000,
        ..Limits::default()
    };
    let site = Site::start_with(limits).await;
    site.furnish().await;
    let compressed = |file: &[u8]| {
        let level = flate2::Compression::default();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
        encoder.write_all(file).unwrap();
        encoder.finish().unwrap()
    };
    let send = |encoding: &'static str, body: Vec<u8>| {
        site.import("text/csv", body)
            .header("content-encoding", encoding)
            .send()
    };
    let file = csv(ids(3000)).into_bytes();
    for (encoding, body) in [
        ("gzip", compressed(&file)),
        ("zstd", zstd::encode_all(&file[..], 3).unwrap()),
    ] {
        let report: Value = read(send(encoding, body).await.unwrap()).await;
        assert_eq!(report["accepted"], 3000, "{encoding}");
    }

    let bomb = vec![b'\n'; 10_000_000];
    let bombs = [
        ("gzip", compressed(&bomb)),
        ("zstd", zstd::encode_all(&bomb[..], 3).unwrap()),
    ];
    for (encoding, body) in bombs {
        let (status, code, problem) = refusal(send(encoding, body).await.unwrap()).await;
        assert_eq!(
            (status, &*code),
            (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            "{encoding}"
        );
        assert_eq!(problem["accepted"], 0);
    }
    let cut = compressed(&file)[..2000].to_vec();
    let (status, code, _) = refusal(send("gzip", cut).await.unwrap()).await;
    assert_eq!((status, &*code), (StatusCode::BAD_REQUEST, "invalid_file"));
    // The same number of bytes as such is no bomb.
    let plain = csv(ids(1)) + &"\n".repeat(2_000_000);
    let report: Value = read(site.import("text/csv", plain).send().await.unwrap()).await;
    assert_eq!(report["accepted"], 1);
}

#[tokio::test]
async fn more_files_at_a_time_than_there_are_turns_are_put_off() {
    let site = Site::start_with(Limits {
        imports: 1,
        ..Limits::default()
    })
    .await;
    site.furnish().await;
    let (send, received) = mpsc::channel::<Result<String, Infallible>>(1);
    let parts = stream::unfold(received, |mut received| async {
        received.recv().await.map(|part| (part, received))
    });
    let first = tokio::spawn(site.import("text/csv", Body::wrap_stream(parts)).send());
    send.send(Ok(csv(ids(20_000)))).await.unwrap();
    until_there(&site, "T0").await;
    let response = site.import("text/csv", csv(ids(1))).send().await.unwrap();
    assert!(response.headers().contains_key("retry-after"));
    let (status, code, _) = refusal(response).await;
    assert_eq!(
        (status, &*code),
        (StatusCode::TOO_MANY_REQUESTS, "too_many_requests")
    );
    drop(send);
    let _: Value = read(first.await.unwrap().unwrap()).await;
    site.put_tickets(ids(1)).await;
}

#[tokio::test]
async fn a_workbook_and_a_file_in_another_charset_and_under_other_names_go_in() {
    let site = Site::start().await;
    site.furnish().await;
    let book = workbook(&[
        &["票号", "订单号", "场次", "手机号"],
        &["#1001", "O1", "now", "#13812345678"],
    ]);
    let media_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    let report: Value = read(site.import(media_type, book).send().await.unwrap()).await;
    assert_eq!(report["accepted"], 1, "{report}");
    let ticket: Value = site.done("GET", "/v1/tickets/1001", Value::Null).await;
    assert_eq!(ticket["last_four"], "5678");

    let file = "编号,订单,场次\nT2,O1,now\n";
    let file = encoding_rs::GB18030.encode(file).0.into_owned();
    let path = "/v1/tickets?map=ticket_id:%E7%BC%96%E5%8F%B7,order_number:%E8%AE%A2%E5%8D%95";
    let request = site
        .admin("POST", path)
        .header("content-type", "text/csv; charset=gb18030")
        .body(file);
    let report: Value = read(request.send().await.unwrap()).await;
    assert_eq!(report["accepted"], 1, "{report}");
    assert!(has_ticket(&site, "T2").await);
}

#[tokio::test]
async fn a_workbook_that_is_too_large_or_a_mapping_that_means_nothing_is_refused() {
    let site = Site::start().await;
    let media_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    let mut large = workbook(&[&["票号"]]);
    large.resize(17 * 1024 * 1024, 0);
    let answer = site.import(media_type, large).send().await.unwrap();
    let (status, code, problem) = refusal(answer).await;
    assert_eq!(
        (status, &*code),
        (StatusCode::PAYLOAD_TOO_LARGE, "too_large")
    );
    assert!(problem["detail"].as_str().unwrap().contains("as CSV"));
    for map in ["ticket_id", "colour:x", "phone:a,phone:b"] {
        let request = site
            .admin("POST", &format!("/v1/tickets?map={map}"))
            .header("content-type", "text/csv")
            .body(csv(ids(1)));
        let (status, code, problem) = refusal(request.send().await.unwrap()).await;
        assert_eq!(
            (status, &*code),
            (StatusCode::BAD_REQUEST, "invalid_parameter")
        );
        assert!(problem["detail"].as_str().unwrap().starts_with("map: "));
    }
}
