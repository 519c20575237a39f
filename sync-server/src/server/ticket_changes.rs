//! What a back end does to tickets beside sending files of them, singly and many at once.

use stile_core::ids::{TicketId, VenueId};
use stile_core::protocol::{TicketChange, TicketView};
use stile_core::ticket::CancelCause;

use super::Server;
use super::tickets::view;
use crate::error::ServerError;
use crate::store::{Acted, TicketAct};

/// Changes of one request at most: as many as a file's lines go in at a time.
const MAX_CHANGES: usize = 1_000;

impl Server {
    /// Makes changes in their order, all in one transaction; one that cannot be made keeps none of
    /// the others back. Answers what became of each.
    pub async fn change_tickets(
        &self,
        venue: &VenueId,
        changes: Vec<TicketChange>,
    ) -> Result<Vec<Result<TicketView, ServerError>>, ServerError> {
        if changes.len() > MAX_CHANGES {
            return Err(ServerError::TooLarge(format!(
                "more than {MAX_CHANGES} changes; send them in several requests, or tickets as a \
                 file"
            )));
        }
        let keys = self.keys(venue).await?;
        let acts = changes.into_iter().map(|change| {
            let number = keys.numbering.ticket_number(venue, change.ticket_id());
            (number, act(change))
        });
        let acted = self
            .store
            .change_tickets(keys.number, acts.collect(), self.now());
        Ok(acted.await?.into_iter().map(shown).collect())
    }

    /// Makes one change.
    pub async fn change_ticket(
        &self,
        venue: &VenueId,
        change: TicketChange,
    ) -> Result<TicketView, ServerError> {
        let mut changed = self.change_tickets(venue, vec![change]).await?;
        let nothing = || Err(ServerError::internal("a change was made and not answered"));
        changed.pop().unwrap_or_else(nothing)
    }

    /// Cancels a ticket; a cancelled one gets the new cause.
    pub async fn cancel_ticket(
        &self,
        venue: &VenueId,
        id: &TicketId,
        cause: CancelCause,
    ) -> Result<TicketView, ServerError> {
        let ticket_id = id.clone();
        self.change_ticket(venue, TicketChange::Cancel { ticket_id, cause })
            .await
    }

    /// Issues a ticket anew: codes of its earlier issues are superseded.
    pub async fn reissue_ticket(
        &self,
        venue: &VenueId,
        id: &TicketId,
        revision: u8,
    ) -> Result<TicketView, ServerError> {
        let ticket_id = id.clone();
        let change = TicketChange::Reissue {
            ticket_id,
            revision,
        };
        self.change_ticket(venue, change).await
    }
}

fn act(change: TicketChange) -> TicketAct {
    match change {
        TicketChange::Cancel { cause, .. } => TicketAct::Cancel(cause),
        TicketChange::Restore { .. } => TicketAct::Restore,
        TicketChange::Move { session_id, .. } => TicketAct::Move(session_id),
        TicketChange::Reissue { revision, .. } => TicketAct::Reissue(revision),
    }
}

fn shown(acted: Acted) -> Result<TicketView, ServerError> {
    match acted {
        Acted::Done(ticket) => Ok(view(*ticket)),
        Acted::NoTicket => Err(ServerError::NotFound("ticket")),
        Acted::NoSession => Err(ServerError::invalid(
            "session_id",
            "there is no such session; put it first, then move the ticket again",
        )),
        Acted::HasRevision(u8::MAX) => Err(ServerError::Conflict(
            "the ticket has revision 255, the last one; book it as a new ticket".into(),
        )),
        Acted::HasRevision(has) => Err(ServerError::Conflict(format!(
            "the ticket has revision {has}, so that its next one is {}",
            has.saturating_add(1)
        ))),
    }
}
