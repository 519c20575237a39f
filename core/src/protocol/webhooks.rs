//! `/v1/webhooks`: where other systems are told what happened at a venue, and of what.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::time::EpochMillis;

/// Names a webhook; random, below 2^48.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(transparent)]
pub struct WebhookId(pub i64);

impl fmt::Display for WebhookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for WebhookId {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// A text is none of the names that may stand there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it must be one of {0}")]
pub struct WebhookWordError(&'static str);

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $all:literal { $($(#[$about:meta])* $member:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
        pub enum $name { $($(#[$about])* #[serde(rename = $word)] $member,)* }

        impl $name {
            /// Its stable name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$member => $word,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $name {
            type Err = WebhookWordError;
            fn from_str(text: &str) -> Result<Self, WebhookWordError> {
                match text { $($word => Ok(Self::$member),)* _ => Err(WebhookWordError($all)) }
            }
        }
    };
}

words! {
    /// What a webhook carries.
    Carried, "check_ins, conflicts, sessions, alarms" {
        /// Check-ins and what takes them back: `check_ins.added`.
        CheckIns = "check_ins",
        /// Tickets that were admitted for more persons than they have: `conflict.opened`,
        /// `conflict.cleared`.
        Conflicts = "conflicts",
        /// Sessions of which nothing more can be missing: `session.finalized`.
        Sessions = "sessions",
        /// What needs a person, and needs none any more: `alarm.opened`, `alarm.ended`.
        Alarms = "alarms",
    }
}

words! {
    /// How a message is written.
    WebhookTemplate, "plain, wecom, dingtalk, feishu, slack" {
        /// For programs: everything, as JSON.
        Plain = "plain",
        /// A sentence, for a group robot of WeCom (企业微信).
        Wecom = "wecom",
        /// A sentence, for a group robot of DingTalk (钉钉).
        Dingtalk = "dingtalk",
        /// A sentence, for a group robot of Feishu (飞书) or Lark.
        Feishu = "feishu",
        /// A sentence, for an incoming webhook of Slack.
        Slack = "slack",
    }
}

words! {
    /// The language of sentences.
    WebhookLanguage, "zh-CN, en" {
        /// Chinese.
        ZhCn = "zh-CN",
        /// English.
        En = "en",
    }
}

fn plain() -> WebhookTemplate {
    WebhookTemplate::Plain
}

fn chinese() -> WebhookLanguage {
    WebhookLanguage::ZhCn
}

/// `POST /v1/webhooks`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewWebhook {
    /// What people call it.
    pub name: String,
    /// Where messages go: `https://…`. Kept sealed, since chat robots have their token in it.
    pub url: String,
    /// What it carries.
    pub carries: Vec<Carried>,
    /// How messages are written; `plain` by default.
    #[serde(default = "plain")]
    pub template: WebhookTemplate,
    /// The language of sentences; `zh-CN` by default.
    #[serde(default = "chinese")]
    pub language: WebhookLanguage,
    /// The word that is needed for a URL of `http://`: anybody on the way can read and change what
    /// is sent.
    #[serde(default)]
    pub insecure_http: bool,
}

impl fmt::Debug for NewWebhook {
    /// Without the URL, which may hold a token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewWebhook")
            .field("name", &self.name)
            .field("carries", &self.carries)
            .field("template", &self.template)
            .finish_non_exhaustive()
    }
}

/// A webhook that does not get through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookFailure {
    /// When it failed first since a message last went through.
    pub since: EpochMillis,
    /// When it failed last.
    pub at: EpochMillis,
    /// How often it has failed since.
    pub attempts: u64,
    /// What was wrong last.
    pub problem: String,
    /// When it is tried again; none while it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<EpochMillis>,
}

/// A webhook as it stands now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookView {
    /// Its id.
    pub webhook_id: WebhookId,
    /// What people call it.
    pub name: String,
    /// Scheme, host and port of its URL. The rest may hold a token and is not shown.
    pub origin: String,
    /// What it carries.
    pub carries: Vec<Carried>,
    /// How messages are written.
    pub template: WebhookTemplate,
    /// The language of sentences.
    pub language: WebhookLanguage,
    /// When it was made; it carries what came afterwards.
    pub created_at: EpochMillis,
    /// When a message last went through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<EpochMillis>,
    /// What is wrong, if it does not get through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<WebhookFailure>,
    /// Since when it is paused, having failed for seven days. Nothing is lost: it goes on where it
    /// stopped once it is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_at: Option<EpochMillis>,
}

/// `GET /v1/webhooks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhooks {
    /// The oldest first.
    pub webhooks: Vec<WebhookView>,
}

/// The answer to `POST /v1/webhooks`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeWebhook {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: WebhookView,
    /// What messages are signed with, `whsec_` and base64. It is in this one answer and never
    /// again.
    pub secret: String,
}

impl fmt::Debug for MadeWebhook {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeWebhook")
            .field("webhook", &self.webhook)
            .finish_non_exhaustive()
    }
}

/// The answer to `POST /v1/webhooks/{webhook_id}/test`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookTested {
    /// Whether the receiver took the message.
    pub delivered: bool,
    /// What was wrong, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
