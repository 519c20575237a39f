//! Handshakes that hang, and the end of a server that has some.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use stile_sync_server::config::Limits;
use stile_sync_server::http;
use stile_sync_server::tls::{Own, Served};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};

use crate::installed::Installed;

/// Longer than anything that a test waits for.
const ENOUGH: Duration = Duration::from_secs(30);

async fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn served(installed: &Installed) -> Arc<Served> {
    installed.tls_new();
    Served::open(Own::in_folder(&installed.data(), None).files()).unwrap()
}

#[tokio::test]
async fn a_handshake_that_hangs_is_ended_and_makes_room_for_others() {
    let installed = Installed::new();
    let acceptor = served(&installed).acceptor().unwrap();
    let (listener, port) = listener().await;
    let limits = Limits {
        handshake_time: Duration::from_millis(300),
        connections: 1,
        ..Limits::default()
    };
    tokio::spawn(async move {
        let router = Router::new().route("/", get(async || "here"));
        http::serve(
            listener,
            Some(acceptor),
            router,
            &limits,
            std::future::pending(),
        )
        .await;
    });
    let mut silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    // The only place is taken until the server has had enough.
    let url = format!("https://localhost:{port}/");
    let answer = installed.client().get(url).send().await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "here");
    let closed = tokio::time::timeout(ENOUGH, silent.read(&mut [0; 1])).await;
    assert!(matches!(closed, Ok(Ok(0) | Err(_))));
}

#[tokio::test]
async fn a_server_that_stops_answers_what_is_in_flight_and_waits_for_no_handshake() {
    let installed = Installed::new();
    let acceptor = served(&installed).acceptor().unwrap();
    let (listener, port) = listener().await;
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (asked, answered) = (begun.clone(), go_on.clone());
    let (stop, stopped) = oneshot::channel::<()>();
    // A handshake would hold the server longer than the test has patience.
    let limits = Limits {
        handshake_time: 2 * ENOUGH,
        stop_time: 2 * ENOUGH,
        ..Limits::default()
    };
    let serving = tokio::spawn(async move {
        let slow = async move || {
            asked.notify_one();
            answered.notified().await;
            "answered"
        };
        let router = Router::new().route("/", get(slow));
        let stop = async {
            let _ = stopped.await;
        };
        http::serve(listener, Some(acceptor), router, &limits, stop).await;
    });
    let _silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = installed.client().get(format!("https://localhost:{port}/"));
    let request = tokio::spawn(request.send());
    begun.notified().await;
    stop.send(()).unwrap();
    while TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
        tokio::task::yield_now().await;
    }
    go_on.notify_one();
    let answer = request.await.unwrap().unwrap();
    assert_eq!(answer.text().await.unwrap(), "answered");
    tokio::time::timeout(ENOUGH, serving)
        .await
        .unwrap()
        .unwrap();
}
