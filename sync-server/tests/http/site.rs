//! A server with two venues on a free loopback port, and clients of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stile_core::ids::{Kid, VenueId};
use stile_core::keys::DeviceSigningKey;
use stile_core::policy::Policy;
use stile_core::protocol::{EnrolAnswer, EnrolRequest, Enrolment, EnrolmentText, SignedBatch};
use stile_core::signed::{Domain, Signed};
use stile_core::time::EpochMillis;
use stile_sync_server::clock::{Clock, SystemClock};
use stile_sync_server::config::Limits;
use stile_sync_server::http;
use stile_sync_server::server::{MasterKeySource, Server};
use stile_sync_server::store::Scope;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use uuid::Uuid;

/// The venue that tests are about.
pub const VENUE: &str = "museum";
/// Another one on the same server.
pub const OTHER_VENUE: &str = "gallery";

/// A clock that stands until it is set.
#[derive(Clone)]
pub struct SetClock(Arc<AtomicI64>);

impl SetClock {
    /// At a time of RFC 3339.
    pub fn at(time: &str) -> Self {
        let clock = Self(Arc::default());
        clock.set(time);
        clock
    }

    pub fn set(&self, time: &str) {
        let time: jiff::Timestamp = time.parse().unwrap();
        self.0.store(time.as_millisecond(), Ordering::SeqCst);
    }

    pub fn pass(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> EpochMillis {
        EpochMillis(self.0.load(Ordering::SeqCst))
    }
}

/// A running server.
pub struct Site {
    pub server: Arc<Server>,
    pub address: SocketAddr,
    /// A key with the scope `admin` for [`VENUE`].
    pub admin: String,
    client: Client,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
    folder: TempDir,
}

impl Site {
    pub async fn start() -> Self {
        Self::start_with(Limits::default()).await
    }

    /// With bounds that let a test see them in a moment.
    pub async fn start_with(limits: Limits) -> Self {
        Self::start_by(Arc::new(SystemClock), limits).await
    }

    /// By another clock than this machine's.
    pub async fn start_by(clock: Arc<dyn Clock>, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = open(&folder, clock).await;
        for venue in [VENUE, OTHER_VENUE] {
            let id = venue.parse().unwrap();
            let policy = Policy::default();
            server
                .create_venue(id, venue, "Asia/Shanghai", policy)
                .await
                .unwrap();
        }
        let admin = key_for(&server, &[VENUE], &[Scope::Admin]).await;
        Self::serve(folder, server, admin, limits).await
    }

    /// Copies the data as it is now.
    pub fn back_up(&self) -> std::path::PathBuf {
        let copy = self.folder.path().join("copy");
        Server::back_up(&self.data(), &copy).unwrap();
        copy
    }

    /// Puts the data back from a copy and starts anew.
    pub async fn put_back(mut self, copy: &std::path::Path) -> Self {
        self.stop().await;
        let Self {
            server,
            admin,
            folder,
            ..
        } = self;
        let data = folder.path().join("data");
        // What holds the folder.
        drop(server);
        Server::restore(&data, copy, &master_key(&folder), &SystemClock).unwrap();
        let server = open(&folder, Arc::new(SystemClock)).await;
        Self::serve(folder, server, admin, Limits::default()).await
    }

