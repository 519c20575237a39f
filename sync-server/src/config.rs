//! What bounds a request, each number with its unit and its reason. Nothing here is a rule of a
//! venue, and nothing here reads flags: those are the program's.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::webhooks::Network;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Bounds on bodies, times and connections. Tests make them short; the server runs with
/// [`Limits::default`].
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a JSON body, decompressed. The largest is a request for 1,000 codes: 150 KiB.
    pub json_bytes: usize,
    /// Bytes of a batch of records, decompressed: 500 records of 4 KiB, and a third on top for
    /// base64.
    pub batch_bytes: usize,
    /// Bytes of a ticket file, decompressed. A file as such may be of any size, since it is read
    /// line by line; this is what one that was sent compressed may grow to, and is ten times a
    /// million tickets.
    pub compressed_import_bytes: usize,
    /// How long a client may take to shake hands, where TLS is spoken: two round trips, and three
    /// retransmissions of a lost packet. A gate gives up after 7 s by itself.
    pub handshake_time: Duration,
    /// How long a client may take to send the head of a request, and how long a connection may
    /// stay idle between two. Gates call every minute or oftener and simply connect again.
    pub header_time: Duration,
    /// How long a body may stand still. Mobile networks pause for seconds, not for this long.
    pub idle_time: Duration,
    /// How long a JSON body may take as a whole: 3 MiB at 256 kbit/s take 100 s, a batch of
    /// ordinary size under one.
    pub body_time: Duration,
    /// How long an answer may take to begin, body included; ticket files are exempt. Longer than
    /// `body_time`, so that a slow sender is told that it was slow.
    pub request_time: Duration,
    /// How long a client may take nothing of its answer before the connection is ended.
    pub stall_time: Duration,
    /// Bytes of what is left of a refused body that are read and thrown away, so that its sender
    /// gets to see the refusal instead of a broken connection. More than the largest batch.
    pub drain_bytes: usize,
    /// How long that may take.
    pub drain_time: Duration,
    /// Connections at a time; further ones wait to be accepted. A process has 1,024 file handles
    /// by default, and the store needs some.
    pub connections: usize,
    /// Ticket files read at a time; each takes a thread. Back ends send one at a time.
    pub imports: usize,
    /// How often somebody may ask.
    pub rates: Rates,
    /// How webhooks are delivered to.
    pub webhooks: Webhooks,
    /// How long requests in flight are waited for when the server stops: shorter than the 90 s
    /// after which systemd kills.
    pub stop_time: Duration,
}

/// Requests within a minute at most, all of them at once if need be. They are there for programs that
/// run wild; nobody who does an ordinary day's work comes near.
#[derive(Debug, Clone)]
pub struct Rates {
    /// Of one API key. Most are fresh codes for visitors' screens: 100,000 visitors who look once a
    /// minute, and a fifth on top.
    pub key: NonZeroU32,
    /// Of one device. A turnstile claims twice a second, a feed is asked again after each admission
    /// of forty other gates, and a day's backlog of 50,000 records is 500 batches: together a fifth of
    /// this.
    pub device: NonZeroU32,
    /// Of one address, with bearers that have not been good before, and enrolments. After a restart
    /// of the server each gate and back end behind one address counts once: 600 of them.
    pub attempts: NonZeroU32,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            key: const { NonZeroU32::new(120_000).expect("it is not 0") },
            device: const { NonZeroU32::new(12_000).expect("it is not 0") },
            attempts: const { NonZeroU32::new(600).expect("it is not 0") },
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            json_bytes: MIB,
            batch_bytes: 3 * MIB,
            compressed_import_bytes: 2048 * MIB,
            handshake_time: Duration::from_secs(10),
            header_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(30),
            body_time: Duration::from_secs(120),
            request_time: Duration::from_secs(150),
            stall_time: Duration::from_secs(60),
            drain_bytes: 8 * MIB,
            drain_time: Duration::from_secs(3),
            connections: 800,
            imports: 8,
            rates: Rates::default(),
            webhooks: Webhooks::default(),
            stop_time: Duration::from_secs(30),
        }
    }
}

/// How webhooks are delivered to.
#[derive(Debug, Clone)]
pub struct Webhooks {
    /// Addresses beside those of the public internet that messages may go to.
    pub allow: Vec<Network>,
    /// How long a receiver may take to answer, connecting included. The Standard Webhooks
    /// specification asks senders for 15 to 30 s.
    pub request_time: Duration,
    /// How often it is looked what there is to deliver and to try again.
    pub look_every: Duration,
    /// How long a turn is a server's own: several times `request_time`, so that nobody else begins
    /// while an answer may still come.
    pub turn_time: Duration,
    /// The wait after a first failure is at most this; it doubles with each further one.
    pub retry_base: Duration,
    /// The wait is at most this.
    pub retry_cap: Duration,
    /// A webhook that has failed for this long is paused: its receiver is gone, and a person must
    /// look.
    pub patience: Duration,
}

impl Default for Webhooks {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            request_time: Duration::from_secs(15),
            look_every: Duration::from_secs(1),
            turn_time: Duration::from_secs(60),
            retry_base: Duration::from_secs(1),
            retry_cap: Duration::from_secs(300),
            patience: Duration::from_secs(7 * 24 * 3600),
        }
    }
}

impl Limits {
    /// Those of the listener for metrics.
    pub fn of_metrics() -> Self {
        Self {
            // One or two Prometheus, and a person who looks.
            connections: 8,
            ..Self::default()
        }
    }
}

/// Bytes of a request's head. Ours have a few hundred; a proxy's cookies may add some thousand.
pub const HEAD_BYTES: usize = 32 * KIB;

/// Records of one pull, unless it asks for fewer or more.
pub const PULL_DEFAULT: u32 = 1_000;
/// Records of one pull at most: 10,000 of ordinary size are some 8 MiB of memory.
pub const PULL_MAX: u32 = 10_000;
/// Codes of one request at most.
pub const MINT_MAX: usize = 1_000;
/// Seconds after which a client that was turned away for load should ask again.
pub const RETRY_AFTER_S: u32 = 5;
