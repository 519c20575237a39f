//! `serve`: runs the server until it is told to stop.

use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use stile_sync_server::config::Limits;
use stile_sync_server::http;
use stile_sync_server::server::Server;
use stile_sync_server::store::RetentionRun;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use super::args::{Place, Serve};
use super::commands::print;
use super::{CliError, open};

/// Worker threads at most. They parse, hash and verify; beyond eight the one writer is what
/// uploads wait for.
const WORKERS: usize = 8;
/// Threads that may block (readers, lists, imports) at most. They come when needed, and go.
const BLOCKING_THREADS: usize = 128;
/// How often what may be kept no longer is removed.
const HOUSEKEEPING: Duration = Duration::from_secs(24 * 3600);
/// How long blocking threads are waited for after the store is closed: whatever they still do
/// was not answered.
const LEAVE_TIME: Duration = Duration::from_millis(500);

/// Runs the server.
pub fn run(place: &Place, args: &Serve) -> Result<(), CliError> {
    if !args.listen.ip().is_loopback() && !args.insecure_http {
        return Err(CliError::NotLoopback(args.listen));
    }
    let runtime = runtime()?;
    let result = runtime.block_on(serve(place, args));
    runtime.shutdown_timeout(LEAVE_TIME);
    result
}

fn runtime() -> Result<Runtime, CliError> {
    let cores = available_parallelism().map_or(1, usize::from);
    Builder::new_multi_thread()
        .worker_threads(cores.min(WORKERS))
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
        .map_err(|source| CliError::System {
            doing: "start threads",
            source,
        })
}

async fn serve(place: &Place, args: &Serve) -> Result<(), CliError> {
    let no_listener = |source| CliError::Listen {
        address: args.listen,
        source,
    };
    let listener = TcpListener::bind(args.listen).await.map_err(no_listener)?;
    let address = listener.local_addr().map_err(no_listener)?;
    let server = Arc::new(open(place, false).await?);
    let stop = Stop::new()?;

    let limits = Limits::default();
    let router = http::router(server.clone(), limits.clone(), address);
    print(&format!("listening on http://{address}"))?;
    let housekeeping = tokio::spawn(keep_house(server.clone()));
    let stopped = async {
        stop.asked().await;
        server.stop_waiting();
    };
    http::serve(listener, router, &limits, stopped).await;
    housekeeping.abort();
    server.close().await;
    info!("stopped");
    Ok(())
}

/// Removes, at start and daily, what may be kept no longer.
async fn keep_house(server: Arc<Server>) {
    let mut days = tokio::time::interval(HOUSEKEEPING);
    loop {
        days.tick().await;
        match server.run_retention(false).await {
            Ok(runs) => runs.iter().for_each(say),
            Err(error) => warn!(%error, "what is over could not be removed; tried again tomorrow"),
        }
        match server.forget_sets().await {
            Ok(0) => {}
            Ok(tickets) => info!(tickets, "sets of tickets that were given up were removed"),
            Err(error) => {
                warn!(%error, "what is left of sets of tickets is removed tomorrow");
            }
        }
    }
}

fn say(run: &RetentionRun) {
    match &run.held {
        Some(why) => warn!(job = ?run.job, why, "nothing is removed"),
        None if run.removed > 0 => info!(job = ?run.job, removed = run.removed, "removed"),
        None => {}
    }
}

/// The signals that stop a server.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    fn new() -> Result<Self, CliError> {
        let signal = |kind| {
            signal(kind).map_err(|source| CliError::System {
                doing: "wait for signals",
                source,
            })
        };
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn asked(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => info!("SIGTERM"),
            _ = self.interrupt.recv() => info!("SIGINT"),
        }
    }
}
