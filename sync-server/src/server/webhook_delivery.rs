//! Delivers to webhooks what is behind their positions in the log and in the events: at least once,
//! in order, one message at a time for each. Where a message ends is stored before it is first
//! sent, and the position after the receiver has taken it: a kill between the two sends the same
//! message again, with the same id.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use stile_core::ids::{VenueId, VenueNumber};
use stile_core::protocol::{Carried, PulledRecord, WebhookId};
use stile_core::time::EpochMillis;
use tokio::task::{Id, JoinSet};
use tokio::time::MissedTickBehavior;
use tracing::{info, warn};

use super::Server;
use super::pulling::records;
use crate::config;
use crate::error::ServerError;
use crate::log_filter::LogFilter;
use crate::random::random_bytes;
use crate::store::{
    Event, EventKind, LogQuery, LogStream, Position, Sending, Sent, Source, StoreError, Turn,
    Webhook,
};
use crate::webhooks::{CHECK_INS, Failure, Message, Sender};

/// Records of one message at most: some 60 KiB, and never more than 400.
const RECORDS: u32 = 100;
/// Events that are looked at for one message.
const EVENTS: u32 = 100;
/// Longest wait that a receiver may ask for: a day. Its clock may be wrong, and nobody would know.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// What a task that delivers works with.
struct Delivery {
    server: Arc<Server>,
    sender: Arc<Sender>,
    settings: config::Webhooks,
    turn: Turn,
}

/// What is sent next, or passed over.
struct Next {
    sending: Sending,
    /// None where there is nothing for this webhook up to there.
    message: Option<Message>,
    /// Whether there is more of the log.
    more: bool,
}

impl Server {
    /// Delivers until it is dropped: whatever is under way then is sent again later.
    pub async fn deliver_webhooks(
        self: Arc<Self>,
        settings: config::Webhooks,
    ) -> Result<(), ServerError> {
        self.store.free_webhooks().await?;
        let sender = Arc::new(Sender::new(&settings)?);
        let holder = i64::from_be_bytes(random_bytes(&*self.random));
        let mut at_work: HashMap<Id, (VenueNumber, WebhookId)> = HashMap::new();
        let mut tasks = JoinSet::new();
        let mut turns = tokio::time::interval(settings.look_every);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = turns.tick() => {}
                Some(ended) = tasks.join_next_with_id() => {
                    let id = match &ended {
                        Ok((id, ())) => *id,
                        Err(error) => error.id(),
                    };
                    at_work.remove(&id);
                    continue;
                }
            }
            let due = match self.store.due_webhooks(self.now()).await {
                Ok(due) => due,
                Err(error) => {
                    warn!(%error, "which webhooks are due is looked at again");
                    continue;
                }
            };
            for (venue, id) in due {
                if at_work.values().any(|one| *one == (venue, id)) {
                    continue;
                }
                let delivery = Delivery {
                    server: Arc::clone(&self),
                    sender: Arc::clone(&sender),
                    settings: settings.clone(),
                    turn: Turn { venue, id, holder },
                };
                let task = tasks.spawn(async move {
                    if let Err(error) = delivery.run().await {
                        warn!(webhook = %id, %error, "a webhook is tried again");
                    }
                });
                at_work.insert(task.id(), (venue, id));
            }
        }
    }
}

impl Delivery {
    /// Delivers what there is, until there is no more or a message does not go through.
    async fn run(&self) -> Result<(), ServerError> {
        let (server, turn) = (&self.server, self.turn);
        // Events come behind the log as it was when they were read: that a session is final is told
        // after its check-ins.
        let mut log_is_read = false;
        loop {
            let now = server.now();
            let until = now.plus(millis(self.settings.turn_time));
            let Some(webhook) = server.store.take_webhook(turn, now, until).await? else {
                return Ok(());
            };
            let Some(venue) = server.venue_of_number(turn.venue).await? else {
                return Ok(());
            };
            let Some(next) = self.next(&venue, &webhook, log_is_read).await? else {
                return Ok(server.store.give_webhook_back(turn).await?);
            };
            log_is_read = next.sending.source == Source::Log && !next.more;
            let sent = match &next.message {
                None => Sent::Done { at: None },
                Some(message) => {
                    if !server.store.begin_message(turn, next.sending).await? {
                        return Ok(());
                    }
                    self.send(&venue, &webhook, message).await?
                }
            };
            let failed = matches!(sent, Sent::Failed { .. });
            server.store.end_message(turn, next.sending, sent).await?;
            if failed {
                return Ok(());
            }
        }
    }

