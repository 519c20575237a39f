//! A venue's webhooks: made with a secret that is shown once, listed with what is wrong, tried out,
//! resumed and removed.

use stile_core::ids::VenueId;
use stile_core::protocol::{
    NewWebhook, WebhookFailure, WebhookId, WebhookTested, WebhookView, Webhooks,
};
use zeroize::Zeroizing;

use super::venues::check_text;
use super::{Server, ShownOnce};
use crate::acting;
use crate::config;
use crate::error::ServerError;
use crate::random::random_bytes;
use crate::store::{NO_ROOM, StoreError, Webhook, WebhookFacts};
use crate::traced;
use crate::vault::SealError;
use crate::webhooks::{Message, Receiver, Secret, Sender, TEST, checked_url};

/// Webhooks of one venue at most: the systems and groups of a museum, several times over.
const WEBHOOKS: u32 = 32;

const NO_SUCH_WEBHOOK: ServerError = ServerError::NotFound("webhook");

impl Server {
    /// Makes a webhook, which carries what comes from now on; its secret is shown this once.
    pub async fn add_webhook(
        &self,
        venue: &VenueId,
        new: NewWebhook,
    ) -> Result<(WebhookView, ShownOnce), ServerError> {
        check_text("name", &new.name)?;
        if new.carries.is_empty() {
            let problem =
                "a webhook carries at least one of check_ins, conflicts, sessions, alarms";
            return Err(ServerError::invalid("carries", problem));
        }
        let (url, origin) = checked_url(&new.url, new.insecure_http)?;
        let number = self.keys(venue).await?.number;
        let [a, b, c, d, e, f] = random_bytes(&*self.random);
        let id = WebhookId(i64::from_be_bytes([0, 0, a, b, c, d, e, f]));
        let secret = Secret(Zeroizing::new(random_bytes(&*self.random)));
        let seal = |what, bytes: &[u8]| {
            let sealed = self
                .vault
                .seal(&context(venue, id, what), bytes, &*self.random);
            sealed.map_err(ServerError::internal)
        };
        let mut carries = new.carries;
        let mut seen = std::collections::HashSet::new();
        carries.retain(|one| seen.insert(*one));
        let facts = WebhookFacts {
            id,
            venue: number,
            name: new.name,
            origin,
            url: seal("url", url.as_str().as_bytes())?,
            secret: seal("secret", &*secret.0)?,
            carries,
            template: new.template,
            language: new.language,
            created_at: self.now(),
        };
        acting::names(id);
        let added = self.store.add_webhook(facts, WEBHOOKS).await;
        added.map_err(|error| match error {
            StoreError::Missing(NO_ROOM) => ServerError::Conflict(format!(
                "the venue has {WEBHOOKS} webhooks already; remove one first"
            )),
            other => other.into(),
        })?;
        let made = self.webhook(venue, id).await?;
        Ok((view(made), ShownOnce(secret.text())))
    }

    /// The venue's webhooks, the oldest first.
    pub async fn webhooks(&self, venue: &VenueId) -> Result<Webhooks, ServerError> {
        let number = self.keys(venue).await?.number;
        let webhooks = self.store.webhooks(number).await?;
        Ok(Webhooks {
            webhooks: webhooks.into_iter().map(view).collect(),
        })
    }

    /// Removes a webhook: nothing is sent there any more.
    pub async fn remove_webhook(&self, venue: &VenueId, id: WebhookId) -> Result<(), ServerError> {
        let number = self.keys(venue).await?.number;
        let removed = self.store.remove_webhook(number, id).await?;
        removed.then_some(()).ok_or(NO_SUCH_WEBHOOK)
    }

    /// Has a webhook tried again at once, where it stopped, whether it is paused or waits.
    pub async fn resume_webhook(
        &self,
        venue: &VenueId,
        id: WebhookId,
    ) -> Result<WebhookView, ServerError> {
        let number = self.keys(venue).await?.number;
        if !self.store.resume_webhook(number, id).await? {
            return Err(NO_SUCH_WEBHOOK);
        }
        Ok(view(self.webhook(venue, id).await?))
    }

