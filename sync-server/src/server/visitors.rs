//! A visitor is erased: what lists and server say of the holder goes, the tickets and what was
//! counted of them stay.

use std::collections::HashSet;

use stile_core::ids::{TicketId, TicketNumber, VenueId};
use stile_core::protocol::{EraseVisitor, ErasedVisitor};

use super::Server;
use crate::acting;
use crate::error::ServerError;
use crate::store::Erased;

/// Ticket ids of one request at most.
const MAX_TICKETS: usize = 1_000;

impl Server {
    /// Erases the visitor of these tickets; again is as once. Names, digits, notes, phone, and the
    /// hashes of codes and documents go, and imports bring none of it back. Gates hear of it with
    /// their next list.
    pub async fn erase_visitor(
        &self,
        venue: &VenueId,
        whose: EraseVisitor,
    ) -> Result<ErasedVisitor, ServerError> {
        if whose.ticket_ids.len() > MAX_TICKETS {
            let problem = format!("more than {MAX_TICKETS} tickets");
            return Err(ServerError::invalid("ticket_ids", problem));
        }
        if whose.ticket_ids.is_empty() && whose.order_number.is_none() {
            let problem = "empty; say whose tickets, by their ids or by order_number";
            return Err(ServerError::invalid("ticket_ids", problem));
        }
        let keys = self.keys(venue).await?;
        let number = |id: &TicketId| keys.numbering.ticket_number(venue, id);
        let named: Vec<TicketNumber> = whose.ticket_ids.iter().map(number).collect();
        let mut numbers = named.clone();
        if let Some(order) = &whose.order_number {
            numbers.extend(self.store.tickets_of_order(keys.number, order).await?);
        }
        let mut seen = HashSet::new();
        numbers.retain(|number| seen.insert(*number));
        let outcomes = self.store.erase_holders(keys.number, &numbers).await?;
        let count = |is: fn(&Erased) -> bool| {
            let counted = outcomes.iter().filter(|outcome| is(outcome)).count();
            u64::try_from(counted).unwrap_or(u64::MAX)
        };
        let tickets = count(|outcome| *outcome != Erased::Unknown);
        acting::counts(tickets);
        let unknown: HashSet<_> = numbers
            .iter()
            .zip(&outcomes)
            .filter(|(_, outcome)| **outcome == Erased::Unknown)
            .map(|(number, _)| *number)
            .collect();
        let ids = whose.ticket_ids.into_iter().zip(named);
        let ids = ids.filter(|(_, number)| unknown.contains(number));
        Ok(ErasedVisitor {
            tickets,
            erased: count(|outcome| *outcome == Erased::Now),
            unknown_ticket_ids: ids.map(|(id, _)| id).collect(),
        })
    }
}
