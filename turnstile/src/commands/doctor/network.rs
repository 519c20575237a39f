//! The way to the server: whether it answers, how long its certificate is good, and what it says
//! of the time.

use std::sync::Arc;
use std::time::Instant;

use stile_core::device::Identity;
use stile_core::platform::Platform;

use super::finding::Finding;
use crate::client::{Answer, Client, ClientError, complaint};
use crate::sync_loop::runtime;

const DAY_MS: i64 = 86_400_000;
/// A certificate that ends within this is renewed by now, where that happens by itself.
const SOON_DAYS: i64 = 14;
/// Clocks may differ so much, in ms; what is more moves a session's edge visibly.
const GOOD_CLOCK_MS: u64 = 2_000;

/// Asks the server, and judges what comes back.
pub(super) fn network(identity: &Identity, platform: &Arc<dyn Platform>) -> Vec<Finding> {
    let Ok(runtime) = runtime() else {
        return vec![Finding::left_out("server", "this machine gives no runtime")];
    };
    let begun = Instant::now();
    match runtime.block_on(ask(identity, platform, 0)) {
        Err(error) => vec![Finding::fail(
            "server",
            format!("{}: {error}", identity.server),
            "check cable, address and firewall; the gate admits on, and check-ins wait",
        )],
        Ok(answer) => {
            let ms = begun.elapsed().as_millis();
            let clock = clock(&answer, platform);
            let server = runtime.block_on(server(identity, answer, ms));
            let tls = runtime.block_on(tls(identity, platform));
            vec![server, tls, clock]
        }
    }
}

/// Asks for the lists, judging certificates as if it were some days later.
async fn ask(
    identity: &Identity,
    platform: &Arc<dyn Platform>,
    later_days: i64,
) -> Result<Answer, ClientError> {
    let (clock, floor) = (Arc::clone(platform), identity.enrolled_at.millis());
    let client = Client::new(
        &identity.server,
        identity.ca_pin.as_deref(),
        Arc::new(move || clock.moment().wall.max(floor).plus(later_days * DAY_MS)),
        Arc::clone(platform),
    )?;
    client.lists(identity.bearer(), None).await
}

async fn server(identity: &Identity, answer: Answer, ms: u128) -> Finding {
    let is_ours = answer.server_time.is_some();
    let what = format!("{} answers in {ms} ms", identity.server);
    match (answer.status(), is_ours) {
        (200, true) => Finding::ok("server", what),
        (_, false) => Finding::fail(
            "server",
            format!("{what}, and is no Stile server"),
            "something stands between: a sign-in page or a proxy",
        ),
        (_, true) => {
            let said = match answer.read().await {
                Ok(answer) => complaint(&answer),
                Err(error) => error.to_string(),
            };
            Finding::fail(
                "server",
                format!("{}: {said}", identity.server),
                "see at the server how this device stands: stile-server device list",
            )
        }
    }
}

async fn tls(identity: &Identity, platform: &Arc<dyn Platform>) -> Finding {
    if identity.server.starts_with("http://") {
        return Finding::warn(
            "tls",
            "the server is asked without TLS",
            "only on a network that nobody else is on",
        );
    }
    let trust = match identity.ca_pin {
        Some(_) => "the pinned CA",
        None => "a public CA",
    };
    match ask(identity, platform, SOON_DAYS).await {
        Ok(_) => Finding::ok(
            "tls",
            format!("under {trust}, good for {SOON_DAYS} days and more"),
        ),
        Err(error) => Finding::warn(
            "tls",
            format!("under {trust}, not for {SOON_DAYS} days more: {error}"),
            "renew the server's certificate",
        ),
    }
}

fn clock(answer: &Answer, platform: &Arc<dyn Platform>) -> Finding {
    let Some(server_time) = answer.server_time else {
        return Finding::left_out("clock", "the server did not say its time");
    };
    let off_ms = platform.moment().wall.0.saturating_sub(server_time.0);
    let what = format!(
        "this machine's clock is {:+.1} s off the server's",
        off_ms as f64 / 1000.0
    );
    match off_ms.unsigned_abs() {
        ..=GOOD_CLOCK_MS => Finding::ok("clock", what),
        _ => Finding::warn(
            "clock",
            what,
            "set up NTP; the gate goes by the server's time, but not after a power cut without network",
        ),
    }
}
