//! Who may use what: every route of the document, with every kind of key.

use reqwest::StatusCode;
use serde_json::Value;
use stile_sync_server::http::openapi_text;
use stile_sync_server::store::Scope;

use crate::document::operations;
use crate::site::{OTHER_VENUE, Site, VENUE, key_for, refusal};

/// Routes for everybody. A new one must be added here on purpose.
const PUBLIC: [(&str, &str); 4] = [
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/v1/openapi.json"),
    ("POST", "/v1/gate/enrol"),
];

/// A path in which every parameter has a value that is none of this server's.
fn filled(path: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        "{service_day}" => "2026-10-01",
        "{api_key_id}" => "0",
        part if part.starts_with('{') => "nothing-of-that-name",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

/// The operations that are not public: method, path, and the scope that opens it, if any does.
fn guarded() -> Vec<(String, String, Option<Scope>)> {
    let document: Value = serde_json::from_str(&openapi_text()).unwrap();
    let operations = operations(&document)
        .into_iter()
        .filter_map(|(method, path, operation)| {
            let is_public = PUBLIC.contains(&(method.as_str(), path.as_str()));
            let security = operation["security"].as_array().unwrap();
            assert_eq!(is_public, security.is_empty(), "{method} {path}");
            let scheme = security.first()?;
            let scope = scheme.get("api_key").map(|scopes| {
                assert_eq!(scopes.as_array().unwrap().len(), 1, "{method} {path}");
                scopes[0].as_str().unwrap().parse().unwrap()
            });
            assert!(
                scope.is_some() || scheme.get("device").is_some(),
                "{method} {path}"
            );
            Some((method, filled(&path), scope))
        });
    operations.collect()
}

#[tokio::test]
async fn no_route_but_the_public_ones_opens_without_a_key_or_with_a_wrong_one() {
    let site = Site::start().await;
    let wrong_key = format!("stile_key_{}", "A".repeat(43));
    let wrong_bearer = format!("stile_dev_{}", "A".repeat(43));
    for (method, path, _) in guarded() {
        let keys = [
            None,
            Some("Bearer"),
            Some("Bearer "),
            Some("Basic dXNlcjpwYXNz"),
            Some("Bearer stile_key_"),
        ];
        for key in keys {
            let mut request = site.request(&method, &path);
            if let Some(key) = key {
                request = request.header("authorization", key);
            }
            let response = request.send().await.unwrap();
            assert!(
                response.headers().contains_key("www-authenticate"),
                "{method} {path}"
            );
            let (status, code, _) = refusal(response).await;
            let context = format!("{method} {path} with {key:?}");
            assert_eq!(
                (status, &*code),
                (StatusCode::UNAUTHORIZED, "unauthorized"),
                "{context}"
            );
        }
        for token in [&wrong_key, &wrong_bearer] {
            let request = site.request(&method, &path).bearer_auth(token);
            let (status, ..) = refusal(request.send().await.unwrap()).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_key_opens_the_routes_of_its_scope_and_no_others() {
    let site = Site::start().await;
    for held in Scope::ALL {
        let key = site.key(held).await;
        for (method, path, scope) in guarded() {
            let request = site.request(&method, &path).bearer_auth(&key);
            let response = request.send().await.unwrap();
            let context = format!("{method} {path} with {held}");
            match scope {
                None => assert_eq!(
                    refusal(response).await.0,
                    StatusCode::UNAUTHORIZED,
                    "{context}"
                ),
                Some(scope) if held == scope || held == Scope::Admin => {
                    let shut = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
                    assert!(!shut.contains(&response.status()), "{context}");
                }
                Some(_) => {
                    let (status, code, _) = refusal(response).await;
                    assert_eq!(
                        (status, &*code),
                        (StatusCode::FORBIDDEN, "forbidden"),
                        "{context}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn a_key_of_one_venue_opens_nothing_of_another_whether_it_exists_or_not() {
    let site = Site::start().await;
    let key = key_for(&site.server, &[OTHER_VENUE], &[Scope::Admin]).await;
    for (method, path, scope) in guarded() {
        if scope.is_none() {
            continue;
        }
        let mut answers = Vec::new();
        for venue in [VENUE, "no-such-venue"] {
            let request = site.request(&method, &format!("{path}?venue={venue}"));
            let (status, code, problem) =
                refusal(request.bearer_auth(&key).send().await.unwrap()).await;
            assert_eq!(
                (status, &*code),
                (StatusCode::FORBIDDEN, "forbidden"),
                "{method} {path}"
            );
            answers.push(problem);
        }
        assert_eq!(
            answers[0], answers[1],
            "{method} {path} tells which venues there are"
        );
    }
}

#[tokio::test]
async fn what_one_venue_has_is_not_there_for_a_key_of_another() {
    let site = Site::start().await;
    site.furnish().await;
    site.put_tickets(["T1".to_owned()]).await;
    let key = key_for(&site.server, &[OTHER_VENUE], &[Scope::Admin]).await;
    for path in ["/v1/tickets/T1", "/v1/tickets/T1/code?format=v1"] {
        let response = site
            .request("GET", path)
            .bearer_auth(&key)
            .send()
            .await
            .unwrap();
        assert_eq!(refusal(response).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    for (path, member) in [("/v1/sessions", "sessions"), ("/v1/gates", "gates")] {
        let response = site
            .request("GET", path)
            .bearer_auth(&key)
            .send()
            .await
            .unwrap();
        let list: Value = crate::site::read(response).await;
        assert_eq!(list[member], Value::Array(Vec::new()), "{path}");
    }
}

#[tokio::test]
async fn a_key_of_several_venues_must_say_which_one_it_means() {
    let site = Site::start().await;
    let key = key_for(&site.server, &[VENUE, OTHER_VENUE], &[Scope::Admin]).await;
    let ask = |query: &str| {
        let path = format!("/v1/gates{query}");
        site.request("GET", &path).bearer_auth(&key).send()
    };
    let (status, code, _) = refusal(ask("").await.unwrap()).await;
    assert_eq!(
        (status, &*code),
        (StatusCode::BAD_REQUEST, "invalid_parameter")
    );
    for query in ["?venue=museum", "?venue=gallery", "?venue=%6Duseum"] {
        assert_eq!(
            ask(query).await.unwrap().status(),
            StatusCode::OK,
            "{query}"
        );
    }
    for query in ["?venue=Museum", "?venue=", "?venue=museum&venue=gallery"] {
        assert_eq!(
            refusal(ask(query).await.unwrap()).await.0,
            StatusCode::BAD_REQUEST,
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_revoked_key_opens_nothing_from_then_on() {
    let site = Site::start().await;
    let key = site.key(Scope::RecordsRead).await;
    let ask = || {
        site.request("GET", "/v1/conflicts")
            .bearer_auth(&key)
            .send()
    };
    assert_eq!(ask().await.unwrap().status(), StatusCode::OK);
    let keys = site.server.api_keys().await.unwrap();
    let id = keys.last().unwrap().id;
    site.server.revoke_api_key(id).await.unwrap();
    assert_eq!(
        refusal(ask().await.unwrap()).await.0,
        StatusCode::UNAUTHORIZED
    );
}
