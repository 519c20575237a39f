//! Clients that speak HTTP badly, slowly, or only half.

use std::time::Duration;

use stile_sync_server::config::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::site::{Site, csv, refusal};
use serde_json::Value;

/// Bounds that a test can wait for.
fn short() -> Limits {
    Limits {
        header_time: Duration::from_millis(300),
        idle_time: Duration::from_millis(300),
        body_time: Duration::from_millis(900),
        stall_time: Duration::from_millis(500),
        ..Limits::default()
    }
}

/// Longer than anything in [`short`], for what must have happened by then.
const ENOUGH: Duration = Duration::from_secs(20);

async fn send(site: &Site, text: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(site.address).await.unwrap();
    stream.write_all(text).await.unwrap();
    stream
}

/// All that the server says until it closes.
async fn rest(mut stream: TcpStream) -> String {
    let mut said = Vec::new();
    let read = timeout(ENOUGH, stream.read_to_end(&mut said)).await;
    // A reset is a close too.
    let _ = read.expect("the server closes the connection");
    String::from_utf8_lossy(&said).into_owned()
}

fn head(site: &Site, method: &str, path: &str, headers: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n{headers}\r\n",
        site.address, site.admin
    )
}

async fn still_serves(site: &Site) {
    let response = site.request("GET", "/healthz").send().await.unwrap();
    assert!(response.status().is_success());
}

#[tokio::test]
async fn half_a_head_and_then_silence_is_closed() {
    let site = Site::start_with(short()).await;
    for part in [
        "",
        "G",
        "GET /v1/gates HT",
        "GET /v1/gates HTTP/1.1\r\nhost: a\r\nauthoriz",
    ] {
        assert_eq!(
            rest(send(&site, part.as_bytes()).await).await,
            "",
            "{part:?}"
        );
    }
    still_serves(&site).await;
}

