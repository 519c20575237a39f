//! Connections: taken within bounds, served as HTTP/1.1 with TLS or without, and brought to a good
//! end when the server stops. Knows no routes.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tracing::{debug, info, warn};

use super::rate::Peer;
use crate::config::{HEAD_BYTES, Limits};

/// How long to wait after the system would not give a connection, mostly for want of file
/// handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Serves until `stop` is over, over TLS if there is an acceptor for it. Then no connection is taken
/// any more, handshakes are given up, and requests in flight are answered, for at most
/// [`Limits::stop_time`].
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    limits: &Limits,
    stop: impl Future<Output = ()>,
) {
    let connections = GracefulShutdown::new();
    let stopping = CancellationToken::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_header_size(HEAD_BYTES);
    let room = Arc::new(Semaphore::new(limits.connections));
    let handshake_time = limits.handshake_time;
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &room, limits) => accepted,
            () = &mut stop => break,
        };
        let Some((stream, peer, permit)) = accepted else {
            continue;
        };
        let (http, watcher) = (http.clone(), connections.watcher());
        let from = move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request
        };
        let service = TowerToHyperService::new(router.clone().map_request(from));
        let (tls, stopping) = (tls.clone(), stopping.clone());
        tokio::spawn(async move {
            let ended = match tls {
                None => {
                    let connection = http.serve_connection(TokioIo::new(stream), service);
                    watcher.watch(connection).await
                }
                Some(tls) => {
                    let Some(stream) = handshake(tls, stream, handshake_time, &stopping).await
                    else {
                        return;
                    };
                    let connection = http.serve_connection(TokioIo::new(stream), service);
                    watcher.watch(connection).await
                }
            };
            if let Err(error) = ended {
                debug!(%error, "a connection ended early");
            }
            drop(permit);
        });
    }
    drop(listener);
    stopping.cancel();
    info!(
        connections = connections.count(),
        "stopping; requests in flight are finished"
    );
    let all = tokio::time::timeout(limits.stop_time, connections.shutdown());
    if all.await.is_err() {
        warn!("requests were still in flight and are given up; nothing answered is lost");
    }
}

/// Shakes hands, unless the client is slow, speaks something else, or the server stops meanwhile.
async fn handshake(
    tls: TlsAcceptor,
    stream: TcpStream,
    time: Duration,
    stopping: &CancellationToken,
) -> Option<TlsStream<TcpStream>> {
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(time, tls.accept(stream)) => shaken,
        () = stopping.cancelled() => return None,
    };
    match shaken {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            debug!(%error, "a client shook no hands");
            None
        }
        Err(_) => {
            debug!("a client was too slow to shake hands");
            None
        }
    }
}

/// The next connection, and its share of the room.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
    limits: &Limits,
) -> Option<(TcpStream, Peer, tokio::sync::OwnedSemaphorePermit)> {
    let permit = room.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, address)) => {
            if let Err(error) = prepare(&stream, limits.stall_time) {
                debug!(%error, "a connection could not be set up");
                return None;
            }
            Some((stream, Peer(address.ip()), permit))
        }
        Err(error) => {
            warn!(%error, "no connection could be taken");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

/// Answers leave at once; and a connection whose client stops taking its answer is ended by the
/// system, so that a stalled download holds no read snapshot for long.
fn prepare(stream: &TcpStream, stall_time: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    {
        let ms = u32::try_from(stall_time.as_millis()).unwrap_or(u32::MAX);
        rustix::net::sockopt::set_tcp_user_timeout(stream, ms)?;
    }
    Ok(())
}