    /// The message that has begun, else the next one.
    async fn next(
        &self,
        venue: &VenueId,
        webhook: &Webhook,
        log_is_read: bool,
    ) -> Result<Option<Next>, ServerError> {
        match (webhook.sending, log_is_read) {
            (Some(sending), _) if sending.source == Source::Log => {
                self.of_log(venue, webhook, Some(sending.through)).await
            }
            (Some(sending), _) => {
                let through = Some(sending.through);
                self.of_events(venue, webhook, through).await
            }
            (None, true) => match self.of_events(venue, webhook, None).await? {
                Some(next) => Ok(Some(next)),
                None => self.of_log(venue, webhook, None).await,
            },
            (None, false) => match self.of_log(venue, webhook, None).await? {
                Some(next) => Ok(Some(next)),
                None => self.of_events(venue, webhook, None).await,
            },
        }
    }

    /// Check-ins up to a position, or as many as one message has.
    async fn of_log(
        &self,
        venue: &VenueId,
        webhook: &Webhook,
        through: Option<Position>,
    ) -> Result<Option<Next>, ServerError> {
        if !webhook.facts.carries.contains(&Carried::CheckIns) {
            return Ok(None);
        }
        let after = webhook.log_through;
        let query = LogQuery {
            stream: LogStream::CheckIns,
            filter: LogFilter::default(),
            after,
            limit: RECORDS,
        };
        let mut page = self.server.store.pull(self.turn.venue, query).await?;
        if let Some(Position(through)) = page.removed {
            let id = webhook.facts.id;
            warn!(webhook = %id, %venue, through, "records were removed that a webhook had not told for too long; it goes on behind them");
        }
        let through = through.unwrap_or(page.next);
        if through == after {
            return Ok(None);
        }
        page.records.retain(|record| record.position <= through);
        let positions = page.records.iter().map(|record| record.position);
        let trace = match positions.clone().min().zip(positions.max()) {
            Some((first, last)) => {
                self.server
                    .store
                    .trace(self.turn.venue, first, last)
                    .await?
            }
            None => None,
        };
        let records: Vec<PulledRecord> = records(page.records)?;
        let message = records.last().map(|last| Message {
            id: self.message_id(self.server.generation, "log", after, through),
            kind: CHECK_INS.to_owned(),
            venue: venue.to_string(),
            time: last.received_at,
            data: json!({ "records": records }),
            trace,
        });
        Ok(Some(Next {
            sending: Sending {
                source: Source::Log,
                through,
            },
            message,
            more: page.more,
        }))
    }

    /// The event at a position, or the next one that the webhook carries.
    async fn of_events(
        &self,
        venue: &VenueId,
        webhook: &Webhook,
        through: Option<Position>,
    ) -> Result<Option<Next>, ServerError> {
        let after = webhook.event_through;
        let store = &self.server.store;
        let events = store.events(self.turn.venue, after, EVENTS).await?;
        let Some(last) = events.last().map(|event| event.position) else {
            return Ok(None);
        };
        let is_meant = |event: &&Event| match through {
            Some(through) => event.position == through,
            None => webhook.facts.carries.contains(&carried(event.kind)),
        };
        let event = events.iter().find(is_meant);
        let message = match event {
            None => None,
            Some(event) => Some(Message {
                id: self.message_id(event.generation, "events", after, event.position),
                kind: event.kind.name().to_owned(),
                venue: venue.to_string(),
                time: event.at,
                data: detail(event)?,
                trace: event.trace,
            }),
        };
        let through = event.map_or(through.unwrap_or(last), |event| event.position);
        Ok(Some(Next {
            sending: Sending {
                source: Source::Events,
                through,
            },
            message,
            more: false,
        }))
    }

