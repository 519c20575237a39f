//! API keys over HTTP: made by keys that give no more than they have, shown once, seen and ended
//! per venue.

use reqwest::StatusCode;
use serde_json::{Value, json};
use stile_sync_server::store::Scope;

use crate::site::{OTHER_VENUE, Site, VENUE, key_for, read, refusal};

impl Site {
    async fn make_key(&self, maker: &str, query: &str, new: &Value) -> reqwest::Response {
        let path = format!("/v1/api-keys{query}");
        let request = self.request("POST", &path).bearer_auth(maker).json(new);
        request.send().await.unwrap()
    }

    async fn keys_at(&self, key: &str, venue: &str) -> Vec<Value> {
        let path = format!("/v1/api-keys?venue={venue}");
        let request = self.request("GET", &path).bearer_auth(key);
        let keys: Value = read(request.send().await.unwrap()).await;
        keys["api_keys"].as_array().unwrap().clone()
    }

    async fn status(&self, key: &str, path: &str) -> StatusCode {
        let request = self.request("GET", path).bearer_auth(key);
        request.send().await.unwrap().status()
    }
}

fn end_in(site: &Site, seconds: i64) -> i64 {
    site.server.now().seconds().0 + seconds
}

#[tokio::test]
async fn a_key_made_over_http_is_shown_once_used_listed_and_revoked() {
    let site = Site::start().await;
    let end = end_in(&site, 3600);
    let new = json!({ "name": "mis", "scopes": ["records:read"], "expires_at": end });
    let made = site.make_key(&site.admin, "", &new).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    let made: Value = read(made).await;
    let (id, text) = (&made["api_key_id"], made["text"].as_str().unwrap());
    assert!(text.starts_with("stile_key_"));
    let listed = async || {
        let keys = site.keys_at(&site.admin, VENUE).await;
        keys.into_iter().find(|key| key["api_key_id"] == *id)
    };
    let unused = listed().await.unwrap();
    assert_eq!(unused["expires_at"], end);
    assert!(unused["made_by"].is_i64() && unused["last_used_at"].is_null());
    assert!(!unused.to_string().contains(text), "its text is shown once");

    assert_eq!(site.status(text, "/v1/conflicts").await, StatusCode::OK);
    assert_eq!(site.status(text, "/v1/gates").await, StatusCode::FORBIDDEN);
    let used = site.awaited(async || listed().await?["last_used_at"].as_i64());
    assert!(used.await <= site.server.now().0);

    let path = format!("/v1/api-keys/{id}/revoke");
    let revoke = || site.done::<Value>("POST", &path, Value::Null);
    let revoked = revoke().await;
    assert!(revoked["revoked_at"].is_i64());
    assert_eq!(revoke().await, revoked, "again is as once");
    assert_eq!(
        site.status(text, "/v1/conflicts").await,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn a_key_gives_no_more_than_it_has() {
    let site = Site::start().await;
    // A maker that ends in an hour.
    let end = end_in(&site, 3600);
    let new = json!({ "name": "maker", "scopes": ["admin"], "expires_at": end });
    let maker: Value = read(site.make_key(&site.admin, "", &new).await).await;
    let maker = maker["text"].as_str().unwrap();
    let refused = async |members: Value| {
        let mut new = json!({ "name": "more", "scopes": ["records:read"] });
        let members = members.as_object().unwrap().clone();
        new.as_object_mut().unwrap().extend(members);
        refusal(site.make_key(maker, "", &new).await).await
    };
    let foreign = refused(json!({ "venues": [VENUE, OTHER_VENUE] })).await;
    assert_eq!(foreign.0, StatusCode::FORBIDDEN);
    let missing = refused(json!({ "venues": ["no-such-venue"] })).await;
    assert_eq!(foreign, missing, "it tells which venues there are");
    let longer = refused(json!({ "expires_at": end + 1 })).await;
    assert_eq!(longer.0, StatusCode::FORBIDDEN);
    for nothing in [json!({ "scopes": [] }), json!({ "expires_at": 1 })] {
        assert_eq!(refused(nothing).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    }
    assert_eq!(site.keys_at(maker, VENUE).await.len(), 2, "none was made");

    // What says no end has its maker's.
    let new = json!({ "name": "as long", "scopes": ["records:read"] });
    let made: Value = read(site.make_key(maker, "", &new).await).await;
    assert_eq!(made["expires_at"], end);
    // Who may not administer makes no keys at all.
    let clerk = site.key(Scope::TicketsWrite).await;
    assert_eq!(
        refusal(site.make_key(&clerk, "", &new).await).await.0,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn a_key_of_two_venues_is_seen_and_ended_at_each_by_itself() {
    let site = Site::start().await;
    let group = key_for(&site.server, &[VENUE, OTHER_VENUE], &[Scope::Admin]).await;
    let other = key_for(&site.server, &[OTHER_VENUE], &[Scope::Admin]).await;
    let new = json!({
        "name": "both", "scopes": ["records:read"], "venues": [VENUE, OTHER_VENUE],
    });
    let made = site
        .make_key(&group, &format!("?venue={VENUE}"), &new)
        .await;
    let made: Value = read(made).await;
    let (id, both) = (&made["api_key_id"], made["text"].as_str().unwrap());
    let at = |venue: &str| format!("/v1/conflicts?venue={venue}");
    assert_eq!(site.status(both, &at(OTHER_VENUE)).await, StatusCode::OK);
    let seen = async |key: &str, venue| {
        let keys = site.keys_at(key, venue).await;
        keys.into_iter()
            .find(|key| key["api_key_id"] == *id)
            .unwrap()
    };
    let used = site.awaited(async || seen(&other, OTHER_VENUE).await["last_used_at"].as_i64());
    used.await;
    let here = seen(&site.admin, VENUE).await;
    assert!(here["last_used_at"].is_null(), "its use elsewhere shows");
    assert!(!here.to_string().contains(OTHER_VENUE));

    let path = format!("/v1/api-keys/{id}/revoke");
    let _: Value = site.done("POST", &path, Value::Null).await;
    assert_eq!(site.status(both, &at(VENUE)).await, StatusCode::FORBIDDEN);
    assert_eq!(site.status(both, &at(OTHER_VENUE)).await, StatusCode::OK);
    // It needs no longer say which one it means.
    assert_eq!(site.status(both, "/v1/conflicts").await, StatusCode::OK);
    assert!(seen(&other, OTHER_VENUE).await["revoked_at"].is_null());

    // A key that is not for a venue is not there, whether it exists or not.
    let own = site.keys_at(&site.admin, VENUE).await[0]["api_key_id"].clone();
    let mut answers = Vec::new();
    for id in [own, json!(1)] {
        let path = format!("/v1/api-keys/{id}/revoke");
        let request = site.request("POST", &path).bearer_auth(&other);
        answers.push(refusal(request.send().await.unwrap()).await);
    }
    assert_eq!(answers[0].0, StatusCode::NOT_FOUND);
    assert_eq!(answers[0], answers[1]);
    assert_eq!(site.status(&site.admin, "/v1/gates").await, StatusCode::OK);
}