    async fn serve(folder: TempDir, server: Arc<Server>, admin: String, limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = http::router(server.clone(), limits.clone(), address);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            http::serve(listener, None, router, &limits, stopped).await;
        });
        Self {
            server,
            address,
            admin,
            client: client(),
            stop: Some(stop),
            serving: Some(serving),
            folder,
        }
    }

    /// Stops taking requests and waits for those in flight.
    pub async fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(serving) = self.serving.take() {
            serving.await.unwrap();
        }
        self.server.close().await;
    }

    /// The server's folder.
    pub fn data(&self) -> std::path::PathBuf {
        self.folder.path().join("data")
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A request without a key.
    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        self.client.request(method.parse().unwrap(), self.url(path))
    }

    /// A request with the admin's key.
    pub fn admin(&self, method: &str, path: &str) -> RequestBuilder {
        self.request(method, path).bearer_auth(&self.admin)
    }

    /// An answer with the admin's key, which must be one of success.
    pub async fn done<T: DeserializeOwned>(&self, method: &str, path: &str, body: Value) -> T {
        let request = self.admin(method, path);
        let request = if body.is_null() {
            request
        } else {
            request.json(&body)
        };
        read(request.send().await.unwrap()).await
    }

    /// What becomes of something that is written aside, asked for until it is there.
    pub async fn awaited<T>(&self, ask: impl AsyncFn() -> Option<T>) -> T {
        loop {
            if let Some(there) = ask().await {
                return there;
            }
            tokio::task::yield_now().await;
        }
    }

    /// A key for [`VENUE`] with one scope.
    pub async fn key(&self, scope: Scope) -> String {
        key_for(&self.server, &[VENUE], &[scope]).await
    }

    /// One session that is on now, and two gates.
    pub async fn furnish(&self) {
        let now = self.server.now().seconds().0;
        let session = json!({"starts_at": now - 3600, "ends_at": now + 3600});
        let _: Value = self.done("PUT", "/v1/sessions/now", session).await;
        for gate in ["north", "south"] {
            let _: Value = self
                .done("PUT", &format!("/v1/gates/{gate}"), json!({}))
                .await;
        }
    }

    /// Puts tickets into the session of [`Site::furnish`], by CSV.
    pub async fn put_tickets(&self, ids: impl IntoIterator<Item = String>) {
        let response = self.import("text/csv", csv(ids)).send().await.unwrap();
        let report: Value = read(response).await;
        assert_eq!(report["refused_count"], 0, "{report}");
    }

    /// Has a device upload records, each of which must be accepted.
    pub async fn upload(&self, device: &Gatekeeper, records: &[Value]) {
        let request = self
            .request("POST", "/v1/gate/records")
            .bearer_auth(device.bearer())
            .json(&device.batch(records));
        let answer: Value = read(request.send().await.unwrap()).await;
        for result in answer["results"].as_array().unwrap() {
            assert_eq!(result["result"], "accepted", "{answer}");
        }
    }

    /// Puts tickets `T0` … into the session of [`Site::furnish`], and gives what
    /// [`Gatekeeper::admits`] wants to know of them.
    pub async fn some_tickets(&self, count: usize) -> Vec<Value> {
        self.put_tickets((0..count).map(|n| format!("T{n}"))).await;
        let first: Value = self.done("GET", "/v1/tickets/T0", Value::Null).await;
        let day = &first["service_day"];
        let tickets = (0..count).map(
            |n| json!({"ticket_id": format!("T{n}"), "ticket_number": null, "service_day": day}),
        );
        tickets.collect()
    }

    pub fn import(&self, media_type: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
        self.admin("POST", "/v1/tickets")
            .header("content-type", media_type)
            .body(body)
    }

    /// Enrols a device for the gate `north`.
    pub async fn enrol(&self, seed: u8) -> Gatekeeper {
        let invited: Enrolment = self
            .done(
                "POST",
                "/v1/enrolments",
                json!({"gates": ["north"], "confirm": false}),
            )
            .await;
        let text: EnrolmentText = invited.text.parse().unwrap();
        let key = DeviceSigningKey::from_seed(&[seed; 32]);
        let request = EnrolRequest {
            token: text.token,
            name: format!("device {seed}"),
            model: "test".to_owned(),
            public_key: key.verifying_key().to_base64(),
        };
        let answer = self
            .request("POST", "/v1/gate/enrol")
            .json(&request)
            .send()
            .await
            .unwrap();
        Gatekeeper {
            key,
            answer: read(answer).await,
            log: Uuid::from_bytes([seed; 16]),
            made: 0,
        }
    }
}

fn master_key(folder: &TempDir) -> MasterKeySource {
    MasterKeySource::File(folder.path().join("master.key"))
}

async fn open(folder: &TempDir, clock: Arc<dyn Clock>) -> Arc<Server> {
    let (data, key) = (folder.path().join("data"), master_key(folder));
    Arc::new(Server::open(&data, key, clock).await.unwrap())
}

