//! Keys of several venues and keys that end, one by one; every route with every caller stands in
//! `matrix.rs`.

use reqwest::StatusCode;
use serde_json::Value;
use stile_sync_server::store::Scope;

use crate::site::{OTHER_VENUE, Site, VENUE, key_for, refusal};

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
