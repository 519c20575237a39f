//! Bodies that are broken, too large, or not what they say they are.

use std::io::Write;

use reqwest::{Body, Response, StatusCode};
use serde_json::{Value, json};
use stile_sync_server::config::Limits;

use crate::site::{Site, refusal};

const MIB: usize = 1024 * 1024;

async fn put_gate(site: &Site, media_type: &str, body: impl Into<Body>) -> Response {
    let request = site.admin("PUT", "/v1/gates/north");
    request
        .header("content-type", media_type)
        .body(body)
        .send()
        .await
        .unwrap()
}

/// No gate came of it.
async fn nothing_was_put(site: &Site) {
    let gates: Value = site.done("GET", "/v1/gates", Value::Null).await;
    assert_eq!(gates, json!({"gates": []}));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// So many zero bytes.
fn gzip_bomb(mib: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..mib {
        encoder.write_all(&[0; MIB]).unwrap();
    }
    encoder.finish().unwrap()
}

fn zstd_bomb(mib: usize) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 9).unwrap();
    for _ in 0..mib {
        encoder.write_all(&[0; MIB]).unwrap();
    }
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_body_that_is_no_json_of_the_right_type_is_told_where_it_is_wrong() {
    let site = Site::start().await;
    let nested = "[".repeat(100_000);
    let nested_members = r#"{"zones":"#.repeat(100_000);
    for (body, said) in [
        ("", "the text ends too early"),
        ("{", "line 1 column 1"),
        ("{\"name\": \"Nor", "the text ends too early"),
        ("{\"name\": \"North\"", "the text ends too early"),
        ("{\"name\": \"North\"} {}", "more text after its end"),
        ("null", "expected an object"),
        ("[]", "expected an object"),
        (r#"["North", "in"]"#, "expected an object"),
        ("13800005678", "expected an object"),
        ("\"{}\"", "expected an object"),
        ("{\"zones\": \"13800005678\"}", "zones: expected a sequence"),
        (
            "{\"zones\": [\"hall 13800005678\"]}",
            "zones[0]: zone must be",
        ),
        (
            "{\"unattended\": 13800005678}",
            "unattended: expected a boolean",
        ),
        ("{\"direction\": \"13800005678\"}", "direction: expected"),
        ("{\"name\": 1, \"name\": 2}", "name: expected a string"),
        (
            "{\"name\": \"a\", \"name\": \"b\"}",
            "duplicate field `name`",
        ),
        ("\u{feff}{}", "expected an object"),
        (&nested, "JSON"),
        (&nested_members, "JSON"),
    ] {
        let response = put_gate(&site, "application/json", body.to_owned()).await;
        let (status, code, problem) = refusal(response).await;
        let start = body.chars().take(40).collect::<String>();
        assert_eq!(
            (status, &*code),
            (StatusCode::BAD_REQUEST, "invalid_body"),
            "{start}"
        );
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said), "{start}: {detail}");
        assert!(!detail.contains("13800005678"), "{start}: {detail}");
    }
    for bytes in [
        b"{\"name\": \"\xff\xfe\"}".to_vec(),
        b"\xff\xfe{\0}\0".to_vec(),
        vec![0; 64],
    ] {
        let (status, ..) = refusal(put_gate(&site, "application/json", bytes).await).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
    }
    nothing_was_put(&site).await;
}

#[tokio::test]
async fn a_body_of_another_type_or_charset_is_refused_with_what_is_taken() {
    let site = Site::start().await;
    for media_type in [
        "text/plain",
        "text/html; charset=utf-8",
        "application/x-www-form-urlencoded",
        "application/json; charset=gb18030",
        "application/json; charset=utf-16",
        "application/json; charset=",
        "nonsense",
        "*/*",
    ] {
        let (status, code, problem) = refusal(put_gate(&site, media_type, "{}").await).await;
        let expected = (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type");
        assert_eq!((status, &*code), expected, "{media_type}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains("application/json, in UTF-8"),
            "{media_type}: {detail}"
        );
    }
    let bare = site
        .admin("PUT", "/v1/gates/north")
        .body("{}")
        .send()
        .await
        .unwrap();
    assert_eq!(refusal(bare).await.0, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    nothing_was_put(&site).await;
    for media_type in ["application/json", "Application/JSON; Charset=\"UTF-8\""] {
        let response = put_gate(&site, media_type, "{}").await;
        assert!(response.status().is_success(), "{media_type}");
    }
}

#[tokio::test]
async fn a_body_beyond_its_limit_is_refused_however_it_is_sent() {
    let site = Site::start().await;
    let long = format!("{{\"name\": \"{}\"}}", "x".repeat(MIB));
    let chunks = long.clone().into_bytes();
    let chunks = chunks
        .chunks(10_000)
        .map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec()));
    let chunks: Vec<_> = chunks.collect();
    let chunked = Body::wrap_stream(futures_util::stream::iter(chunks));
    for body in [Body::from(long), chunked] {
        let (status, code, problem) =
            refusal(put_gate(&site, "application/json", body).await).await;
        assert_eq!(
            (status, &*code),
            (StatusCode::PAYLOAD_TOO_LARGE, "too_large")
        );
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains("1048576 bytes")
        );
    }
    nothing_was_put(&site).await;
}

