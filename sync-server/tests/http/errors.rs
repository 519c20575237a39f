//! What every answer has, and how every error looks.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::site::{Site, read, refusal};

#[tokio::test]
async fn a_path_that_leads_nowhere_is_answered_with_a_problem_document() {
    let site = Site::start().await;
    for path in [
        "/",
        "/v1",
        "/v1/",
        "/v1/sessions/",
        "/v1/sessions/a/b",
        "/healthz/",
        "/%00",
        "/é",
    ] {
        let (status, code, _) = refusal(site.admin("GET", path).send().await.unwrap()).await;
        assert_eq!(
            (status, &*code),
            (StatusCode::NOT_FOUND, "no_such_route"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_method_that_a_route_has_not_is_answered_with_those_that_it_has() {
    let site = Site::start().await;
    for (method, path, has) in [
        ("DELETE", "/v1/sessions/now", "PUT"),
        ("PATCH", "/v1/policy", "GET"),
        ("GET", "/v1/gate/records", "POST"),
        ("OPTIONS", "/v1/codes", "POST"),
        ("POST", "/healthz", "GET"),
    ] {
        let response = site.admin(method, path).send().await.unwrap();
        let allowed = response.headers()["allow"].to_str().unwrap().to_owned();
        assert!(allowed.contains(has), "{method} {path}: {allowed}");
        let (status, code, _) = refusal(response).await;
        let expected = (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed");
        assert_eq!((status, &*code), expected, "{method} {path}");
    }
}

#[tokio::test]
async fn every_answer_carries_the_servers_time_and_generation_and_is_kept_by_nobody() {
    let site = Site::start().await;
    for path in [
        "/healthz",
        "/readyz",
        "/v1/openapi.json",
        "/v1/gates",
        "/nowhere",
    ] {
        let before = site.server.now().0;
        let response = site.admin("GET", path).send().await.unwrap();
        let headers = response.headers();
        let time: i64 = headers["stile-time"].to_str().unwrap().parse().unwrap();
        assert!((before..=site.server.now().0).contains(&time), "{path}");
        assert_eq!(headers["stile-generation"], "0", "{path}");
        assert_eq!(headers["cache-control"], "no-store", "{path}");
    }
}

#[tokio::test]
async fn a_wrong_parameter_is_named_and_not_repeated() {
    let site = Site::start().await;
    for (method, path, name) in [
        ("GET", "/v1/tickets/13800005678!", "ticket_id"),
        ("GET", "/v1/tickets/%FF13800005678", "ticket_id"),
        ("GET", "/v1/tickets/T1/code", "format"),
        ("GET", "/v1/tickets/T1/code?format=13800005678", "format"),
        (
            "GET",
            "/v1/tickets/T1/code?format=v1&ttl_s=-13800005678",
            "ttl_s",
        ),
        ("GET", "/v1/sessions?service_day=13800005678", "service_day"),
        ("GET", "/v1/sessions?service_day=2026-02-30", "service_day"),
        ("GET", "/v1/records?limit=0", "limit"),
        ("GET", "/v1/records?limit=10001", "limit"),
        ("GET", "/v1/records?limit=13800005678", "limit"),
        ("GET", "/v1/records?limit=1&limit=2", "limit"),
        ("GET", "/v1/records?wait=26", "wait"),
        ("GET", "/v1/check-ins?wait=-13800005678", "wait"),
        ("GET", "/v1/gates?venue=13800005678!", "venue"),
        ("POST", "/v1/tickets/13800005678!/cancel", "ticket_id"),
    ] {
        let request = site.admin(method, path).json(&json!({"cause": "visitor"}));
        let (status, code, problem) = refusal(request.send().await.unwrap()).await;
        assert_eq!(
            (status, &*code),
            (StatusCode::BAD_REQUEST, "invalid_parameter"),
            "{path}"
        );
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(name), "{path}: {detail}");
        assert!(!detail.contains("13800005678"), "{path}: {detail}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let site = Site::start().await;
    for (method, path, body) in [
        ("GET", "/v1/tickets/none", Value::Null),
        (
            "POST",
            "/v1/tickets/none/cancel",
            json!({"cause": "visitor"}),
        ),
        ("GET", "/v1/tickets/none/code?format=G2", Value::Null),
    ] {
        let request = site.admin(method, path);
        let request = if body.is_null() {
            request
        } else {
            request.json(&body)
        };
        let (status, code, _) = refusal(request.send().await.unwrap()).await;
        assert_eq!(
            (status, &*code),
            (StatusCode::NOT_FOUND, "not_found"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_cursor_of_another_stream_or_of_nobody_is_refused() {
    let site = Site::start().await;
    let piece: Value = site.done("GET", "/v1/records", Value::Null).await;
    let cursor = piece["cursor"].as_str().unwrap();
    for path in [
        format!("/v1/check-ins?after={cursor}"),
        "/v1/records?after=".to_owned(),
        "/v1/records?after=nonsense".to_owned(),
        format!("/v1/records?after={cursor}A"),
    ] {
        let (status, code, _) = refusal(site.admin("GET", &path).send().await.unwrap()).await;
        assert_eq!(
            (status, &*code),
            (StatusCode::UNPROCESSABLE_ENTITY, "invalid_cursor"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn head_is_answered_as_get_without_its_body() {
    let site = Site::start().await;
    let response = site.admin("HEAD", "/v1/gates").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(response.text().await.unwrap().is_empty());
    let response = site.request("HEAD", "/v1/gates").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_server_whose_store_is_closed_says_that_it_is_not_ready_and_takes_nothing() {
    let site = Site::start().await;
    let _: Value = read(site.request("GET", "/readyz").send().await.unwrap()).await;
    site.server.close().await;
    let response = site.request("GET", "/readyz").send().await.unwrap();
    assert!(response.headers().contains_key("retry-after"));
    let (status, code, _) = refusal(response).await;
    assert_eq!(
        (status, &*code),
        (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable")
    );
    let response = site.request("GET", "/healthz").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
}