#[tokio::test]
async fn a_head_that_comes_a_byte_at_a_time_is_closed_when_its_time_is_over() {
    let site = Site::start_with(short()).await;
    let mut stream = send(&site, b"GET /healthz HTTP/1.1\r\nx: ").await;
    let dribble = async {
        while stream.write_all(b"a").await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(ENOUGH, dribble)
        .await
        .expect("the server closes the connection");
    still_serves(&site).await;
}

#[tokio::test]
async fn many_half_heads_keep_nobody_else_out() {
    let site = Site::start_with(Limits {
        connections: 20,
        ..short()
    })
    .await;
    let mut half = Vec::new();
    for _ in 0..60 {
        half.push(send(&site, b"GET /healthz HTTP/1.1\r\n").await);
    }
    timeout(ENOUGH, still_serves(&site))
        .await
        .expect("it gets its turn");
}

#[tokio::test]
async fn a_body_that_stands_still_is_told_so() {
    let site = Site::start_with(short()).await;
    let head = head(
        &site,
        "PUT",
        "/v1/gates/north",
        "content-type: application/json\r\ncontent-length: 100\r\n",
    );
    let said = rest(send(&site, format!("{head}{{\"name\"").as_bytes()).await).await;
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
    assert!(said.contains("\"code\":\"request_timeout\""), "{said}");
    still_serves(&site).await;
}

#[tokio::test]
async fn a_body_that_comes_a_byte_at_a_time_is_told_so_when_its_time_is_over() {
    let site = Site::start_with(short()).await;
    let head = head(
        &site,
        "PUT",
        "/v1/gates/north",
        "content-type: application/json\r\ncontent-length: 100000\r\n",
    );
    let (mut reader, mut writer) = send(&site, head.as_bytes()).await.into_split();
    let dribble = tokio::spawn(async move {
        while writer.write_all(b" ").await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    });
    let mut said = vec![0; 12];
    timeout(ENOUGH, reader.read_exact(&mut said))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(said, b"HTTP/1.1 408");
    dribble.abort();
    still_serves(&site).await;
}

#[tokio::test]
async fn a_body_cut_off_in_the_middle_does_nothing() {
    let site = Site::start().await;
    let whole = r#"{"name": "North"}"#;
    for end in [0, 1, 10, whole.len() - 1] {
        let length = format!(
            "content-type: application/json\r\ncontent-length: {}\r\n",
            whole.len()
        );
        let chunked = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
        let part = &whole[..end];
        let chunk = match end {
            0 => String::new(),
            _ => format!("{end:x}\r\n{part}\r\n"),
        };
        for text in [
            head(&site, "PUT", "/v1/gates/north", &length) + part,
            head(&site, "PUT", "/v1/gates/north", chunked) + &chunk,
        ] {
            let mut stream = send(&site, text.as_bytes()).await;
            stream.shutdown().await.unwrap();
            let said = rest(stream).await;
            assert!(!said.starts_with("HTTP/1.1 2"), "cut at {end}: {said}");
        }
    }
    let gates: Value = site.done("GET", "/v1/gates", Value::Null).await;
    assert_eq!(gates["gates"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_does_no_harm() {
    let site = Site::start().await;
    let long = "a".repeat(100_000);
    for text in [
        "\r\n\r\n\r\n\r\nnonsense\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}".to_owned(),
        format!("GET /{long} HTTP/1.1\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nx: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(2000)),
        "POST /v1/codes HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n".to_owned(),
        "POST /v1/codes HTTP/1.1\r\ncontent-length: -1\r\n\r\n".to_owned(),
        "POST /v1/codes HTTP/1.1\r\ntransfer-encoding: nonsense\r\n\r\n".to_owned(),
    ] {
        let mut stream = send(&site, text.as_bytes()).await;
        let _ = stream.shutdown().await;
        let said = rest(stream).await;
        let start: String = text.chars().take(40).collect();
        assert!(
            said.is_empty() || said.starts_with("HTTP/1.1 4"),
            "{start:?}: {said}"
        );
    }
    still_serves(&site).await;
}

#[tokio::test]
async fn a_client_that_asks_for_leave_to_send_gets_the_refusal_instead() {
    let site = Site::start_with(short()).await;
    let headers = "expect: 100-continue\r\ncontent-type: application/json\r\n\
                   content-length: 5000000\r\nconnection: close\r\n";
    let said = rest(send(&site, head(&site, "POST", "/v1/codes", headers).as_bytes()).await).await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
}

#[tokio::test]
async fn a_ticket_file_that_stands_still_is_told_so_and_what_went_in_stays() {
    let site = Site::start_with(short()).await;
    site.furnish().await;
    let file = csv((0..40_000).map(|n| format!("T{n}")));
    let headers = "content-type: text/csv\r\ncontent-length: 10000000\r\n";
    let text = head(&site, "POST", "/v1/tickets", headers) + &file;
    let said = rest(send(&site, text.as_bytes()).await).await;
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
    let accepted = said.split("\"accepted\":").nth(1).unwrap();
    let accepted = accepted
        .trim_end_matches('}')
        .trim()
        .parse::<u32>()
        .unwrap();
    assert!((1000..40_000).contains(&accepted), "{said}");
    let ticket = site.admin("GET", "/v1/tickets/T999").send().await.unwrap();
    assert!(ticket.status().is_success());
    let ticket = site
        .admin("GET", "/v1/tickets/T39999")
        .send()
        .await
        .unwrap();
    assert_eq!(refusal(ticket).await.1, "not_found");
}

#[tokio::test]
async fn a_client_that_takes_nothing_of_a_list_is_let_go() {
    let site = Site::start_with(short()).await;
    site.furnish().await;
    site.put_tickets((0..60_000).map(|n| format!("T{n}"))).await;
    let device = site.enrol(1).await;
    let ticket: Value = site.done("GET", "/v1/tickets/T1", Value::Null).await;
    let day = ticket["service_day"].as_str().unwrap();
    let text = format!(
        "GET /v1/gate/whitelist/{day} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n",
        device.bearer()
    );
    let mut stream = send(&site, text.as_bytes()).await;
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    // The server must be able to stop although this client never reads on.
    let mut site = site;
    timeout(ENOUGH, site.stop())
        .await
        .expect("the connection was ended");
}
