//! Every route with every caller. The routes are those of the router's own table, as it is served;
//! what is expected of each stands here, on purpose: a new route without an entry fails, and so
//! does an entry without a route.

use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};
use stile_core::ids::VenueId;
use stile_core::keys::DeviceSigningKey;
use stile_core::protocol::{EnrolRequest, EnrolmentText, NewEnrolment};
use stile_sync_server::http::openapi_text;
use stile_sync_server::server::Enrolling;
use stile_sync_server::store::sqlite::SqliteStore;
use stile_sync_server::store::{ApiKeyId, NewApiKey, Scope, Store};

use crate::document::operations;
use crate::site::{Gatekeeper, OTHER_VENUE, Site, VENUE, key_for, read, refusal};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Everybody,
    Devices,
    Keys(Scope),
}

use Scope::{Admin, CodesMint, RecordsRead, TicketsWrite};
use Who::{Devices, Everybody, Keys};

/// What is expected of each route: method, path, who may use it, and a body that it takes.
const EXPECTED: &[(&str, &str, Who, &str)] = &[
    ("GET", "/healthz", Everybody, ""),
    ("GET", "/readyz", Everybody, ""),
    ("GET", "/v1/openapi.json", Everybody, ""),
    (
        "POST",
        "/v1/gate/enrol",
        Everybody,
        r#"{"token":"AAAA","name":"","model":"","public_key":""}"#,
    ),
    (
        "POST",
        "/v1/gate/return",
        Everybody,
        r#"{"venue_id":"museum","certificate":{"payload":"","kid":1,"signature":""},
            "claim":{"payload":"","kid":0,"signature":""}}"#,
    ),
    ("GET", "/v1/gate/lists", Devices, ""),
    ("GET", "/v1/gate/whitelist/{service_day}", Devices, ""),
    ("POST", "/v1/gate/records", Devices, "{}"),
    ("GET", "/v1/gate/admissions", Devices, ""),
    ("POST", "/v1/gate/claims", Devices, "{}"),
    ("POST", "/v1/gate/codes/verify", Devices, r#"{"code":"T1"}"#),
    (
        "PUT",
        "/v1/sessions/{session_id}",
        Keys(TicketsWrite),
        r#"{"starts_at":1790820000,"ends_at":1790827200}"#,
    ),
    (
        "POST",
        "/v1/sessions",
        Keys(TicketsWrite),
        r#"{"sessions":[{"session_id":"x","starts_at":1790820000,"ends_at":1790827200}]}"#,
    ),
    ("GET", "/v1/sessions", Keys(TicketsWrite), ""),
    ("PUT", "/v1/gates/{gate_id}", Keys(Admin), r#"{"name":"x"}"#),
    ("GET", "/v1/gates", Keys(Admin), ""),
    (
        "PUT",
        "/v1/operators/{operator_id}",
        Keys(Admin),
        r#"{"name":"x","role":"guard"}"#,
    ),
    ("GET", "/v1/operators", Keys(Admin), ""),
    ("DELETE", "/v1/operators/{operator_id}", Keys(Admin), ""),
    ("GET", "/v1/policy", Keys(Admin), ""),
    ("PUT", "/v1/policy", Keys(Admin), r#"{"formats":["G2"]}"#),
    (
        "POST",
        "/v1/tickets",
        Keys(TicketsWrite),
        "ticket_id,order_number,session_id\nT1,O-9,elsewhere\n",
    ),
    (
        "POST",
        "/v1/visitors/erase",
        Keys(TicketsWrite),
        r#"{"ticket_ids":["T1"],"order_number":"marker"}"#,
    ),
    (
        "PUT",
        "/v1/service-days/{service_day}/tickets",
        Keys(TicketsWrite),
        "ticket_id,order_number,session_id\nT1,O-9,elsewhere\n",
    ),
    (
        "POST",
        "/v1/reconciliations/{service_day}",
        Keys(TicketsWrite),
        "ticket_id,order_number,session_id\nT1,O-9,elsewhere\n",
    ),
    (
        "POST",
        "/v1/reconciliations/{service_day}/digest",
        Keys(TicketsWrite),
        r#"{"count":1,"sha256":"0000000000000000000000000000000000000000000000000000000000000000"}"#,
    ),
    ("GET", "/v1/reconciliations", Keys(TicketsWrite), ""),
    ("GET", "/v1/tickets/{ticket_id}", Keys(TicketsWrite), ""),
    (
        "POST",
        "/v1/tickets/{ticket_id}/cancel",
        Keys(TicketsWrite),
        r#"{"cause":"refunded"}"#,
    ),
    (
        "POST",
        "/v1/tickets/{ticket_id}/reissue",
        Keys(TicketsWrite),
        r#"{"revision":1}"#,
    ),
    (
        "POST",
        "/v1/tickets/{ticket_id}/restore",
        Keys(TicketsWrite),
        "",
    ),
    (
        "POST",
        "/v1/tickets/{ticket_id}/move",
        Keys(TicketsWrite),
        r#"{"session_id":"elsewhere"}"#,
    ),
    (
        "POST",
        "/v1/ticket-changes",
        Keys(TicketsWrite),
        r#"{"changes":[{"act":"cancel","ticket_id":"T1","cause":"refunded"}]}"#,
    ),
    (
        "POST",
        "/v1/codes",
        Keys(CodesMint),
        r#"{"codes":[{"ticket_id":"T1","format":"G2"}]}"#,
    ),
    ("GET", "/v1/tickets/{ticket_id}/code", Keys(CodesMint), ""),
    (
        "POST",
        "/v1/enrolments",
        Keys(Admin),
        r#"{"gates":["north"]}"#,
    ),
    ("GET", "/v1/enrolments", Keys(Admin), ""),
    (
        "POST",
        "/v1/enrolments/{enrolment_id}/confirm",
        Keys(Admin),
        r#"{"digits":"123456"}"#,
    ),
    (
        "POST",
        "/v1/enrolments/{enrolment_id}/refuse",
        Keys(Admin),
        "",
    ),
    ("GET", "/v1/devices", Keys(Admin), ""),
    (
        "POST",
        "/v1/devices/{device_id}/out-of-use",
        Keys(Admin),
        "",
    ),
    ("POST", "/v1/devices/{device_id}/revoke", Keys(Admin), ""),
    ("POST", "/v1/devices/{device_id}/readmit", Keys(Admin), "{}"),
    ("GET", "/v1/quarantine", Keys(Admin), ""),
    (
        "POST",
        "/v1/quarantine/accept",
        Keys(Admin),
        r#"{"device_id":"nobody"}"#,
    ),
    (
        "POST",
        "/v1/quarantine/dismiss",
        Keys(Admin),
        r#"{"device_id":"nobody"}"#,
    ),
    (
        "POST",
        "/v1/api-keys",
        Keys(Admin),
        r#"{"name":"x","scopes":["admin"],"venues":["museum"]}"#,
    ),
    ("GET", "/v1/api-keys", Keys(Admin), ""),
    ("POST", "/v1/api-keys/{api_key_id}/revoke", Keys(Admin), ""),
    (
        "POST",
        "/v1/webhooks",
        Keys(Admin),
        r#"{"name":"x","url":"https://example.org/x","carries":["check_ins"]}"#,
    ),
    ("GET", "/v1/webhooks", Keys(Admin), ""),
    ("DELETE", "/v1/webhooks/{webhook_id}", Keys(Admin), ""),
    ("POST", "/v1/webhooks/{webhook_id}/resume", Keys(Admin), ""),
    ("POST", "/v1/webhooks/{webhook_id}/test", Keys(Admin), ""),
    ("GET", "/v1/keys", Keys(Admin), ""),
    ("POST", "/v1/keys/{role}/rotate", Keys(Admin), ""),
    ("POST", "/v1/keys/{role}/{kid}/revoke", Keys(Admin), ""),
    ("GET", "/v1/audit", Keys(Admin), ""),
    ("GET", "/v1/records", Keys(RecordsRead), ""),
    ("GET", "/v1/check-ins", Keys(RecordsRead), ""),
    ("GET", "/v1/conflicts", Keys(RecordsRead), ""),
    ("GET", "/v1/reports/attendance", Keys(RecordsRead), ""),
    ("GET", "/v1/alarms", Keys(RecordsRead), ""),
];

/// What a caller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// The guards let it through; what the route makes of the request is another matter.
    Opens,
    Refused(StatusCode),
}

const UNKNOWN: Told = Told::Refused(StatusCode::UNAUTHORIZED);
const FORBIDDEN: Told = Told::Refused(StatusCode::FORBIDDEN);
const UNCLEAR: Told = Told::Refused(StatusCode::BAD_REQUEST);

/// Somebody with something in the `authorization` header, who may name a venue.
struct Caller {
    name: &'static str,
    authorization: Option<String>,
    query: String,
    /// What routes for keys of a scope say.
    keys: fn(Scope) -> Told,
    /// What routes for devices say.
    devices: Told,
}

impl Caller {
    fn new(name: &'static str, token: &str, keys: fn(Scope) -> Told) -> Self {
        Self {
            name,
            authorization: Some(format!("Bearer {token}")),
            query: String::new(),
            keys,
            devices: UNKNOWN,
        }
    }

    fn naming(self, venue: &str) -> Self {
        Self {
            query: format!("?venue={venue}"),
            ..self
        }
    }

    fn is_told(&self, who: Who) -> Told {
        match who {
            Everybody => Told::Opens,
            Devices => self.devices,
            Keys(scope) => (self.keys)(scope),
        }
    }
}

fn opened_by(scopes: &[Scope], scope: Scope) -> Told {
    match scopes.contains(&scope) {
        true => Told::Opens,
        false => FORBIDDEN,
    }
}

/// A text that was a key until 1970.
async fn expired_key(site: &Site) -> String {
    let text = format!("stile_key_{}", "E".repeat(43));
    let store = SqliteStore::open(&site.data().join("server.db"), env!("CARGO_PKG_VERSION"));
    let key = NewApiKey {
        id: ApiKeyId(7),
        hash: <sha2::Sha256 as sha2::Digest>::digest(&text).into(),
        name: "of long ago".into(),
        venues: vec![VENUE.parse().unwrap()],
        scopes: vec![Admin],
        made_by: None,
        created_at: stile_core::time::EpochMillis(0),
        expires_at: Some(stile_core::time::EpochSeconds(1)),
    };
    let store = store.unwrap();
    store.add_api_key(key).await.unwrap();
    store.close().await;
    text
}

/// An admin's key that was revoked: everywhere, or at [`VENUE`] alone.
async fn revoked_key(site: &Site, venues: &[&str], at: Option<&VenueId>) -> String {
    let venues: Vec<VenueId> = venues.iter().map(|venue| venue.parse().unwrap()).collect();
    let made = site.server.add_api_key(&venues, &[Admin], "revoked", None);
    let (id, text) = made.await.unwrap();
    match at {
        Some(venue) => drop(site.server.revoke_api_key_at(venue, id).await.unwrap()),
        None => site.server.revoke_api_key(id).await.unwrap(),
    }
    text.as_str().to_owned()
}

/// The bearer of a device of the other venue.
async fn other_bearer(site: &Site) -> String {
    let venue: VenueId = OTHER_VENUE.parse().unwrap();
    let gate = serde_json::from_value(json!({})).unwrap();
    let door = "door".parse().unwrap();
    site.server.put_gate(&venue, door, gate).await.unwrap();
    let invitation = NewEnrolment {
        gates: vec!["door".parse().unwrap()],
        server: None,
        confirm: false,
    };
    let address = site.url("");
    let invited = site
        .server
        .new_enrolment(&venue, invitation, &address, None);
    let text: EnrolmentText = invited.await.unwrap().text.parse().unwrap();
    let key = DeviceSigningKey::from_seed(&[77; 32]);
    let request = EnrolRequest {
        token: text.token,
        name: String::new(),
        model: String::new(),
        public_key: key.verifying_key().to_base64(),
    };
    match site.server.enrol(request).await.unwrap() {
        Enrolling::Enrolled(answer) => answer.bearer,
        Enrolling::Waiting(_) => panic!("nobody is to confirm it"),
    }
}

async fn callers(site: &Site, device: &Gatekeeper) -> Vec<Caller> {
    let venue: VenueId = VENUE.parse().unwrap();
    let server = &site.server;
    let both = [VENUE, OTHER_VENUE];
    let all: fn(Scope) -> Told = |_| Told::Opens;
    let unknown: fn(Scope) -> Told = |_| UNKNOWN;
    let forbidden: fn(Scope) -> Told = |_| FORBIDDEN;
    let admin = site.admin.as_str();
    let other = key_for(server, &[OTHER_VENUE], &[Admin]).await;
    let group = key_for(server, &both, &[Admin]).await;
    let half = revoked_key(site, &both, Some(&venue)).await;
    let clerk = key_for(server, &[VENUE], &[TicketsWrite, CodesMint, RecordsRead]).await;
    let nobody = Caller {
        authorization: None,
        ..Caller::new("nobody", "", unknown)
    };
    vec![
        nobody,
        Caller::new("an empty token", "", unknown),
        Caller::new(
            "a key that never was",
            &format!("stile_key_{}", "A".repeat(43)),
            unknown,
        ),
        Caller::new(
            "a bearer that never was",
            &format!("stile_dev_{}", "A".repeat(43)),
            unknown,
        ),
        Caller {
            authorization: Some(format!("Basic {admin}")),
            ..Caller::new("a key by another scheme", "", unknown)
        },
        Caller {
            authorization: None,
            query: format!("?api_key={admin}&authorization={admin}"),
            ..Caller::new("a key in the query", "", unknown)
        },
        Caller::new("tickets:write", &site.key(TicketsWrite).await, |scope| {
            opened_by(&[TicketsWrite], scope)
        }),
        Caller::new("codes:mint", &site.key(CodesMint).await, |scope| {
            opened_by(&[CodesMint], scope)
        }),
        Caller::new("records:read", &site.key(RecordsRead).await, |scope| {
            opened_by(&[RecordsRead], scope)
        }),
        Caller::new("admin", admin, all),
        Caller::new("all scopes but admin", &clerk, |scope| {
            opened_by(&[TicketsWrite, CodesMint, RecordsRead], scope)
        }),
        Caller::new("an admin until 1970", &expired_key(site).await, unknown),
        Caller::new(
            "a revoked admin",
            &revoked_key(site, &[VENUE], None).await,
            unknown,
        ),
        Caller::new("an admin revoked here", &half, forbidden).naming(VENUE),
        Caller {
            devices: Told::Opens,
            ..Caller::new("a device", device.bearer(), unknown)
        },
        Caller {
            devices: Told::Opens,
            ..Caller::new("another venue's device", &other_bearer(site).await, unknown)
        },
        Caller::new("another venue's admin", &other, all),
        Caller::new("another venue's admin, here", &other, forbidden).naming(VENUE),
        Caller::new("another venue's admin, nowhere", &other, forbidden).naming("no-such-venue"),
        Caller::new("an admin of two venues", &group, |_| UNCLEAR),
        Caller::new("an admin of two venues, here", &group, all).naming(VENUE),
        Caller::new("an admin of two venues, elsewhere", &group, forbidden).naming("elsewhere"),
    ]
}

/// The path with each parameter filled.
fn filled(path: &str, value: impl Fn(&str) -> String) -> String {
    let parts = path.split('/').map(|part| match part.strip_prefix('{') {
        Some(name) => value(name.trim_end_matches('}')),
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Ids that are nowhere.
fn nowhere(name: &str) -> String {
    match name {
        "service_day" => "2020-02-20".into(),
        "api_key_id" | "webhook_id" => "1".into(),
        "enrolment_id" => "nowhere2".into(),
        "role" => "list".into(),
        "kid" => "200".into(),
        _ => "nothing-of-that-name".into(),
    }
}

#[test]
fn every_route_has_an_expectation_and_every_expectation_a_route() {
    let document: Value = serde_json::from_str(&openapi_text()).unwrap();
    let routes: Vec<_> = operations(&document)
        .into_iter()
        .map(|(method, path, operation)| {
            let security = operation["security"].as_array().unwrap().first();
            let who = match security {
                None => Everybody,
                Some(scheme) => match scheme["api_key"].as_array() {
                    Some(scopes) => Keys(scopes[0].as_str().unwrap().parse().unwrap()),
                    None => Devices,
                },
            };
            (method, path, who)
        })
        .collect();
    for (method, path, who) in &routes {
        let known = EXPECTED.iter().find(|one| one.0 == method && one.1 == path);
        let known = known.unwrap_or_else(|| {
            panic!("{method} {path} is new: say in EXPECTED who may use it, and give it a body")
        });
        assert_eq!(known.2, *who, "{method} {path}");
    }
    for (method, path, ..) in EXPECTED {
        let is_there = routes.iter().any(|one| one.0 == *method && one.1 == *path);
        assert!(is_there, "{method} {path} is gone: take it out of EXPECTED");
    }
}

/// A request whose answer says the same ids of request and trace as every other's, so that answers
/// can be compared to the word.
fn named_alike(request: RequestBuilder) -> RequestBuilder {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    request
        .header("x-request-id", "0af7651916cd43dd8448eb211c80319c")
        .header("traceparent", trace)
}

#[tokio::test]
async fn every_caller_is_told_of_every_route_what_it_may() {
    let site = Site::start().await;
    site.furnish().await;
    let device = site.enrol(1).await;
    let callers = callers(&site, &device).await;
    let mut asked = 0;
    for (method, path, who, _) in EXPECTED {
        let mut foreign = Vec::new();
        for caller in &callers {
            let path = filled(path, nowhere) + &caller.query;
            let mut request = site.request(method, &path);
            if let Some(authorization) = &caller.authorization {
                request = request.header("authorization", authorization);
            }
            let response = request.send().await.unwrap();
            let status = response.status();
            let context = format!("{method} {path} by {}: {status}", caller.name);
            assert!(!status.is_server_error(), "{context}");
            match caller.is_told(*who) {
                Told::Opens => {
                    assert_ne!(status, StatusCode::UNAUTHORIZED, "{context}");
                    let is_shut = status == StatusCode::FORBIDDEN && *who != Everybody;
                    assert!(!is_shut, "{context}");
                }
                Told::Refused(expected) => {
                    assert_eq!(status, expected, "{context}");
                    let challenges = response.headers().contains_key("www-authenticate");
                    assert_eq!(
                        challenges,
                        expected == StatusCode::UNAUTHORIZED,
                        "{context}"
                    );
                    let (_, _, problem) = refusal(response).await;
                    if caller.name.starts_with("another venue's admin,") {
                        foreign.push(problem);
                    }
                }
            }
            asked += 1;
        }
        // A venue that is another's is refused like one that is not there.
        assert!(
            foreign.windows(2).all(|two| two[0] == two[1]),
            "{method} {path}"
        );
    }
    assert_eq!(asked, EXPECTED.len() * callers.len());
}

/// What stands in names of [`VENUE`], and in ids that no request names: no other venue may see it.
const MARKER: &str = "marker";

/// A venue with one of everything, each with the marker in its name.
async fn marked() -> (Site, Value) {
    let site = Site::start().await;
    site.furnish().await;
    let now = site.server.now().seconds().0;
    let session = json!({"starts_at": now - 60, "ends_at": now + 3600, "name": MARKER});
    let _: Value = site
        .done("PUT", "/v1/sessions/markersession", session)
        .await;
    let gate = json!({"name": MARKER});
    let _: Value = site.done("PUT", "/v1/gates/markergate", gate).await;
    for id in ["li", "markerli"] {
        let operator = json!({"name": MARKER, "role": "guard", "pin": "246810"});
        let _: Value = site
            .done("PUT", &format!("/v1/operators/{id}"), operator)
            .await;
    }
    let webhook = json!({"name": MARKER, "url": "http://127.0.0.1:1/", "carries": ["sessions"],
                         "insecure_http": true});
    let _: Value = site.done("POST", "/v1/webhooks", webhook).await;
    let file = "ticket_id,order_number,session_id,label\nT1,marker,markersession,marker\n";
    let response = site.import("text/csv", file).send().await.unwrap();
    let _: Value = read(response).await;
    let invited: Value = site
        .done("POST", "/v1/enrolments", json!({"gates": ["markergate"]}))
        .await;
    let text: EnrolmentText = invited["text"].as_str().unwrap().parse().unwrap();
    let waiting = site.request("POST", "/v1/gate/enrol").json(&EnrolRequest {
        token: text.token,
        name: MARKER.to_owned(),
        model: String::new(),
        public_key: DeviceSigningKey::from_seed(&[76; 32])
            .verifying_key()
            .to_base64(),
    });
    assert_eq!(waiting.send().await.unwrap().status(), StatusCode::ACCEPTED);
    let mut device = site.enrol(1).await;
    let ticket: Value = site.done("GET", "/v1/tickets/T1", Value::Null).await;
    let records = [device.admits(&site, &ticket), device.admits(&site, &ticket)];
    let batch = device.batch(&records);
    let request = site.request("POST", "/v1/gate/records");
    let filed = request
        .bearer_auth(device.bearer())
        .json(&batch)
        .send()
        .await;
    let _: Value = read(filed.unwrap()).await;
    (site, ticket)
}

/// Everything that the venue's own admin can read, but for when keys were used.
async fn everything(site: &Site, here: impl Fn(&str) -> String) -> Vec<Value> {
    let mut read_so_far = Vec::new();
    for (method, path, who, _) in EXPECTED {
        let reads = *method == "GET" && matches!(who, Keys(_)) && !path.ends_with("/code");
        if reads {
            let path = asked_for(&filled(path, &here));
            let mut answer: Value = site.done("GET", &path, Value::Null).await;
            for key in answer["api_keys"].as_array_mut().into_iter().flatten() {
                key.as_object_mut().unwrap().remove("last_used_at");
            }
            read_so_far.push(answer);
        }
    }
    read_so_far
}

/// The path with the parameters that its route wants.
fn asked_for(path: &str) -> String {
    match path {
        "/v1/reports/attendance" => format!("{path}?from=2026-01-01&to=2026-01-31"),
        path if path.ends_with("/code") => format!("{path}?format=G2"),
        path => path.to_owned(),
    }
}

/// A problem without the ids of its request, which is its own each time.
fn without_ids(text: &str) -> Value {
    let mut problem: Value = serde_json::from_str(text).unwrap();
    for name in ["request_id", "trace"] {
        assert!(problem.as_object_mut().unwrap().remove(name).is_some());
    }
    problem
}

#[tokio::test]
async fn nobody_reads_writes_or_infers_anything_of_another_venue() {
    let (site, ticket) = marked().await;
    let keys: Value = site.done("GET", "/v1/api-keys", Value::Null).await;
    let own_key = keys["api_keys"][0]["api_key_id"].to_string();
    let devices: Value = site.done("GET", "/v1/devices", Value::Null).await;
    let own_device = devices["devices"][0]["device_id"].as_str().unwrap();
    let webhooks: Value = site.done("GET", "/v1/webhooks", Value::Null).await;
    let own_webhook = webhooks["webhooks"][0]["webhook_id"].to_string();
    let enrolments: Value = site.done("GET", "/v1/enrolments", Value::Null).await;
    let own_enrolment = enrolments["enrolments"][0]["enrolment_id"]
        .as_str()
        .unwrap();
    let day = ticket["service_day"].as_str().unwrap().to_owned();
    let here = |name: &str| match name {
        "service_day" => day.clone(),
        "api_key_id" => own_key.clone(),
        "device_id" => own_device.to_owned(),
        "enrolment_id" => own_enrolment.to_owned(),
        "role" => "code".into(),
        "kid" => "201".into(),
        "webhook_id" => own_webhook.clone(),
        "session_id" => "now".into(),
        "gate_id" => "north".into(),
        "operator_id" => "li".into(),
        "ticket_id" => "T1".into(),
        other => panic!("say what `{other}` is at the venue"),
    };
    let before = everything(&site, here).await;
    assert!(
        before
            .iter()
            .any(|answer| answer.to_string().contains(MARKER))
    );
    let admin = key_for(&site.server, &[OTHER_VENUE], &[Admin]).await;
    let device = other_bearer(&site).await;
    for (method, path, who, body) in EXPECTED {
        let token = match who {
            Everybody => continue,
            Devices => &device,
            Keys(_) => &admin,
        };
        let mut answers = Vec::new();
        // First what is nowhere, so that what is made by that does not tell the two apart.
        for (ids, body) in [
            (
                filled(path, nowhere),
                body.replace("T1", "T9").replace("museum", "nowhere"),
            ),
            (filled(path, here), (*body).to_owned()),
        ] {
            let request = site.request(method, &asked_for(&ids)).bearer_auth(token);
            let mut request = named_alike(request);
            if !body.is_empty() {
                let is_file = *path == "/v1/tickets";
                let media_type = if is_file {
                    "text/csv"
                } else {
                    "application/json"
                };
                request = request.header("content-type", media_type).body(body);
            }
            let response = request.send().await.unwrap();
            let status = response.status();
            let text = response.text().await.unwrap();
            let context = format!("{method} {ids}: {status} {text}");
            assert!(!text.contains(MARKER), "{context}");
            assert!(!status.is_server_error(), "{context}");
            // A refusal is the same in every word; what was put at one's own venue is one's own.
            let word = match status.is_success() {
                true => Value::Null,
                false => without_ids(&text),
            };
            answers.push((status, word));
        }
        assert_eq!(answers[0], answers[1], "{method} {path}");
    }
    assert_eq!(everything(&site, here).await, before);
}