    /// Sends a test message, whatever else waits, and says what came of it.
    pub async fn test_webhook(
        &self,
        venue: &VenueId,
        id: WebhookId,
        settings: &config::Webhooks,
    ) -> Result<WebhookTested, ServerError> {
        let webhook = self.webhook(venue, id).await?;
        let name = self.venue(venue).await?.name;
        let [a, b, c, d, e, f, g, h] = random_bytes(&*self.random);
        let message = Message {
            id: format!("{id}-test-{}", u64::from_be_bytes([a, b, c, d, e, f, g, h])),
            kind: TEST.to_owned(),
            venue: venue.to_string(),
            time: self.now(),
            data: serde_json::json!({}),
            trace: traced::current(),
        };
        let url = self.webhook_url(venue, &webhook.facts)?;
        let receiver = self.receiver(venue, &webhook.facts, &url, &name)?;
        let sender = Sender::new(settings)?;
        let sent = sender.send(&receiver, &message, self.now());
        let problem = sent.await.err().map(|failure| failure.problem);
        Ok(WebhookTested {
            delivered: problem.is_none(),
            problem,
        })
    }

    async fn webhook(&self, venue: &VenueId, id: WebhookId) -> Result<Webhook, ServerError> {
        let number = self.keys(venue).await?.number;
        let mut webhooks = self.store.webhooks(number).await?.into_iter();
        webhooks
            .find(|one| one.facts.id == id)
            .ok_or(NO_SUCH_WEBHOOK)
    }

    /// A webhook's URL.
    pub(super) fn webhook_url(
        &self,
        venue: &VenueId,
        facts: &WebhookFacts,
    ) -> Result<Zeroizing<String>, ServerError> {
        let context = context(venue, facts.id, "url");
        let url = self.vault.unseal(&context, &facts.url);
        let url = std::str::from_utf8(&url.map_err(ServerError::internal)?)
            .map(str::to_owned)
            .map_err(ServerError::internal)?;
        Ok(Zeroizing::new(url))
    }

    /// Where a webhook's messages go, and how they are written.
    pub(super) fn receiver<'r>(
        &self,
        venue: &VenueId,
        facts: &WebhookFacts,
        url: &'r str,
        venue_name: &'r str,
    ) -> Result<Receiver<'r>, ServerError> {
        let context = context(venue, facts.id, "secret");
        let secret = self.vault.unseal(&context, &facts.secret);
        let secret: [u8; 32] = secret
            .map_err(ServerError::internal)?
            .as_slice()
            .try_into()
            .map_err(|_| ServerError::internal(SealError))?;
        Ok(Receiver {
            url,
            secret: Secret(Zeroizing::new(secret)),
            template: facts.template,
            language: facts.language,
            venue_name,
        })
    }
}

/// What a webhook's sealed texts are bound to.
fn context(venue: &VenueId, id: WebhookId, what: &str) -> String {
    format!("{venue}\0webhook {what}\0{id}")
}

fn view(webhook: Webhook) -> WebhookView {
    let next_at = webhook
        .paused_at
        .is_none()
        .then_some(webhook.next_attempt_at);
    WebhookView {
        webhook_id: webhook.facts.id,
        name: webhook.facts.name,
        origin: webhook.facts.origin,
        carries: webhook.facts.carries,
        template: webhook.facts.template,
        language: webhook.facts.language,
        created_at: webhook.facts.created_at,
        delivered_at: webhook.delivered_at,
        failing: webhook.failing.map(|failing| WebhookFailure {
            since: failing.since,
            at: failing.at,
            attempts: failing.failures,
            problem: failing.problem,
            next_at,
        }),
        paused_at: webhook.paused_at,
    }
}
