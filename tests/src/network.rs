//! The network between gates and server: passes HTTP on, counts what the server says of records,
//! and, when told, does what networks do: nothing, for a while, too late, twice, cut in the middle,
//! or a page of somebody else's.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use data_encoding::BASE64;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING,
};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use stile_core::protocol::{Code, Filed, Problem, RecordsAnswer, SignedBatch};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

/// What the network does to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The server never sees it, and the connection breaks.
    LoseRequest,
    /// The server has answered, and the connection breaks before the gate hears it.
    LoseAnswer,
    /// The server sees it twice; the gate hears the second answer.
    Twice,
    /// The gate hears the answer this much later.
    Late(Duration),
    /// Somebody else answers with a web page of this status, as captive portals and proxies do.
    Page(u16),
    /// Half of the answer's JSON, as a whole answer.
    HalfJson,
    /// The answer names other records than were sent.
    OtherIds,
    /// The answer names every second record only.
    HalfIds,
    /// The server refuses what was sent: this status with a problem document of its kind.
    Refused(u16),
}

impl Fault {
    /// Every kind, for drawing at random.
    pub const KINDS: [Fault; 11] = [
        Fault::LoseRequest,
        Fault::LoseAnswer,
        Fault::Twice,
        Fault::Late(Duration::from_millis(300)),
        Fault::Page(200),
        Fault::Page(401),
        Fault::Page(404),
        Fault::Page(502),
        Fault::HalfJson,
        Fault::OtherIds,
        Fault::HalfIds,
    ];
}

/// What the server said of records, whether or not the gate heard it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Uploads {
    /// Answers to batches.
    pub answers: u64,
    /// Records stored.
    pub accepted: u64,
    /// Records that had been stored before.
    pub replayed: u64,
    /// Records set aside.
    pub quarantined: u64,
}

/// Decides what happens to a request, by its path and body.
type Plan = Box<dyn FnMut(&str, &[u8]) -> Option<Fault> + Send>;

/// The path that records go to.
pub const RECORDS: &str = "/v1/gate/records";

struct State {
    server: SocketAddr,
    is_cut: bool,
    /// Whether requests and answers wait; told to those that do.
    held: watch::Sender<bool>,
    plan: Plan,
    uploads: Uploads,
    faults: u64,
}

