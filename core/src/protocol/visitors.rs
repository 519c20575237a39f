//! `POST /v1/visitors/erase`: a visitor is forgotten, by what the back end knows of one.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{OrderNumber, TicketId};

/// Whose tickets they are: by their ids, by an order, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EraseVisitor {
    /// Tickets, at most 1,000.
    #[serde(default)]
    pub ticket_ids: Vec<TicketId>,
    /// All tickets of this order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_number: Option<OrderNumber>,
}

/// What was found of the visitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErasedVisitor {
    /// Tickets that say nothing of their holder any more.
    pub tickets: u64,
    /// Those of them that did so until now.
    pub erased: u64,
    /// Ids of the request that no ticket has.
    pub unknown_ticket_ids: Vec<TicketId>,
}
