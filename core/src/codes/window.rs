//! When a code is good by its own window, with a clock that is known to ± u. Comparisons are in
//! milliseconds and saturate, since codes may carry any number.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::time::{EpochMillis, EpochSeconds};

/// The most of a clock's uncertainty that a code's window is stretched by, in ms: beyond a minute
/// a code's freshness would mean little (gate-rules, Time).
pub const MAX_UNCERTAINTY_MS: i64 = 60_000;

/// What a venue's policy says of the windows of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeRules {
    /// Seconds by which v1 and G2 windows are stretched on either side, for clocks of visitors'
    /// phones and of the booking system.
    pub leeway_s: u32,
    /// The longest life of a v1 code, in seconds: one that expires later than this from now is
    /// from the future.
    pub max_ttl_s: u32,
}

impl Default for CodeRules {
    /// Leeway 60 s, longest life of a v1 code 7200 s (code-formats).
    fn default() -> Self {
        Self {
            leeway_s: 60,
            max_ttl_s: 7200,
        }
    }
}

/// How a moment lies to a code's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Window {
    /// Within.
    Good,
    /// Before its start.
    NotYet,
    /// After its end.
    Expired,
}

/// The earliest and the latest moment that it may be now.
pub(super) fn now_range(now: EpochMillis, u_ms: i64) -> (EpochMillis, EpochMillis) {
    let u = u_ms.clamp(0, MAX_UNCERTAINTY_MS);
    (now.plus(-u), now.plus(u))
}

/// A point moved by seconds, in ms.
pub(super) fn shifted(point: EpochSeconds, seconds: i64) -> EpochMillis {
    EpochSeconds(point.0.saturating_add(seconds)).millis()
}