#[tokio::test]
async fn a_refusal_reaches_a_sender_that_is_still_sending() {
    let site = Site::start().await;
    let body = vec![b' '; 6 * MIB];
    let send = |key: Option<&str>, path: &str| {
        let request = site.request("POST", path);
        let request = match key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        request
            .header("content-type", "application/json")
            .body(body.clone())
            .send()
    };
    let refused = refusal(send(None, "/v1/codes").await.unwrap()).await;
    assert_eq!(refused.0, StatusCode::UNAUTHORIZED);
    let refused = refusal(send(Some(&site.admin), "/v1/codes").await.unwrap()).await;
    assert_eq!(refused.0, StatusCode::PAYLOAD_TOO_LARGE);
    let refused = refusal(send(Some(&site.admin), "/nowhere").await.unwrap()).await;
    assert_eq!(refused.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn compressed_bodies_are_read() {
    let site = Site::start().await;
    let text = br#"{"name": "North"}"#;
    for (encoding, body) in [
        ("gzip", gzip(text)),
        ("zstd", zstd::encode_all(&text[..], 3).unwrap()),
        ("identity", text.to_vec()),
    ] {
        let request = site
            .admin("PUT", "/v1/gates/north")
            .header("content-encoding", encoding);
        let request = request
            .header("content-type", "application/json")
            .body(body);
        let response = request.send().await.unwrap();
        let gate: Value = crate::site::read(response).await;
        assert_eq!(gate["name"], "North", "{encoding}");
    }
}

#[tokio::test]
async fn a_compressed_bomb_is_refused_by_what_it_grows_to() {
    let site = Site::start().await;
    for (encoding, body) in [("gzip", gzip_bomb(64)), ("zstd", zstd_bomb(64))] {
        assert!(body.len() < MIB, "{encoding}: it is small on the wire");
        for (method, path) in [
            ("PUT", "/v1/gates/north"),
            ("POST", "/v1/codes"),
            ("POST", "/v1/gate/enrol"),
        ] {
            let request = site
                .admin(method, path)
                .header("content-encoding", encoding);
            let request = request
                .header("content-type", "application/json")
                .body(body.clone());
            let (status, code, _) = refusal(request.send().await.unwrap()).await;
            let expected = (StatusCode::PAYLOAD_TOO_LARGE, "too_large");
            assert_eq!((status, &*code), expected, "{encoding} {path}");
        }
    }
    nothing_was_put(&site).await;
}

#[tokio::test]
async fn an_encoding_that_cannot_be_taken_off_is_refused() {
    let site = Site::start().await;
    for encoding in [
        "br",
        "deflate",
        "compress",
        "gzip, gzip",
        "gzip,zstd",
        "x-gzip",
        "",
        "aes128gcm",
    ] {
        let request = site
            .admin("PUT", "/v1/gates/north")
            .header("content-encoding", encoding);
        let request = request
            .header("content-type", "application/json")
            .body(gzip(b"{}"));
        let (status, code, _) = refusal(request.send().await.unwrap()).await;
        let expected = (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type");
        assert_eq!((status, &*code), expected, "{encoding}");
    }
    for (encoding, body) in [
        ("gzip", b"{}".to_vec()),
        ("zstd", b"{}".to_vec()),
        ("gzip", gzip(&[b' '; 5000])[..20].to_vec()),
        ("zstd", gzip(b"{}")),
    ] {
        let request = site
            .admin("PUT", "/v1/gates/north")
            .header("content-encoding", encoding);
        let request = request
            .header("content-type", "application/json")
            .body(body);
        let (status, code, _) = refusal(request.send().await.unwrap()).await;
        assert_eq!(
            (status, &*code),
            (StatusCode::BAD_REQUEST, "invalid_body"),
            "{encoding}"
        );
    }
    nothing_was_put(&site).await;
}

#[tokio::test]
async fn a_batch_may_be_larger_than_other_bodies_and_has_a_limit_of_its_own() {
    let site = Site::start_with(Limits {
        batch_bytes: 2 * MIB,
        ..Limits::default()
    })
    .await;
    site.furnish().await;
    let device = site.enrol(1).await;
    let send = |padding: usize| {
        let mut batch = device.batch(&[json!({})]);
        batch.0.payload.push_str(&"A".repeat(padding));
        site.request("POST", "/v1/gate/records")
            .bearer_auth(device.bearer())
            .json(&batch)
            .send()
    };
    // It is no batch any more, but it was read to its end.
    assert_eq!(
        refusal(send(MIB + 1).await.unwrap()).await.0,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(
        refusal(send(2 * MIB).await.unwrap()).await.0,
        StatusCode::PAYLOAD_TOO_LARGE
    );
}
