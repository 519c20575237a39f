//! A receiver of webhooks that a test plays on a loopback port: it keeps what it is sent, and answers
//! as the test says.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use data_encoding::BASE64;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// What the receiver is to answer; 204 where nothing is said.
pub enum Answer {
    Status(u16),
    /// A status with a header.
    With(u16, &'static str, String),
    /// 200 with a body.
    Body(&'static str),
    /// 200 and a body that never ends.
    Endless,
    /// Nothing, ever.
    Silence,
}

/// What was sent.
#[derive(Clone)]
pub struct Sent {
    pub id: String,
    pub timestamp: String,
    pub signature: String,
    pub traceparent: String,
    pub body: Vec<u8>,
}

impl Sent {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Whether it is signed with a secret.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = BASE64.decode(secret.strip_prefix("whsec_").unwrap().as_bytes());
        let mut mac = Hmac::<Sha256>::new_from_slice(&key.unwrap()).unwrap();
        mac.update(format!("{}.{}.", self.id, self.timestamp).as_bytes());
        mac.update(&self.body);
        self.signature == format!("v1,{}", BASE64.encode(&mac.finalize().into_bytes()))
    }

    /// The ids of the tickets of the check-ins in it.
    pub fn tickets(&self) -> Vec<String> {
        let json = self.json();
        let records = json["data"]["records"].as_array().unwrap();
        let ticket = |one: &Value| one["record"]["ticket_id"].as_str().unwrap().to_owned();
        records.iter().map(ticket).collect()
    }
}

#[derive(Default)]
struct Kept {
    sent: Mutex<Vec<Sent>>,
    answers: Mutex<VecDeque<Answer>>,
    came: Notify,
}

/// See the module.
pub struct WebhookReceiver {
    pub port: u16,
    kept: Arc<Kept>,
}

impl WebhookReceiver {
    pub async fn start() -> Self {
        let kept = Arc::new(Kept::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let router = Router::new().fallback(take).with_state(kept.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { port, kept }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook?key=TOKEN-IN-URL", self.port)
    }

    /// What it is to answer next, in this order.
    pub fn answers(&self, answers: impl IntoIterator<Item = Answer>) {
        self.kept.answers.lock().unwrap().extend(answers);
    }

    pub fn sent(&self) -> Vec<Sent> {
        self.kept.sent.lock().unwrap().clone()
    }

    /// What it was sent, once that is so many.
    pub async fn has(&self, count: usize) -> Vec<Sent> {
        loop {
            let came = self.kept.came.notified();
            let sent = self.sent();
            if sent.len() >= count {
                return sent;
            }
            came.await;
        }
    }
}

async fn take(State(kept): State<Arc<Kept>>, headers: HeaderMap, body: Bytes) -> Response {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    kept.sent.lock().unwrap().push(Sent {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
        traceparent: header("traceparent"),
        body: body.to_vec(),
    });
    let answer = kept.answers.lock().unwrap().pop_front();
    kept.came.notify_one();
    let response = |status: u16, body: Body| {
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        response
    };
    match answer.unwrap_or(Answer::Status(204)) {
        Answer::Status(status) => response(status, Body::empty()),
        Answer::With(status, name, value) => {
            let mut response = response(status, Body::empty());
            response.headers_mut().insert(name, value.parse().unwrap());
            response
        }
        Answer::Body(body) => response(200, body.into()),
        Answer::Endless => {
            let more =
                || async { Ok::<_, std::io::Error>((Bytes::from_static(&[b' '; 4096]), ())) };
            let endless = futures_util::stream::try_unfold((), move |()| async move {
                Ok::<_, std::io::Error>(Some(more().await?))
            });
            response(200, Body::from_stream(endless))
        }
        Answer::Silence => std::future::pending().await,
    }
}
