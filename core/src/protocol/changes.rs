//! What a back end does to single tickets and to many at once, beside sending files of them; and
//! sessions by the dozen.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Problem, TicketView};
use crate::ids::{SessionId, TicketId};
use crate::ticket::{CancelCause, Session};

/// `POST /v1/tickets/{ticket_id}/cancel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Cancel {
    /// Why.
    pub cause: CancelCause,
}

/// `POST /v1/tickets/{ticket_id}/move`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// The session that it is to enter.
    pub session_id: SessionId,
}

/// `POST /v1/tickets/{ticket_id}/reissue`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reissue {
    /// The revision that the ticket is to have: one more than it has now. Asking for the one that
    /// it has already changes nothing, so that a lost answer can be asked for again.
    #[schema(minimum = 1, maximum = 255)]
    #[schema(maximum = 255)]
    pub revision: u8,
}

/// One change of one ticket, as the route of its name makes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "act", rename_all = "snake_case", deny_unknown_fields)]
pub enum TicketChange {
    /// Cancels it.
    Cancel {
        /// The ticket.
        ticket_id: TicketId,
        /// Why.
        cause: CancelCause,
    },
    /// Takes its cancelling back.
    Restore {
        /// The ticket.
        ticket_id: TicketId,
    },
    /// Moves it to another session.
    Move {
        /// The ticket.
        ticket_id: TicketId,
        /// The session that it is to enter.
        session_id: SessionId,
    },
    /// Issues it anew.
    Reissue {
        /// The ticket.
        ticket_id: TicketId,
        /// As in [`Reissue::revision`].
        #[schema(minimum = 1, maximum = 255)]
        revision: u8,
    },
}

impl TicketChange {
    /// The ticket that is to change.
    pub fn ticket_id(&self) -> &TicketId {
        match self {
            Self::Cancel { ticket_id, .. }
            | Self::Restore { ticket_id }
            | Self::Move { ticket_id, .. }
            | Self::Reissue { ticket_id, .. } => ticket_id,
        }
    }
}

/// `POST /v1/ticket-changes`: at most 1,000 at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TicketChanges {
    /// The changes, made in this order.
    pub changes: Vec<TicketChange>,
}

/// What became of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TicketsChanged {
    /// One per change, in their order.
    pub results: Vec<TicketChanged>,
}

/// What became of one change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TicketChanged {
    /// The ticket.
    pub ticket_id: TicketId,
    /// The ticket as it stands then, if the change was made or had been made before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<TicketView>,
    /// Why the change was not made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// The answer to `POST /v1/sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionsPut {
    /// One per session, in their order.
    pub results: Vec<SessionPut>,
}

/// What became of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionPut {
    /// The session as it stands then, if it was put.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
    /// Why it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}
