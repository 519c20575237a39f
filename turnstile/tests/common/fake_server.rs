//! A server for one venue, as far as a gate sees one, on a free loopback port: it enrols, signs
//! lists, files records, and tells the time that the test wants. It can hang, answer as a captive
//! portal or a failing proxy does, and go away. Knows nothing of any gate program.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use stile_core::ids::RecordId;
use stile_core::keys::DeviceVerifyingKey;
use stile_core::protocol::{
    Batch, Code, EnrolRequest, EnrolWaiting, EnrolmentDigits, EnrolmentText, Filed, ListManifest,
    Lists, Problem, RecordHead, RecordResult, RecordsAnswer, SignedBatch, TIME_HEADER,
};
use stile_core::signed::{Domain, Signed};
use stile_core::ticket::Ticket;
use stile_core::time::{EpochMillis, EpochSeconds, ServiceDay};
use tokio::runtime::Runtime;

use super::venue::{NINE, Venue, id};

/// The one-time token of the fake server's enrolment text.
pub const TOKEN: &str = "token-of-the-qr";

/// How the server behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// As it should.
    Right,
    /// Takes requests and never answers.
    Hangs,
    /// Another machine answers, with a page and this status: 200 is a captive portal's.
    Page(u16),
    /// It answers, with a problem document of this code.
    Problem(Code),
}

/// What an operator at the server says of the device that enrols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// None is wanted.
    NotWanted,
    /// None yet: the device waits.
    Awaited,
    /// It is not to be enrolled, for this reason.
    Refused(&'static str),
}

/// What the server has and has seen.
pub struct Books {
    pub venue: Venue,
    behaviour: Mutex<Behaviour>,
    word: Mutex<Word>,
    started: Instant,
    clock_ms: AtomicI64,
    device_key: Mutex<Option<String>>,
    lists: Mutex<BTreeMap<ServiceDay, (Signed, Vec<u8>)>>,
    records: Mutex<BTreeMap<RecordId, String>>,
    replayed: AtomicU64,
    requests: AtomicU64,
}

impl Books {
    pub fn now(&self) -> EpochMillis {
        let elapsed = i64::try_from(self.started.elapsed().as_millis()).unwrap();
        EpochMillis(self.clock_ms.load(Ordering::SeqCst) + elapsed)
    }
}

/// The running server. Gone when dropped, connections with it.
pub struct FakeServer {
    pub address: SocketAddr,
    pub books: Arc<Books>,
    runtime: Option<Runtime>,
}

impl FakeServer {
    /// Starts on a free port. Its clock stands at nine on the day of the venue's sessions.
    pub fn start(venue: Venue) -> Self {
        let books = Arc::new(Books {
            venue,
            behaviour: Mutex::new(Behaviour::Right),
            word: Mutex::new(Word::NotWanted),
            started: Instant::now(),
            clock_ms: AtomicI64::new(NINE * 1000),
            device_key: Mutex::default(),
            lists: Mutex::default(),
            records: Mutex::default(),
            replayed: AtomicU64::new(0),
            requests: AtomicU64::new(0),
        });
        Self::serve("127.0.0.1:0".parse().unwrap(), books)
    }

