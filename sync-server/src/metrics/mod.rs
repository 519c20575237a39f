//! What is counted while the server works, and how the whole is shown to Prometheus. Labels take
//! few values, whatever comes in: routes as templates, methods and results by names of ours, venues
//! by id; never a ticket, an address or a path.

mod watch;

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use stile_core::ids::VenueId;

pub use watch::Watch;

use crate::store::FilingResult;

/// What all names begin with.
const PREFIX: &str = "stile";

/// Bounds of the buckets of answering times, in seconds: with the shortest and the longest time
/// that a gate's claim may take (0.15 and 0.8), and the wait of a long poll (25).
const BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.4, 0.8, 2.5, 10.0, 30.0,
];

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Answered {
    /// The route's template, or `none`.
    pub route: String,
    /// The method, or `other`.
    pub method: &'static str,
    /// `2xx`, and so on.
    pub status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Filed {
    venue: String,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Limited {
    policy: &'static str,
}

/// Counts since the server's start.
pub struct Metrics {
    registry: Registry,
    answered: Family<Answered, Histogram, fn() -> Histogram>,
    filed: Family<Filed, Counter>,
    limited: Family<Limited, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let answered: Family<Answered, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(BUCKETS));
        registry.register(
            "http_request_duration_seconds",
            "Time until the answer began, by route, method and class of status; long polls with \
             their wait",
            answered.clone(),
        );
        let filed = Family::<Filed, Counter>::default();
        registry.register(
            "records",
            "Records that gates sent, by what became of them",
            filed.clone(),
        );
        let limited = Family::<Limited, Counter>::default();
        for policy in ["api-key", "device", "attempts"] {
            limited.get_or_create(&Limited { policy }).inc_by(0);
        }
        registry.register(
            "limited",
            "Requests that were refused since too many came, by the limit's policy",
            limited.clone(),
        );
        Self {
            registry,
            answered,
            filed,
            limited,
        }
    }
}

impl Metrics {
    /// A request was answered after so long.
    pub fn answered(&self, request: &Answered, took: Duration) {
        let times = self.answered.get_or_create(request);
        times.observe(took.as_secs_f64());
    }

    /// A request was refused by a limit.
    pub fn limited(&self, policy: &'static str) {
        self.limited.get_or_create(&Limited { policy }).inc();
    }

    /// Records of a venue were filed.
    pub fn filed(&self, venue: &VenueId, results: &[FilingResult]) {
        for result in results {
            let result = match result {
                FilingResult::Accepted(_) => "accepted",
                FilingResult::Replayed(_) => "replayed",
                FilingResult::Quarantined(_) => "quarantined",
            };
            let venue = venue.to_string();
            self.filed.get_or_create(&Filed { venue, result }).inc();
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

/// The class of a status.
pub fn status_class(status: u16) -> &'static str {
    match status {
        100..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    }
}
