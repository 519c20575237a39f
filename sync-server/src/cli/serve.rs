//! `serve`: runs the server until it is told to stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use stile_sync_server::clock::SystemClock;
use stile_sync_server::config::{Limits, Rates, Webhooks};
use stile_sync_server::http::{self, Reached};
use stile_sync_server::metrics::Watch;
use stile_sync_server::server::Server;
use stile_sync_server::small_file;
use stile_sync_server::store::RetentionRun;
use stile_sync_server::tls::{Own, RENEW_BEFORE_S, Served};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::MissedTickBehavior;
use tracing::{info, warn};

use super::args::{Place, Serve};
use super::commands::print;
use super::tls::days_left;
use super::{CliError, open};

/// Worker threads at most. They parse, hash and verify; beyond eight the one writer is what
/// uploads wait for.
const WORKERS: usize = 8;
/// Threads that may block (readers, lists, imports) at most. They come when needed, and go.
const BLOCKING_THREADS: usize = 128;
/// How often what may be kept no longer is removed.
const HOUSEKEEPING: Duration = Duration::from_secs(24 * 3600);
/// How often it is looked which sessions are final, beside the reports of devices.
const FINALITY: Duration = Duration::from_secs(60);
/// How often alarms are looked for.
const ALARMS: Duration = Duration::from_secs(60);
/// How often it is counted who is inside, at least this long after the last time …
const CAPACITY: Duration = Duration::from_secs(5);
/// … and this many times as long as that took: of one reader it takes a twentieth, however large
/// the day is.
const CAPACITY_REST: u32 = 20;
/// How long blocking threads are waited for after the store is closed: whatever they still do
/// was not answered.
const LEAVE_TIME: Duration = Duration::from_millis(500);

/// Where a running server says where it listens, for the doctor.
pub const SERVING_FILE: &str = "serving";

/// Runs the server.
pub fn run(place: &Place, args: &Serve) -> Result<(), CliError> {
    let tls = tls(place, args)?;
    if tls.is_none() && !args.listen.ip().is_loopback() && !args.insecure_http {
        return Err(CliError::NotLoopback(args.listen));
    }
    if let Some(address) = args.metrics_listen
        && !address.ip().is_loopback()
        && !args.metrics_open
    {
        return Err(CliError::MetricsNotLoopback(address));
    }
    let runtime = runtime()?;
    let result = runtime.block_on(serve(place, args, tls));
    runtime.shutdown_timeout(LEAVE_TIME);
    result
}

/// What is shown over TLS; none for plain HTTP.
fn tls(place: &Place, args: &Serve) -> Result<Option<Arc<Served>>, CliError> {
    if args.insecure_http {
        return Ok(None);
    }
    let files = args.tls.files(&place.data);
    Ok(files.map(Served::open).transpose()?)
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

async fn serve(place: &Place, args: &Serve, tls: Option<Arc<Served>>) -> Result<(), CliError> {
    let (listener, address) = bind(args.listen).await?;
    let metrics = match args.metrics_listen {
        Some(address) => Some(bind(address).await?),
        None => None,
    };
    let server = Arc::new(open(place, false).await?);
    let stop = Stop::new()?;
    let hangups = signal_of(SignalKind::hangup())?;

    let limits = Limits {
        rates: rates(args),
        webhooks: Webhooks {
            allow: args.webhooks.webhook_allow.clone(),
            ..Webhooks::default()
        },
        ..Limits::default()
    };
    let acceptor = tls.as_ref().map(Served::acceptor).transpose()?;
    let reached = Reached {
        address,
        tls: tls.clone(),
    };
    let router = http::router(server.clone(), limits.clone(), reached);
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{address}");
    let serving = place.data.join(SERVING_FILE);
    if let Err(error) = small_file::put_public(&serving, url.as_bytes()) {
        warn!(%error, file = %serving.display(), "`doctor` will not know where this listens");
    }
    let watched = metrics.map(|(listener, address)| {
        info!(%address, "metrics are shown");
        let watch = Watch::new(server.clone(), &place.data, tls.clone());
        let limits = Limits::of_metrics();
        tokio::spawn(async move {
            let router = http::metrics_router(watch);
            http::serve(listener, None, router, &limits, std::future::pending()).await;
        })
    });
    print(&format!("listening on {url}"))?;
    let housekeeping = tokio::spawn(keep_house(server.clone()));
    let finals = tokio::spawn(keep_final(server.clone()));
    let alarms = tokio::spawn(watch_for_alarms(server.clone()));
    let capacity = tokio::spawn(watch_capacity(server.clone()));
    let webhooks = tokio::spawn(deliver(server.clone(), limits.webhooks.clone()));
    let freshness = tokio::spawn(keep_pair_fresh(tls.clone(), hangups));
    let own = Own::in_folder(&place.data, None);
    let renewals = tokio::spawn(renew(own, tls, server.clone()));
    let stopped = async {
        stop.asked().await;
        server.stop_waiting();
    };
    http::serve(listener, acceptor, router, &limits, stopped).await;
    let tasks = [
        housekeeping,
        finals,
        alarms,
        capacity,
        webhooks,
        freshness,
        renewals,
    ];
    tasks
        .into_iter()
        .chain(watched)
        .for_each(|task| task.abort());
    // It says nothing once nobody holds the folder's lock; that it is gone is only tidier.
    let _ = std::fs::remove_file(&serving);
    server.close().await;
    info!("stopped");
    Ok(())
}

fn rates(args: &Serve) -> Rates {
    let usual = Rates::default();
    Rates {
        key: args.limit_key.unwrap_or(usual.key),
        device: args.limit_device.unwrap_or(usual.device),
        attempts: args.limit_attempts.unwrap_or(usual.attempts),
    }
}

async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), CliError> {
    let no_listener = |source| CliError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(no_listener)?;
    let address = listener.local_addr().map_err(no_listener)?;
    Ok((listener, address))
}

