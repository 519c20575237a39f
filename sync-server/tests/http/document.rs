//! The OpenAPI document.

use serde::Serialize;
use serde_json::Value;
use stile_core::protocol::{Act, Code};
use stile_core::reason::Reason;
use stile_sync_server::http::openapi_text;

use crate::site::{Site, read};

/// Method, path and what the document says of each operation.
pub fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let item = item.as_object().unwrap();
        item.iter()
            .map(|(method, operation)| (method.to_uppercase(), path.clone(), operation.clone()))
    });
    operations.collect()
}

#[tokio::test]
async fn the_document_that_is_served_is_the_one_in_the_repository() {
    let site = Site::start().await;
    let served = site
        .request("GET", "/v1/openapi.json")
        .send()
        .await
        .unwrap();
    let served = served.text().await.unwrap();
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openapi.json");
    let kept = std::fs::read_to_string(kept).unwrap_or_default();
    assert!(
        served == kept,
        "docs/openapi.json is not what the server serves; write it anew with\n    \
         cargo run -p stile-sync-server -- openapi > docs/openapi.json"
    );
}

#[tokio::test]
async fn the_document_is_served_to_everybody_and_names_every_type_that_it_uses() {
    let site = Site::start().await;
    let document: Value = read(
        site.request("GET", "/v1/openapi.json")
            .send()
            .await
            .unwrap(),
    )
    .await;
    assert_eq!(document["openapi"], "3.1.0");
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let text = document.to_string();
    for used in text.split("#/components/schemas/").skip(1) {
        let name = used.split('"').next().unwrap();
        assert!(
            schemas.contains_key(name),
            "{name} is used and not described"
        );
    }
}

#[test]
fn every_operation_says_who_may_use_it_and_how_it_answers_errors() {
    let document: Value = serde_json::from_str(&openapi_text()).unwrap();
    let operations = operations(&document);
    assert!(operations.len() >= 22);
    let mut ids = Vec::new();
    for (method, path, operation) in operations {
        assert!(
            operation["security"].is_array(),
            "{method} {path} says nobody"
        );
        let error = &operation["responses"]["default"]["content"]["application/problem+json"];
        assert!(error.is_object(), "{method} {path} has no errors");
        assert!(
            operation["summary"].is_string(),
            "{method} {path} does not say what it does"
        );
        ids.push(operation["operationId"].as_str().unwrap().to_owned());
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "two operations have one id");
}

#[test]
fn the_document_names_things_as_they_are_named_on_the_wire() {
    fn named<T: Serialize>(all: &[T]) -> Vec<Value> {
        let names = all.iter().map(|one| serde_json::to_value(one).unwrap());
        names.collect()
    }
    let document: Value = serde_json::from_str(&openapi_text()).unwrap();
    for (schema, names) in [
        ("Code", named(Code::ALL)),
        ("Act", named(Act::ALL)),
        ("Reason", named(Reason::ALL)),
    ] {
        let written = &document["components"]["schemas"][schema]["enum"];
        assert_eq!(written, &Value::from(names), "{schema}");
    }
}
