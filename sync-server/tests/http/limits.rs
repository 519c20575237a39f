//! How often somebody may ask: what programs that run wild are told, and that nobody else notices.

use std::num::NonZeroU32;
use std::process::Stdio;

use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use stile_sync_server::config::{Limits, Rates};
use stile_sync_server::metrics::Watch;
use stile_sync_server::store::Scope;

use crate::program::Program;
use crate::site::{Site, client, read, refusal};

fn three() -> NonZeroU32 {
    NonZeroU32::new(3).unwrap()
}

async fn site(rates: Rates) -> Site {
    Site::start_with(Limits {
        rates,
        ..Limits::default()
    })
    .await
}

fn said<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers[name].to_str().unwrap()
}

/// That an answer says that there were too many, by which policy, and when to come again.
async fn is_refused(answer: Response, policy: &str) {
    let headers = answer.headers().clone();
    assert_eq!(
        said(&headers, "ratelimit-policy"),
        format!("\"{policy}\";q=3;w=60")
    );
    assert!(said(&headers, "ratelimit").starts_with(&format!("\"{policy}\";r=0;t=")));
    let wait: u64 = said(&headers, "retry-after").parse().unwrap();
    assert!((1..=20).contains(&wait), "{wait}");
    let (status, code, problem) = refusal(answer).await;
    assert_eq!(
        (status, &*code),
        (StatusCode::TOO_MANY_REQUESTS, "too_many_requests")
    );
    assert_eq!(problem["violated-policies"], json!([policy]));
}

#[tokio::test]
async fn a_key_that_asks_too_often_is_told_when_to_ask_again_and_another_is_not() {
    let site = site(Rates {
        key: three(),
        ..Rates::default()
    })
    .await;
    for left in ["2", "1", "0"] {
        let answer = site.admin("GET", "/v1/gates").send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(
            said(answer.headers(), "ratelimit-policy"),
            "\"api-key\";q=3;w=60"
        );
        let state = said(answer.headers(), "ratelimit");
        assert!(
            state.starts_with(&format!("\"api-key\";r={left};t=")),
            "{state}"
        );
    }
    is_refused(
        site.admin("GET", "/v1/gates").send().await.unwrap(),
        "api-key",
    )
    .await;
    let other = site.key(Scope::Admin).await;
    let other = site.request("GET", "/v1/gates").bearer_auth(other);
    assert_eq!(other.send().await.unwrap().status(), StatusCode::OK);
    // Supervisors may ask as often as they like, and are told of no limit.
    for _ in 0..10 {
        let answer = site.request("GET", "/healthz").send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert!(!answer.headers().contains_key("ratelimit"));
    }
    let watch = Watch::new(site.server.clone(), &site.data(), None);
    let text = watch.text().await.unwrap();
    assert!(
        text.contains(r#"stile_limited_total{policy="api-key"} 1"#),
        "{text}"
    );
    assert!(
        text.contains(r#"stile_limited_total{policy="device"} 0"#),
        "{text}"
    );
}

#[tokio::test]
async fn a_device_that_runs_wild_keeps_no_other_from_its_lists() {
    let site = site(Rates {
        device: three(),
        ..Rates::default()
    })
    .await;
    site.furnish().await;
    let (wild, calm) = (site.enrol(1).await, site.enrol(2).await);
    let lists = |bearer: &str| {
        site.request("GET", "/v1/gate/lists")
            .bearer_auth(bearer)
            .send()
    };
    for _ in 0..3 {
        assert_eq!(lists(wild.bearer()).await.unwrap().status(), StatusCode::OK);
    }
    is_refused(lists(wild.bearer()).await.unwrap(), "device").await;
    assert_eq!(lists(calm.bearer()).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn whoever_guesses_is_stopped_and_those_who_were_known_at_that_address_are_not() {
    let site = site(Rates {
        attempts: three(),
        ..Rates::default()
    })
    .await;
    site.furnish().await;
    let (known, new) = (site.enrol(1).await, site.enrol(2).await);
    let from = |address: &'static str, bearer: &str| {
        let lists = site.request("GET", "/v1/gate/lists").bearer_auth(bearer);
        lists.header("x-forwarded-for", address).send()
    };
    let guess = format!("stile_dev_{}", "A".repeat(46));
    let here = "198.51.100.7";
    assert_eq!(
        from(here, known.bearer()).await.unwrap().status(),
        StatusCode::OK
    );
    for _ in 0..2 {
        let answer = from(here, &guess).await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    }
    is_refused(from(here, &guess).await.unwrap(), "attempts").await;
    // Also where the next guess is right.
    is_refused(from(here, new.bearer()).await.unwrap(), "attempts").await;
    let enrol = json!({"token": "AAAA", "name": "", "model": "", "public_key": ""});
    let enrol = site.request("POST", "/v1/gate/enrol").json(&enrol);
    let enrol = enrol.header("x-forwarded-for", here).send();
    is_refused(enrol.await.unwrap(), "attempts").await;
    for _ in 0..10 {
        assert_eq!(
            from(here, known.bearer()).await.unwrap().status(),
            StatusCode::OK
        );
    }
    assert_eq!(
        from("198.51.100.8", new.bearer()).await.unwrap().status(),
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_gates_busiest_minute_comes_near_no_limit() {
    let site = Site::start().await;
    site.furnish().await;
    let tickets = site.some_tickets(1).await;
    let mut gate = site.enrol(1).await;
    let mut left = 0;
    // A backlog of a day in batches, with lists and feed in between.
    for _ in 0..200 {
        let record = gate.admits(&site, &tickets[0]);
        let upload = site
            .request("POST", "/v1/gate/records")
            .json(&gate.batch(&[record]));
        for request in [
            upload,
            site.request("GET", "/v1/gate/lists"),
            site.request("GET", "/v1/gate/admissions"),
        ] {
            let request = request.header("x-forwarded-for", "198.51.100.7");
            let answer = request.bearer_auth(gate.bearer()).send().await.unwrap();
            let state = said(answer.headers(), "ratelimit").to_owned();
            let (_, rest) = state.split_once("r=").unwrap();
            left = rest.split(';').next().unwrap().parse().unwrap();
            let _: Value = read(answer).await;
        }
    }
    assert!(left > 6_000, "{left}");
}

#[test]
fn limits_are_set_on_the_command_line() {
    let program = Program::new();
    program.add_venue();
    let key = program.add_key("admin");
    let serving = program.serve_logging(&["--limit-key", "3"], "info", Stdio::null());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let get = || {
            let url = format!("http://{}/v1/gates", serving.address);
            client().get(url).bearer_auth(&key).send()
        };
        for _ in 0..3 {
            assert_eq!(get().await.unwrap().status(), StatusCode::OK);
        }
        is_refused(get().await.unwrap(), "api-key").await;
    });
}