    fn serve(address: SocketAddr, books: Arc<Books>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let routes = Router::new()
            .route("/v1/gate/enrol", post(enrol))
            .route("/v1/gate/lists", get(lists))
            .route("/v1/gate/whitelist/{day}", get(list))
            .route("/v1/gate/records", post(records))
            .layer(from_fn_with_state(Arc::clone(&books), behave))
            .with_state(Arc::clone(&books));
        let listener = runtime.block_on(tokio::net::TcpListener::bind(address));
        let listener = listener.unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            address,
            books,
            runtime: Some(runtime),
        }
    }

    /// What the operator says from now on.
    pub fn say(&self, word: Word) {
        *self.books.word.lock().unwrap() = word;
    }

    /// Another device may enrol by the same text.
    pub fn forget_device(&self) {
        *self.books.device_key.lock().unwrap() = None;
    }

    /// The digits of the device that enrols, as the operator's server has them.
    pub fn digits(&self) -> EnrolmentDigits {
        let key = self.books.device_key.lock().unwrap();
        let key = DeviceVerifyingKey::from_base64(key.as_ref().unwrap()).unwrap();
        let root = self.books.venue.enrolment_text().root_fingerprint;
        EnrolmentDigits::derive(TOKEN, &root, &key).unwrap()
    }

    /// Goes away, as if unplugged.
    pub fn away(mut self) -> Away {
        self.end();
        Away {
            address: self.address,
            books: Arc::clone(&self.books),
        }
    }

    fn end(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(std::time::Duration::from_secs(5));
        }
    }

    pub fn behave(&self, behaviour: Behaviour) {
        *self.books.behaviour.lock().unwrap() = behaviour;
    }

    /// Puts the server's clock to a time.
    pub fn set_clock(&self, at_ms: i64) {
        let elapsed = i64::try_from(self.books.started.elapsed().as_millis()).unwrap();
        self.books.clock_ms.store(at_ms - elapsed, Ordering::SeqCst);
    }

    pub fn now_s(&self) -> i64 {
        self.books.now().seconds().0
    }

    /// The text of its enrolment QR.
    pub fn enrolment_text(&self) -> String {
        EnrolmentText {
            server: format!("http://{}", self.address),
            token: TOKEN.into(),
            ..self.books.venue.enrolment_text()
        }
        .to_string()
    }

    /// Offers a list of the sessions' day.
    pub fn put_list(&self, version: u64, tickets: &[Ticket]) {
        let venue = &self.books.venue;
        let rows = Venue::rows(tickets);
        let manifest = venue.manifest(version, &rows);
        self.put_stream(&manifest, venue.stream(&manifest, &rows));
    }

    /// Offers any bytes as the list of a manifest.
    pub fn put_stream(&self, manifest: &ListManifest, stream: Vec<u8>) {
        let signed = self.books.venue.sign_list(manifest);
        let mut lists = self.books.lists.lock().unwrap();
        lists.insert(manifest.service_day.clone(), (signed, stream));
    }

    /// The records filed, by id.
    pub fn records(&self) -> BTreeMap<RecordId, String> {
        self.books.records.lock().unwrap().clone()
    }

    pub fn replayed(&self) -> u64 {
        self.books.replayed.load(Ordering::SeqCst)
    }

    /// Requests that arrived, whatever came of them.
    pub fn requests(&self) -> u64 {
        self.books.requests.load(Ordering::SeqCst)
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// A server that is away with its books.
pub struct Away {
    address: SocketAddr,
    books: Arc<Books>,
}

impl Away {
    /// Comes back to its address.
    pub fn back(self) -> FakeServer {
        FakeServer::serve(self.address, self.books)
    }
}

async fn behave(State(books): State<Arc<Books>>, request: Request, next: Next) -> Response {
    books.requests.fetch_add(1, Ordering::SeqCst);
    let behaviour = *books.behaviour.lock().unwrap();
    let mut answer = match behaviour {
        Behaviour::Right => next.run(request).await,
        Behaviour::Hangs => std::future::pending().await,
        Behaviour::Page(status) => {
            let page = "<html><body>Welcome to the free Wi-Fi. Please sign in.</body></html>";
            return (StatusCode::from_u16(status).unwrap(), page).into_response();
        }
        Behaviour::Problem(code) => problem(code, "as the test wants it"),
    };
    let time = books.now().0.to_string();
    answer
        .headers_mut()
        .insert(TIME_HEADER, time.parse().unwrap());
    answer
}

fn problem(code: Code, detail: &str) -> Response {
    let status = StatusCode::from_u16(code.status()).unwrap();
    (status, Json(Problem::new(code, detail))).into_response()
}

async fn enrol(State(books): State<Arc<Books>>, Json(request): Json<EnrolRequest>) -> Response {
    let mut key = books.device_key.lock().unwrap();
    let repeated = key.as_ref().is_none_or(|key| *key == request.public_key);
    if request.token != TOKEN || !repeated {
        return problem(Code::EnrolmentRefused, "the token is wrong, used or over");
    }
    *key = Some(request.public_key.clone());
    match *books.word.lock().unwrap() {
        Word::NotWanted => {}
        Word::Awaited => {
            let waiting = EnrolWaiting {
                enrolment_id: "abcdefg7".parse().unwrap(),
                expires_at: EpochSeconds(books.now().seconds().0 + 600),
            };
            let again = [("retry-after", "1")];
            return (StatusCode::ACCEPTED, again, Json(waiting)).into_response();
        }
        Word::Refused(why) => return problem(Code::EnrolmentRefused, why),
    }
    Json(books.venue.enrol(&request)).into_response()
}

async fn lists(State(books): State<Arc<Books>>) -> Response {
    let lists = books.lists.lock().unwrap();
    Json(Lists {
        key_manifest: books.venue.signed_key_manifest(1),
        manifests: lists.values().map(|(signed, _)| signed.clone()).collect(),
    })
    .into_response()
}

async fn list(State(books): State<Arc<Books>>, Path(day): Path<String>) -> Response {
    let lists = books.lists.lock().unwrap();
    match lists.get(&id::<ServiceDay>(&day)) {
        Some((_, stream)) => Body::from(stream.clone()).into_response(),
        None => problem(Code::NotFound, "no such list"),
    }
}

async fn records(State(books): State<Arc<Books>>, body: Bytes) -> Response {
    let Ok(SignedBatch(signed)) = serde_json::from_slice(&body) else {
        return problem(Code::InvalidBody, "no batch");
    };
    let key = books.device_key.lock().unwrap().clone().unwrap();
    let key = DeviceVerifyingKey::from_base64(&key).unwrap();
    let Ok(payload) = signed.verify(&Domain::RECORDS, &key) else {
        return problem(Code::Unauthorized, "not signed by the device");
    };
    let batch: Batch = serde_json::from_slice(&payload).unwrap();
    let mut filed = books.records.lock().unwrap();
    let results = batch.records.iter().map(|record| {
        let head: RecordHead = serde_json::from_str(record.get()).unwrap();
        let known = filed.insert(head.id, record.get().to_owned());
        if let Some(before) = &known {
            assert_eq!(before, record.get(), "a record never changes");
            books.replayed.fetch_add(1, Ordering::SeqCst);
        }
        RecordResult {
            id: head.id,
            result: match known {
                Some(_) => Filed::Replayed,
                None => Filed::Accepted,
            },
            standing: None,
            why: None,
        }
    });
    let results = results.collect();
    Json(RecordsAnswer {
        results,
        logs: Vec::new(),
    })
    .into_response()
}
