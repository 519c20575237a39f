//! Connections: taken within bounds, served as HTTP/1.1, and brought to a good end when the
//! server stops. Knows no routes.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tracing::{debug, info, warn};

use crate::config::{HEAD_BYTES, Limits};

/// How long to wait after the system would not give a connection, mostly for want of file
/// handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Serves until `stop` is over. Then no connection is taken any more, and requests in flight are
/// answered, for at most [`Limits::stop_time`].
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: &Limits,
    stop: impl Future<Output = ()>,
) {
    let connections = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_header_size(HEAD_BYTES);
    let service = TowerToHyperService::new(router);
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &room, limits) => accepted,
            () = &mut stop => break,
        };
        let Some((stream, permit)) = accepted else {
            continue;
        };
        let connection = http.serve_connection(TokioIo::new(stream), service.clone());
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                debug!(%error, "a connection ended early");
            }
            drop(permit);
        });
    }
    drop(listener);
    info!(
        connections = connections.count(),
        "stopping; requests in flight are finished"
    );
    let all = tokio::time::timeout(limits.stop_time, connections.shutdown());
    if all.await.is_err() {
        warn!("requests were still in flight and are given up; nothing answered is lost");
    }
}

/// The next connection, and its share of the room.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
    limits: &Limits,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = room.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            if let Err(error) = prepare(&stream, limits.stall_time) {
                debug!(%error, "a connection could not be set up");
                return None;
            }
            Some((stream, permit))
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