/// See the module. Dropped, it is gone.
pub struct Network {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Network {
    /// A network that leads to a server, at an address of its own.
    pub fn to(server: SocketAddr) -> Result<Self> {
        let state = Arc::new(Mutex::new(State {
            server,
            is_cut: false,
            held: watch::Sender::new(false),
            plan: Box::new(|_, _| None),
            uploads: Uploads::default(),
            faults: 0,
        }));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let (end, ended) = oneshot::channel();
        let shared = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("network".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = serve(listener, shared) => {}
                        _ = ended => {}
                    }
                });
            })?;
        Ok(Self {
            address,
            state,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// Where gates reach the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lets nothing through until it is mended.
    pub fn cut(&self) {
        self.state().is_cut = true;
    }

    /// Lets nothing through either, but breaks no connection: what was sent meanwhile arrives when
    /// it is mended, as packets do that are sent again, unless whoever sent it has given up.
    pub fn hold(&self) {
        self.state().held.send_replace(true);
    }

    /// Lets everything through again.
    pub fn mend(&self) {
        let mut state = self.state();
        state.is_cut = false;
        state.held.send_replace(false);
        state.plan = Box::new(|_, _| None);
    }

    /// Does these to the next uploads of records, one each, and then nothing more.
    pub fn on_uploads(&self, faults: &[Fault]) {
        let mut faults: VecDeque<_> = faults.iter().copied().collect();
        self.plan(move |path, _| (path == RECORDS).then(|| faults.pop_front()).flatten());
    }

    /// Asks for each request what to do to it.
    pub fn plan(&self, plan: impl FnMut(&str, &[u8]) -> Option<Fault> + Send + 'static) {
        self.state().plan = Box::new(plan);
    }

    /// Refuses each upload that holds a text, with a status and a problem document of ours.
    pub fn refuse_uploads_with(&self, text: &str, status: u16) {
        let text = text.to_owned();
        self.plan(move |path, body| {
            let holds =
                path == RECORDS && batch_of(body).is_some_and(|batch| batch.contains(&text));
            holds.then_some(Fault::Refused(status))
        });
    }

    /// What the server has said of records so far.
    pub fn uploads(&self) -> Uploads {
        self.state().uploads
    }

    /// Requests that something was done to.
    pub fn faults(&self) -> u64 {
        self.state().faults
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic there has been printed
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection breaks.
#[derive(Debug)]
struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection breaks")
    }
}

impl std::error::Error for Broken {}

type Answer = Response<Full<Bytes>>;

/// The gate brings TLS into the build, whose maker must be named before any HTTP client is made,
/// also for one that speaks plain HTTP.
pub(crate) fn choose_tls() {
    // One that was named before is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

async fn serve(listener: TcpListener, state: Arc<Mutex<State>>) {
    choose_tls();
    // The gate's own request decides on encodings; nothing is unpacked on the way.
    let client = reqwest::Client::builder()
        .no_gzip()
        .no_zstd()
        .no_proxy()
        .build();
    let Ok(client) = client else { return };
    while let Ok((connection, _)) = listener.accept().await {
        if lock(&state).is_cut {
            continue; // closed at once
        }
        let (client, state) = (client.clone(), Arc::clone(&state));
        tokio::spawn(async move {
            // In a task of its own: what has arrived goes on to the server, and its answer is counted,
            // though the gate has gone meanwhile.
            let service = service_fn(|request| {
                let passed = tokio::spawn(pass_on(client.clone(), Arc::clone(&state), request));
                async { passed.await.unwrap_or(Err(Broken)) }
            });
            // A connection that breaks is the point.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(connection), service)
                .await;
        });
    }
}

/// Waits while everything is held.
async fn until_let_through(state: &Mutex<State>) {
    let mut held = lock(state).held.subscribe();
    // A network that is gone holds nothing.
    let _ = held.wait_for(|held| !held).await;
}

async fn pass_on(
    client: reqwest::Client,
    state: Arc<Mutex<State>>,
    request: Request<Incoming>,
) -> Result<Answer, Broken> {
    let path = request.uri().path().to_owned();
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Broken)?.to_bytes();
    until_let_through(&state).await;
    let (fault, server) = {
        let mut state = lock(&state);
        if state.is_cut {
            return Err(Broken);
        }
        let fault = (state.plan)(&path, &body);
        state.faults += u64::from(fault.is_some());
        (fault, state.server)
    };
    let target = head
        .uri
        .path_and_query()
        .map_or(path.as_str(), |target| target.as_str());
    let url = format!("http://{server}{target}");
    let send = || async {
        let mut headers = head.headers.clone();
        for hop in [
            HOST,
            CONNECTION,
            CONTENT_LENGTH,
            TRANSFER_ENCODING,
            ACCEPT_ENCODING,
        ] {
            headers.remove(hop);
        }
        let sent = client
            .request(head.method.clone(), &url)
            .headers(headers)
            .body(body.clone());
        let answer = sent.send().await.map_err(|_| Broken)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = answer.bytes().await.map_err(|_| Broken)?;
        if path == RECORDS && status == StatusCode::OK {
            count(&state, &body);
        }
        Ok((status, headers, body))
    };
    match fault {
        Some(Fault::LoseRequest) => return Err(Broken),
        Some(Fault::Page(status)) => return Ok(page(status)),
        Some(Fault::Refused(status)) => return Ok(refused(status)),
        Some(Fault::LoseAnswer) => {
            send().await?;
            return Err(Broken);
        }
        Some(Fault::Twice) => {
            send().await?;
        }
        _ => {}
    }
    let (status, headers, body) = send().await?;
    until_let_through(&state).await;
    let body = match fault {
        Some(Fault::Late(by)) => {
            tokio::time::sleep(by).await;
            body
        }
        Some(Fault::HalfJson) => body.slice(..body.len() / 2),
        Some(Fault::OtherIds) => rewritten(&body, |answer| {
            for result in &mut answer.results {
                result.id.0 = uuid::Uuid::from_u128(!result.id.0.as_u128());
            }
        }),
        Some(Fault::HalfIds) => rewritten(&body, |answer| {
            let mut keep = false;
            answer.results.retain(|_| {
                keep = !keep;
                keep
            });
        }),
        _ => body,
    };
    Ok(answered(status, &headers, body))
}

fn answered(status: StatusCode, headers: &HeaderMap, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    for (name, value) in headers {
        if ![CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(name) {
            answer.headers_mut().append(name, value.clone());
        }
    }
    answer
}

/// What a captive portal or a proxy says.
fn page(status: u16) -> Answer {
    let text = "<!doctype html><html><body><h1>Welcome to the guest network</h1></body></html>";
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let kind = hyper::header::HeaderValue::from_static("text/html");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

/// What a server of ours says to a request that it will not have.
fn refused(status: u16) -> Answer {
    let code = match status {
        400 => Code::InvalidBody,
        413 => Code::TooLarge,
        _ => Code::Unprocessable,
    };
    let problem = Problem::new(code, "refused on the way, for a test");
    let body = serde_json::to_vec(&problem).unwrap_or_default();
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    let kind = hyper::header::HeaderValue::from_static("application/problem+json");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

/// The text of the batch in an upload's body.
fn batch_of(body: &[u8]) -> Option<String> {
    let SignedBatch(signed) = serde_json::from_slice(body).ok()?;
    String::from_utf8(BASE64.decode(signed.payload.as_bytes()).ok()?).ok()
}

/// The answer to a batch, changed; anything else as it is.
fn rewritten(body: &Bytes, change: impl FnOnce(&mut RecordsAnswer)) -> Bytes {
    let Ok(mut answer) = serde_json::from_slice::<RecordsAnswer>(body) else {
        return body.clone();
    };
    change(&mut answer);
    serde_json::to_vec(&answer).map_or_else(|_| body.clone(), Bytes::from)
}

fn count(state: &Mutex<State>, body: &[u8]) {
    let Ok(answer) = serde_json::from_slice::<RecordsAnswer>(body) else {
        return;
    };
    let mut state = lock(state);
    state.uploads.answers += 1;
    for result in &answer.results {
        match result.result {
            Filed::Accepted => state.uploads.accepted += 1,
            Filed::Replayed => state.uploads.replayed += 1,
            Filed::Quarantined => state.uploads.quarantined += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::programs::wait_until;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// Reads up to the end of a request's body, which is `{}`.
    fn read_request(stream: &mut TcpStream) {
        let mut heard = Vec::new();
        while !heard.ends_with(b"{}") {
            let mut some = [0; 1024];
            let count = stream.read(&mut some).unwrap();
            assert!(count > 0, "the request was cut off");
            heard.extend_from_slice(&some[..count]);
        }
    }

    #[test]
    fn what_the_server_says_is_counted_though_the_gate_has_gone_meanwhile() {
        let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let network = Network::to(server.local_addr().unwrap()).unwrap();
        let mut gate = TcpStream::connect(network.address()).unwrap();
        let request =
            format!("POST {RECORDS} HTTP/1.1\r\nHost: s\r\nContent-Length: 2\r\n\r\n{{}}");
        gate.write_all(request.as_bytes()).unwrap();
        let (mut at_server, _) = server.accept().unwrap();
        read_request(&mut at_server);

        // The gate is killed; a second one shows that the network has noticed.
        drop(gate);
        let mut other = TcpStream::connect(network.address()).unwrap();
        other.write_all(request.as_bytes()).unwrap();
        let (mut for_other, _) = server.accept().unwrap();
        read_request(&mut for_other);

        let body = r#"{"results":[{"id":"00000000-0000-0000-0000-000000000001","result":"accepted"}],"logs":[]}"#;
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        // Nobody takes it where the network gave up with the gate.
        let _ = at_server.write_all(answer.as_bytes());
        wait_until("the answer is counted", PATIENCE, || {
            Ok(network.uploads().accepted == 1)
        })
        .unwrap();
    }
}