/// A key of its own.
pub async fn key_for(server: &Server, venues: &[&str], scopes: &[Scope]) -> String {
    let venues: Vec<VenueId> = venues.iter().map(|venue| venue.parse().unwrap()).collect();
    let (_, text) = server
        .add_api_key(&venues, scopes, "test", None)
        .await
        .unwrap();
    text.as_str().to_owned()
}

pub fn client() -> Client {
    // In a build of the whole workspace the gate brings TLS in, whose maker must be named before
    // any client is made, also for one that speaks plain HTTP. One named before is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Answers are looked at as they come.
    Client::builder()
        .no_gzip()
        .no_zstd()
        .no_proxy()
        .build()
        .unwrap()
}

pub fn csv(ids: impl IntoIterator<Item = String>) -> String {
    let lines = ids.into_iter().map(|id| format!("{id},O-{id},now\n"));
    "ticket_id,order_number,session_id\n".to_owned() + &lines.collect::<String>()
}

/// The body of an answer of success.
pub async fn read<T: DeserializeOwned>(response: Response) -> T {
    let status = response.status();
    let text = response.text().await.unwrap();
    assert!(status.is_success(), "{status}: {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The code of a refusal, whose document must be whole and agree with the answer around it, and the
/// document without what is its own each time: the ids of request and trace.
pub async fn refusal(response: Response) -> (StatusCode, String, Value) {
    let status = response.status();
    let headers = response.headers().clone();
    let text = response.text().await.unwrap();
    assert_eq!(
        headers["content-type"], "application/problem+json",
        "{status}: {text}"
    );
    assert!(headers.contains_key("stile-time") && headers.contains_key("stile-generation"));
    let mut problem: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(problem["status"], status.as_u16(), "{text}");
    let code = problem["code"].as_str().unwrap().to_owned();
    assert_eq!(problem["type"], format!("about:blank#{code}"));
    assert!(!problem["title"].as_str().unwrap().is_empty());
    assert!(!problem["detail"].as_str().unwrap().is_empty());
    let mut taken = |name| problem.as_object_mut().unwrap().remove(name).unwrap();
    assert_eq!(
        taken("request_id"),
        headers["x-request-id"].to_str().unwrap()
    );
    assert_eq!(taken("trace").as_str().unwrap().len(), 32);
    (status, code, problem)
}

/// An enrolled device, with its key and its log.
pub struct Gatekeeper {
    pub key: DeviceSigningKey,
    pub answer: EnrolAnswer,
    pub log: Uuid,
    /// Records made so far.
    pub made: u64,
}

impl Gatekeeper {
    pub fn bearer(&self) -> &str {
        &self.answer.bearer
    }

    /// The next record of its log: the ticket was admitted now.
    pub fn admits(&mut self, site: &Site, ticket: &Value) -> Value {
        self.admits_at(site.server.now(), ticket)
    }

    /// The same at another time.
    pub fn admits_at(&mut self, now: EpochMillis, ticket: &Value) -> Value {
        self.made += 1;
        let id = Uuid::from_u128(self.log.as_u128() ^ u128::from(self.made));
        json!({
            "id": id, "log_id": self.log, "sequence": self.made,
            "venue_id": self.answer.venue_id, "device_id": self.answer.device_id,
            "gate_id": "north", "checkpoint": "entry",
            "at": now.0, "u_ms": 5, "trust": "anchored",
            "kind": "scan", "via": "code", "direction": "in",
            "ticket_id": ticket["ticket_id"], "ticket_number": ticket["ticket_number"],
            "session_id": "now", "service_day": ticket["service_day"],
            "verdict": "admit", "persons": 1, "mode": "online", "decision_us": 4,
        })
    }

    /// A signed batch.
    pub fn batch(&self, records: &[Value]) -> SignedBatch {
        let batch = json!({"device_id": self.answer.device_id, "records": records});
        SignedBatch(self.sign(&batch))
    }

    pub fn sign(&self, payload: &impl Serialize) -> Signed {
        let payload = serde_json::to_vec(payload).unwrap();
        Signed::sign(&Domain::RECORDS, &payload, Kid(0), &self.key).unwrap()
    }
}