/// Removes, at start and daily, what may be kept no longer.
async fn keep_house(server: Arc<Server>) {
    let mut days = tokio::time::interval(HOUSEKEEPING);
    loop {
        days.tick().await;
        match server.run_retention(false).await {
            Ok(runs) => {
                runs.iter().for_each(say);
                // Nor does anything of a key by a clock that is doubted.
                if runs.iter().all(|run| run.held.is_none()) {
                    tend_keys(&server).await;
                }
            }
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

/// Ends, daily, what is over of the keys that were rotated.
async fn tend_keys(server: &Server) {
    match server.tend_keys().await {
        Ok(0) => {}
        Ok(keys) => info!(
            keys,
            "keys that are over were destroyed or taken out of the manifest"
        ),
        Err(error) => warn!(%error, "keys that are over are looked at again tomorrow"),
    }
}

/// Makes sessions final that no report makes so: what changed is a gate, or there is none.
async fn keep_final(server: Arc<Server>) {
    let mut turns = tokio::time::interval(FINALITY);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        match server.finalize().await {
            Ok(0) => {}
            Ok(sessions) => info!(sessions, "sessions are final"),
            Err(error) => warn!(%error, "which sessions are final is looked at again in a minute"),
        }
    }
}

/// Opens alarms and ends them.
async fn watch_for_alarms(server: Arc<Server>) {
    let mut turns = tokio::time::interval(ALARMS);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        if let Err(error) = server.check_alarms().await {
            warn!(%error, "alarms are looked for again in a minute");
        }
    }
}

/// Opens and ends alarms about capacity.
async fn watch_capacity(server: Arc<Server>) {
    loop {
        let began = Instant::now();
        if let Err(error) = server.check_capacity().await {
            warn!(%error, "who is inside is counted again");
        }
        tokio::time::sleep(CAPACITY.max(began.elapsed() * CAPACITY_REST)).await;
    }
}

/// Delivers to webhooks; begins anew if it cannot begin.
async fn deliver(server: Arc<Server>, settings: Webhooks) {
    let mut tries = tokio::time::interval(FINALITY);
    loop {
        tries.tick().await;
        if let Err(error) = server.clone().deliver_webhooks(settings.clone()).await {
            warn!(%error, "webhooks are not delivered to; begun again in a minute");
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

/// Takes a changed pair. Without TLS, SIGHUP does nothing but end no server.
async fn keep_pair_fresh(tls: Option<Arc<Served>>, mut hangups: Signal) {
    if let Some(tls) = tls {
        tls.keep_fresh(&SystemClock, hangups).await;
        return;
    }
    while hangups.recv().await.is_some() {
        info!("SIGHUP: there is no certificate to read again");
    }
}

/// Renews, daily, a leaf of the venue's own CA that ends soon, where the CA's key is at hand, and says
/// of any other that it ends.
async fn renew(own: Own, tls: Option<Arc<Served>>, server: Arc<Server>) {
    let Some(tls) = tls else {
        return;
    };
    let mut days = tokio::time::interval(HOUSEKEEPING);
    loop {
        days.tick().await;
        let now = server.now().seconds();
        match own.renew_if_due(now) {
            Ok(None) => {}
            Ok(Some(pair)) => {
                info!(names = ?pair.chain.leaf.names, "the certificate was renewed");
                continue;
            }
            Err(error) => warn!(%error, "the certificate could not be renewed"),
        }
        let shown = tls.pair();
        if shown.chain.leaf.not_after.0.saturating_sub(now.0) < RENEW_BEFORE_S {
            let days = days_left(&shown.chain, now);
            warn!(
                days,
                "the certificate ends soon; gates refuse the server then: renew it"
            );
        }
    }
}

fn signal_of(kind: SignalKind) -> Result<Signal, CliError> {
    signal(kind).map_err(|source| CliError::System {
        doing: "wait for signals",
        source,
    })
}

/// The signals that stop a server.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    fn new() -> Result<Self, CliError> {
        Ok(Self {
            terminate: signal_of(SignalKind::terminate())?,
            interrupt: signal_of(SignalKind::interrupt())?,
        })
    }

    async fn asked(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => info!("SIGTERM"),
            _ = self.interrupt.recv() => info!("SIGINT"),
        }
    }
}
