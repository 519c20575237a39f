//! A message: its id, its body by template, and its signature by the Standard Webhooks
//! specification (standardwebhooks.com): `webhook-id`, `webhook-timestamp` (epoch seconds) and
//! `webhook-signature` (`v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`).

use data_encoding::{BASE64, HEXLOWER};
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use stile_core::protocol::{WebhookLanguage, WebhookTemplate};
use stile_core::time::{EpochMillis, EpochSeconds};
use zeroize::Zeroizing;

use super::sentences::sentence;
use crate::traced::TraceId;

/// The type of messages with check-ins.
pub(crate) const CHECK_INS: &str = "check_ins.added";
/// The type of messages that try a webhook out.
pub(crate) const TEST: &str = "webhook.test";

/// What a webhook's messages are signed with.
pub(crate) struct Secret(pub Zeroizing<[u8; 32]>);

impl Secret {
    /// As its receiver is given it.
    pub(crate) fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("whsec_{}", BASE64.encode(&*self.0)))
    }

    /// The header `webhook-signature`.
    pub(super) fn sign(&self, id: &str, at: EpochSeconds, body: &[u8]) -> String {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&*self.0).expect("HMAC takes a key of any length");
        mac.update(format!("{id}.{}.", at.0).as_bytes());
        mac.update(body);
        format!("v1,{}", BASE64.encode(&mac.finalize().into_bytes()))
    }
}

/// A message before it is written.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Message {
    /// The same however often it is sent.
    pub id: String,
    /// What it tells.
    #[serde(rename = "type")]
    pub kind: String,
    /// The venue's id.
    pub venue: String,
    /// When it happened.
    pub time: EpochMillis,
    /// What belongs to its type.
    pub data: Value,
    /// The trace of the one request that brought all that it tells, if one did.
    #[serde(skip)]
    pub trace: Option<TraceId>,
}

impl Message {
    /// The header `traceparent`. What several requests brought, or none, has a trace of its own,
    /// which is the same however often it is sent.
    pub(super) fn traceparent(&self) -> String {
        let hash = Sha256::digest(self.id.as_bytes());
        let (own, span) = (&hash[..16], &hash[16..24]);
        let trace = self.trace.as_ref().map_or(own, |trace| &trace.0[..]);
        format!("00-{}-{}-01", HEXLOWER.encode(trace), HEXLOWER.encode(span))
    }

    /// Its body.
    pub(super) fn body(
        &self,
        template: WebhookTemplate,
        language: WebhookLanguage,
        venue_name: &str,
    ) -> Vec<u8> {
        let said = || sentence(language, venue_name, &self.kind, &self.data);
        let body = match template {
            WebhookTemplate::Plain => json!(self),
            WebhookTemplate::Wecom | WebhookTemplate::Dingtalk => {
                json!({"msgtype": "text", "text": {"content": said()}})
            }
            WebhookTemplate::Feishu => json!({"msg_type": "text", "content": {"text": said()}}),
            // Slack reads these three as its own markup.
            WebhookTemplate::Slack => {
                let text = said().replace('&', "&amp;");
                json!({"text": text.replace('<', "&lt;").replace('>', "&gt;")})
            }
        };
        body.to_string().into_bytes()
    }
}

/// What a chat robot's answer says is wrong: those of these templates answer 200 also where they
/// refuse.
pub(super) fn refusal(template: WebhookTemplate, answer: &[u8]) -> Option<String> {
    let member = match template {
        WebhookTemplate::Plain | WebhookTemplate::Slack => return None,
        WebhookTemplate::Wecom | WebhookTemplate::Dingtalk => "errcode",
        WebhookTemplate::Feishu => "code",
    };
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    match answer[member].as_i64() {
        Some(0) => None,
        Some(code) => Some(format!("the robot refuses it with {member} {code}")),
        None => Some(format!("the robot's answer has no {member}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's own example.
    #[test]
    fn a_message_is_signed_as_the_specification_shows() {
        let key = BASE64
            .decode(b"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAAAAAAAAAAA=")
            .unwrap();
        let secret = Secret(Zeroizing::new(key.try_into().unwrap()));
        let body = br#"{"test": 2432232314}"#;
        let signature = secret.sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            EpochSeconds(1_614_265_330),
            body,
        );
        assert_eq!(signature.len(), "v1,".len() + 44);
        // Bytes behind the key's end in HMAC's block are zeros: this key is the example's, whose 24
        // bytes end in this one's zeros.
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
