//! Logs on stderr.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::EnvFilter;

use super::args::LogFormat;

/// The environment variable that sets what is logged, as `info` or `stile_sync_server=debug`.
const LOG_VARIABLE: &str = "STILE_LOG";

/// What is logged by default: migrations only when they go wrong.
const DEFAULT_FILTER: &str = "info,refinery_core=warn";

/// Starts them.
pub fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_env(LOG_VARIABLE);
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr);
    match format {
        LogFormat::Plain => logs
            .with_ansi(stderr().is_terminal())
            .with_target(false)
            .init(),
        // The one span is a request's; what it says stands once.
        LogFormat::Json => logs.json().with_span_list(false).init(),
    }
}