    /// The same for the same content, and never another's: positions come again after a restore,
    /// in another generation.
    fn message_id(&self, generation: u64, of: &str, after: Position, through: Position) -> String {
        let (id, first) = (self.turn.id, after.0 + 1);
        format!("{id}-{generation}-{of}-{first}-{}", through.0)
    }

    async fn send(
        &self,
        venue: &VenueId,
        webhook: &Webhook,
        message: &Message,
    ) -> Result<Sent, ServerError> {
        let server = &self.server;
        let name = server.venue(venue).await?.name;
        let url = server.webhook_url(venue, &webhook.facts)?;
        let receiver = server.receiver(venue, &webhook.facts, &url, &name)?;
        let sent = self.sender.send(&receiver, message, server.now()).await;
        let (now, id) = (server.now(), webhook.facts.id);
        Ok(match sent {
            Ok(()) => {
                if webhook.failing.is_some() {
                    info!(webhook = %id, %venue, "a webhook gets through again");
                }
                Sent::Done { at: Some(now) }
            }
            Err(failure) => self.failed(venue, webhook, failure, now),
        })
    }

    fn failed(
        &self,
        venue: &VenueId,
        webhook: &Webhook,
        failure: Failure,
        now: EpochMillis,
    ) -> Sent {
        let (id, problem) = (webhook.facts.id, failure.problem);
        let (failures, since) = match &webhook.failing {
            Some(failing) => (failing.failures, failing.since),
            None => (0, now),
        };
        let pauses = now.since(since) >= millis(self.settings.patience);
        if pauses {
            warn!(webhook = %id, %venue, problem, "a webhook has failed for too long and is paused; resume it when its receiver is back");
        } else if failures == 0 {
            warn!(webhook = %id, %venue, problem, "a webhook does not get through, and is tried again");
        }
        let asked = failure.retry_after.unwrap_or_default().min(LONGEST_WAIT);
        let wait = self.back_off(failures).max(asked);
        Sent::Failed {
            at: now,
            problem,
            next_attempt_at: now.plus(millis(wait)),
            pauses,
        }
    }

    /// Full jitter: anything from nothing to the base doubled for each failure, or to the cap.
    fn back_off(&self, failures: u64) -> Duration {
        let doublings = u32::try_from(failures).unwrap_or(u32::MAX).min(31);
        let most = self.settings.retry_base.saturating_mul(1 << doublings);
        let most = most.min(self.settings.retry_cap);
        let part: [u8; 4] = random_bytes(&*self.server.random);
        most.mul_f64(f64::from(u32::from_be_bytes(part)) / f64::from(u32::MAX))
    }
}

/// What carries events of a kind.
fn carried(kind: EventKind) -> Carried {
    match kind {
        EventKind::SessionFinalized => Carried::Sessions,
        EventKind::ConflictOpened | EventKind::ConflictCleared => Carried::Conflicts,
        EventKind::AlarmOpened | EventKind::AlarmEnded => Carried::Alarms,
    }
}

/// What an event says, with the id of what it is about under its own name.
fn detail(event: &Event) -> Result<Value, ServerError> {
    let damaged = |what: String| {
        let position = event.position.0;
        ServerError::from(StoreError::Damaged(format!("event {position}: {what}")))
    };
    let mut detail: Value =
        serde_json::from_str(&event.detail).map_err(|error| damaged(error.to_string()))?;
    let name = match carried(event.kind) {
        Carried::Sessions => "session_id",
        Carried::Conflicts | Carried::CheckIns => "ticket_id",
        Carried::Alarms => "thing",
    };
    let members = detail.as_object_mut();
    let members = members.ok_or_else(|| damaged("it is no object".to_owned()))?;
    members.insert(name.to_owned(), event.thing.clone().into());
    Ok(detail)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
