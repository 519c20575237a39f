//! How often somebody may ask: API keys and devices each by themselves, whoever has shown neither
//! yet by the address. The one place that counts and refuses by it; its numbers are
//! [`crate::config::Rates`]. Headers as draft-ietf-httpapi-ratelimit-headers-10 has them.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use governor::clock::{Clock, MonotonicClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use sha2::{Digest, Sha256};
use stile_core::ids::VenueNumber;
use stile_core::protocol::Code;

use super::App;
use super::refusal::Refusal;
use crate::config::Rates;
use crate::server::Device;
use crate::store::ApiKeyId;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-for");
/// What all numbers are per, in seconds.
const WINDOW_S: u64 = 60;
/// Bearers that are remembered as good at most, 32 bytes each: more than any server has.
const KNOWN_BEARERS: usize = 16_384;

/// The address that a connection came from.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// See the module. Its memory is bounded: keys and devices are counted once they are known to be
/// enrolled, and all addresses of the world share 65,536 counts.
pub struct RateLimits {
    keys: Buckets<ApiKeyId>,
    devices: Buckets<(VenueNumber, String)>,
    attempts: Buckets<u16>,
    /// Puts addresses where nobody outside can foresee.
    places: RandomState,
    /// Hashes of bearers that were good when last seen: they are no attempts.
    known: Mutex<HashSet<[u8; 32]>>,
}

struct Buckets<K: Hash + Eq + Clone> {
    policy: &'static str,
    by: &'static str,
    limit: NonZeroU32,
    limiter: RateLimiter<K, HashMapStateStore<K>, MonotonicClock, StateInformationMiddleware>,
}

/// What came of counting one more request.
pub struct Counted {
    policy: &'static str,
    by: &'static str,
    limit: NonZeroU32,
    left: u32,
    /// How long to wait, where it was one too many.
    wait: Option<Duration>,
}

impl<K: Hash + Eq + Clone> Buckets<K> {
    fn new(policy: &'static str, by: &'static str, limit: NonZeroU32) -> Self {
        let quota = Quota::per_minute(limit);
        let limiter = RateLimiter::hashmap_with_clock(quota, MonotonicClock);
        Self {
            policy,
            by,
            limit,
            limiter: limiter.with_middleware(),
        }
    }

    fn count(&self, who: &K) -> Counted {
        let (left, wait) = match self.limiter.check_key(who) {
            Ok(state) => (state.remaining_burst_capacity(), None),
            Err(until) => (0, Some(until.wait_time_from(MonotonicClock.now()))),
        };
        Counted {
            policy: self.policy,
            by: self.by,
            limit: self.limit,
            left,
            wait,
        }
    }
}

impl RateLimits {
    /// Nobody has asked yet.
    pub fn new(rates: &Rates) -> Self {
        Self {
            keys: Buckets::new("api-key", "this API key", rates.key),
            devices: Buckets::new("device", "this device", rates.device),
            attempts: Buckets::new("attempts", "strangers at this address", rates.attempts),
            places: RandomState::new(),
            known: Mutex::default(),
        }
    }

    /// One more request of a key.
    pub fn key(&self, id: ApiKeyId) -> Counted {
        self.keys.count(&id)
    }

    /// One more request of a device.
    pub fn device(&self, device: &Device) -> Counted {
        self.devices
            .count(&(device.venue, device.device_id.to_string()))
    }

    /// One more request that shows a bearer, before anybody looks whose it is: refused if its
    /// address has tried too often, and the bearer was not good before.
    pub fn bearer(&self, request: &Request, bearer: &str) -> Option<Counted> {
        if self.known().contains(&hash(bearer)) {
            return None;
        }
        self.attempt(request).filter(Counted::is_over)
    }

    /// Whether a bearer was good.
    pub fn was(&self, bearer: &str, is_good: bool) {
        let mut known = self.known();
        if !is_good {
            known.remove(&hash(bearer));
            return;
        }
        if known.len() >= KNOWN_BEARERS {
            known.clear();
        }
        known.insert(hash(bearer));
    }

    /// One more request of somebody unknown; none where there is no telling from where.
    fn attempt(&self, request: &Request) -> Option<Counted> {
        let Peer(peer) = request.extensions().get()?;
        let address = sender(*peer, request.headers())?;
        // Of 64 bits, sixteen that are as random as any.
        let place = self.places.hash_one(address) >> 48;
        Some(self.attempts.count(&(place as u16)))
    }

