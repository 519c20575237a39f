//! `GET /v1/audit`: who did what to a venue's set-up, and when. Nothing personal and no secret
//! stands in it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiKeyId;
use crate::time::EpochMillis;

macro_rules! acts {
    ($($(#[$doc:meta])* $variant:ident = $name:tt;)*) => {
        /// What an administrator or a back end may do: stable names for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
        pub enum Act {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Act {
            /// Every act.
            pub const ALL: &'static [Act] = &[$(Act::$variant,)*];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self { $(Act::$variant => $name,)* }
            }
        }
    };
}

acts! {
    /// A venue was created.
    VenueAdd = "venue.add";
    /// A gate was put.
    GatePut = "gate.put";
    /// The policy was replaced.
    PolicyPut = "policy.put";
    /// An operator was put.
    OperatorPut = "operator.put";
    /// An operator was removed.
    OperatorRemove = "operator.remove";
    /// A device was invited.
    DeviceInvite = "device.invite";
    /// A device was confirmed by its six digits.
    DeviceConfirm = "device.confirm";
    /// An invitation was taken back, or the device that waits by it refused.
    DeviceRefuse = "device.refuse";
    /// It was said of a device that nobody uses it any more.
    DeviceOutOfUse = "device.out_of_use";
    /// A device was revoked.
    DeviceRevoke = "device.revoke";
    /// A forgotten device was made one of the venue's again.
    DeviceReadmit = "device.readmit";
    /// Records were taken out of quarantine into the log.
    QuarantineAccept = "quarantine.accept";
    /// Records in quarantine were judged to stay out of the log.
    QuarantineDismiss = "quarantine.dismiss";
    /// A session was put.
    SessionPut = "session.put";
    /// A ticket file was imported.
    TicketsImport = "tickets.import";
    /// A day's whole set of tickets was put.
    TicketsPutDay = "tickets.put_day";
    /// A day's whole set of tickets, or its digest, was compared with what is here.
    TicketsReconcile = "tickets.reconcile";
    /// Tickets were changed, many at once.
    TicketsChange = "tickets.change";
    /// A ticket was cancelled.
    TicketCancel = "ticket.cancel";
    /// A ticket's cancelling was taken back.
    TicketRestore = "ticket.restore";
    /// A ticket was moved to another session.
    TicketMove = "ticket.move";
    /// A ticket was issued anew.
    TicketReissue = "ticket.reissue";
    /// A visitor was erased.
    VisitorErase = "visitor.erase";
    /// An API key was made.
    ApiKeyMake = "api_key.make";
    /// An API key was revoked.
    ApiKeyRevoke = "api_key.revoke";
    /// The booking system's secret was imported.
    SecretImport = "secret.import";
    /// The key to mint v1 codes with was given out.
    MintingKeyShow = "minting_key.show";
    /// The keys were copied to a file.
    KeyBackup = "key.backup";
    /// Keys were put back from a copy.
    KeyRestore = "key.restore";
    /// A signing key was made that follows another.
    KeyRotate = "key.rotate";
    /// A signing key was revoked.
    SigningKeyRevoke = "signing_key.revoke";
    /// How long the audit log is kept was set.
    RetentionSet = "retention.set";
    /// What may be kept no longer was removed by command.
    RetentionRun = "retention.run";
    /// A sister venue was added.
    SisterAdd = "sister.add";
    /// A sister venue, or a key of one, was removed.
    SisterRemove = "sister.remove";
    /// A webhook was made.
    WebhookMake = "webhook.make";
    /// A webhook was removed.
    WebhookRemove = "webhook.remove";
    /// A webhook that was paused goes on.
    WebhookResume = "webhook.resume";
    /// A test message was sent to a webhook.
    WebhookTest = "webhook.test";
}

impl std::fmt::Display for Act {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A text is the name of no act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no act has this name")]
pub struct ActError;

impl std::str::FromStr for Act {
    type Err = ActError;
    fn from_str(text: &str) -> Result<Self, ActError> {
        let mut all = Self::ALL.iter().copied();
        all.find(|act| act.name() == text).ok_or(ActError)
    }
}

/// One act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// When it began, by the server's clock.
    pub at: EpochMillis,
    /// What was done.
    pub act: Act,
    /// The key that did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_id: Option<ApiKeyId>,
    /// Or, by the command line, the id of the user on the server's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The id of what it was done to, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thing: Option<String>,
    /// `done`; the `code` with which it was refused; or `begun`, of an import whose end this
    /// server did not see.
    pub result: String,
    /// To how many things it was done, where the act counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The trace id of its request, which the server's log carries as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// A piece of a venue's audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditLog {
    /// In the order in which they were stored.
    pub acts: Vec<AuditEntry>,
    /// What the next piece is asked for with.
    pub cursor: String,
    /// Whether there was more at that moment.
    pub more: bool,
}
