//! A server with a certificate, as its clients see it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::installed::{Installed, certificate, client_that_trusts};

#[tokio::test]
async fn a_client_that_trusts_the_venues_ca_is_served_by_name_and_by_address() {
    let installed = Installed::new();
    installed.tls_new();
    let serving = installed.serve(&[]);
    assert_eq!(serving.scheme, "https");
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{}/healthz", serving.address.port());
        let response = installed.client().get(url).send().await.unwrap();
        assert!(response.status().is_success(), "{host}");
    }
    serving.signal("TERM");
    assert!(serving.ended());
}

#[tokio::test]
async fn a_client_that_trusts_another_ca_or_speaks_plain_http_is_not() {
    let installed = Installed::new();
    installed.tls_new();
    let serving = installed.serve(&[]);
    let other = Installed::new();
    other.tls_new();
    let stranger = other.client().get(serving.url("/healthz")).send().await;
    assert!(stranger.unwrap_err().is_connect());
    let plain = serving.url("/healthz").replace("https", "http");
    assert!(installed.client().get(plain).send().await.is_err());
    let url = serving.url("/healthz");
    assert!(installed.client().get(url).send().await.is_ok());
}

#[test]
fn a_client_of_tls_1_1_is_told_that_it_is_too_old() {
    let installed = Installed::new();
    installed.tls_new();
    let serving = installed.serve(&[]);
    // A hello of TLS 1.1: one suite (ECDHE-ECDSA, AES-128-CBC), one signature scheme, one group.
    let suites = [0, 0, 2, 0xc0, 0x09, 1, 0];
    let extensions = [0, 16, 0, 13, 0, 4, 0, 2, 4, 3, 0, 10, 0, 4, 0, 2, 0, 29];
    let body = [&[3, 2][..], &[7; 32], &suites, &extensions].concat();
    let length = u8::try_from(body.len()).unwrap();
    let hello = [&[22, 3, 1, 0, length + 4, 1, 0, 0, length], &body[..]].concat();
    let mut stream = TcpStream::connect(serving.address).unwrap();
    stream.write_all(&hello).unwrap();
    let mut alert = [0; 7];
    stream.read_exact(&mut alert).unwrap();
    // A fatal alert, protocol_version.
    assert_eq!((alert[0], &alert[5..]), (21, &[2, 70][..]));
}

#[tokio::test]
async fn a_renewed_certificate_is_taken_without_a_restart() {
    let installed = Installed::new();
    installed.tls_new();
    let serving = installed.serve(&[]);
    let ca = fs::read(installed.data().join("tls/ca.pem")).unwrap();
    // A client of its own each time, so that no connection is used twice.
    let shown = async || {
        let client = client_that_trusts(&ca);
        certificate(&client.get(serving.url("/healthz")).send().await.unwrap())
    };
    let first = shown().await;
    assert_eq!(shown().await, first);
    installed.run(&["tls", "renew"]);
    serving.signal("HUP");
    serving.says("a new TLS pair is in use").await;
    let second = shown().await;
    assert_ne!(second, first);
    // The next one nobody announces.
    installed.run(&["tls", "renew"]);
    while shown().await == second {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    serving.signal("TERM");
    assert!(serving.ended());
}

#[tokio::test]
async fn a_broken_new_pair_keeps_the_old_one_and_is_said() {
    let installed = Installed::new();
    installed.tls_new();
    let serving = installed.serve(&[]);
    let good = fs::read(installed.pair()).unwrap();
    let client = installed.client();
    let other = Installed::new();
    other.tls_new();
    let theirs = fs::read_to_string(other.pair()).unwrap();
    let ours = String::from_utf8(good.clone()).unwrap();
    let key_at = |text: &str| text.find("-----BEGIN PRIVATE KEY").unwrap();
    let mixed = [&ours[..key_at(&ours)], &theirs[key_at(&theirs)..]].concat();
    for (broken, said) in [
        ("nonsense", "holds no certificate"),
        (&ours[..key_at(&ours)], "holds no private key"),
        (mixed.as_str(), "does not go with"),
    ] {
        fs::write(installed.pair(), broken).unwrap();
        serving.signal("HUP");
        serving.says(said).await;
        assert!(serving.log().contains("the old one goes on"));
        let response = client.get(serving.url("/healthz")).send().await.unwrap();
        assert!(response.status().is_success(), "{said}");
    }
    fs::write(installed.pair(), good).unwrap();
    serving.signal("HUP");
    serving.says("the TLS pair is the one that is in use").await;
}

#[test]
fn without_tls_a_hangup_ends_no_server() {
    let installed = Installed::new();
    let serving = installed.serve(&[]);
    assert_eq!(serving.scheme, "http");
    serving.signal("HUP");
    while !serving.log().contains("SIGHUP") {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    serving.signal("TERM");
    assert!(serving.ended());
}

#[tokio::test]
async fn an_invitation_over_the_api_names_https_and_pins_the_ca() {
    let installed = Installed::new();
    let key = installed.add_venue();
    let pin = installed.tls_new();
    let serving = installed.serve(&[]);
    let invite = async |body: Value| {
        let request = installed.client().post(serving.url("/v1/enrolments"));
        let response = request.bearer_auth(&key).json(&body).send().await.unwrap();
        let answer: Value = response.json().await.unwrap();
        answer["text"].as_str().unwrap().to_owned()
    };
    let text = invite(json!({ "gates": ["north"] })).await;
    let port = serving.address.port();
    assert!(text.contains(&format!("server=https%3A%2F%2Flocalhost%3A{port}")));
    assert!(text.ends_with(&format!("&ca={pin}")), "{text}");
    // A proxy of another name has a certificate of its own.
    let body = json!({ "gates": ["north"], "server": "https://stile.museum.example" });
    assert!(!invite(body).await.contains("&ca="));
}

#[test]
fn an_invitation_pins_the_ca_for_the_names_of_the_certificate_alone() {
    let installed = Installed::new();
    installed.add_venue();
    let enrol = |server: &str| installed.say(&["enrol", "--gate", "north", "--server", server]);
    assert!(!enrol("https://localhost:8470").out.contains("&ca="));
    let pin = installed.tls_new();
    for server in ["https://localhost:8470", "https://127.0.0.1"] {
        let text = enrol(server).out;
        assert!(text.trim_end().ends_with(&format!("&ca={pin}")), "{text}");
    }
    let elsewhere = enrol("https://museum.example");
    assert!(elsewhere.succeeded && !elsewhere.out.contains("&ca="));
    assert!(elsewhere.err.contains("does not name museum.example"));
    let plain = enrol("http://localhost:8470");
    assert!(plain.succeeded && !plain.out.contains("&ca="));
    assert!(plain.err.contains("no https:// address"), "{}", plain.err);
}