    fn known(&self) -> MutexGuard<'_, HashSet<[u8; 32]>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The layer of routes by which strangers become known: each request is an attempt.
pub async fn count_attempt(State(app): State<App>, request: Request, next: Next) -> Response {
    match app.rates().attempt(&request) {
        None => next.run(request).await,
        Some(counted) => counted.answer(&app, next.run(request)).await,
    }
}

impl Counted {
    /// Whether it was one too many.
    pub fn is_over(&self) -> bool {
        self.wait.is_some()
    }

    /// The answer of what comes next; or, where it was one too many, that it was.
    pub async fn answer(self, app: &App, next: impl Future<Output = Response>) -> Response {
        let mut response = match self.wait {
            None => next.await,
            Some(wait) => {
                app.server().metrics().limited(self.policy);
                self.refusal(wait)
            }
        };
        self.add_headers(response.headers_mut());
        response
    }

    fn refusal(&self, wait: Duration) -> Response {
        let wait_s = whole_seconds(wait);
        let detail = format!(
            "More than {} requests a minute by {}; wait {wait_s} s, then send it again",
            self.limit, self.by
        );
        let refusal = Refusal::new(Code::TooManyRequests, detail);
        let refusal = refusal.with("violated-policies", [self.policy]);
        let mut response = refusal.into_response();
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from(wait_s));
        response
    }

    fn add_headers(&self, headers: &mut HeaderMap) {
        let (name, limit) = (self.policy, self.limit.get());
        let used = u64::from(limit.saturating_sub(self.left));
        let whole_in = (used * WINDOW_S).div_ceil(u64::from(limit));
        let policy = format!("\"{name}\";q={limit};w={WINDOW_S}");
        let state = format!("\"{name}\";r={};t={whole_in}", self.left);
        for (name, text) in [(POLICY, policy), (LIMIT, state)] {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(name, value);
            }
        }
    }
}

fn whole_seconds(wait: Duration) -> u64 {
    wait.as_millis()
        .div_ceil(1000)
        .try_into()
        .unwrap_or(WINDOW_S)
}

fn hash(bearer: &str) -> [u8; 32] {
    Sha256::digest(bearer).into()
}

/// Who sent a request: whoever connected; behind a proxy on this machine, whom the proxy names, and
/// nobody where it names nobody, since all would be one. Of an IPv6 address, the network that one
/// customer is given.
fn sender(peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
    let address = match peer.to_canonical() {
        peer if peer.is_loopback() => {
            let last = headers
                .get_all(FORWARDED)
                .iter()
                .next_back()?
                .to_str()
                .ok()?;
            let last = last.rsplit(',').next()?.trim();
            last.parse::<IpAddr>().ok()?.to_canonical()
        }
        peer => peer,
    };
    Some(match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(network))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(peer: &str, forwarded: Option<&'static str>) -> Option<String> {
        let mut headers = HeaderMap::new();
        if let Some(forwarded) = forwarded {
            headers.insert(FORWARDED, HeaderValue::from_static(forwarded));
        }
        sender(peer.parse().unwrap(), &headers).map(|address| address.to_string())
    }

    #[test]
    fn whoever_connects_is_the_sender_and_behind_a_proxy_whom_it_names_last() {
        let of = |text: &str| Some(text.to_owned());
        assert_eq!(sent("203.0.113.9", None), of("203.0.113.9"));
        assert_eq!(sent("203.0.113.9", Some("198.51.100.1")), of("203.0.113.9"));
        assert_eq!(sent("::ffff:203.0.113.9", None), of("203.0.113.9"));
        assert_eq!(sent("2001:db8:1:2:3:4:5:6", None), of("2001:db8:1:2::"));
        assert_eq!(
            sent("127.0.0.1", Some("1.1.1.1, 198.51.100.1")),
            of("198.51.100.1")
        );
        assert_eq!(sent("::1", Some("198.51.100.1")), of("198.51.100.1"));
        assert_eq!(sent("127.0.0.1", None), None);
        assert_eq!(sent("127.0.0.1", Some("unknown")), None);
    }

    #[test]
    fn however_many_addresses_try_there_are_no_more_counts() {
        let limits = RateLimits::new(&Rates::default());
        for n in 0..200_000_u32 {
            let mut request = Request::new(axum::body::Body::empty());
            let address = IpAddr::from(n.to_be_bytes().map(|byte| byte ^ 0x80));
            request.extensions_mut().insert(Peer(address));
            limits.attempt(&request);
        }
        assert!(limits.attempts.limiter.len() <= 65_536);
        for n in 0..40_000_u32 {
            limits.was(&n.to_string(), true);
        }
        assert!(limits.known().len() <= KNOWN_BEARERS);
    }
}
