//! Webhooks: what is kept of each, and how far it has come.

pub use stile_core::protocol::{Carried, WebhookId, WebhookLanguage, WebhookTemplate};

use stile_core::ids::VenueNumber;
use stile_core::time::EpochMillis;

use super::Position;

/// A webhook without its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookFacts {
    /// Its id.
    pub id: WebhookId,
    /// Its venue.
    pub venue: VenueNumber,
    /// What people call it.
    pub name: String,
    /// Scheme, host and port of its URL.
    pub origin: String,
    /// Its URL, sealed.
    pub url: Vec<u8>,
    /// What messages are signed with, sealed.
    pub secret: Vec<u8>,
    /// What it carries.
    pub carries: Vec<Carried>,
    /// How messages are written.
    pub template: WebhookTemplate,
    /// The language of sentences.
    pub language: WebhookLanguage,
    /// When it was made.
    pub created_at: EpochMillis,
}

/// A webhook as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// What it is.
    pub facts: WebhookFacts,
    /// Everything of the log up to here is delivered, or not for it.
    pub log_through: Position,
    /// The same of the events.
    pub event_through: Position,
    /// The message that has begun, if one has.
    pub sending: Option<Sending>,
    /// When a message last went through.
    pub delivered_at: Option<EpochMillis>,
    /// What is wrong, if it does not get through.
    pub failing: Option<Failing>,
    /// It is not tried before this.
    pub next_attempt_at: EpochMillis,
    /// Since when it is paused, if it is.
    pub paused_at: Option<EpochMillis>,
}

/// What a message is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The log.
    Log,
    /// The events.
    Events,
}

/// Where a message ends; it begins behind what is delivered of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// What it is made of.
    pub source: Source,
    /// The last position in it.
    pub through: Position,
}

/// What is wrong with a webhook that does not get through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    /// When it failed first since a message last went through.
    pub since: EpochMillis,
    /// When it failed last.
    pub at: EpochMillis,
    /// How often since then.
    pub failures: u64,
    /// What was wrong last.
    pub problem: String,
}

/// Whose turn at a webhook it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The webhook's venue.
    pub venue: VenueNumber,
    /// The webhook.
    pub id: WebhookId,
    /// The running server, by a number that it made at its start.
    pub holder: i64,
}

/// What came of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// The receiver took it, or there was nothing in it for this webhook.
    Done {
        /// When it was taken; none if nothing was sent.
        at: Option<EpochMillis>,
    },
    /// It is sent again.
    Failed {
        /// When that was.
        at: EpochMillis,
        /// What was wrong.
        problem: String,
        /// When it is tried again.
        next_attempt_at: EpochMillis,
        /// Whether it is not tried again before a person says so.
        pauses: bool,
    },
}
